//! The window of a cellapp after bundles of it were lost, and after its base came back: its ticks
//! count as durable again when it has said everything that it holds, and not a bundle earlier.

use crate::restart::reborn;
use crate::support::*;
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::*;
use marchland_common::world::*;

/// What a cellapp was told last that is durable of its ticks.
fn durable(cluster: &Cluster, number: u16) -> Option<u64> {
    let node = cluster.bases[0].node;
    cluster.owners[&cell(number)].durable.get(&node).copied().flatten().map(|tick| tick.0)
}

/// The questions that a cellapp was asked, in order.
fn questions(cluster: &Cluster, number: u16) -> Vec<u64> {
    cluster.owners[&cell(number)].told(|msg| match msg {
        BaseToCell::Resync { question } => Some(*question),
        _ => None,
    })
}

fn listed(question: u64) -> CellToBase {
    CellToBase::Listed { question }
}

fn lists(cluster: &Cluster) -> usize {
    let events = cluster.bases[0].events.iter();
    events.filter(|event| **event == Event::Listed { cell: cell(1) }).count()
}

/// Bundles of a cellapp to the base do not arrive.
fn lose_bundles(cluster: &mut Cluster, number: u16, count: u64) {
    *cluster.owner(number).n.get_mut(&base(1)).unwrap() += count;
}

#[test]
fn after_lost_bundles_no_tick_counts_until_the_cellapp_has_said_what_it_holds() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.ticks(3);
    cluster.owner(1).lists = false;
    cluster.owner(2).lists = false;
    let whole = cluster.tick;
    lose_bundles(&mut cluster, 1, 2);
    cluster.ticks(12);
    assert_eq!(durable(&cluster, 1), Some(whole), "a later bundle says nothing of a lost one");
    assert_eq!(durable(&cluster, 2), Some(cluster.tick), "nothing of the others was lost");
    let asked = questions(&cluster, 1);
    assert_eq!(asked.iter().filter(|question| **question == 2).count(), 12, "in every tick");

    let claim = cluster.owner(1).copies[&entity].clone();
    let (epoch, seq, digest) = (claim.epoch, claim.seq, claim.digest);
    cluster.owner(1).say(entity, CellToBase::Holding { entity, epoch, seq, digest });
    cluster.ticks(2);
    assert_eq!(durable(&cluster, 1), Some(whole), "there may be more of the list");
    cluster.owner(1).say(entity, listed(2));
    cluster.tick();
    assert_eq!(durable(&cluster, 1), Some(cluster.tick), "and now it was all");
    let asked = questions(&cluster, 1).len();
    cluster.ticks(5);
    assert_eq!(durable(&cluster, 1), Some(cluster.tick));
    assert_eq!(questions(&cluster, 1).len(), asked, "who has answered is not asked again");
}

#[test]
fn a_loss_costs_a_healthy_cellapp_one_round_trip() {
    let mut cluster = Cluster::new();
    cluster.born();
    cluster.ticks(3);
    let (whole, before) = (cluster.tick, lists(&cluster));
    lose_bundles(&mut cluster, 1, 3);
    cluster.tick();
    assert_eq!(durable(&cluster, 1), Some(whole));
    cluster.tick();
    assert_eq!(durable(&cluster, 1), Some(cluster.tick));
    assert_eq!(lists(&cluster), before + 1, "the journal tells since when it counts");
}

#[test]
fn a_list_that_was_begun_before_the_loss_does_not_count() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.ticks(3);
    let whole = cluster.tick;
    cluster.owner(1).lists = false;
    lose_bundles(&mut cluster, 1, 1);
    cluster.tick();
    assert_eq!(questions(&cluster, 1).last(), Some(&2));
    // The first part of its answer is lost as well, and the end of it arrives.
    lose_bundles(&mut cluster, 1, 1);
    cluster.owner(1).say(entity, listed(2));
    cluster.ticks(3);
    assert_eq!(durable(&cluster, 1), Some(whole));
    assert_eq!(questions(&cluster, 1).last(), Some(&3));
    cluster.owner(1).say(entity, listed(1));
    cluster.owner(1).say(entity, listed(77));
    cluster.ticks(2);
    assert_eq!(durable(&cluster, 1), Some(whole));
    assert_eq!(cluster.bases[0].refusals(Refused::Malformed), 1, "nobody asked that");
    cluster.owner(1).say(entity, listed(3));
    cluster.tick();
    assert_eq!(durable(&cluster, 1), Some(cluster.tick));
}

#[test]
fn what_came_whole_before_a_loss_becomes_durable_behind_it() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.ticks(3);
    let before = cluster.tick;
    cluster.owner(1).step(entity, vec![Change::Prop(MOOD, Value::Int(1))]);
    cluster.flush();
    assert_eq!(durable(&cluster, 1), Some(before));
    let stepped = cluster.tick;
    cluster.owner(1).lists = false;
    lose_bundles(&mut cluster, 1, 1);
    cluster.flush();
    cluster.sync();
    assert_eq!(durable(&cluster, 1), Some(stepped));
}

/// Whatever the log says of how far it was.
#[test]
fn a_base_that_came_back_counts_no_tick_of_a_cellapp_that_has_not_said_what_it_holds() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.ticks(3);
    for number in 1..=3 {
        cluster.owner(number).lists = false;
    }
    let mut again = reborn(&cluster, cluster.bases[0].log.len());
    again.owner(1).got.clear();
    again.ticks(10);
    assert_eq!([1, 2, 3].map(|number| durable(&again, number)), [None, None, None]);
    assert_eq!(questions(&again, 1).len(), 10, "asked until it answers");
    again.owner(1).lists = true;
    again.tick();
    assert_eq!(durable(&again, 1), Some(again.tick));
    assert_eq!(durable(&again, 2), None, "each for itself");
    again.owner(1).step(entity, vec![Change::Prop(MOOD, Value::Int(1))]);
    again.ticks(2);
    assert_eq!(durable(&again, 1), Some(again.tick));
}

#[test]
fn a_cellapp_that_holds_nothing_says_so_and_is_not_waited_for() {
    let mut cluster = Cluster::new();
    cluster.born();
    let mut again = reborn(&cluster, cluster.bases[0].log.len());
    again.ticks(2);
    assert!(again.owners[&cell(3)].copies.is_empty());
    assert_eq!(durable(&again, 3), Some(again.tick));
}

/// The model's OpensUnlisted: it runs no tick longer than its window reaches.
#[test]
fn a_stale_copy_hears_that_it_is_one_with_the_first_tick_that_counts() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    let stale = cluster.owner(1).copies[&entity].clone();
    let tick = cluster.tick + 1;
    cluster.owner(1).prepare(entity, cell(2), tick, HandoffWhy::Border);
    cluster.ticks(4);
    assert!(cluster.owner(2).holds(entity) && !cluster.owner(1).holds(entity));
    // It has missed all of that, and so does the next life of the base.
    cluster.owner(1).copies.insert(entity, stale);
    let mut again = reborn(&cluster, cluster.bases[0].log.len());
    again.owner(1).durable.clear();
    for _ in 0..6 {
        again.flush();
        let knows = !again.owner(1).holds(entity);
        assert!(knows || durable(&again, 1).is_none(), "an open window and no word");
        again.sync();
    }
    assert!(!again.owner(1).holds(entity));
    assert_eq!(durable(&again, 1), Some(again.tick));
}

/// The word that a claim ended and the tick in which it was raised wait for the same record.
#[test]
fn a_tick_that_a_fence_is_the_answer_to_counts_no_earlier_than_the_fence_leaves() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.ticks(3);
    let stale = cluster.owner(1).copies[&entity].clone();
    // Its handoff is written and not durable when a third one claims the entity.
    let tick = cluster.tick + 1;
    cluster.owner(1).prepare(entity, cell(2), tick, HandoffWhy::Border);
    cluster.flush();
    let claim =
        CellToBase::Holding { entity, epoch: stale.epoch, seq: stale.seq, digest: stale.digest };
    cluster.owner(3).copies.insert(entity, stale);
    let before = cluster.tick;
    cluster.owner(3).say(entity, claim);
    cluster.flush();
    assert!(cluster.owner(3).holds(entity));
    assert_eq!(durable(&cluster, 3), Some(before));
    cluster.sync();
    assert!(!cluster.owner(3).holds(entity));
    assert_eq!(durable(&cluster, 3), Some(cluster.tick));
}
