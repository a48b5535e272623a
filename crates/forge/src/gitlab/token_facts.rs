//! What a token says of itself. <https://docs.gitlab.com/api/personal_access_tokens/#get-details-on-a-personal-access-token>

use mirilla_ports::forge::ForgeError;
use serde::Deserialize;

use crate::error::Named;
use crate::gitlab::api::{Api, Call};

const NAMED: Named = Named {
    action: "ask what a token may do",
    what: "the token",
    writes: false,
};

/// A token, as GitLab describes it to whoever has it; since 15.5.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TokenFacts {
    /// What it may do: `api`, `read_api` and others.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The day on which it ends, as `2027-01-31`; nothing if it does not.
    #[serde(default)]
    pub expires_at: Option<String>,
}

impl TokenFacts {
    /// Returns whether it may write: comments, and everything else that its account may.
    pub fn may_write(&self) -> bool {
        self.scopes.iter().any(|scope| scope == "api")
    }
}

/// Asks a token about itself.
pub(crate) async fn ask(api: &Api) -> Result<TokenFacts, ForgeError> {
    let url = api.url(&["personal_access_tokens", "self"]);
    let call = Call::get("GET /personal_access_tokens/self", url);
    api.read_json(&call)
        .await
        .map_err(|error| error.into_forge(NAMED))
}
