//! The task behind a session: what is open, what is acknowledged, and how it comes back.

use super::play::{Stream, dial};
use super::{Ask, SessionEnd, SessionOptions, Told, outcome_of};
use bytes::Bytes;
use marchland_common::order::{EntityId, Epoch, KindId, Seq, SessionId, Tick};
use marchland_common::world::Value;
use marchland_proto::client::{self as wire, Down, Up, down, prop, up};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Bound::{Excluded, Unbounded};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// Most redirects in a row before the gateways count as confused.
const REDIRECTS_MAX: u32 = 8;
/// The first and the longest pause between two attempts.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// An acknowledgement goes out by itself after this many answers without a command.
const ACKNOWLEDGE_EVERY: u64 = 16;

/// What makes a session the same after a reconnect.
struct Identity {
    session: SessionId,
    secret: u64,
    entity: EntityId,
}

pub(super) struct SessionTask {
    options: SessionOptions,
    asked: mpsc::Receiver<Ask>,
    tell: mpsc::Sender<Told>,
    identity: Option<Identity>,
    gateway: String,
    next_gateway: usize,
    last_n: u64,
    open: BTreeMap<u64, wire::Command>,
    /// Answers are in order per session: all up to this number are here.
    answered: u64,
    told_gateway: u64,
}

/// How one stream ended.
enum StreamEnd {
    Broken(String),
    Redirect(String),
    Over(SessionEnd),
}

impl StreamEnd {
    /// For people who were not served.
    fn why(self) -> String {
        match self {
            Self::Redirect(address) => {
                format!("gateways send from one to the other, last to {address}")
            }
            Self::Broken(why) => why,
            Self::Over(_) => "the session is over".to_owned(),
        }
    }
}

impl SessionTask {
    pub(super) fn new(
        options: SessionOptions,
        asked: mpsc::Receiver<Ask>,
        tell: mpsc::Sender<Told>,
    ) -> Self {
        let gateway = options.gateways.first().cloned().unwrap_or_default();
        Self {
            options,
            asked,
            tell,
            identity: None,
            gateway,
            next_gateway: 1,
            last_n: 0,
            open: BTreeMap::new(),
            answered: 0,
            told_gateway: 0,
        }
    }

    /// Runs until the session is over, or at once to its end when the handle is `gone`: whatever
    /// the gateways do, nothing is said for a program that has left.
    pub(super) async fn run(mut self, gone: oneshot::Receiver<Infallible>) {
        let end = tokio::select! {
            end = self.keep_open() => end,
            _ = gone => SessionEnd::Closed,
        };
        // The program may have gone already.
        let _ = self.tell.send(Told::Ended(end)).await;
    }

    async fn keep_open(&mut self) -> SessionEnd {
        let (mut redirects, mut pause) = (0, PAUSE.0);
        let mut since = Instant::now();
        loop {
            let ended = match dial(&self.gateway, self.hello()).await {
                Ok(stream) => self.follow(stream).await,
                Err(why) => (StreamEnd::Broken(why), false),
            };
            if ended.1 {
                (redirects, pause, since) = (0, PAUSE.0, Instant::now());
            }
            match ended.0 {
                StreamEnd::Over(end) => return end,
                StreamEnd::Redirect(address) if redirects < REDIRECTS_MAX => {
                    (self.gateway, redirects) = (address, redirects + 1);
                    continue;
                }
                StreamEnd::Redirect(_) | StreamEnd::Broken(_)
                    if since.elapsed() > self.options.give_up =>
                {
                    return SessionEnd::Unreachable(self.options.give_up, ended.0.why());
                }
                // Gateways that do not agree yet who keeps the slot agree a little later.
                StreamEnd::Redirect(_) | StreamEnd::Broken(_) => {
                    redirects = 0;
                    self.try_another_gateway();
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE.1);
        }
    }

    fn try_another_gateway(&mut self) {
        let all = &self.options.gateways;
        if !all.is_empty() {
            self.gateway = all[self.next_gateway % all.len()].clone();
            self.next_gateway += 1;
        }
    }

    fn hello(&self) -> Up {
        let radius = self.options.radius;
        let what = match &self.identity {
            Some(id) => up::What::Resume(wire::Resume {
                session: id.session.0,
                secret: id.secret,
                acknowledged: self.answered,
                radius,
            }),
            None => up::What::Login(wire::Login {
                account: self.options.account.clone(),
                radius,
                kind: self.options.kind.clone(),
            }),
        };
        Up { what: Some(what) }
    }

    /// Follows one stream to its end. The flag says whether it welcomed.
    async fn follow(&mut self, mut stream: Stream) -> (StreamEnd, bool) {
        let mut welcomed = false;
        loop {
            tokio::select! {
                down = stream.down.message() => {
                    let down = match down {
                        Ok(Some(down)) => down,
                        Ok(None) => return (StreamEnd::Broken("the stream ended".into()), welcomed),
                        Err(e) => return (StreamEnd::Broken(e.message().to_owned()), welcomed),
                    };
                    match self.take_in(down, &stream, &mut welcomed).await {
                        Ok(()) => {}
                        Err(end) => return (end, welcomed),
                    }
                }
                ask = self.asked.recv(), if welcomed => {
                    match self.send(ask, &stream).await {
                        Ok(()) => {}
                        Err(end) => return (end, welcomed),
                    }
                }
            }
        }
    }

    async fn take_in(
        &mut self,
        message: Down,
        stream: &Stream,
        welcomed: &mut bool,
    ) -> Result<(), StreamEnd> {
        let protocol = |text: &str| StreamEnd::Over(SessionEnd::Protocol(text.to_owned()));
        let Some(what) = message.what else { return Ok(()) };
        let told = match what {
            down::What::Redirect(r) => return Err(StreamEnd::Redirect(r.address)),
            down::What::Refused(r) if r.code == "not-yet" => {
                return Err(StreamEnd::Broken(r.message));
            }
            down::What::Refused(r) => {
                let end = SessionEnd::Refused { code: r.code, message: r.message };
                return Err(StreamEnd::Over(end));
            }
            down::What::Ended(e) if e.reason == "draining" => {
                return Err(StreamEnd::Broken(e.reason));
            }
            down::What::Ended(e) => return Err(StreamEnd::Over(SessionEnd::ByGateway(e.reason))),
            down::What::Welcome(w) => {
                *welcomed = true;
                self.welcome(&w, stream).await?
            }
            _ if !*welcomed => return Err(protocol("something came before the welcome")),
            down::What::Answer(a) => match self.answer(&a, stream).await? {
                Some(told) => told,
                None => return Ok(()),
            },
            down::What::View(v) => Told::View {
                epoch: Epoch(v.epoch),
                tick: Tick(v.tick),
                fresh: v.fresh,
                body: v.body,
            },
            down::What::Reset(r) => Told::Reset { epoch: Epoch(r.epoch), seq: Seq(r.seq) },
            down::What::Own(o) => Told::Own {
                epoch: Epoch(o.epoch),
                seq: Seq(o.seq),
                props: props_of(o.props).ok_or_else(|| protocol("a property without a value"))?,
            },
            down::What::Notice(n) => Told::Notice(n.payload),
        };
        self.tell.send(told).await.map_err(|_| StreamEnd::Over(SessionEnd::Closed))
    }

    async fn welcome(&mut self, w: &wire::Welcome, stream: &Stream) -> Result<Told, StreamEnd> {
        let (session, entity) = (SessionId(w.session), EntityId(w.entity));
        let same = self.identity.as_ref().is_some_and(|id| id.session == session);
        if self.identity.is_some() && !same {
            let text = "a resume gave another session".to_owned();
            return Err(StreamEnd::Over(SessionEnd::Protocol(text)));
        }
        if w.last_n > self.last_n {
            let (took_in, sent) = (w.last_n, self.last_n);
            let text = format!("it took in command {took_in}, and {sent} were sent");
            return Err(StreamEnd::Over(SessionEnd::Protocol(text)));
        }
        self.identity = Some(Identity { session, secret: w.secret, entity });
        // What the base took in, it answers; the rest is said again, in order.
        let again: Vec<wire::Command> =
            self.open.range((Excluded(w.last_n), Unbounded)).map(|(_, c)| c.clone()).collect();
        for command in again {
            put(stream, up::What::Command(command)).await?;
        }
        Ok(Told::Welcome {
            session,
            entity,
            kind: KindId(w.kind as u16),
            resumed: w.resumed,
            tick: Tick(w.tick),
            step: Duration::from_micros(w.step_us.into()),
        })
    }

    /// Takes an answer once: a resumed stream may repeat it.
    async fn answer(
        &mut self,
        a: &wire::Answer,
        stream: &Stream,
    ) -> Result<Option<Told>, StreamEnd> {
        if self.open.remove(&a.n).is_none() {
            return Ok(None);
        }
        self.answered = self.open.keys().next().map_or(self.last_n, |first| first - 1);
        // A command behind one that the base refused by itself waits for this word.
        let due = self.answered > self.told_gateway && !self.open.is_empty();
        if due || self.answered >= self.told_gateway + ACKNOWLEDGE_EVERY {
            self.told_gateway = self.answered;
            let n = self.answered;
            put(stream, up::What::Acknowledge(wire::Acknowledge { n })).await?;
        }
        let Some(outcome) = outcome_of(a) else {
            let text = format!("answer {} without an outcome", a.n);
            return Err(StreamEnd::Over(SessionEnd::Protocol(text)));
        };
        let confirmed = a.epoch.zip(a.seq).map(|(e, s)| (Epoch(e), Seq(s)));
        Ok(Some(Told::Answer { n: a.n, outcome, confirmed }))
    }

    async fn send(&mut self, ask: Option<Ask>, stream: &Stream) -> Result<(), StreamEnd> {
        match ask {
            None => Err(StreamEnd::Over(SessionEnd::Closed)),
            Some(Ask::Logout) => put(stream, up::What::Logout(wire::Logout {})).await,
            Some(Ask::Input(payload)) => {
                put(stream, up::What::Input(wire::Input { payload })).await
            }
            Some(Ask::Command { method, args, ttl, number }) => {
                self.command(method, args, ttl, number, stream).await
            }
        }
    }

    async fn command(
        &mut self,
        method: String,
        args: Bytes,
        ttl: u32,
        number: oneshot::Sender<u64>,
        stream: &Stream,
    ) -> Result<(), StreamEnd> {
        self.last_n += 1;
        let entity = self.identity.as_ref().map_or(0, |id| id.entity.0);
        let command = wire::Command {
            n: self.last_n,
            entity,
            method,
            args,
            ttl,
            acknowledged: self.answered,
        };
        self.told_gateway = self.answered;
        self.open.insert(self.last_n, command.clone());
        // The asker may have gone; the command counts all the same.
        let _ = number.send(self.last_n);
        put(stream, up::What::Command(command)).await
    }
}

async fn put(stream: &Stream, what: up::What) -> Result<(), StreamEnd> {
    let up = Up { what: Some(what) };
    stream.up.send(up).await.map_err(|_| StreamEnd::Broken("the stream closed".to_owned()))
}

fn props_of(props: Vec<wire::Prop>) -> Option<Vec<(u8, Value)>> {
    let value = |p: wire::Prop| {
        let index = u8::try_from(p.index).ok()?;
        Some(match p.value? {
            prop::Value::Number(n) => (index, Value::Int(n)),
            prop::Value::Data(d) => (index, Value::Bytes(d.to_vec())),
        })
    };
    props.into_iter().map(value).collect()
}
