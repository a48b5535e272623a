//! Errors in the provider's shape.

use serde_json::{Value, json};

use crate::server::Reply;

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    /// Whether a client that sent this has a fault; a prompt that is too long is not one.
    pub(crate) fault: bool,
}

impl Refusal {
    pub(crate) fn new(status: u16, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            message: message.into(),
            fault: true,
        }
    }

    /// Returns a 400.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, "invalid_request_error", message)
    }

    /// Returns a 401.
    pub(crate) fn unauthorized(message: &str) -> Self {
        Self::new(401, "authentication_error", message)
    }

    /// Returns the refusal of what the real API does and this one does not.
    pub(crate) fn not_simulated(what: &str) -> Self {
        Self::new(501, "api_error", format!("{what} is not simulated"))
    }

    /// Returns the same without blame.
    #[must_use]
    pub(crate) fn blameless(mut self) -> Self {
        self.fault = false;
        self
    }

    /// Returns the answer.
    pub(crate) fn reply(&self, request_id: &str) -> Reply {
        Reply::json(
            self.status,
            &error_body(self.kind, &self.message, None, Some(request_id)),
        )
    }
}

/// Returns an error's body.
pub(crate) fn error_body(
    kind: &str,
    message: &str,
    code: Option<&str>,
    request_id: Option<&str>,
) -> Value {
    let mut error = json!({"type": kind, "message": message});
    if let (Some(code), Some(error)) = (code, error.as_object_mut()) {
        error.insert("details".to_owned(), json!({ "error_code": code }));
    }
    json!({"type": "error", "error": error, "request_id": request_id})
}
