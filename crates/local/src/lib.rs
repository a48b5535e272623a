//! The embedded default: four SQLite files and a directory of objects, nothing to install or start.
//!
//! [`DataDir`] names the files. Each store is a file of its own, so that a stage's process opens
//! exactly the stores it may use: the reviewer opens meter, heads and artifacts and nothing else.
//! Several processes may have the same store open; SQLite's locks and exclusive links keep them
//! apart.
//!
//! Calls are synchronous inside async functions on purpose. Each is one short local transaction
//! behind a mutex, a few milliseconds with its flush to disk; handing it to a thread pool would cost
//! more than it saves, and every stage has a process of its own.
//!
//! **Invariant:** no network, and nothing is written outside the data directory.

mod artifacts;
mod data_dir;
mod database;
mod error;
mod events;
mod heads;
mod ledger;
mod meter;
mod queue;

pub use artifacts::DirArtifacts;
pub use data_dir::DataDir;
pub use error::LocalError;
pub use events::FindingsEvents;
pub use heads::LocalHeads;
pub use ledger::LocalLedger;
pub use meter::LocalMeter;
pub use queue::{DeadLetter, LocalQueue, MAX_RECEIVES};
