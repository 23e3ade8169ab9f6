//! What every role's process shares around its core: its settings, how it starts and takes its
//! name, the map of the cluster as it changes, its health in words, and how it ends.

mod feed;
mod health;
mod options;
mod peers;
mod shutdown;
mod start;

pub use feed::{MapFeed, MapNews, Seen};
pub use health::{HealthBoard, HealthReport};
pub use options::ProcessOptions;
pub use peers::{PeerAddresses, PeerBook};
pub use shutdown::{Shutdown, ShutdownWatch};
pub use start::{
    Bound, StartError, Started, bind, bind_to_peers, open_journal, prepare_dir, start,
};
