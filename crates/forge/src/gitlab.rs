//! GitLab.com and self-managed GitLab, from 12.10 on.
//!
//! Calls follow <https://docs.gitlab.com/api/rest/>, version 4. Every one of them goes through one function
//! (`crate::api`). What a version has is one table (`version`).
//!
//! **Invariant:** hosts come from [`GitlabSettings`] alone, and projects are addressed by their numbers.

mod access;
mod api;
mod checks;
mod existing;
mod identity;
mod place;
mod position;
mod project;
mod reader;
mod refuse;
mod resolver;
mod said;
mod settings;
mod version;
mod writer;

pub use access::Access;
pub use identity::Identity;
pub use reader::GitlabReader;
pub use settings::{GitlabSettings, GitlabSettingsError};
pub use writer::GitlabWriter;
