use super::*;
use crate::ghosts::kit::{FUR, HEALTH};
use proptest::prelude::*;

const OTHERS: u64 = 10;

#[derive(Clone, Debug)]
enum Op {
    Walk(u64, i32, i32),
    Hurt(u64, i64),
    Dye(u64, Vec<u8>),
    Vanish(u64),
    Appear(u64, i32, i32),
    Restore(u64),
    Adopt(u64),
    Attach(u64, i32),
    Tick,
}

fn op() -> impl Strategy<Value = Op> {
    let wolf = 1..=OTHERS;
    let far = -80_000..80_000_i32;
    prop_oneof![
        10 => (wolf.clone(), far.clone(), far.clone()).prop_map(|(n, x, y)| Op::Walk(n, x, y)),
        4 => (wolf.clone(), 0..9_i64).prop_map(|(n, health)| Op::Hurt(n, health)),
        3 => (wolf.clone(), proptest::collection::vec(any::<u8>(), 0..90))
            .prop_map(|(n, fur)| Op::Dye(n, fur)),
        1 => (3..=OTHERS).prop_map(Op::Vanish),
        2 => (3..=OTHERS, far.clone(), far).prop_map(|(n, x, y)| Op::Appear(n, x, y)),
        1 => wolf.clone().prop_map(Op::Restore),
        1 => wolf.prop_map(Op::Adopt),
        1 => (1..3_u64, 0..60_000_i32).prop_map(|(n, radius)| Op::Attach(n, radius)),
        12 => Just(Op::Tick),
    ]
}

impl Field {
    fn op(&mut self, op: &Op) {
        let known = |field: &Self, n: u64| field.looks.get(id(n)).is_some();
        match op {
            Op::Walk(n, x, y) => self.step(*n, spot(*x, *y)),
            Op::Hurt(n, health) if known(self, *n) => self.set(*n, HEALTH, Value::Int(*health)),
            Op::Dye(n, fur) if known(self, *n) => self.set(*n, FUR, Value::Bytes(fur.clone())),
            Op::Vanish(n) => drop(self.looks.remove(id(*n))),
            Op::Appear(n, x, y) if !known(self, *n) => {
                // An older life never comes back.
                let e = self.now.0;
                self.show(*n, spot(*x, *y), e, 1, e);
            }
            Op::Restore(n) if known(self, *n) => {
                let e = self.looks.get(id(*n)).unwrap().epoch().grant() + 1;
                self.show(*n, at(*n as i32, 0), e, 1, e);
            }
            Op::Adopt(n) if known(self, *n) => {
                let look = self.looks.get(id(*n)).unwrap();
                let (epoch, seq) = (look.epoch().next_grant(), look.seq());
                self.looks.adopt(id(*n), epoch, seq);
            }
            Op::Attach(n, radius) => self.attach(*n, *radius),
            Op::Tick => self.run(),
            Op::Hurt(..) | Op::Dye(..) | Op::Appear(..) | Op::Restore(_) | Op::Adopt(_) => {}
        }
    }
}

fn reread<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    postcard::from_bytes(&postcard::to_stdvec(value).unwrap()).unwrap()
}

proptest! {
    /// Whatever happens around it, and however small its budget: a client is never told anything
    /// that it cannot follow, and when it is quiet it holds what is there. A field that is read
    /// back from a snapshot in the middle tells the same.
    #[test]
    fn a_client_ends_up_with_what_is_there(
        bytes in prop_oneof![Just(40_usize), 60..200_usize, Just(4_096)],
        ops in proptest::collection::vec(op(), 1..150),
        split in 0..150_usize,
    ) {
        let mut field = Field::new(ViewLimits { bytes, ..LIMITS });
        for n in 1..=OTHERS {
            field.put(n, at(n as i32, 0));
        }
        field.attach(1, 30_000);
        field.attach(2, 60_000);
        let split = split.min(ops.len());
        ops[..split].iter().for_each(|op| field.op(op));
        let mut copy = Field::new(field.witnesses.limits);
        copy.looks = reread(&field.looks);
        copy.witnesses = reread(&field.witnesses);
        copy.clients.clone_from(&field.clients);
        copy.now = field.now;
        for op in &ops[split..] {
            field.op(op);
            copy.op(op);
        }
        for _ in 0..40 {
            field.run();
            copy.run();
        }
        prop_assert_eq!(&copy.clients, &field.clients);
        prop_assert_eq!(&copy.witnesses, &field.witnesses);
        for n in 1..=2 {
            field.check(n);
            let held = field.client(n).held.len();
            let (entered, left): (Vec<_>, Vec<_>) = field
                .balance()
                .into_iter()
                .filter(|((witness, _), _)| *witness == id(n))
                .map(|(_, counts)| counts)
                .unzip();
            let open = entered.iter().sum::<usize>() - left.iter().sum::<usize>();
            prop_assert_eq!(open, held, "every enter that was not followed by a leave is held");
        }
    }
}
