//! The gRPC service: reads one client's stream at its pace and hands it over, word by word.

use super::hear::{FirstWord, Unheard, first_word, later_word};
use super::limits::{HELLO_MAX, MESSAGE_BYTES_MAX, Pace, TOLD_MAX, WELCOME_MAX};
use super::route::Route;
use super::translate::{ended, redirect, refused};
use super::{Gateway, OpenStream};
use marchland_baseapp_core::io::ClientEvent;
use marchland_common::order::{KindId, SessionId};
use marchland_proto::client::gateway_server::{Gateway as GatewayRpc, GatewayServer};
use marchland_proto::client::{Down, Up, up};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Response, Status, Streaming};

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
            Ok(Err(status)) => return self.broken(&status),
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
                Err(status) => return self.broken(&status),
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

    /// The stream ended in the middle: what came does not decode, or nothing comes any more.
    fn broken(&self, status: &Status) -> Stop {
        match status.code() {
            Code::Internal | Code::OutOfRange | Code::InvalidArgument | Code::Unimplemented => {
                self.malformed(status.message())
            }
            code => {
                self.gateway.counters.counter("clients_lost").add(1);
                let why = status.message();
                tracing::debug!(request = self.request, ?code, why, "a client's path is gone");
                Stop(None)
            }
        }
    }

    fn unheard(&self, why: Unheard) -> Stop {
        match why {
            Unheard::Malformed(why) => self.malformed(why),
            Unheard::BadLogin(text) => Stop(Some(refused("bad-login", text))),
        }
    }

    /// Takes in who the client is.
    fn begin(&mut self, hello: up::What) -> Result<(), Stop> {
        let word = first_word(&self.gateway.rules, hello).map_err(|why| self.unheard(why))?;
        let request = self.request;
        match word {
            FirstWord::Login { account, kind, radius } => {
                self.follow(self.gateway.route_account(&account, self.inside))?;
                self.kind = kind;
                let place = (self.gateway.rules.home)(&account);
                self.ask(ClientEvent::Login { request, account, kind, place, radius })
            }
            FirstWord::Resume { session, secret, acknowledged, radius } => {
                self.follow(self.gateway.route_session(session, self.inside))?;
                self.ask(ClientEvent::Resume { request, session, secret, acknowledged, radius })
            }
        }
    }

    fn follow(&self, route: Route) -> Result<(), Stop> {
        match route {
            Route::Here => Ok(()),
            Route::There(address) => Err(Stop(Some(redirect(address)))),
            Route::NotYet(why) => Err(Stop(Some(refused("not-yet", why)))),
        }
    }

    fn ask(&self, event: ClientEvent) -> Result<(), Stop> {
        let Self { kind, inside, .. } = *self;
        let stream = OpenStream { end: self.told.clone(), kind, inside };
        self.gateway.waiting.insert(self.request, stream);
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
        let event = later_word(&self.gateway.rules, session, self.kind, up.what)
            .map_err(|why| self.unheard(why))?;
        let input = matches!(event, ClientEvent::Input { .. });
        if !self.gateway.say(event) && !input {
            // Commands are contiguous: one that is lost would stop all later ones. The client comes
            // back and says again what the base did not take in.
            return Err(Stop(Some(ended("draining"))));
        }
        Ok(())
    }
}
