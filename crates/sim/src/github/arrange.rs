//! Arranging the world: what people, organizations and administrators do on GitHub.
//!
//! Every step that GitHub tells the App about queues a webhook delivery.

mod accounts;
mod pulls;
mod queue;
mod repos;
mod talk;

pub use accounts::InstallOptions;
pub use pulls::OpenPull;
pub use repos::RepoOptions;
