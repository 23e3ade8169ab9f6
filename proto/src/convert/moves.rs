//! Slots on their way, as the leading manager and the keepers speak of them.

use super::common::{BadMessage, narrow};
use crate::operator as wire;
use marchland_common::cluster::{MoveStage, SlotMove, TakeOver, TakeOverStage, TakeOverState};
use marchland_common::order::{Incarnation, Node, NodeName, SlotId, Term};

/// Slots, each under the term that an order rests on.
type Terms = Vec<(SlotId, Term)>;
/// Slots for somebody.
pub type Gives = Vec<(NodeName, Terms)>;

/// The wire's form of an order to give slots away.
#[must_use]
pub fn gives_to_wire(gives: &Gives) -> Vec<wire::GiveSlots> {
    let give = |(to, slots): &(NodeName, Terms)| wire::GiveSlots {
        to: to.to_string(),
        slots: terms_to_wire(slots),
    };
    gives.iter().map(give).collect()
}

/// Reads an order to give slots away.
///
/// # Errors
/// [`BadMessage`] when a name is none or a slot out of range.
pub fn gives_from_wire(gives: &[wire::GiveSlots]) -> Result<Gives, BadMessage> {
    let give = |give: &wire::GiveSlots| {
        let to = give.to.parse().map_err(|_| BadMessage::Unknown("gives.to"))?;
        Ok((to, terms_from_wire(&give.slots, "gives.slots.slot")?))
    };
    gives.iter().map(give).collect()
}

/// The wire's form of an order to take slots over.
#[must_use]
pub fn takes_to_wire(takes: &[TakeOver]) -> Vec<wire::TakeOver> {
    let take = |take: &TakeOver| wire::TakeOver {
        from: take.from.name.to_string(),
        from_incarnation: take.from.incarnation.0,
        log: take.log.clone(),
        slots: terms_to_wire(&take.slots),
    };
    takes.iter().map(take).collect()
}

/// Reads an order to take slots over.
///
/// # Errors
/// [`BadMessage`] when a name is none or a slot out of range.
pub fn takes_from_wire(takes: &[wire::TakeOver]) -> Result<Vec<TakeOver>, BadMessage> {
    let take = |take: &wire::TakeOver| {
        Ok(TakeOver {
            from: life(&take.from, take.from_incarnation)?,
            log: take.log.clone(),
            slots: terms_from_wire(&take.slots, "takes.slots.slot")?,
        })
    };
    takes.iter().map(take).collect()
}

/// The wire's form of how far taking over is.
#[must_use]
pub fn take_state_to_wire(state: &TakeOverState) -> wire::TakeOverState {
    let (stage, reason) = match &state.stage {
        TakeOverStage::Reading => (wire::take_over_state::Stage::Reading, String::new()),
        TakeOverStage::Held => (wire::take_over_state::Stage::Held, String::new()),
        TakeOverStage::Refused(why) => (wire::take_over_state::Stage::Refused, why.clone()),
    };
    wire::TakeOverState {
        from: state.from.name.to_string(),
        from_incarnation: state.from.incarnation.0,
        stage: stage.into(),
        reason,
        slots: terms_to_wire(&state.slots),
    }
}

/// Reads how far taking over is.
///
/// # Errors
/// [`BadMessage`] when a name is none, a stage unknown or a slot out of range.
pub fn take_state_from_wire(state: &wire::TakeOverState) -> Result<TakeOverState, BadMessage> {
    let stage = match wire::take_over_state::Stage::try_from(state.stage) {
        Ok(wire::take_over_state::Stage::Reading) => TakeOverStage::Reading,
        Ok(wire::take_over_state::Stage::Held) => TakeOverStage::Held,
        Ok(wire::take_over_state::Stage::Refused) => TakeOverStage::Refused(state.reason.clone()),
        Err(_) => return Err(BadMessage::Unknown("takes.stage")),
    };
    let from = life(&state.from, state.from_incarnation)?;
    Ok(TakeOverState { from, stage, slots: terms_from_wire(&state.slots, "takes.slots.slot")? })
}

/// The wire's form of a slot on its way.
#[must_use]
pub fn move_to_wire(going: &SlotMove) -> wire::MovingSlot {
    let (stage, holder) = match going.stage {
        MoveStage::Closing => (wire::moving_slot::Stage::Closing, 0),
        MoveStage::Copying => (wire::moving_slot::Stage::Copying, 0),
        MoveStage::Held(life) => (wire::moving_slot::Stage::Held, life.0),
    };
    wire::MovingSlot {
        slot: going.slot.0.into(),
        term: going.term.0,
        to: going.to.to_string(),
        stage: stage.into(),
        holder,
    }
}

/// Reads a slot on its way.
///
/// # Errors
/// [`BadMessage`] when a name is none, a stage unknown or a slot out of range.
pub fn move_from_wire(going: &wire::MovingSlot) -> Result<SlotMove, BadMessage> {
    let stage = match wire::moving_slot::Stage::try_from(going.stage) {
        Ok(wire::moving_slot::Stage::Closing) => MoveStage::Closing,
        Ok(wire::moving_slot::Stage::Copying) => MoveStage::Copying,
        Ok(wire::moving_slot::Stage::Held) => MoveStage::Held(Incarnation(going.holder)),
        Err(_) => return Err(BadMessage::Unknown("moves.stage")),
    };
    Ok(SlotMove {
        slot: SlotId(narrow(going.slot, "moves.slot")?),
        term: Term(going.term),
        to: going.to.parse().map_err(|_| BadMessage::Unknown("moves.to"))?,
        stage,
    })
}

fn life(name: &str, incarnation: u64) -> Result<Node, BadMessage> {
    let name = name.parse().map_err(|_| BadMessage::Unknown("takes.from"))?;
    Ok(Node { name, incarnation: Incarnation(incarnation) })
}

fn terms_to_wire(slots: &Terms) -> Vec<wire::SlotTerm> {
    let term = |(slot, term): &(SlotId, Term)| wire::SlotTerm { slot: slot.0.into(), term: term.0 };
    slots.iter().map(term).collect()
}

fn terms_from_wire(slots: &[wire::SlotTerm], field: &'static str) -> Result<Terms, BadMessage> {
    let term = |slot: &wire::SlotTerm| Ok((SlotId(narrow(slot.slot, field)?), Term(slot.term)));
    slots.iter().map(term).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn orders_and_stages_read_back_as_they_were_written_and_nonsense_is_refused_by_its_field() {
        let to: NodeName = "base-2".parse().unwrap();
        let gives = vec![(to, vec![(SlotId(0), Term(7)), (SlotId(255), Term(u64::MAX))])];
        let wire = gives_to_wire(&gives);
        assert_eq!(gives_from_wire(&wire), Ok(gives));
        let mut bad = wire;
        bad[0].slots[1].slot = 256;
        assert_eq!(gives_from_wire(&bad), Err(BadMessage::Range("gives.slots.slot")));
        bad[0].to = "moon".to_owned();
        assert_eq!(gives_from_wire(&bad), Err(BadMessage::Unknown("gives.to")));
        for stage in [MoveStage::Closing, MoveStage::Copying, MoveStage::Held(Incarnation(8))] {
            let going = SlotMove { slot: SlotId(9), term: Term(3), to, stage };
            let wire = move_to_wire(&going);
            assert_eq!(move_from_wire(&wire), Ok(going));
            let bad = crate::operator::MovingSlot { stage: 3, ..wire.clone() };
            assert_eq!(move_from_wire(&bad), Err(BadMessage::Unknown("moves.stage")));
            let bad = crate::operator::MovingSlot { slot: 300, ..wire };
            assert_eq!(move_from_wire(&bad), Err(BadMessage::Range("moves.slot")));
        }
    }

    #[test]
    fn what_is_said_of_taking_over_reads_back_and_nonsense_is_refused_by_its_field() {
        let from = Node { name: "base-2".parse().unwrap(), incarnation: Incarnation(41) };
        let slots = vec![(SlotId(0), Term(7)), (SlotId(255), Term(u64::MAX))];
        let takes = vec![TakeOver { from, log: "/data/log-base-2".to_owned(), slots }];
        let wire = takes_to_wire(&takes);
        assert_eq!(takes_from_wire(&wire).as_ref(), Ok(&takes));
        let mut bad = wire;
        bad[0].slots[1].slot = 256;
        assert_eq!(takes_from_wire(&bad), Err(BadMessage::Range("takes.slots.slot")));
        bad[0].from = "moon".to_owned();
        assert_eq!(takes_from_wire(&bad), Err(BadMessage::Unknown("takes.from")));
        let refused = TakeOverStage::Refused("its process lives".to_owned());
        for stage in [TakeOverStage::Reading, TakeOverStage::Held, refused] {
            let state = TakeOverState { from, stage, slots: takes[0].slots.clone() };
            let wire = take_state_to_wire(&state);
            assert_eq!(take_state_from_wire(&wire), Ok(state));
            let bad = crate::operator::TakeOverState { stage: 3, ..wire };
            assert_eq!(take_state_from_wire(&bad), Err(BadMessage::Unknown("takes.stage")));
        }
    }
}
