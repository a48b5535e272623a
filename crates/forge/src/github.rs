//! GitHub.com and GitHub Enterprise Server.
//!
//! Calls follow `docs.github.com/rest` with `X-GitHub-Api-Version: 2022-11-28`. Every one of them goes
//! through one function (`crate::api`), which knows the method, the route's template, and the kind of
//! credential; nothing else in the crate can send.
//!
//! **Invariant:** hosts come from [`GithubSettings`] alone. A URL in an answer (`Location`, `Link`) is
//! followed only to a host that stands there, and with the token only to the API's own origin.

mod access;
mod api;
mod app;
mod archive;
mod checks;
mod deliveries;
mod diff;
mod existing;
mod files;
mod graphql;
mod identity;
mod minter;
mod own_app;
mod pull;
mod reader;
mod rebuild;
mod refuse;
mod resolver;
mod said;
mod settings;
mod threads;
mod writer;

pub use access::Access;
pub use app::{AppAuth, AppKeyError, SignRs256};
pub use checks::Marks;
pub use deliveries::{AppDeliveries, DeliveryLog, MAX_DETAIL_BYTES};
pub use identity::{Identity, Whoami};
pub use minter::{Minter, MinterSource, Permissions};
pub use own_app::{AppFacts, ConversionError, Hook, NewApp, OwnApp, TokenFacts};
pub use reader::GithubReader;
pub(crate) use rebuild::EMPTY_FILE;
pub use resolver::GithubResolver;
pub use settings::{GithubSettings, GithubSettingsError};
pub use writer::GithubWriter;
