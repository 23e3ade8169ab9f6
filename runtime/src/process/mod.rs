//! What every role's process shares around its core: its settings, how it starts and takes its
//! name, the map of the cluster as it changes, what surrounds its core on the tick thread, what it
//! says of itself, and how it ends.

mod advertise;
mod door;
mod drain;
mod facts;
mod feed;
mod health;
mod holds;
mod options;
mod over;
mod pages;
mod pause;
mod peers;
mod probe;
mod protocol;
mod shutdown;
mod start;
mod surroundings;

pub use advertise::{AdvertisedAddr, BadAdvertisedAddr};
pub use door::{Introduction, NoRecordsDoor};
pub use drain::DrainOrder;
pub use feed::{MapFeed, MapNews, Seen, Unfounded};
pub use health::{HealthBoard, HealthReport, UNFOUNDED};
pub use holds::{Hold, HoldNews, Holds};
pub use options::ProcessOptions;
pub use over::{LifeOver, life_over};
pub use pages::{Doorway, LeaseSource, Pages};
pub use pause::{AfterPause, PauseWatch};
pub use peers::{PeerAddresses, PeerBook};
pub use protocol::ProtocolMismatch;
pub use shutdown::{Shutdown, ShutdownWatch};
pub use start::{
    Bound, StartError, Started, bind, bind_to_peers, connect, open_journal, prepare_dir, start,
};
pub use surroundings::Surroundings;
