//! The gRPC service: reads one client's stream at its pace and hands it over, word by word.

use super::Gateway;
use super::limits::{
    ACCOUNT_BYTES_MAX, ARGS_BYTES_MAX, HELLO_MAX, MESSAGE_BYTES_MAX, Pace, TOLD_MAX, WELCOME_MAX,
};
use super::route::Route;
use super::translate::{down, ended, refused};
use marchland_baseapp_core::io::ClientEvent;
use marchland_common::order::{EntityId, KindId, SessionId};
use marchland_proto::client::gateway_server::{Gateway as GatewayRpc, GatewayServer};
use marchland_proto::client::{self as wire, Down, Up, up};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

/// The client's door as a service.
#[derive(Clone)]
pub struct GatewayService(Arc<Gateway>);

impl GatewayService {
    /// The service with its limits set.
    #[must_use]
    pub fn server(gateway: Arc<Gateway>) -> GatewayServer<Self> {
        GatewayServer::new(Self(gateway)).max_decoding_message_size(MESSAGE_BYTES_MAX)
    }
}

/// What one stream knows of itself.
struct Reader {
    gateway: Arc<Gateway>,
    request: u64,
    session: Option<SessionId>,
    kind: KindId,
    /// Whether the client stands inside, where the addresses between processes work.
    inside: bool,
    told: mpsc::Sender<Result<Down, Status>>,
}

/// Why a stream is not read any further; what the client is told last.
struct Stop(Option<Down>);

#[tonic::async_trait]
impl GatewayRpc for GatewayService {
    type PlayStream = ReceiverStream<Result<Down, Status>>;

    async fn play(
        &self,
        request: Request<Streaming<Up>>,
    ) -> Result<Response<Self::PlayStream>, Status> {
        let (told, tell) = mpsc::channel(TOLD_MAX);
        let reader = Reader {
            gateway: self.0.clone(),
            request: self.0.next_request(),
            session: None,
            kind: KindId(0),
            inside: self.0.is_called_from_inside(request.extensions()),
            told,
        };
        tokio::spawn(reader.run(request.into_inner()));
        Ok(Response::new(ReceiverStream::new(tell)))
    }
}

impl Reader {
    async fn run(mut self, mut ups: Streaming<Up>) {
        let mut shutdown = self.gateway.shutdown.clone();
        let stop = tokio::select! {
            stop = self.read(&mut ups) => stop,
            () = shutdown.asked() => Stop(Some(ended("draining"))),
        };
        if let Some(last) = stop.0 {
            // A client that does not read does not hear why either.
            let _ = self.told.try_send(Ok(last));
        }
        let session = self.session.or_else(|| self.gateway.session_of(self.request));
        self.gateway.stream_over(self.request, session);
    }

    async fn read(&mut self, ups: &mut Streaming<Up>) -> Stop {
        let hello = match timeout(HELLO_MAX, ups.message()).await {
            Ok(Ok(Some(Up { what: Some(hello) }))) => hello,
            Ok(Ok(_)) => return self.malformed("the first message must be Login or Resume"),
            Ok(Err(status)) => return self.malformed(status.message()),
            Err(_) => return Stop(Some(refused("late", "nothing came within 5 s"))),
        };
        if let Err(stop) = self.begin(hello) {
            return stop;
        }
        let mut pace = Pace::new();
        loop {
            if let Some(wait) = pace.next() {
                self.gateway.counters.counter("clients_too_fast").add(1);
                tokio::time::sleep(wait).await;
            }
            let up = match ups.message().await {
                Ok(Some(up)) => up,
                Ok(None) => return Stop(None),
                Err(status) => return self.malformed(status.message()),
            };
            let Some(session) = self.welcomed().await else {
                return Stop(Some(refused("not-yet", "no welcome yet; try again")));
            };
            if let Err(stop) = self.take(session, up) {
                return stop;
            }
        }
    }

    fn malformed(&self, why: &str) -> Stop {
        self.gateway.counters.counter("clients_malformed").add(1);
        tracing::debug!(request = self.request, why, "a client's stream does not decode");
        Stop(Some(ended("malformed")))
    }

    /// Takes in who the client is.
    fn begin(&mut self, hello: up::What) -> Result<(), Stop> {
        match hello {
            up::What::Login(login) => self.login(login),
            up::What::Resume(resume) => self.resume(&resume),
            _ => Err(self.malformed("the first message must be Login or Resume")),
        }
    }

    fn login(&mut self, login: wire::Login) -> Result<(), Stop> {
        let wire::Login { account, radius, kind } = login;
        if account.is_empty() || account.len() > ACCOUNT_BYTES_MAX || radius < 0 {
            let text = "an account has 1 to 64 bytes, and a radius is not negative";
            return Err(Stop(Some(refused("bad-login", text))));
        }
        let rules = &self.gateway.rules;
        let declared = rules.kinds.by_name(&kind).map(|k| k.id).filter(|k| (rules.playable)(*k));
        let Some(kind) = declared else {
            let text = format!("clients cannot play `{kind}`");
            return Err(Stop(Some(refused("bad-login", text))));
        };
        self.follow(self.gateway.route_account(&account, self.inside))?;
        self.kind = kind;
        let place = (rules.home)(&account);
        let request = self.request;
        self.ask(ClientEvent::Login { request, account, kind, place, radius })
    }

    fn resume(&mut self, resume: &wire::Resume) -> Result<(), Stop> {
        let session = SessionId(resume.session);
        self.follow(self.gateway.route_session(session, self.inside))?;
        self.ask(ClientEvent::Resume {
            request: self.request,
            session,
            secret: resume.secret,
            acknowledged: resume.acknowledged,
            radius: resume.radius.max(0),
        })
    }

    fn follow(&self, route: Route) -> Result<(), Stop> {
        match route {
            Route::Here => Ok(()),
            Route::There(address) => {
                Err(Stop(Some(down(wire::down::What::Redirect(wire::Redirect { address })))))
            }
            Route::NotYet(why) => Err(Stop(Some(refused("not-yet", why)))),
        }
    }

    fn ask(&self, event: ClientEvent) -> Result<(), Stop> {
        self.gateway.waiting.insert(self.request, (self.told.clone(), self.kind));
        if self.gateway.say(event) {
            return Ok(());
        }
        self.gateway.waiting.remove(&self.request);
        Err(Stop(Some(refused("not-yet", "too many clients at once; try again"))))
    }

    /// The session, as soon as the base welcomed it; clients wait for that before they speak.
    async fn welcomed(&mut self) -> Option<SessionId> {
        if self.session.is_none() {
            let wait = async {
                loop {
                    if let Some(session) = self.gateway.session_of(self.request) {
                        return session;
                    }
                    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                }
            };
            self.session = timeout(WELCOME_MAX, wait).await.ok();
        }
        self.session
    }

    fn take(&self, session: SessionId, up: Up) -> Result<(), Stop> {
        let event = match up.what {
            Some(up::What::Command(command)) => self.command(session, command)?,
            Some(up::What::Input(input)) if input.payload.len() <= ARGS_BYTES_MAX => {
                ClientEvent::Input { session, payload: input.payload }
            }
            Some(up::What::Acknowledge(a)) => ClientEvent::Acknowledge { session, n: a.n },
            Some(up::What::Logout(_)) => ClientEvent::Logout { session },
            _ => return Err(self.malformed("a message that makes no sense here")),
        };
        let input = matches!(event, ClientEvent::Input { .. });
        if !self.gateway.say(event) && !input {
            // Commands are contiguous: one that is lost would stop all later ones. The client comes
            // back and says again what the base did not take in.
            return Err(Stop(Some(ended("draining"))));
        }
        Ok(())
    }

    fn command(&self, session: SessionId, c: wire::Command) -> Result<ClientEvent, Stop> {
        if c.args.len() > ARGS_BYTES_MAX {
            return Err(self.malformed("arguments over the limit"));
        }
        // An unknown method is refused by the base, in its place in the order.
        let kinds = &self.gateway.rules.kinds;
        let index = kinds
            .iter()
            .filter(|k| (self.gateway.rules.playable)(k.id))
            .filter(|k| self.kind == KindId(0) || k.id == self.kind)
            .find_map(|k| k.method(&c.method));
        Ok(ClientEvent::Command {
            session,
            n: c.n,
            entity: EntityId(c.entity),
            method: index.unwrap_or(u8::MAX),
            args: c.args,
            ttl: c.ttl,
            acknowledged: c.acknowledged,
        })
    }
}
