//! Who calls, and what they may do.

use super::errors::{invalid_token, unauthorized};
use super::world::{Scope, Token, World};
use crate::server::{Reply, Request};
use chrono::{DateTime, Utc};

/// A caller that proved who it is, or did not try.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The token; `None` without a credential.
    pub(crate) token: Option<Token>,
}

impl Caller {
    /// Returns the word for the call log.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.token {
            None => "none",
            Some(token) => match (token.project.is_some(), token.scopes.contains(&Scope::Api)) {
                (true, true) => "project api",
                (true, false) => "project read_api",
                (false, true) => "pat api",
                (false, false) => "pat read_api",
            },
        }
    }

    /// Returns the user whose token it is.
    pub(crate) fn user(&self) -> Option<&str> {
        self.token.as_ref().map(|token| token.user.as_str())
    }

    /// Returns whether the token may write at all.
    pub(crate) fn may_write(&self) -> bool {
        self.token
            .as_ref()
            .is_some_and(|token| token.scopes.contains(&Scope::Api))
    }
}

/// Finds out who sends a request.
pub(crate) fn identify(
    world: &World,
    request: &Request,
    now: DateTime<Utc>,
) -> Result<Caller, Reply> {
    let bearer = request
        .header("authorization")
        .and_then(|value| value.strip_prefix("Bearer "));
    let Some(text) = request.header("private-token").or(bearer) else {
        return Ok(Caller { token: None });
    };
    let token = world.tokens.get(text).ok_or_else(unauthorized)?;
    if token.revoked {
        return Err(invalid_token(
            "Token was revoked. You have to re-authorize from the user.",
        ));
    }
    if token.expires.is_some_and(|expires| expires <= now) {
        return Err(invalid_token(
            "Token is expired. You can either do re-authorization or token refresh.",
        ));
    }
    Ok(Caller {
        token: Some(token.clone()),
    })
}
