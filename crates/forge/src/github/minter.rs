//! Installation tokens: for one repository, one stage, at most an hour.
//! <https://docs.github.com/rest/apps/apps#create-an-installation-access-token-for-an-app>
//!
//! **Invariant:** a request for a token names exactly one repository and exactly the permissions of one
//! stage, and a token that comes back wider is thrown away.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::DateTime;
use mirilla_domain::ids::{InstallationId, RepoId, Timestamp};
use mirilla_http::{Client, Method};
use mirilla_ports::{Clock, Entropy};
use secrecy::SecretString;
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::error::{CallError, Named};
use crate::github::GithubSettings;
use crate::github::api::{Api, Bearer, Call, Credential};
use crate::github::app::AppAuth;
use crate::github::deliveries::AppDeliveries;
use crate::github::identity::Identity;
use crate::refused::Refused;
use crate::token::{ReadToken, ResolveToken, TokenError, TokenSource, WriteToken};

/// How long before its expiry a token is not handed out any more.
const TOKEN_MARGIN: Duration = Duration::from_secs(5 * 60);

/// What a stage's token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Permissions {
    /// The collector's.
    Read,
    /// The poster's. It reads contents because the poster fetches the diff anew with this token, and
    /// GitHub's comparison, which names the merge base, asks for that.
    Write,
    /// For resolving threads and nothing else. GitHub lets an App do that only with the right to push.
    Resolve,
}

impl Permissions {
    /// Returns GitHub's names and levels.
    pub const fn as_pairs(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Read => &[
                ("contents", "read"),
                ("metadata", "read"),
                ("pull_requests", "read"),
            ],
            Self::Write => &[
                ("checks", "write"),
                ("contents", "read"),
                ("metadata", "read"),
                ("pull_requests", "write"),
            ],
            Self::Resolve => &[
                ("contents", "write"),
                ("metadata", "read"),
                ("pull_requests", "write"),
            ],
        }
    }

    /// Returns whether a granted permission is in the set.
    fn covers(self, name: &str, level: &str) -> bool {
        self.as_pairs()
            .iter()
            .any(|(n, l)| *n == name && (*l == level || level == "read"))
    }
}

type Key = (InstallationId, RepoId, Permissions);

struct Minted {
    token: SecretString,
    expires_at: Timestamp,
}

/// Mints installation tokens with the App's key. Those of the two halves are kept until shortly before they
/// expire.
pub struct Minter {
    api: Api,
    kept: Mutex<HashMap<Key, Minted>>,
}

impl Minter {
    /// Makes a minter; it calls nothing yet.
    pub fn new(
        client: Client,
        settings: Arc<GithubSettings>,
        app: AppAuth,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        let jwt = AppJwt::new(app, Arc::clone(&clock));
        Self {
            api: Api::new(client, settings, Arc::new(jwt), clock, entropy),
            kept: Mutex::default(),
        }
    }

    /// Returns a token that reads one repository; with `fresh`, not the one returned before.
    pub async fn read(
        &self,
        repo: RepoId,
        installation: InstallationId,
        fresh: bool,
    ) -> Result<ReadToken, TokenError> {
        let key = (installation, repo, Permissions::Read);
        self.token(key, fresh).await.map(ReadToken::minted)
    }

    /// Returns a token that writes comments and checks of one repository.
    pub async fn write(
        &self,
        repo: RepoId,
        installation: InstallationId,
        fresh: bool,
    ) -> Result<WriteToken, TokenError> {
        let key = (installation, repo, Permissions::Write);
        self.token(key, fresh).await.map(WriteToken::minted)
    }

    /// Makes a token that resolves threads of one repository. It is never kept here: whoever gets it revokes
    /// it when it is done.
    pub async fn resolve(
        &self,
        repo: RepoId,
        installation: InstallationId,
    ) -> Result<ResolveToken, TokenError> {
        let minted = self.mint((installation, repo, Permissions::Resolve)).await;
        minted.map(|minted| ResolveToken::minted(minted.token))
    }

    /// Returns a source of tokens for one repository, for a half in the same process.
    pub fn source(self: &Arc<Self>, repo: RepoId, installation: InstallationId) -> MinterSource {
        MinterSource {
            minter: Arc::clone(self),
            repo,
            installation,
        }
    }

    /// Returns the App's record of its webhook deliveries, which only the App itself may read.
    pub fn deliveries(&self) -> AppDeliveries {
        AppDeliveries::new(self.api.clone())
    }

    /// Asks GitHub under which account the App writes.
    pub async fn identity(&self) -> Result<Identity, TokenError> {
        #[derive(Deserialize)]
        struct App {
            slug: String,
        }
        let call = Call::get("GET /app", self.api.url(&["app"]));
        let app: App = self.api.read_json(&call).await.map_err(mint_error)?;
        Ok(Identity::of_app(&app.slug))
    }

    async fn token(&self, key: Key, fresh: bool) -> Result<SecretString, TokenError> {
        // Held while minting, so that two waiting for the same token cost one call.
        let mut kept = self.kept.lock().await;
        let now = self.api.now();
        kept.retain(|_, minted| minted.expires_at > now.plus(TOKEN_MARGIN));
        if fresh {
            kept.remove(&key);
        }
        if let Some(minted) = kept.get(&key) {
            return Ok(minted.token.clone());
        }
        let minted = self.mint(key).await?;
        let token = minted.token.clone();
        kept.insert(key, minted);
        Ok(token)
    }

    async fn mint(&self, (installation, repo, permissions): Key) -> Result<Minted, TokenError> {
        let wanted: BTreeMap<_, _> = permissions.as_pairs().iter().copied().collect();
        let body = serde_json::json!({
            "repository_ids": [repo.get()],
            "permissions": wanted,
        });
        let number = installation.to_string();
        let url = self
            .api
            .url(&["app", "installations", &number, "access_tokens"]);
        // A token that is minted and lost on the way harms nobody, so this may be repeated.
        let call = Call::new(
            Method::POST,
            "POST /app/installations/{id}/access_tokens",
            url,
        )
        .json(&body);
        let answer: MintAnswer = self.api.read_json(&call).await.map_err(mint_error)?;
        if answer.is_wider(repo, permissions) {
            return Err(TokenError::TooWide);
        }
        // Without a readable expiry the token serves this once and is not kept.
        let expires_at = DateTime::parse_from_rfc3339(&answer.expires_at)
            .map_or(Timestamp::new(0), |at| {
                Timestamp::new(at.timestamp_millis())
            });
        tracing::debug!(
            installation_id = installation.get(),
            repo_id = repo.get(),
            permissions = ?permissions,
            "token minted"
        );
        Ok(Minted {
            token: answer.token,
            expires_at,
        })
    }
}

impl fmt::Debug for Minter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Minter")
            .field("api", &self.api)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct MintAnswer {
    token: SecretString,
    #[serde(default)]
    expires_at: String,
    #[serde(default)]
    permissions: BTreeMap<String, String>,
    #[serde(default)]
    repositories: Vec<MintRepository>,
}

#[derive(Deserialize)]
struct MintRepository {
    id: u64,
}

impl MintAnswer {
    fn is_wider(&self, repo: RepoId, permissions: Permissions) -> bool {
        let more = |(name, level): (&String, &String)| !permissions.covers(name, level);
        self.permissions.iter().any(more) || self.repositories.iter().any(|r| r.id != repo.get())
    }
}

fn mint_error(error: CallError) -> TokenError {
    match error {
        CallError::Token(error) => error,
        CallError::Refused(Refused::Unauthorized) => TokenError::BadKey,
        CallError::Refused(Refused::NotFound | Refused::Forbidden) => TokenError::NotInstalled,
        CallError::Refused(Refused::Unprocessable(_)) => TokenError::NotGranted,
        CallError::Refused(Refused::Limited(limit)) => {
            TokenError::RateLimited { after: limit.after }
        }
        other => {
            let named = Named {
                action: "mint a token",
                what: "the installation",
                writes: false,
            };
            TokenError::Unavailable {
                source: Box::new(other.into_forge(named)),
            }
        }
    }
}

/// The App's own tokens as a bearer.
pub(crate) struct AppJwt {
    app: AppAuth,
    clock: Arc<dyn Clock>,
}

impl AppJwt {
    pub(crate) fn new(app: AppAuth, clock: Arc<dyn Clock>) -> Self {
        Self { app, clock }
    }
}

#[async_trait]
impl Bearer for AppJwt {
    fn credential(&self) -> Credential {
        Credential::App
    }

    async fn bearer(&self, fresh: bool) -> Result<SecretString, TokenError> {
        if fresh {
            return Err(TokenError::BadKey);
        }
        self.app.jwt(self.clock.now()).await
    }
}

/// One repository's tokens from a minter in this process.
#[derive(Debug, Clone)]
pub struct MinterSource {
    minter: Arc<Minter>,
    repo: RepoId,
    installation: InstallationId,
}

#[async_trait]
impl TokenSource<ReadToken> for MinterSource {
    async fn token(&self, fresh: bool) -> Result<ReadToken, TokenError> {
        self.minter.read(self.repo, self.installation, fresh).await
    }
}

#[async_trait]
impl TokenSource<WriteToken> for MinterSource {
    async fn token(&self, fresh: bool) -> Result<WriteToken, TokenError> {
        self.minter.write(self.repo, self.installation, fresh).await
    }
}

#[async_trait]
impl TokenSource<ResolveToken> for MinterSource {
    async fn token(&self, _fresh: bool) -> Result<ResolveToken, TokenError> {
        self.minter.resolve(self.repo, self.installation).await
    }
}
