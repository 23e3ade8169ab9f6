//! Messages that can never have an effect again leave the state, so that states which differ in
//! nothing else become one.
//!
//! Each rule below argues from what only grows: incarnations, a cellapp's highest epoch, the
//! base's epoch, the image. A test compares the reachable states, network aside, with and without
//! forgetting: they are the same.

use super::state::{Cell, Cluster, Epoch, Msg, Who, refusals_of};

/// Removes the messages that are without effect from here on.
pub fn dead_messages(s: &mut Cluster) {
    let mut net = std::mem::take(&mut s.net);
    net.retain(|msg| !is_dead_at_cell(s, *msg));
    let kept = net.clone();
    net.retain(|msg| !is_dead_at_base(s, &kept, *msg));
    s.net = net;
    forget_history(s);
}

/// What a property remembers about an epoch is over when nothing can add to it: the activation
/// when no Grant of it is left, a refusal when its epoch is. A command that is done is no longer
/// held.
fn forget_history(s: &mut Cluster) {
    for (epoch, active) in s.history.active.iter_mut().enumerate() {
        let granted =
            |msg: &Msg| matches!(msg, Msg::Grant { epoch: e, .. } if usize::from(*e) == epoch);
        if active.is_some() && !s.net.iter().any(granted) {
            *active = None;
        }
    }
    s.history.refused &= refusals_of(s.base.epoch);
    for cell in &mut s.cells {
        if let Some(real) = &mut cell.real {
            real.held &= !real.lineage.commands_after(0);
        }
    }
}

fn is_dead_at_cell(s: &Cluster, msg: Msg) -> bool {
    match msg {
        Msg::Step { .. } | Msg::Prepare { .. } => false,
        // Only mutants look at an Offload.
        Msg::Offload { .. } => true,
        Msg::Grant { to, epoch, .. } => !s.is_current(to) || epoch <= cell(s, to).top,
        Msg::Fenced { to, epoch } | Msg::Release { to, epoch } => fence_is_dead(s, to, epoch),
        Msg::Ack { to, epoch, seq } => {
            is_over(s, to, epoch) || real_matches(s, to, epoch, |real| seq <= real.acked)
        }
        Msg::Commands { to, epoch, open } => {
            is_over(s, to, epoch)
                || real_matches(s, to, epoch, |real| {
                    open & !(real.held | real.lineage.commands_after(0)) == 0
                })
        }
        Msg::Abort { to, epoch, number } => {
            is_over(s, to, epoch)
                || real_matches(s, to, epoch, |real| {
                    number < real.attempts || number == real.attempts && real.frozen.is_none()
                })
        }
    }
}

/// A cellapp's highest epoch never falls, and a copy always carries it.
fn is_over(s: &Cluster, to: Who, epoch: Epoch) -> bool {
    let cell = cell(s, to);
    !s.is_current(to) || epoch < cell.top || epoch == cell.top && cell.real.is_none()
}

fn fence_is_dead(s: &Cluster, to: Who, epoch: Epoch) -> bool {
    is_over(s, to, epoch)
}

fn real_matches(
    s: &Cluster,
    to: Who,
    epoch: Epoch,
    matches: impl Fn(&super::state::Real) -> bool,
) -> bool {
    cell(s, to).real.is_some_and(|real| real.epoch == epoch && matches(&real))
}

/// A step under an epoch that is over can only bring Fenced. One under the current epoch that the
/// image already has can bring no more than the acknowledgement that is already under way.
fn is_dead_at_base(s: &Cluster, kept: &[Msg], msg: Msg) -> bool {
    let (from, epoch, seq) = match msg {
        Msg::Step { from, epoch, lineage } | Msg::Prepare { from, epoch, lineage, .. } => {
            (from, epoch, lineage.len())
        }
        _ => return false,
    };
    if epoch < s.base.epoch {
        let answered = kept.iter().any(|other| match *other {
            Msg::Fenced { to, epoch: e } | Msg::Release { to, epoch: e } => {
                (to, e) == (from, epoch)
            }
            _ => false,
        });
        // The last in order of those that would bring the same Fenced stands for all of them.
        return answered || fence_is_dead(s, from, epoch) || outlived(kept, msg, from, epoch);
    }
    let is_step = matches!(msg, Msg::Step { .. });
    let stale = is_step && s.base.heard && seq <= s.base.image.len();
    stale && (!s.is_current(from) || outlived(kept, msg, from, epoch))
}

fn outlived(kept: &[Msg], msg: Msg, from: Who, epoch: Epoch) -> bool {
    kept.iter().rev().take_while(|other| **other > msg).any(|other| match *other {
        Msg::Step { from: f, epoch: e, .. } | Msg::Prepare { from: f, epoch: e, .. } => {
            (f, e) == (from, epoch)
        }
        _ => false,
    })
}

fn cell(s: &Cluster, who: Who) -> Cell {
    s.cells[usize::from(who.cell)]
}
