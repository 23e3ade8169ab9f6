//! One base with its log, its disk, and everything it said.

use super::*;

/// One base with its log and everything it said.
pub struct Base {
    pub node: Node,
    pub core: BaseCore,
    pub config: BaseConfig,
    pub log: Vec<Vec<u8>>,
    pub durable: u64,
    pub map: Vec<MapChange>,
    pub frames: Vec<Frame>,
    pub clients_in: Vec<ClientEvent>,
    pub orders_in: Vec<BaseOrder>,
    pub events: Vec<Event>,
    pub clients: Vec<ToClient>,
    pub answers: Vec<OrderAnswer>,
    pub stats: BaseStats,
    pub releases: u8,
    pub proof: Proof,
    pub kinds: Arc<Kinds>,
}

impl Base {
    pub fn new(config: BaseConfig, kinds: &Arc<Kinds>, recovered: Recovered) -> Self {
        let durable = recovered.last.0;
        Self {
            node: config.node,
            core: BaseCore::new(config.clone(), kinds.clone(), recovered),
            config,
            log: vec![Vec::new(); durable as usize],
            durable,
            map: Vec::new(),
            frames: Vec::new(),
            clients_in: Vec::new(),
            orders_in: Vec::new(),
            events: Vec::new(),
            clients: Vec::new(),
            answers: Vec::new(),
            stats: BaseStats::default(),
            releases: 0,
            proof: Proof::default(),
            kinds: kinds.clone(),
        }
    }

    pub fn run(&mut self, tick: Tick, moment: Moment, durable: Option<Lsn>) -> BaseOutput {
        if moment == Moment::Flush {
            self.releases = 0;
        }
        let flush = moment == Moment::Flush;
        let mut frames = if flush { std::mem::take(&mut self.frames) } else { Vec::new() };
        frames.sort_by_key(|f| (f.from, f.bundle.n));
        let input = BaseInput {
            tick,
            moment,
            dropped: None,
            durable,
            map: if flush { std::mem::take(&mut self.map) } else { Vec::new() },
            frames,
            clients: if flush { std::mem::take(&mut self.clients_in) } else { Vec::new() },
            orders: if flush { std::mem::take(&mut self.orders_in) } else { Vec::new() },
        };
        let output = self.core.tick(input);
        self.log.extend(output.log.iter().cloned());
        self.proof.advance(&self.log, self.durable, &self.kinds);
        self.proof.check(&output);
        self.events.extend(output.events.iter().cloned());
        self.clients.extend(output.clients.iter().cloned());
        self.answers.extend(output.answers.iter().cloned());
        self.stats = output.stats.clone();
        output
    }

    /// The process dies and another life reads the first records of its log.
    pub fn restart(&mut self, kinds: &Arc<Kinds>, records: usize) {
        let kept: Vec<Vec<u8>> = self.log[..records].to_vec();
        let recovered = replay(kinds, kept.iter()).unwrap();
        let mut config = self.config.clone();
        config.node.incarnation.0 += 1_000;
        // What was only written never happened.
        let mut events = std::mem::take(&mut self.events);
        events.retain(|event| lsn_of(event).is_none_or(|lsn| lsn.0 as usize <= records));
        let dead = std::mem::take(&mut self.proof.dead);
        *self = Self::new(config, kinds, recovered);
        self.log = kept;
        self.events = events;
        self.proof = Proof { dead, ..Proof::default() };
    }

    pub fn refusals(&self, reason: Refused) -> u32 {
        let counts = self.events.iter().filter_map(|event| match event {
            Event::Refusal { reason: r, count, .. } if *r == reason => Some(*count),
            _ => None,
        });
        counts.sum()
    }

    pub fn records(&self) -> Vec<LogRecord> {
        self.log.iter().map(|bytes| LogRecord::decode(bytes).unwrap()).collect()
    }

    /// What one session was told.
    pub fn frames_of(&self, session: SessionId) -> Vec<ClientFrame> {
        let mine = self.clients.iter().filter(|f| f.session == session);
        mine.map(|f| f.what.clone()).collect()
    }
}
