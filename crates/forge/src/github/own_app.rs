//! The App as its owner sees it: how it is registered, what it may do, where its webhooks go.
//!
//! For the operator's command line; no stage needs any of this.
//! <https://docs.github.com/rest/apps/apps>, <https://docs.github.com/rest/apps/webhooks>
//!
//! **Invariant:** the code of a registration is sent once and never again by itself: it works once, and
//! what it gives cannot be asked for twice.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mirilla_domain::ids::Timestamp;
use mirilla_http::{HttpError, Method, Request, StatusCode, header};
use mirilla_ports::forge::ForgeError;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use crate::clock;
use crate::error::{CallError, Named};
use crate::github::access::Access;
use crate::github::api::{Api, Call, MAX_PAGES, ReadBearer, Service as _};
use crate::github::app::AppAuth;
use crate::github::minter::AppJwt;
use crate::token::ReadToken;

const LOOK: Named = Named {
    action: "look at the App",
    what: "the App",
    writes: false,
};
const HOOK: Named = Named {
    action: "change the App's webhook",
    what: "the App's webhook",
    // Setting the same address and secret twice is setting them once.
    writes: false,
};
const TOKEN: Named = Named {
    action: "look at the token",
    what: "the token's account",
    writes: false,
};

/// What GitHub says about an App.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AppFacts {
    /// Its number.
    pub id: u64,
    /// Its name in URLs.
    pub slug: String,
    /// The id that its own tokens are issued by; older Enterprise Servers name none.
    #[serde(default)]
    pub client_id: Option<String>,
    /// Its public page, from which it is installed.
    pub html_url: String,
    /// What it asks for: permission and level.
    #[serde(default)]
    pub permissions: BTreeMap<String, String>,
    /// Which events it is told of.
    #[serde(default)]
    pub events: Vec<String>,
    /// Whose it is.
    #[serde(default)]
    owner: Option<Owner>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Owner {
    #[serde(default)]
    login: String,
    #[serde(default, rename = "type")]
    kind: String,
}

impl AppFacts {
    /// Returns the account that owns it, if GitHub names one.
    pub fn owner(&self) -> Option<&str> {
        self.owner
            .as_ref()
            .map(|owner| owner.login.as_str())
            .filter(|login| !login.is_empty())
    }

    /// Returns the organisation that owns it; `None` if a person does.
    pub fn organisation(&self) -> Option<&str> {
        let owner = self.owner.as_ref()?;
        (owner.kind == "Organization").then_some(owner.login.as_str())
    }

    /// Returns what the App's tokens are issued by.
    pub fn issuer(&self) -> String {
        self.client_id
            .clone()
            .unwrap_or_else(|| self.id.to_string())
    }
}

/// An App that was just registered, with the secrets that GitHub tells once.
#[derive(Deserialize)]
pub struct NewApp {
    /// What it is.
    #[serde(flatten)]
    pub facts: AppFacts,
    /// Its private key, PEM.
    pub pem: SecretString,
    /// What its webhooks are signed with.
    #[serde(default)]
    pub webhook_secret: Option<SecretString>,
}

impl fmt::Debug for NewApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewApp")
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

/// Why a registration could not be exchanged for its App.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConversionError {
    /// The code was used before, is older than an hour, or never was one.
    #[error("GitHub knows no such code: it was used already, or is older than an hour")]
    Code,
    /// GitHub was not reached; the code is as good as before.
    #[error("GitHub cannot be reached")]
    NotSent(#[source] HttpError),
    /// GitHub refused, or its answer did not arrive or was unusable. The code may be used up.
    #[error("GitHub's answer did not arrive or cannot be used")]
    Lost(#[source] HttpError),
    /// GitHub answered with another status.
    #[error("GitHub answered with status {0}")]
    Status(StatusCode),
}

/// Where the App's webhooks go.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Hook {
    /// The address.
    #[serde(default)]
    pub url: Option<String>,
    /// `json` or `form`.
    #[serde(default)]
    pub content_type: Option<String>,
}

/// What GitHub says about a plain token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenFacts {
    /// Whose it is.
    pub login: String,
    /// A classic token's scopes; fine-grained tokens have none and name none.
    pub scopes: Vec<String>,
}

impl Access {
    /// Exchanges the code of a registration for the App and its secrets.
    pub async fn convert_manifest(&self, code: &str) -> Result<NewApp, ConversionError> {
        let url = self.settings.url(&["app-manifests", code, "conversions"]);
        let request = self.plain(Method::POST, url);
        let response = self.client.send(request).await.map_err(|error| {
            if error.sent() == mirilla_http::Sent::No {
                ConversionError::NotSent(error)
            } else {
                ConversionError::Lost(error)
            }
        })?;
        match response.status() {
            StatusCode::CREATED => response.json().await.map_err(ConversionError::Lost),
            StatusCode::NOT_FOUND => Err(ConversionError::Code),
            status => Err(ConversionError::Status(status)),
        }
    }

    /// Returns the App that a credential speaks for.
    pub fn own_app(&self, app: AppAuth) -> OwnApp {
        let jwt = AppJwt::new(app, Arc::clone(&self.clock));
        OwnApp {
            api: self.api(Arc::new(jwt)),
        }
    }

    /// Asks whose a plain token is.
    pub async fn token_facts(&self, token: &SecretString) -> Result<TokenFacts, ForgeError> {
        #[derive(Deserialize)]
        struct User {
            login: String,
        }
        let token = ReadToken::plain(token.clone());
        let api = self.api(Arc::new(ReadBearer(Arc::new(token))));
        let call = Call::get("GET /user", api.url(&["user"]));
        let answer = api.read(&call).await.map_err(|e| e.into_forge(TOKEN))?;
        let user: User = answer.json().map_err(|error| error.into_forge(TOKEN))?;
        let scopes = answer
            .headers
            .get("x-oauth-scopes")
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .split(',')
            .map(|scope| scope.trim().to_owned())
            .filter(|scope| !scope.is_empty())
            .collect();
        Ok(TokenFacts {
            login: user.login,
            scopes,
        })
    }

    /// Asks GitHub what time it is, without a credential; `None` if it does not say.
    ///
    /// The App's own tokens are judged by GitHub's clock.
    pub async fn server_time(&self) -> Result<Option<Timestamp>, HttpError> {
        let request = self.plain(Method::GET, self.settings.url(&["meta"]));
        let response = self.client.send(request).await?;
        Ok(clock::of(response.header(header::DATE.as_str())))
    }

    fn plain(&self, method: Method, url: Url) -> Request {
        let request =
            Request::new(method, url).header(header::ACCEPT, "application/vnd.github+json");
        match &self.settings.api_version {
            Some(version) => request.header(
                mirilla_http::HeaderName::from_static("x-github-api-version"),
                version.clone(),
            ),
            None => request,
        }
    }
}

/// The App itself.
#[derive(Debug, Clone)]
pub struct OwnApp {
    api: Api,
}

impl OwnApp {
    /// Asks GitHub about the App; [`ForgeError::Unauthorized`] if id and key do not belong together, or
    /// if this machine's clock is wrong.
    pub async fn facts(&self) -> Result<AppFacts, ForgeError> {
        let call = Call::get("GET /app", self.api.url(&["app"]));
        let facts = self.api.read_json(&call).await;
        facts.map_err(|error| error.into_forge(LOOK))
    }

    /// Asks where the App's webhooks go. The secret is not told.
    pub async fn hook(&self) -> Result<Hook, ForgeError> {
        let call = Call::get("GET /app/hook/config", self.hook_url());
        let hook = self.api.read_json(&call).await;
        hook.map_err(|error| error.into_forge(HOOK))
    }

    /// Sets where the App's webhooks go and what they are signed with.
    pub async fn set_hook(&self, url: &Url, secret: &SecretString) -> Result<(), ForgeError> {
        let body = json!({
            "url": url.as_str(),
            "content_type": "json",
            "secret": secret.expose_secret(),
        });
        let call = Call::new(Method::PATCH, "PATCH /app/hook/config", self.hook_url()).json(&body);
        let written = self.api.write(&call).await;
        written.map(drop).map_err(|error| error.into_forge(HOOK))
    }

    /// Lists the accounts it is installed on, suspended installations left out; at most three thousand.
    pub async fn accounts(&self) -> Result<Vec<String>, ForgeError> {
        self.list().await.map_err(|error| error.into_forge(LOOK))
    }

    async fn list(&self) -> Result<Vec<String>, CallError> {
        #[derive(Deserialize)]
        struct Installation {
            account: Option<Owner>,
            #[serde(default)]
            suspended_at: Option<String>,
        }
        let mut url = self.api.url(&["app", "installations"]);
        url.query_pairs_mut().append_pair("per_page", "100");
        let mut accounts = Vec::new();
        for _ in 0..MAX_PAGES {
            let call = Call::get("GET /app/installations", url.clone());
            let answer = self.api.read(&call).await?;
            let page: Vec<Installation> = answer.json()?;
            let active = page.into_iter().filter(|one| one.suspended_at.is_none());
            accounts.extend(active.filter_map(|one| Some(one.account?.login)));
            match self.api.next(&url, &answer)? {
                Some(next) => url = next,
                None => break,
            }
        }
        Ok(accounts)
    }

    fn hook_url(&self) -> Url {
        self.api.url(&["app", "hook", "config"])
    }
}
