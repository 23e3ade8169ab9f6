//! The link: frames are taken in order, once; a new connection goes on where the receiver is; a
//! link that begins anew forgets what was under way.

use super::state::{Connection, Frame, Link, Message, Path};
use super::{Mutant, Order};

impl Order {
    /// Gives a message to the link.
    pub(super) fn send(link: &mut Link, message: Message) {
        link.sent += 1;
        let frame = Frame { ahead: link.sent, message };
        link.unacked.push(frame);
        link.newest.frames.push(frame);
    }

    /// The connection broke; what it had read stays to be read for a while.
    pub(super) fn reconnect(&self, link: &mut Link) {
        link.late = std::mem::take(&mut link.newest);
        if self.mutant != Mutant::ResumesAfterSent {
            link.newest.frames = link.unacked.clone();
        }
    }

    /// The stream is given up, and a new one begins.
    pub(super) fn reset(link: &mut Link) {
        let frames = std::mem::take(&mut link.newest.frames);
        *link = Link::default();
        link.late = Connection { old_generation: true, frames };
    }

    /// Takes the next frame of a connection; says what it carries, if it counts.
    pub(super) fn take_frame(&self, s: &mut Path, is_late: bool) -> Option<Message> {
        let connection = if is_late { &mut s.link.late } else { &mut s.link.newest };
        let old = connection.old_generation;
        let frame = connection.frames.remove(0);
        let mutant = self.mutant;
        let counts = match frame.ahead {
            _ if old && mutant != Mutant::OldGenerationTaken => false,
            1 => true,
            ahead if ahead < 1 => mutant == Mutant::FrameTakenTwice,
            _ => mutant == Mutant::FrameTakenOverHole,
        };
        if !counts {
            return None;
        }
        s.link_failed |= frame.ahead != 1 || old;
        Self::advance(&mut s.link, frame.ahead.max(0));
        Some(frame.message)
    }

    /// Frame numbers count from what was taken.
    fn advance(link: &mut Link, by: i8) {
        link.sent -= by;
        for connection in [&mut link.newest, &mut link.late] {
            if !connection.old_generation {
                connection.frames.iter_mut().for_each(|f| f.ahead = (f.ahead - by).max(0));
            }
        }
        link.unacked.iter_mut().for_each(|frame| frame.ahead -= by);
        link.unacked.retain(|frame| frame.ahead > 0);
    }
}
