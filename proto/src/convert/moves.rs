//! Slots on their way, as the leading manager and the keepers speak of them.

use super::common::{BadMessage, narrow};
use crate::operator as wire;
use marchland_common::cluster::{MoveStage, SlotMove};
use marchland_common::order::{NodeName, SlotId, Term};

/// Slots for somebody, each under the term that the order rests on.
pub type Gives = Vec<(NodeName, Vec<(SlotId, Term)>)>;

/// The wire's form of an order.
#[must_use]
pub fn gives_to_wire(gives: &Gives) -> wire::MoveSlotsRequest {
    let term = |(slot, term): &(SlotId, Term)| wire::SlotTerm { slot: slot.0.into(), term: term.0 };
    let give = |(to, slots): &(NodeName, Vec<(SlotId, Term)>)| wire::GiveSlots {
        to: to.to_string(),
        slots: slots.iter().map(term).collect(),
    };
    wire::MoveSlotsRequest { gives: gives.iter().map(give).collect() }
}

/// Reads an order.
///
/// # Errors
/// [`BadMessage`] when a name is none or a slot out of range.
pub fn gives_from_wire(request: &wire::MoveSlotsRequest) -> Result<Gives, BadMessage> {
    let term = |slot: &wire::SlotTerm| {
        Ok((SlotId(narrow(slot.slot, "gives.slots.slot")?), Term(slot.term)))
    };
    let give = |give: &wire::GiveSlots| {
        let to = give.to.parse().map_err(|_| BadMessage::Unknown("gives.to"))?;
        Ok((to, give.slots.iter().map(term).collect::<Result<_, _>>()?))
    };
    request.gives.iter().map(give).collect()
}

/// The wire's form of a slot on its way.
#[must_use]
pub fn move_to_wire(going: &SlotMove) -> wire::MovingSlot {
    let stage = match going.stage {
        MoveStage::Closing => wire::moving_slot::Stage::Closing,
        MoveStage::Copying => wire::moving_slot::Stage::Copying,
        MoveStage::Held => wire::moving_slot::Stage::Held,
    };
    wire::MovingSlot {
        slot: going.slot.0.into(),
        term: going.term.0,
        to: going.to.to_string(),
        stage: stage.into(),
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
        Ok(wire::moving_slot::Stage::Held) => MoveStage::Held,
        Err(_) => return Err(BadMessage::Unknown("moves.stage")),
    };
    Ok(SlotMove {
        slot: SlotId(narrow(going.slot, "moves.slot")?),
        term: Term(going.term),
        to: going.to.parse().map_err(|_| BadMessage::Unknown("moves.to"))?,
        stage,
    })
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
        let mut bad = wire.clone();
        bad.gives[0].slots[1].slot = 256;
        assert_eq!(gives_from_wire(&bad), Err(BadMessage::Range("gives.slots.slot")));
        bad.gives[0].to = "moon".to_owned();
        assert_eq!(gives_from_wire(&bad), Err(BadMessage::Unknown("gives.to")));
        for stage in [MoveStage::Closing, MoveStage::Copying, MoveStage::Held] {
            let going = SlotMove { slot: SlotId(9), term: Term(3), to, stage };
            let wire = move_to_wire(&going);
            assert_eq!(move_from_wire(&wire), Ok(going));
            let bad = crate::operator::MovingSlot { stage: 3, ..wire.clone() };
            assert_eq!(move_from_wire(&bad), Err(BadMessage::Unknown("moves.stage")));
            let bad = crate::operator::MovingSlot { slot: 300, ..wire };
            assert_eq!(move_from_wire(&bad), Err(BadMessage::Range("moves.slot")));
        }
    }
}
