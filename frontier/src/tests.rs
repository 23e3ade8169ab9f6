//! The declarations hold together, and hostile arguments do nothing.

use super::*;
use marchland_common::order::{EntityId, SlotId};

#[test]
fn property_indices_name_what_the_kinds_declare() {
    let kinds = kinds();
    let avatar = kinds.get(AVATAR).expect("declared");
    assert_eq!(avatar.prop("gold"), Some(avatar_props::GOLD));
    assert_eq!(avatar.prop("scouted"), Some(avatar_props::SCOUTED));
    assert_eq!(avatar.prop("howls"), Some(avatar_props::HOWLS));
    let wolf = kinds.get(WOLF).expect("declared");
    assert_eq!(wolf.prop("dying"), Some(wolf_props::DYING));
    assert_eq!(wolf.prop("bitten"), Some(wolf_props::BITTEN));
}

#[test]
fn every_method_reads_back_under_its_declared_index() {
    let kinds = kinds();
    let avatar = kinds.get(AVATAR).expect("declared");
    let target = EntityId::new(SlotId(3), 7);
    for call in [
        Method::Attack(target),
        Method::Give(target, 5),
        Method::Heal,
        Method::Portal,
        Method::Write(vec![1]),
        Method::Say(vec![2]),
        Method::Scout,
    ] {
        let index = avatar.method(call.name()).expect("declared");
        assert_eq!(Method::read(index, &call.args()), Some(call.clone()));
        assert_eq!(Method::read(index, &[0xff; 11]), None, "{call:?}");
    }
}

#[test]
fn homes_and_dens_lie_inside_and_come_back_the_same() {
    let bounds = map::bounds_of(OUTLANDS);
    assert!(wolf_dens(200, 7).iter().all(|d| bounds.contains(d.pos)));
    assert_eq!(wolf_dens(5, 7), wolf_dens(5, 7));
    assert_ne!(wolf_dens(5, 7), wolf_dens(5, 8));
    assert_eq!(home_of("bot-1"), home_of("bot-1"));
}
