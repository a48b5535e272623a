//! Who calls, and what they may do.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::errors::{bad_credentials, basic};
use super::options::GithubOptions;
use super::world::{Holder, Level, World};
use crate::server::{Reply, Request};

/// Longest time a JWT may be valid, in seconds.
const MAX_JWT_SECONDS: i64 = 600;
/// How far the caller's clock may be ahead, in seconds.
const CLOCK_SKEW_SECONDS: i64 = 60;

/// A caller that proved who it is.
#[derive(Debug, Clone)]
pub(crate) enum Caller {
    /// Without a credential.
    Anonymous,
    /// The App itself, with a JWT.
    App,
    /// An installation of the App.
    Installation {
        id: u64,
        token: String,
        permissions: BTreeMap<String, Level>,
        repos: Option<BTreeSet<u64>>,
    },
    /// A person's token.
    User {
        login: String,
        permissions: BTreeMap<String, Level>,
        repos: Option<BTreeSet<u64>>,
    },
}

impl Caller {
    /// Returns the word for the call log.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Anonymous => "none",
            Self::App => "app",
            Self::Installation { .. } => "installation",
            Self::User { .. } => "pat",
        }
    }

    /// Returns what rate limits are counted by.
    pub(crate) fn purse(&self) -> String {
        match self {
            Self::Anonymous => "anonymous".to_owned(),
            Self::App => "app".to_owned(),
            Self::Installation { id, .. } => format!("installation {id}"),
            Self::User { login, .. } => format!("user {login}"),
        }
    }

    /// Returns the level the credential has for a permission.
    pub(crate) fn level(&self, permission: &str) -> Option<Level> {
        match self {
            Self::Installation { permissions, .. } | Self::User { permissions, .. } => {
                permissions.get(permission).copied()
            }
            Self::Anonymous | Self::App => None,
        }
    }

    /// Returns whether the credential can write anything at all.
    pub(crate) fn may_write(&self) -> bool {
        match self {
            Self::Installation { permissions, .. } | Self::User { permissions, .. } => {
                permissions.values().any(|level| *level == Level::Write)
            }
            Self::Anonymous | Self::App => false,
        }
    }

    /// Returns whether the credential reaches a repository by its own limits.
    pub(crate) fn reaches(&self, repo: u64) -> bool {
        match self {
            Self::Installation { repos, .. } | Self::User { repos, .. } => {
                repos.as_ref().is_none_or(|repos| repos.contains(&repo))
            }
            Self::Anonymous | Self::App => false,
        }
    }
}

#[derive(Debug, Deserialize)]
struct Claims {
    iss: Issuer,
    iat: i64,
    exp: i64,
}

/// GitHub takes the App's number, as number or text, and its client id.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Issuer {
    Number(u64),
    Text(String),
}

/// Finds out who sent a request; `now` in seconds since 1970.
pub(crate) fn identify(
    world: &World,
    options: &GithubOptions,
    request: &Request,
    now: i64,
) -> Result<Caller, Reply> {
    let Some(header) = request.header("authorization") else {
        return Ok(Caller::Anonymous);
    };
    let credential = header
        .strip_prefix("Bearer ")
        .or_else(|| header.strip_prefix("bearer "))
        .or_else(|| header.strip_prefix("token "))
        .ok_or_else(bad_credentials)?;
    if credential.starts_with("eyJ") {
        verify_jwt(options, credential, now)?;
        return Ok(Caller::App);
    }
    let token = world.tokens.get(credential).ok_or_else(bad_credentials)?;
    if token.expires.is_some_and(|at| at.timestamp() <= now) {
        return Err(bad_credentials());
    }
    match &token.holder {
        Holder::User(login) => Ok(Caller::User {
            login: login.clone(),
            permissions: token.permissions.clone(),
            repos: token.repos.clone(),
        }),
        Holder::Installation(id) => {
            let installation = world.installations.get(id).ok_or_else(bad_credentials)?;
            if installation.suspended {
                return Err(basic(403, "This installation has been suspended"));
            }
            let repos = token
                .repos
                .clone()
                .or_else(|| installation.selected.clone());
            Ok(Caller::Installation {
                id: *id,
                token: credential.to_owned(),
                permissions: token.permissions.clone(),
                repos,
            })
        }
    }
}

/// Checks an App's JWT by GitHub's rules.
///
/// <https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app>
fn verify_jwt(options: &GithubOptions, jwt: &str, now: i64) -> Result<(), Reply> {
    let undecodable = || basic(401, "A JSON web token could not be decoded");
    let header = jsonwebtoken::decode_header(jwt).map_err(|_bad| undecodable())?;
    if header.alg != Algorithm::RS256 {
        return Err(undecodable());
    }
    let key = DecodingKey::from_rsa_pem(options.app.public_key.as_bytes())
        .map_err(|_bad| basic(500, "the App's public key is not a PEM of an RSA key"))?;
    let mut validation = Validation::new(Algorithm::RS256);
    // Times are checked below, by the simulator's clock.
    validation.validate_exp = false;
    validation.required_spec_claims.clear();
    let claims: Claims = jsonwebtoken::decode(jwt, &key, &validation)
        .map_err(|_bad| undecodable())?
        .claims;
    let ours = match &claims.iss {
        Issuer::Number(id) => *id == options.app.id,
        Issuer::Text(id) => *id == options.app.client_id || *id == options.app.id.to_string(),
    };
    if !ours {
        return Err(basic(404, "Integration not found"));
    }
    if claims.exp <= now {
        return Err(basic(
            401,
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
        ));
    }
    if claims.exp > now.saturating_add(MAX_JWT_SECONDS) {
        return Err(basic(
            401,
            "'Expiration time' claim ('exp') is too far in the future",
        ));
    }
    if claims.iat > now.saturating_add(CLOCK_SKEW_SECONDS) {
        return Err(basic(
            401,
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
        ));
    }
    Ok(())
}

/// Returns a new installation token in GitHub's newer, long form: `ghs_<app>_<something like a JWT>`.
pub(crate) fn token_text(options: &GithubOptions, number: u64) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let padding = "x".repeat(options.token_padding);
    let digest = Sha256::digest(format!("simulated token {number}"));
    format!(
        "ghs_{}_{}.{}.{}",
        options.app.id,
        part("{\"alg\":\"ES256\",\"typ\":\"JWT\"}"),
        part(&format!(
            "{{\"jti\":\"{number}\",\"made_up\":\"{padding}\"}}"
        )),
        URL_SAFE_NO_PAD.encode(digest),
    )
}
