//! A webhook as it came in, whatever brought it: a gateway's envelope or a socket.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mirilla_domain::ids::Forge;

/// A gateway's envelope that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum EnvelopeError {
    /// The gateway said that the body is base64, and it is not.
    #[error("the body is not base64")]
    NotBase64(#[source] base64::DecodeError),
}

/// One request to a webhook's address.
pub struct IncomingWebhook {
    /// Whose address it was sent to.
    pub(super) forge: Forge,
    /// The body exactly as the forge sent it: the signature is over these bytes.
    pub(super) body: Vec<u8>,
    headers: Vec<(String, String)>,
}

/// Prints sizes only: headers hold signatures, and a body is somebody's code.
impl fmt::Debug for IncomingWebhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IncomingWebhook")
            .field("forge", &self.forge)
            .field("headers", &self.headers.len())
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

impl IncomingWebhook {
    /// Puts a request together from what a front door hands over.
    ///
    /// Header names may be in any case; of a repeated header the first value counts. With
    /// `is_base64` the body is the gateway's base64 of it and is decoded here.
    pub fn from_parts<N: AsRef<str>, V: Into<String>>(
        forge: Forge,
        headers: impl IntoIterator<Item = (N, V)>,
        body: Vec<u8>,
        is_base64: bool,
    ) -> Result<Self, EnvelopeError> {
        let body = if is_base64 {
            STANDARD.decode(&body).map_err(EnvelopeError::NotBase64)?
        } else {
            body
        };
        let headers = headers
            .into_iter()
            .map(|(name, value)| (name.as_ref().to_ascii_lowercase(), value.into()))
            .collect();
        Ok(Self {
            forge,
            body,
            headers,
        })
    }

    /// Returns a header's value; `name` is in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }
}
