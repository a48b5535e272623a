//! GitLab.com and self-managed GitLab, from 12.10 on.
//!
//! Calls follow `docs.gitlab.com/api` (REST, v4) and go through `crate::api`; what not every version has is one table
//! ([`Features`]). Everything is read from the project that a merge request goes into, by its number: it keeps the
//! heads of forks, also of those that are gone, under `refs/merge-requests/`.
//!
//! **Invariant:** the operator's instance is the only host that is called, and no URL in an answer is followed off it.

mod access;
mod api;
mod archive;
mod checks;
mod diff;
mod existing;
mod files;
mod identity;
mod known;
mod objects;
mod place;
mod position;
mod project_facts;
mod pull;
mod reader;
mod refuse;
mod resolver;
mod role;
mod said;
mod settings;
mod token_facts;
mod version;
mod writer;

pub use access::Access;
pub use identity::Identity;
pub use project_facts::ProjectFacts;
pub use reader::GitlabReader;
pub use role::Role;
pub use settings::GitlabSettingsError;
pub use token_facts::TokenFacts;
pub use version::{Features, Version};
pub use writer::GitlabWriter;
