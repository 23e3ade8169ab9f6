//! From what a log says to pieces in the core, a few at a time.

use super::{ForeignLog, Shared, Terms};
use marchland_baseapp_core::io::{AdoptStage, AdoptedSlot, BaseOrder};
use marchland_baseapp_core::log::Image;
use marchland_common::cluster::TakeOver;
use marchland_common::order::{SlotId, Term};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Most pieces on their way to the core: with those of 48 KiB that a tick writes to the log.
const PIECES_MAX: u32 = 16;
/// For how long a sign of the core is waited for before it is looked again.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// After what time without one pieces are handed over again.
const AGAIN: Duration = Duration::from_secs(1);

/// A slot on its way into the core.
struct Going {
    slot: SlotId,
    term: Term,
    image: Image,
    /// The first piece that the core does not have.
    next: u32,
    /// The first one that was not handed over.
    unsent: u32,
    stage: Option<AdoptStage>,
}

impl Going {
    const fn under_way(&self) -> u32 {
        self.unsent.saturating_sub(self.next)
    }

    /// Whether the core has all of it, durably or not.
    fn has_come(&self) -> bool {
        match self.stage {
            Some(AdoptStage::Held | AdoptStage::Refused(_)) => true,
            Some(AdoptStage::Coming(_)) | None => false,
        }
    }

    /// Takes in what the core says. True if that is news.
    fn hear(&mut self, said: &[AdoptedSlot], take: &TakeOver) -> bool {
        let own = said.iter().find(|s| {
            (s.slot, s.term, s.from, s.digest)
                == (self.slot, self.term, take.from, self.image.digest)
        });
        let stage = own.map(|own| own.stage);
        let is_news = stage.is_some() && stage != self.stage;
        if is_news {
            self.stage = stage;
        }
        if let Some(AdoptStage::Coming(next)) = stage {
            self.next = next;
            self.unsent = self.unsent.max(next);
        }
        is_news
    }
}

/// Has everything that a log holds of the ordered slots written down here, and returns what is: those
/// whose keys changed meanwhile are left out. The error says in words why it is nothing.
pub(super) fn feed(shared: &Shared, take: &TakeOver, log: &ForeignLog) -> Result<Terms, String> {
    let mut queue: VecDeque<(SlotId, Term)> = take.slots.iter().copied().collect();
    let (mut going, mut held, mut left_out) = (Vec::<Going>::new(), Terms::new(), Vec::new());
    let mut adopted = shared.means.adopted.clone();
    let mut heard = Instant::now();
    while !queue.is_empty() || !going.is_empty() {
        let said = adopted.borrow_and_update().clone();
        for one in &mut going {
            if one.hear(&said, take) {
                heard = Instant::now();
                shared.touch(take.from.name);
            }
        }
        if heard.elapsed() > AGAIN {
            going.iter_mut().for_each(|one| one.unsent = one.next);
            heard = Instant::now();
        }
        going.retain(|one| {
            let own = (one.slot, one.term);
            let stands = shared.stands(take, own);
            match one.stage {
                Some(AdoptStage::Held) if stands => held.push(own),
                Some(AdoptStage::Refused(why)) => left_out.push(format!("{}: {why:?}", one.slot)),
                _ => {}
            }
            stands && !one.has_come()
        });
        begin(&mut queue, &mut going, &mut left_out, (shared, take, log));
        hand_over(&mut going, (shared, take, log))?;
        let change = async { timeout(LOOK_EVERY, adopted.changed()).await };
        if !going.is_empty() && matches!(shared.io.block_on(change), Ok(Err(_))) {
            return Err("this process ends".to_owned());
        }
    }
    held.retain(|slot| shared.stands(take, *slot));
    if !left_out.is_empty() {
        tracing::warn!(from = %take.from, ?left_out, "slots are not taken over");
    }
    if held.is_empty() {
        return Err(match left_out.is_empty() {
            true => "the keys of its slots changed meanwhile".to_owned(),
            false => format!("nothing in its log can go on here: {}", left_out.join("; ")),
        });
    }
    held.sort_unstable();
    Ok(held)
}

type About<'a> = (&'a Shared, &'a TakeOver, &'a ForeignLog);

/// Makes images of the next slots, as long as more pieces may be on their way.
fn begin(
    queue: &mut VecDeque<(SlotId, Term)>,
    going: &mut Vec<Going>,
    left_out: &mut Vec<String>,
    (shared, take, log): About<'_>,
) {
    let unsent = |going: &[Going]| -> u32 {
        going.iter().map(|one| one.image.count().saturating_sub(one.next)).sum()
    };
    while unsent(going) < PIECES_MAX
        && let Some((slot, term)) = queue.pop_front()
    {
        if !shared.stands(take, (slot, term)) {
            continue;
        }
        match log.store().image_to_take_over(slot, term) {
            Ok(image) => {
                let (next, unsent, stage) = (0, 0, None);
                going.push(Going { slot, term, image, next, unsent, stage });
            }
            Err(why) => left_out.push(format!("{slot}: {why}")),
        }
    }
}

/// Hands the next pieces to the core.
fn hand_over(going: &mut [Going], (shared, take, log): About<'_>) -> Result<(), String> {
    let mut room = PIECES_MAX.saturating_sub(going.iter().map(Going::under_way).sum());
    for one in going {
        while room > 0 && one.unsent < one.image.count() {
            let chunk = one.image.piece(one.slot, one.term, one.unsent);
            let (from, through) = (take.from, log.through());
            let order = BaseOrder::Adopt { from, through, chunk };
            if shared.means.orders.send(order).is_err() {
                return Err("this process ends".to_owned());
            }
            one.unsent += 1;
            room -= 1;
        }
    }
    Ok(())
}
