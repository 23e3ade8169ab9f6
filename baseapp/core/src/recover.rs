//! What an earlier life left in the log, or another base in a slot that came from it: who waits for
//! a first step, which messages are open, which sessions may come back.

use crate::core::BaseCore;
use crate::messages::{OpenAnswer, Post};
use marchland_common::order::SlotId;

impl BaseCore {
    /// Takes up what is in the store about certain slots.
    pub(crate) fn recover(&mut self, of: impl Fn(SlotId) -> bool) {
        let mut retries = Vec::new();
        for (entity, lineage) in self.store.entities.iter().filter(|(id, _)| of(id.slot())) {
            if !lineage.reported && !lineage.state.destroyed {
                self.granting.insert(*entity);
            }
            let outbox = &lineage.state.outbox;
            if !outbox.open.is_empty() {
                let known = lineage.outcomes.iter().map(|(out_seq, outcome)| {
                    (*out_seq, OpenAnswer { outcome: outcome.clone(), sent: None })
                });
                let answers = known.collect();
                let post = Post { released: outbox.last, answers, ..Post::default() };
                self.posts.insert(*entity, post);
            }
            if !outbox.open.is_empty() || !lineage.state.inbox.rows().is_empty() {
                retries.push(*entity);
            }
        }
        for entity in retries {
            self.schedule(entity);
        }
        self.note_elders(&of);
        self.recover_spawns(&of);
        self.recover_streams(&of);
    }
}
