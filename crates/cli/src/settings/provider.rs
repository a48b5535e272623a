//! Whom the model is asked of.

use serde::{Deserialize, Serialize};
use url::Url;

use super::Secret;

/// How the model is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ModelAccess {
    /// The Messages API's base URL.
    pub(crate) endpoint: Url,
    /// The key.
    pub(crate) api_key: Secret,
}

/// Whom `mirilla review` and `mirilla eval` ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Provider {
    /// The Messages API.
    Messages(ModelAccess),
    /// Amazon Bedrock, as whoever the AWS environment says.
    Bedrock {
        /// The id or ARN that is called.
        model_id: String,
    },
}

impl Provider {
    /// Returns the secret that must not be written down.
    pub(crate) fn secret(&self) -> Option<&str> {
        match self {
            Self::Messages(access) => Some(access.api_key.reveal()),
            Self::Bedrock { .. } => None,
        }
    }
}
