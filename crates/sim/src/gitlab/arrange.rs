//! Arranging the world: what people and administrators do on GitLab.
//!
//! Every step that GitLab tells a project's hook about queues a delivery.

mod merge_requests;
mod projects;
mod talk;

pub use merge_requests::OpenMerge;
pub use projects::ProjectOptions;
