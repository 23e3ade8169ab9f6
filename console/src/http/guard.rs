//! What is asked of every request: that it is meant for this console, and that an act is meant at
//! all. A page of somebody else's that is open in the same browser can do neither.

use super::Console;
use crate::source::Trouble;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::{IpAddr, SocketAddr};

/// Only what this console serves itself: no other origin's script, style, picture or socket.
const POLICY: &str = "default-src 'self'; connect-src 'self' ws: wss:; img-src 'self' data: blob:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Says that a request is an act. A form of another page cannot set it.
const ACT_HEADER: &str = "x-march-act";

/// What a request must show.
#[derive(Clone, Debug)]
pub struct Rules {
    is_local: bool,
    token: Option<String>,
}

impl Rules {
    /// For a console that listens there. Elsewhere than on a loopback address acts need `token`, and
    /// are impossible without one.
    #[must_use]
    pub fn new(listen: SocketAddr, token: Option<String>) -> Self {
        let token = token.filter(|token| !token.is_empty());
        Self { is_local: listen.ip().is_loopback(), token }
    }

    /// Whether anybody may act.
    pub(super) const fn may_act(&self) -> bool {
        self.is_local || self.token.is_some()
    }

    /// Whether an act needs the operator's token.
    pub(super) const fn needs_token(&self) -> bool {
        !self.is_local && self.token.is_some()
    }

    /// On loopback the name must be this machine's: another page's name that was made to point
    /// here is not.
    fn check_host(&self, headers: &HeaderMap) -> Result<(), Trouble> {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("");
        if !self.is_local || is_this_machine(host) {
            return Ok(());
        }
        let shown: String = host.chars().take(80).collect();
        Err(Trouble::new(421, "wrong-host", format!("this console is not `{shown}`"))
            .hint("open it under 127.0.0.1 or localhost"))
    }

    fn check_act(&self, headers: &HeaderMap) -> Result<(), Trouble> {
        if headers.get(ACT_HEADER).is_none_or(|value| value != "1") {
            return Err(Trouble::new(403, "not-an-act", "the header X-March-Act is missing")
                .hint("send `X-March-Act: 1`"));
        }
        if self.is_local {
            return Ok(());
        }
        let Some(token) = &self.token else {
            let text = "this console is open to other machines and has no token: nobody may act";
            return Err(Trouble::new(403, "no-token", text)
                .hint("start it with --console-token, or on a loopback address"));
        };
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.strip_prefix("Bearer "));
        match given.is_some_and(|given| is_same(given, token)) {
            true => Ok(()),
            false => Err(Trouble::new(401, "wrong-token", "the operator's token is not right")
                .hint("send `Authorization: Bearer TOKEN`")),
        }
    }
}

/// In a time that does not tell how much of it is right.
fn is_same(given: &str, token: &str) -> bool {
    let differs = given.bytes().zip(token.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    given.len() == token.len() && differs == 0
}

fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// A socket is opened by a script of this console, or by no page at all.
pub(super) fn check_origin(headers: &HeaderMap) -> Result<(), Trouble> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let Some(origin) = text(header::ORIGIN) else { return Ok(()) };
    let host = origin.split_once("://").map_or("", |(_, host)| host);
    match text(header::HOST).is_some_and(|own| own.eq_ignore_ascii_case(host)) {
        true => Ok(()),
        false => Err(Trouble::new(403, "wrong-origin", "another page may not listen here")),
    }
}

pub(super) async fn guard(
    State(console): State<Console>,
    request: Request,
    next: Next,
) -> Response {
    let is_page = !request.uri().path().starts_with("/api/");
    let checked = console.rules.check_host(request.headers()).and_then(|()| {
        match *request.method() == Method::POST {
            true => console.rules.check_act(request.headers()),
            false => Ok(()),
        }
    });
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(trouble) => trouble.into_response(),
    };
    let headers = response.headers_mut();
    let cache = if is_page { "no-cache" } else { "no-store" };
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, cache),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_its_own() {
        for own in ["127.0.0.1:7680", "localhost", "LOCALHOST:1", "[::1]:7680", "127.8.8.8"] {
            assert!(is_this_machine(own), "{own}");
        }
        for other in ["", "evil.example", "127.0.0.1.evil.example:7680", "10.0.0.1", "localhost.x"]
        {
            assert!(!is_this_machine(other), "{other}");
        }
    }

    #[test]
    fn a_token_is_right_only_as_a_whole() {
        assert!(is_same("secret", "secret"));
        for wrong in ["", "secre", "secret2", "Secret"] {
            assert!(!is_same(wrong, "secret"), "{wrong}");
        }
    }
}
