//! Journals are bytes from a disk: whatever they say, an audit ends and says something.

use super::*;
use crate::order::{OrderFilter, columns, order};
use marchland_common::journal::{decode_record, encode_record};
use marchland_common::order::Tick;

/// Changes bytes of some records such that they are still records.
fn spoil(history: &mut History, rng: &mut Rng, times: u64) {
    for _ in 0..times {
        let journal = rng.below(history.journals.len() as u64) as usize;
        let records = &mut history.journals[journal].1;
        let at = rng.below(records.len() as u64) as usize;
        let mut bytes = encode_record(&records[at]).unwrap();
        for _ in 0..=rng.below(3) {
            let place = rng.below(bytes.len() as u64) as usize;
            // Runs of set bits are the largest numbers of this encoding.
            let long = rng.chance(1, 2);
            let end = (place + if long { 9 } else { 1 }).min(bytes.len());
            bytes[place..end].fill(if long { 0xff } else { rng.next_u64() as u8 });
        }
        if let Ok(record) = decode_record(&bytes) {
            records[at] = record;
        }
    }
}

/// The largest numbers where rules count on from what they read.
fn exaggerate(event: &mut Event, rng: &mut Rng) {
    let big = u64::MAX - rng.below(2);
    match event {
        Event::Stepped { seq, .. } | Event::GhostApplied { seq, .. } => seq.0 = big,
        Event::Accepted { seq, flow, lsn, .. } => {
            (seq.0, lsn.0) = (big, big);
            if let Some(flow) = flow {
                (flow.sent, flow.before, flow.minted) = (i64::MIN, i64::MAX, i64::MAX);
            }
        }
        Event::OwnerChanged { last_tick, epoch, .. } => {
            *last_tick = last_tick.map(|_| Tick(big));
            epoch.0 = big;
        }
        Event::FirstStep { first_tick, .. } => first_tick.0 = big,
        Event::MessageReleased { value, .. } | Event::Created { value, .. } => *value = i64::MIN,
        Event::ClientSaw { tick, .. } => tick.0 = big,
        Event::Durable { lsn } | Event::Recovered { lsn } => lsn.0 = rng.below(2) * big,
        Event::TicksDropped(dropped) => dropped.to = Tick(big),
        _ => {}
    }
}

fn ends(history: History) {
    let options = options(&history);
    let journals = history.read();
    let (verdict, summary) = judge(&journals, &options);
    assert_eq!(verdict.invariants.len(), invariants().count());
    serde_json::to_string(&(verdict, summary)).unwrap();
    let lines: Vec<_> = order(&journals, &OrderFilter::default()).take(300).collect();
    assert!(columns(&lines).len() > lines.len());
}

fn small(seed: u64) -> History {
    history(Plan { entities: 6, ticks: 100, restart_at: Some(30), ..Plan::new(seed) })
}

proptest! {
    #![proptest_config(crate::testing::cases(64))]

    #[test]
    fn spoilt_records_never_stop_an_audit(seed in any::<u64>(), times in 1_u64..40) {
        let mut history = small(seed);
        spoil(&mut history, &mut Rng(seed), times);
        ends(history);
    }

    #[test]
    fn the_largest_numbers_never_stop_an_audit(seed in any::<u64>(), parts in 2_u64..200) {
        let mut history = small(seed);
        let mut rng = Rng(seed);
        for (_, records) in &mut history.journals {
            for record in records {
                let Record::Tick(tick) = record else { continue };
                if rng.chance(1, 4 * parts) {
                    tick.tick.0 = u64::MAX - rng.below(2);
                    tick.sent.iter_mut().for_each(|bundle| bundle.n = u64::MAX);
                    tick.received.iter_mut().for_each(|bundle| bundle.n = u64::MAX);
                }
                for event in &mut tick.events {
                    if rng.chance(1, parts) {
                        exaggerate(event, &mut rng);
                    }
                }
            }
        }
        ends(history);
    }
}
