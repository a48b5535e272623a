//! What each child process of `mirilla serve` is told, and no more.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use mirilla_domain::forge_place::{ForgePlace, GithubPlace};
use mirilla_domain::settings::OperatorPolicy;
use mirilla_stages::mint::Reach;
use serde::{Deserialize, Serialize};

use super::{HookSettings, ModelAccess, Secret, Timings, TokenFrom};

/// What the intake child is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IntakeChildSettings {
    pub(crate) data_dir: PathBuf,
    pub(crate) listen: SocketAddr,
    pub(crate) allowed_accounts: Vec<String>,
    pub(crate) hooks: HookSettings,
    pub(crate) listen_beyond_loopback: bool,
    /// How long a previous secret counts.
    pub(crate) grace: Duration,
    pub(crate) timings: Timings,
}

/// What the collector child is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CollectorSettings {
    pub(crate) data_dir: PathBuf,
    pub(crate) forge: ForgePlace,
    pub(crate) token: TokenFrom,
    pub(crate) policy: OperatorPolicy,
    pub(crate) timings: Timings,
}

/// What a reviewer child is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReviewerSettings {
    pub(crate) order: crate::serve::protocol::ReviewOrder,
    pub(crate) model: Option<ModelAccess>,
    pub(crate) policy: OperatorPolicy,
    pub(crate) timings: Timings,
}

/// What the poster child is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PosterSettings {
    pub(crate) data_dir: PathBuf,
    pub(crate) forge: ForgePlace,
    pub(crate) token: TokenFrom,
    /// Whence the token that resolves threads; nothing where the operator did not opt into it.
    pub(crate) resolve: Option<TokenFrom>,
    pub(crate) marker_key: Secret,
    pub(crate) policy: OperatorPolicy,
    pub(crate) timings: Timings,
}

/// What the sweeper child is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SweeperSettings {
    pub(crate) data_dir: PathBuf,
    /// Whether there is an App, and with it a record of webhooks to look at.
    pub(crate) deliveries: bool,
    pub(crate) allowed_accounts: Vec<String>,
    pub(crate) timings: Timings,
}

/// The App, as those children are told that act as it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AppSettings {
    pub(crate) github: GithubPlace,
    pub(crate) app_id: String,
    pub(crate) key: Secret,
}

/// What a minter child is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MinterSettings {
    pub(crate) reach: Reach,
    pub(crate) app: AppSettings,
}
