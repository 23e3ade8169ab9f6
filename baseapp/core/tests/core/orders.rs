//! Orders of the operator: each ends once, by its deadline, and says who owns the entity then.

use crate::support::*;
use marchland_baseapp_core::io::*;
use marchland_common::journal::Event;
use marchland_common::msg::*;
use marchland_common::order::*;
use marchland_common::world::*;

fn order(cluster: &mut Cluster, order: u64, entity: EntityId, to: Node) {
    let order = BaseOrder::Handoff { order, entity, to, hold: 50, within: 20 };
    cluster.bases[0].orders_in.push(order);
}

/// The owner does what it is ordered.
fn obey(cluster: &mut Cluster) {
    let tick = cluster.tick + 1;
    let orders = cluster.owner(1).told(|m| match m {
        BaseToCell::Order(order) => Some(*order),
        _ => None,
    });
    for order in orders {
        let why = HandoffWhy::Order(order.order);
        cluster.owner(1).prepare(order.entity, order.to, tick, why);
    }
}

struct End {
    order: u64,
    refused: Option<HandoffRefusal>,
    owner: Option<Node>,
    epoch: Epoch,
    ticks: (Option<Tick>, Option<Tick>),
}

fn ends(cluster: &Cluster) -> Vec<End> {
    let answers = cluster.bases[0].answers.iter();
    answers
        .filter_map(|answer| match *answer {
            OrderAnswer::Handoff {
                order, refused, owner, epoch, tick_last, tick_first, ..
            } => Some(End { order, refused, owner, epoch, ticks: (tick_last, tick_first) }),
            _ => None,
        })
        .collect()
}

#[test]
fn an_order_that_is_carried_out_says_when_the_entity_left_and_arrived() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    order(&mut cluster, 7, entity, cell(2));
    cluster.tick();
    let got = cluster.owner(1).told(|m| match m {
        BaseToCell::Order(order) => Some(*order),
        _ => None,
    });
    let deadline = Tick(cluster.tick + 20);
    let expected = HandoffOrder { order: 7, entity, to: cell(2), hold: 50, deadline };
    assert_eq!(got, [expected]);
    obey(&mut cluster);
    let left = cluster.tick + 1;
    cluster.tick();
    assert!(ends(&cluster).is_empty(), "the new owner has not reported");
    cluster.flush();
    assert!(ends(&cluster).is_empty(), "reported, but not durable");
    cluster.sync();
    let all = ends(&cluster);
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].order, all[0].refused), (7, None));
    assert_eq!((all[0].owner, all[0].epoch), (Some(cell(2)), Epoch::of_grant(2)));
    assert_eq!(all[0].ticks, (Some(Tick(left)), Some(Tick(left + 1))));
}

#[test]
fn an_order_that_cannot_even_begin_is_refused_at_once_with_the_owner_of_now() {
    let stranger = Node::new(NodeKind::Cell, 9, 900);
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.declare_dead(cell(3));
    cluster.owner(2).accepting = false;
    cluster.tick();
    let nobody = EntityId::new(entity.slot(), 999);
    let cases = [
        (1, nobody, cell(2), HandoffRefusal::NoSuchEntity),
        (2, entity, cell(1), HandoffRefusal::AlreadyThere),
        (3, entity, cell(3), HandoffRefusal::TargetDead),
        (4, entity, stranger, HandoffRefusal::NotInSpace),
        (5, entity, cell(2), HandoffRefusal::TargetNotAccepting),
    ];
    for (n, entity, to, _) in cases {
        order(&mut cluster, n, entity, to);
    }
    cluster.tick();
    let all = ends(&cluster);
    for (end, (n, id, _, reason)) in all.iter().zip(cases) {
        assert_eq!((end.order, end.refused), (n, Some(reason)));
        assert_eq!(end.owner, (id == entity).then_some(cell(1)));
    }
    assert_eq!(all.len(), cases.len());
}

#[test]
fn of_ten_orders_at_once_one_is_carried_out_and_nine_are_told_that_it_is() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    (0..10).for_each(|n| order(&mut cluster, n, entity, cell(2 + (n % 2) as u16)));
    cluster.tick();
    obey(&mut cluster);
    cluster.ticks(3);
    let all = ends(&cluster);
    let busy = all.iter().filter(|e| e.refused == Some(HandoffRefusal::InProgress)).count();
    assert_eq!((all.len(), busy), (10, 9));
    assert!(all.iter().any(|e| e.order == 0 && e.refused.is_none()));
}

#[test]
fn an_order_ends_at_its_deadline_whatever_its_owner_does() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    order(&mut cluster, 1, entity, cell(2));
    cluster.ticks(20);
    assert!(ends(&cluster).is_empty());
    cluster.ticks(3);
    let all = ends(&cluster);
    assert_eq!(all[0].refused, Some(HandoffRefusal::Deadline));
    assert_eq!(all[0].owner, Some(cell(1)));
    obey(&mut cluster);
    cluster.ticks(3);
    assert_eq!(ends(&cluster).len(), 1, "exactly once, also if it happens later");
    assert!(cluster.owner(2).holds(entity));
}

#[test]
fn a_refusal_of_the_owner_or_an_abort_ends_the_order_with_its_reason() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    order(&mut cluster, 1, entity, cell(2));
    cluster.tick();
    let reason = HandoffRefusal::InProgress;
    cluster.owner(3).say(entity, CellToBase::OrderRefused { order: 1, entity, reason });
    cluster.tick();
    assert!(ends(&cluster).is_empty(), "only who got the order can refuse it");
    cluster.owner(1).say(entity, CellToBase::OrderRefused { order: 1, entity, reason });
    cluster.tick();
    assert_eq!(ends(&cluster)[0].refused, Some(reason));
    order(&mut cluster, 2, entity, cell(2));
    cluster.tick();
    cluster.owner(2).accepting = false;
    cluster.tick();
    cluster.owner(1).got.retain(|m| !matches!(m, BaseToCell::Order(o) if o.order == 1));
    obey(&mut cluster);
    cluster.ticks(2);
    assert_eq!(ends(&cluster)[1].refused, Some(HandoffRefusal::TargetNotAccepting));
}

#[test]
fn an_order_that_a_walk_over_a_border_overtakes_is_told_so() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    order(&mut cluster, 1, entity, cell(3));
    cluster.tick();
    let tick = cluster.tick + 1;
    cluster.owner(1).prepare(entity, cell(2), tick, HandoffWhy::Border);
    cluster.ticks(3);
    let all = ends(&cluster);
    assert_eq!(all[0].refused, Some(HandoffRefusal::NotOwned));
    assert_eq!(all[0].owner, Some(cell(2)));
}

#[test]
fn an_order_to_end_an_entity_reaches_whoever_owns_it() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    let tick = cluster.tick + 1;
    cluster.owner(1).prepare(entity, cell(2), tick, HandoffWhy::Border);
    cluster.flush();
    cluster.bases[0].orders_in.push(BaseOrder::Destroy { entity });
    cluster.tick();
    let told =
        |owner: &Owner| owner.told(|m| matches!(m, BaseToCell::Destroy { .. }).then_some(())).len();
    assert_eq!((told(cluster.owner(1)), told(cluster.owner(2))), (0, 1));
    cluster.owner(2).step(entity, vec![Change::Destroyed]);
    cluster.ticks(2);
    assert!(cluster.bases[0].core.brief(entity).is_none());
    let ended = cluster.bases[0].events.iter().any(|e| matches!(e, Event::Destroyed { .. }));
    assert!(ended && cluster.bases[0].stats.commands == 0);
}

#[test]
fn entities_that_cannot_be_created_are_refused_with_a_reason() {
    let mut cluster = Cluster::new();
    let create = |request, kind, place, props| BaseOrder::Create {
        request,
        kind,
        place,
        argument: Vec::new(),
        props,
    };
    let nowhere = Place { space: SpaceId(4), ..west() };
    let huge = Value::Bytes(vec![0; EntityState::BYTES_MAX]);
    cluster.bases[0].orders_in = vec![
        create(1, KindId(9), west(), Vec::new()),
        create(2, HERO, nowhere, Vec::new()),
        create(3, HERO, west(), vec![(GOLD, Value::Bytes(Vec::new()))]),
        create(4, HERO, west(), vec![(NOTE, huge)]),
        create(5, HERO, west(), vec![(GOLD, Value::Int(7))]),
    ];
    cluster.ticks(2);
    let answers = &cluster.bases[0].answers;
    let refused: Vec<(u64, &str)> = answers
        .iter()
        .filter_map(|answer| match answer {
            OrderAnswer::NotCreated { request, reason } => Some((*request, reason.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(refused.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(refused[0].1.contains("kind 9") && refused[1].1.contains("space 4"));
    assert!(refused[2].1.contains("type") && refused[3].1.contains("allowed"));
    let born = cluster.bases[0].core.briefs(10);
    assert_eq!((born.len(), &born[0].durable[0].1), (1, &Value::Int(7)));
}

#[test]
fn ids_are_handed_out_upwards_and_the_log_reserves_them_in_steps() {
    use marchland_baseapp_core::log::LogRecord;
    let mut cluster = Cluster::with(1, |config| config.id_reserve = 10);
    cluster.slots.retain(|s| s.slot == SlotId(3));
    cluster.announce();
    let born: Vec<u64> = (0..25).map(|_| cluster.born().counter()).collect();
    assert_eq!(born, (1..=25).collect::<Vec<u64>>());
    let reserved: Vec<u64> = cluster.bases[0]
        .records()
        .iter()
        .filter_map(|record| match record {
            LogRecord::IdsReserved { upto, .. } => Some(*upto),
            _ => None,
        })
        .collect();
    assert_eq!(reserved, [10, 20, 30]);
}

#[test]
fn briefs_are_bounded_and_in_order() {
    let mut cluster = Cluster::new();
    (0..9).for_each(|_| {
        cluster.born();
    });
    let briefs = cluster.bases[0].core.briefs(5);
    assert_eq!(briefs.len(), 5);
    assert!(briefs.windows(2).all(|two| two[0].entity < two[1].entity));
}
