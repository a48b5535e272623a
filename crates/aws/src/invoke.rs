//! Asking another function, and waiting for its answer.
//!
//! **Invariant:** an answer may hold a credential, so it leaves as a secret and is never in an error.

use std::fmt;

use aws_sdk_lambda::Client;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::InvocationType;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::items::Source;

/// How much of a failed function's own words is kept.
const MAX_MESSAGE_CHARS: usize = 500;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum InvokeError {
    /// The function ran and failed, or ran out of time or memory.
    #[error("the function `{function}` failed: {kind}: {message}")]
    Function {
        /// The function.
        function: String,
        /// The error's type, as the function or Lambda names it.
        kind: String,
        /// The function's own words, cut to 500 characters, without control characters.
        message: String,
    },
    /// The function was not reached: Lambda refused, throttled or did not answer. It may have run.
    #[error("the function `{function}` could not be asked")]
    Unavailable {
        /// The function.
        function: String,
        /// What Lambda said.
        #[source]
        source: Source,
    },
    /// The question is no JSON, or the answer no text.
    #[error("what was said to or by the function `{function}` cannot be read")]
    Unreadable {
        /// The function.
        function: String,
        /// What is wrong with it; holds nothing of it.
        #[source]
        source: Source,
    },
}

/// How a failed function says so.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Failure {
    error_type: String,
    error_message: String,
}

/// Invokes functions.
#[derive(Clone)]
pub struct LambdaInvoker {
    client: Client,
}

impl fmt::Debug for LambdaInvoker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LambdaInvoker").finish_non_exhaustive()
    }
}

impl LambdaInvoker {
    /// Takes the client.
    pub const fn new(client: Client) -> Self {
        Self { client }
    }

    /// Invokes a function by name or ARN and returns its answer, the JSON text as it is.
    ///
    /// A call that Lambda did not accept is repeated by the SDK; one that was accepted is not.
    pub async fn invoke<T: Serialize + Sync>(
        &self,
        function: &str,
        question: &T,
    ) -> Result<SecretString, InvokeError> {
        let unreadable = |source: Source| InvokeError::Unreadable {
            function: function.to_owned(),
            source,
        };
        let question = serde_json::to_vec(question).map_err(|source| unreadable(source.into()))?;
        let answer = self
            .client
            .invoke()
            .function_name(function)
            .invocation_type(InvocationType::RequestResponse)
            .payload(Blob::new(question))
            .send()
            .await
            .map_err(|source| InvokeError::Unavailable {
                function: function.to_owned(),
                source: source.into(),
            })?;
        let payload = answer.payload.map(Blob::into_inner).unwrap_or_default();
        if let Some(kind) = answer.function_error {
            return Err(failed(function, kind, &payload));
        }
        // The error's text would show where the answer is no text, and nothing of it.
        let text =
            String::from_utf8(payload).map_err(|error| unreadable(error.utf8_error().into()))?;
        Ok(SecretString::from(text))
    }
}

fn failed(function: &str, kind: String, payload: &[u8]) -> InvokeError {
    let failure: Failure = serde_json::from_slice(payload).unwrap_or_default();
    let kind = if failure.error_type.is_empty() {
        kind
    } else {
        failure.error_type
    };
    InvokeError::Function {
        function: function.to_owned(),
        kind: plain(&kind),
        message: plain(&failure.error_message),
    }
}

fn plain(text: &str) -> String {
    text.chars()
        .take(MAX_MESSAGE_CHARS)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_without_words_keeps_lambdas_kind() {
        for (payload, kind, message) in [
            ("{}", "Unhandled", ""),
            ("not json", "Unhandled", ""),
            (
                "{\"errorType\":\"NotOurs\",\"errorMessage\":\"no such job\\n\"}",
                "NotOurs",
                "no such job\u{fffd}",
            ),
        ] {
            let error = failed("minter", "Unhandled".to_owned(), payload.as_bytes());
            let want = format!("the function `minter` failed: {kind}: {message}");
            assert_eq!(error.to_string(), want);
        }
    }
}
