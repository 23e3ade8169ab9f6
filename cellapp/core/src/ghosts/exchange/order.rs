//! The order in one bundle: ghosts first, then signals.

#![allow(clippy::unwrap_used)]
use super::*;
use crate::ghosts::kit::{HEALTH, epoch, id};
use crate::signals::{Route, SignalOut, Signals, Whereabouts};
use bytes::Bytes;
use marchland_common::world::Pos;

/// An entity is born, changes and calls somebody on a neighbouring cell, all in one tick: whoever
/// hears the call knows the caller as it was when it called.
#[test]
fn nobody_hears_of_an_entity_before_it_is_shown_as_it_was_when_it_called() {
    let mut cluster = Cluster::new();
    let mut caller_signals = Signals::default();
    let mut listener_signals = Signals::default();
    for n in 1..=1_000 {
        let entity = id(n);
        cluster.bear(n, Pos::metres(90, 50));
        cluster.now = cluster.now.next();
        cluster.do_duties();
        let wolf = cluster.wolf(entity).unwrap();
        wolf.props[usize::from(HEALTH)] = Value::Int(n as i64);
        wolf.dirty = 1 << HEALTH;
        cluster.build(0);
        let mut signals = SignalOut::default();
        let to = (id(5_000), Whereabouts::There(cell(2)));
        let from = (entity, epoch(1));
        let now = cluster.now;
        let route = caller_signals.send(from, to, Bytes::from_static(b"howl"), now, &mut signals);
        assert_eq!(route, Route::To(cell(2)));

        let out = std::mem::take(&mut cluster.processes[0].out);
        let bundle = out
            .mail
            .into_iter()
            .chain(signals.mail.drain(..).map(|(to, signal)| (to, CellToCell::Signal(signal))));
        let mut heard = 0;
        for (_, message) in bundle.filter(|(to, _)| *to == cell(2)) {
            let clock = (&cluster.kinds, cluster.now);
            let host = &mut cluster.processes[1];
            if host.mirror(clock, |mirrors, cx| mirrors.apply(cell(1), &message, cx)) {
                continue;
            }
            let CellToCell::Signal(signal) = message else { panic!("{message:?}") };
            let mut ready = SignalOut::default();
            listener_signals.receive(signal, Whereabouts::Here, cluster.now, &mut ready);
            for signal in ready.ready {
                let caller = host.looks.get(signal.source).expect("the caller is known");
                assert_eq!(caller.props()[0], (HEALTH, Value::Int(n as i64)));
                heard += 1;
            }
        }
        assert_eq!(heard, 1);
    }
}
