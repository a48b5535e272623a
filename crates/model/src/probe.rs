//! Asks the provider about a model, which costs nothing.
//! <https://platform.claude.com/docs/en/api/models>
//!
//! For the operator's command line: whether the endpoint answers, the key is taken, and the model is
//! there.

use std::time::Duration;

use mirilla_http::{HttpError, Request};
use serde::Deserialize;

use crate::settings::{AnthropicSettings, SettingsError};
use crate::wire::{Failure, ReplyHead, read_failure};

/// How long the provider may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);
/// Largest answer that is looked at.
const MAX_ANSWER_BYTES: u64 = 256 * 1024;

/// What the provider says about a model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ModelFacts {
    /// `active`, `deprecated` or `retired`, where the provider says so.
    #[serde(default)]
    pub lifecycle: Option<String>,
    /// When it will be switched off, as the provider writes it.
    #[serde(default)]
    pub retires_at: Option<String>,
    #[serde(default)]
    capabilities: Capabilities,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
struct Capabilities {
    #[serde(default)]
    structured_outputs: Option<Supported>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Supported {
    supported: bool,
}

impl ModelFacts {
    /// Returns whether the provider says that the model obeys an answer schema; `None` if it does not
    /// say.
    pub fn obeys_schema(&self) -> Option<bool> {
        self.capabilities
            .structured_outputs
            .as_ref()
            .map(|answer| answer.supported)
    }
}

/// Why a model cannot be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// The settings are wrong; nothing was sent.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The endpoint was not reached, or did not answer.
    #[error("the model's endpoint does not answer")]
    Unreachable(#[source] HttpError),
    /// The key is not taken.
    #[error("the model's endpoint refuses the key (status {status})")]
    Key {
        /// 401 or 403.
        status: u16,
    },
    /// There is no such model, or the endpoint is a gateway that cannot be asked.
    #[error("the model's endpoint knows no model of that name")]
    NoModel,
    /// Another refusal.
    #[error("the model's endpoint refuses: {kind} (status {status})")]
    Refused {
        /// The status.
        status: u16,
        /// The provider's word for it.
        kind: String,
    },
}

/// Asks about the model that the settings name; no question is put to it.
///
/// # Errors
///
/// Says which part of the way does not work.
pub async fn probe(settings: &AnthropicSettings) -> Result<ModelFacts, ProbeError> {
    settings.check()?;
    let client = settings.client(PROBE_TIMEOUT, MAX_ANSWER_BYTES)?;
    let request = settings.with_key(Request::get(settings.model_url()));
    let response = client
        .send(request)
        .await
        .map_err(ProbeError::Unreachable)?;
    let status = response.status().as_u16();
    if status == 200 {
        return response.json().await.map_err(ProbeError::Unreachable);
    }
    let head = ReplyHead::read(status, mirilla_domain::ids::Timestamp::new(0), |name| {
        response.header(name)
    });
    let body = response.bytes().await.unwrap_or_default();
    Err(match status {
        401 | 403 => ProbeError::Key { status },
        404 => ProbeError::NoModel,
        _ => match read_failure(&head, &body) {
            Failure::Rejected { kind, .. } => ProbeError::Refused { status, kind },
            _ => ProbeError::Refused {
                status,
                kind: "for the moment".to_owned(),
            },
        },
    })
}
