//! A core written down and read back: what it does next is the same.
//!
//! Everything that decides about the future is in the bytes; lists that follow from it are made
//! anew.

use super::{Cell, CellCore, SharedWorld, phases};
use crate::around::Around;
use crate::entities::Real;
use crate::io::CellConfig;
use crate::ownership::bases::Bases;
use crate::ownership::borders::Borders;
use crate::ownership::closed::ClosedSlots;
use crate::ownership::drain::Drain;
use crate::ownership::orders::Orders;
use crate::ownership::parked::Parked;
use crate::ownership::seen::Seen;
use crate::traffic::peers::Peers;
use marchland_common::cluster::ClusterMap;
use marchland_common::order::Tick;
use serde::{Deserialize, Serialize};

/// Why bytes are not a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// They are not a snapshot of this version.
    #[error("these bytes are not a snapshot of a cellapp's core in this version")]
    NotASnapshot,
    /// It was taken with other declared kinds.
    #[error(
        "the snapshot was taken with other declared kinds (schema {taken:016x}, here {here:016x})"
    )]
    OtherSchema {
        /// The schema hash in the snapshot.
        taken: u64,
        /// The schema hash of the world that was given.
        here: u64,
    },
}

/// What is written. The two forms have the same fields in the same order.
macro_rules! image {
    ($($field:ident: $type:ty),* $(,)?) => {
        #[derive(Serialize)]
        struct ImageRef<'a> {
            schema: u64,
            reals: Vec<&'a Real>,
            $($field: &'a $type,)*
        }

        #[derive(Deserialize)]
        struct Image {
            schema: u64,
            reals: Vec<Real>,
            $($field: $type,)*
        }

        impl<'a> ImageRef<'a> {
            fn of(cell: &'a Cell) -> Self {
                Self {
                    schema: cell.world.kinds().schema_hash(),
                    reals: cell.reals.by_id(),
                    $($field: &cell.$field,)*
                }
            }
        }

        impl Image {
            fn put_into(self, cell: &mut Cell) -> Vec<Real> {
                $(cell.$field = self.$field;)*
                self.reals
            }
        }
    };
}

image! {
    config: CellConfig,
    tick: Tick,
    map: ClusterMap,
    peers: Peers,
    bases: Bases,
    closed: ClosedSlots,
    parked: Parked,
    seen: Seen,
    borders: Borders,
    orders: Orders,
    drain: Drain,
    around: Around,
    accepting: bool,
    halted: bool,
}

impl CellCore {
    /// The whole core, to be read back by [`restore`](Self::restore). Taken between ticks.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        postcard::to_stdvec(&ImageRef::of(&self.cell))
            .expect("derived serializers of plain values do not fail")
    }

    /// The same as a value with names, for whoever compares two cores.
    #[must_use]
    pub fn image(&self) -> impl Serialize + '_ {
        ImageRef::of(&self.cell)
    }

    /// A core that goes on exactly where the written one stood.
    ///
    /// # Errors
    /// [`RestoreError`] when the bytes are no snapshot, or one of another world.
    pub fn restore(bytes: &[u8], world: SharedWorld) -> Result<Self, RestoreError> {
        let image: Image = postcard::from_bytes(bytes).map_err(|_| RestoreError::NotASnapshot)?;
        let (taken, here) = (image.schema, world.kinds().schema_hash());
        if taken != here {
            return Err(RestoreError::OtherSchema { taken, here });
        }
        let mut cell = Cell::new(image.config.clone(), world);
        for real in image.put_into(&mut cell) {
            cell.held.extend(real.held_until.map(|first| (first, real.id)));
            if let Some(due) = real.report_due {
                cell.reports.list(due, real.id);
            }
            if let (Some(due), Some(link)) = (real.timer_due, cell.bases.of_mut(real.id)) {
                link.timers.insert((due, real.id));
            }
            cell.reals.insert(real);
        }
        cell.territory.follow(&cell.map, cell.config.node);
        let next = cell.tick.next();
        Ok(Self { cell, phases: phases(next) })
    }
}
