//! One life: from the first whole core that its journal holds, over every output moment, and from
//! the next whole core on again where records are missing.

use crate::core::{Core, Ran};
use crate::report::{Difference, LifeReplay};
use crate::tree::{Field, Tree, differences};
use crate::{ReplayOptions, World};
use marchland_common::journal::{BundleRef, PartedDigest, TickRecord};
use marchland_common::msg::Moment;
use marchland_common::order::Tick;
use marchland_observe::{Process, Start};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Places of a difference that are told.
const FIELDS_MAX: usize = 12;

/// Replays a life.
pub(crate) fn replay<C: Core>(
    process: &Process,
    world: &World,
    options: &ReplayOptions,
) -> LifeReplay {
    let mut walk = Walk::<C> {
        process,
        world,
        core: None,
        blind: None,
        last: (Tick(0), Moment::Flush),
        life: LifeReplay::new(process.node()),
    };
    let begin = options.from.map_or(0, |from| place_before(process, from));
    walk.go(begin, options.to);
    walk.end();
    walk.life.judged()
}

/// The record before which the last whole core up to a tick stands.
fn place_before(process: &Process, from: Tick) -> usize {
    let is_early =
        |start: &&Start| process.record(start.before).is_none_or(|record| record.tick <= from);
    process.starts().iter().rev().find(is_early).map_or(0, |start| start.before)
}

struct Walk<'a, C> {
    process: &'a Process,
    world: &'a World,
    /// None where the journal does not say how the core stands.
    core: Option<C>,
    /// Why there is none.
    blind: Option<Blind>,
    last: (Tick, Moment),
    life: LifeReplay,
}

/// Where nothing can be compared.
struct Blind {
    why: String,
    /// The first tick that was passed over for it.
    first: Option<Tick>,
    /// Whether nothing is wrong by now: the journal has only not begun.
    is_begin: bool,
}

impl<C: Core> Walk<'_, C> {
    fn go(&mut self, begin: usize, to: Option<Tick>) {
        let (process, mut starts) = (self.process, self.process.starts().iter().peekable());
        let mut breaks = process.breaks().iter().peekable();
        while starts.next_if(|start| start.before < begin).is_some() {}
        while breaks.next_if(|hole| hole.before < begin).is_some() {}
        let why = "the journal holds no whole core to begin with".to_owned();
        self.blind = Some(Blind { why, first: None, is_begin: true });
        for at in begin..=process.len() {
            while let Some(hole) = breaks.next_if(|hole| hole.before <= at) {
                self.lose(&hole.why);
            }
            while let Some(start) = starts.next_if(|start| start.before <= at) {
                if !self.begin_at(at, start) {
                    return;
                }
            }
            if at == process.len() {
                return;
            }
            let Some(record) = process.record(at) else {
                self.lose(&format!("record {at} does not decode"));
                continue;
            };
            if to.is_some_and(|to| record.tick > to) || !self.run(at, &record) {
                return;
            }
        }
    }

    /// From here on it is not known how the core stands.
    fn lose(&mut self, why: &str) {
        self.core = None;
        // What was passed over was so for the reason that stood then.
        if self.blind.as_ref().is_none_or(|blind| blind.first.is_none()) {
            self.blind = Some(Blind { why: why.to_owned(), first: None, is_begin: false });
        }
    }

    /// A whole core stands in the journal. False when it is not the one that was replayed.
    fn begin_at(&mut self, at: usize, start: &Start) -> bool {
        let Some(bytes) = self.process.core_at(start) else {
            let text =
                format!("the core at the beginning of segment {} is not there", start.segment);
            if self.core.is_none() {
                self.lose(&text);
            }
            return true;
        };
        if let Some(core) = &self.core {
            if core.snapshot() == bytes {
                self.life.cores += 1;
                return true;
            }
            return self.differs_whole(at, &bytes);
        }
        match C::restore(&bytes, self.world) {
            Ok(core) => {
                self.life.step_us = core.step_us();
                self.see();
                self.core = Some(core);
            }
            Err(why) => self.lose(&why),
        }
        true
    }

    /// Runs an output moment. False when it differs.
    fn run(&mut self, at: usize, record: &TickRecord) -> bool {
        self.last = (record.tick, record.moment);
        let Some(core) = &mut self.core else {
            if let Some(blind) = &mut self.blind {
                blind.first.get_or_insert(record.tick);
            }
            return true;
        };
        let input = match postcard::from_bytes::<C::Input>(&record.input) {
            Ok(input) => input,
            Err(bad) => {
                let recorded = format!("{} bytes that are no input: {bad}", record.input.len());
                return self.differs(at, vec![field("input", recorded, "not run")]);
            }
        };
        let (tick, moment, frames) = C::about(&input);
        let named = Tree::of(&(record.tick, record.moment));
        let mut found = differences("moment", &named, &Tree::of(&(tick, moment)), FIELDS_MAX).0;
        let taken: Vec<BundleRef> = frames.iter().map(BundleRef::of_frame).collect();
        found.extend(compared("received", &record.received, &taken));
        if !found.is_empty() {
            return self.differs(at, found);
        }
        if !core.is_next(tick) {
            let text = "no tick that may follow the one before";
            return self.differs(at, vec![field("moment", tick, text)]);
        }
        let Ok(ran) = catch_unwind(AssertUnwindSafe(|| core.run(input))) else {
            return self.differs(at, vec![field("output", "an end of the moment", "a panic")]);
        };
        let digest = core.digest();
        let found = of_moment::<C>(record, &ran, &digest);
        if found.is_empty() {
            self.life.add(tick, digest.whole);
            return true;
        }
        self.differs(at, found)
    }

    fn differs(&mut self, record: usize, mut fields: Vec<Field>) -> bool {
        let ((tick, moment), count) = (self.last, fields.len());
        fields.truncate(FIELDS_MAX);
        self.life.difference = Some(Difference { tick, moment, record, fields, count });
        self.core = None;
        false
    }

    fn differs_whole(&mut self, at: usize, bytes: &[u8]) -> bool {
        let replayed = self.core.as_ref().map_or_else(|| Tree::List(Vec::new()), Core::tree);
        let (fields, count) = match C::restore(bytes, self.world) {
            Ok(recorded) => differences("core", &recorded.tree(), &replayed, FIELDS_MAX),
            Err(why) => (vec![field("core", why, "a core")], 1),
        };
        let (tick, moment) = self.last;
        let fields = match fields.is_empty() {
            true => vec![field("core", "other bytes", "the same values")],
            false => fields,
        };
        self.life.difference = Some(Difference { tick, moment, record: at, fields, count });
        false
    }

    /// Tells what was passed over, when the core is known again or the journal ends.
    fn see(&mut self) {
        match self.blind.take() {
            Some(Blind { why, first: Some(first), .. }) => {
                let last = self.last.0;
                let text = format!("ticks {first} to {last} were not compared: {why}");
                self.life.unchecked.push(text);
            }
            Some(Blind { why, is_begin: false, .. }) => self.life.unchecked.push(why),
            Some(_) | None => {}
        }
    }

    fn end(&mut self) {
        // A life that was killed while it began its journal did nothing.
        let did_nothing = self.process.is_empty() && self.process.is_whole();
        if self.life.difference.is_none() && !did_nothing {
            self.see();
        }
    }
}

fn field(name: &str, recorded: impl ToString, replayed: impl ToString) -> Field {
    Field { name: name.to_owned(), recorded: recorded.to_string(), replayed: replayed.to_string() }
}

/// What of a moment's output is not what the journal says.
fn of_moment<C: Core>(record: &TickRecord, ran: &Ran, digest: &PartedDigest) -> Vec<Field> {
    let events = record.events.get(record.facts as usize..).unwrap_or_default();
    let mut found = match events == ran.events {
        true => Vec::new(),
        false => differences("events", &Tree::of(events), &Tree::of(&ran.events), FIELDS_MAX).0,
    };
    let sent: Vec<BundleRef> = ran.bundles.iter().map(BundleRef::of_outgoing).collect();
    found.extend(compared("sent", &record.sent, &sent));
    if record.digest != *digest {
        found.extend(of_state(C::PARTS, &record.digest, digest));
    }
    found
}

fn compared(name: &str, recorded: &[BundleRef], replayed: &[BundleRef]) -> Vec<Field> {
    if recorded == replayed {
        return Vec::new();
    }
    differences(name, &Tree::of(recorded), &Tree::of(replayed), FIELDS_MAX).0
}

/// Which parts of the core differ.
fn of_state(names: &[&str], recorded: &PartedDigest, replayed: &PartedDigest) -> Vec<Field> {
    let hex = |whole: u64| format!("digest {whole:016x}");
    let parts = recorded.parts.iter().zip(&replayed.parts).zip(names);
    let differing: Vec<&str> = parts.filter(|((a, b), _)| a != b).map(|(_, name)| *name).collect();
    let name = match differing.is_empty() {
        true => "state".to_owned(),
        false => format!("state of {}", differing.join(", ")),
    };
    vec![field(&name, hex(recorded.whole), hex(replayed.whole))]
}
