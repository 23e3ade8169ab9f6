//! What the base's decisions do to the processes: grants, aborts, releases, fences, births, ends.

use super::base::Duty;
use super::{Cluster, Process, Wolf};
use crate::ghosts::kit::{PLAIN, WOLF, epoch, id};
use crate::ghosts::{Beginning, NewReal};
use marchland_common::order::{EntityId, Epoch, Node, Tick};
use marchland_common::world::{Kinds, Place, Pos};

/// What a grant begins with.
fn begin(
    process: &mut Process,
    entity: EntityId,
    wolf: Wolf,
    from: Beginning<'_>,
    clock: (&Kinds, Tick),
) {
    let (kinds, now) = clock;
    if process.wolves.remove(&entity).is_some() {
        process.haunts.disown(entity, &mut process.out);
    }
    process.mirrors.take_over(entity, &mut process.out);
    let kind = kinds.get(WOLF).expect("wolves are declared");
    let Wolf { epoch, place, .. } = wolf;
    let real = NewReal { entity, epoch, kind, place, props: &wolf.props };
    process.haunts.begin(&real, from, now, &mut process.looks, &mut process.out);
    process.wolves.insert(entity, wolf);
}

impl Cluster {
    /// Does what the base has due.
    pub(super) fn do_duties(&mut self) {
        for (entity, duty) in self.base.due(self.now) {
            match duty {
                Duty::Grant { to, wolf, from, handed } => {
                    let from = match (&handed, from) {
                        (Some(handed), Some(from)) => Beginning::Handoff {
                            from,
                            ghost_seq: handed.ghost_seq,
                            ghost_since: handed.ghost_since,
                            hosts: &handed.hosts,
                        },
                        _ if wolf.epoch == epoch(1) => Beginning::Birth,
                        _ => Beginning::Restore,
                    };
                    let process = &mut self.processes[to];
                    self.base.granted(entity, process.node, wolf.epoch);
                    begin(process, entity, wolf, from, (&self.kinds, self.now));
                }
                Duty::Abort { from } => {
                    let Some(at) = self.at(from) else { continue };
                    let process = &mut self.processes[at];
                    let Some(wolf) = process.wolves.get_mut(&entity) else { continue };
                    (wolf.is_frozen, wolf.leaving) = (false, None);
                    assert!(process.mirrors.take_back(entity, &mut process.looks));
                    process.haunts.thaw(entity);
                }
                Duty::End { at, epoch } => self.end(entity, at, epoch),
            }
        }
    }

    /// A release or a fence: the copy of that epoch goes, what is seen of it stays.
    fn end(&mut self, entity: EntityId, node: Node, epoch: Epoch) {
        let Some(at) = self.at(node) else { return };
        let process = &mut self.processes[at];
        if process.wolves.get(&entity).is_none_or(|wolf| wolf.epoch != epoch) {
            return;
        }
        process.wolves.remove(&entity);
        let clock = (&self.kinds, self.now);
        process.mirror(clock, |mirrors, cx| mirrors.from_real(entity, epoch, cx));
        process.haunts.disown(entity, &mut process.out);
        process.mirror(clock, |mirrors, cx| mirrors.released(entity, cx));
    }

    /// The owner ends an entity.
    pub(super) fn destroy(&mut self, entity: EntityId) -> bool {
        let Some(epoch) = self.wolf(entity).filter(|w| w.leaving.is_none()).map(|w| w.epoch) else {
            return false;
        };
        let at = self.base.owner(entity).and_then(|owner| self.at(owner)).expect("it runs there");
        let process = &mut self.processes[at];
        process.wolves.remove(&entity);
        process.haunts.destroy(entity, &mut process.looks, &mut process.out);
        process.mirrors.bury(entity, epoch, true, self.now);
        self.base.forget(entity);
        true
    }

    /// A new wolf, at the owner of its strip.
    pub(super) fn bear(&mut self, n: u64, pos: Pos) {
        let props = self.kinds.get(WOLF).expect("wolves are declared").defaults();
        let place = Place { space: PLAIN, pos, heading: 0 };
        let owner = self.map.layout(place.space).and_then(|layout| layout.cell_at(pos).owner);
        let to = owner.and_then(|owner| self.at(owner)).expect("every strip has a living owner");
        let wolf =
            Wolf { epoch: epoch(1), place, props, dirty: 0, leaving: None, is_frozen: false };
        self.base.bear(id(n), wolf, to, self.now);
    }
}
