//! What S3 answers to a signed request.

use mirilla_http::{Response, StatusCode, header};

use super::SignedError;
use super::client::Failed;

/// How much of an error's text is read: S3's are a few hundred bytes.
pub(super) const MAX_ERROR_BYTES: u64 = 64 * 1024;
/// The longest code that is repeated; S3's are words.
const MAX_CODE_CHARS: usize = 60;

/// A whole answer.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) etag: String,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// Reads a response: the body of a success whole and under `limit`, that of a failure as far as it
    /// is needed.
    pub(super) async fn read(mut response: Response, limit: u64) -> Result<Self, Failed> {
        let status = response.status();
        let etag = etag_of(&response);
        let success = status.is_success();
        // An announced length that is past the bound need not be read to be refused.
        let announced = response.header(header::CONTENT_LENGTH.as_str());
        let announced: Option<u64> = announced.and_then(|text| text.parse().ok());
        if success && announced.is_some_and(|length| length > limit) {
            return Err(Failed::TooLarge);
        }
        let mut body = Vec::new();
        loop {
            let piece = match response.chunk().await {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(error) if success => return Err(Failed::Http(error)),
                // What came of an error's text has to do.
                Err(_broken) => break,
            };
            body.extend_from_slice(&piece);
            let length = u64::try_from(body.len()).unwrap_or(u64::MAX);
            if success && length > limit {
                return Err(Failed::TooLarge);
            }
            if !success && length > MAX_ERROR_BYTES {
                break;
            }
        }
        Ok(Self { status, etag, body })
    }

    /// Returns whether another try may fare better: the store is busy or broken, or another writer of
    /// the same new object is at work.
    pub(super) fn may_pass(&self) -> bool {
        self.status.is_server_error()
            || self.status == StatusCode::TOO_MANY_REQUESTS
            || self.status == StatusCode::REQUEST_TIMEOUT
            || (self.status == StatusCode::CONFLICT && self.code() == "ConditionalRequestConflict")
    }

    /// Returns what a refusal means; `over` tells that the address's time has passed.
    pub(super) fn error(&self, over: bool) -> SignedError {
        let (status, code) = (self.status.as_u16(), self.code());
        let refused = self.status == StatusCode::FORBIDDEN;
        let says_so = code == "ExpiredToken" || self.text().contains("Request has expired");
        if says_so || (refused && over) {
            return SignedError::Expired;
        }
        if refused || code == "InvalidToken" {
            return SignedError::Refused { status, code };
        }
        SignedError::Unexpected { status, code }
    }

    /// Returns the code of S3's error, made of letters and digits alone.
    fn code(&self) -> String {
        let text = self.text();
        let code = text
            .split_once("<Code>")
            .and_then(|(_before, rest)| rest.split_once("</Code>"))
            .map_or("without a code", |(code, _after)| code);
        code.chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == ' ')
            .take(MAX_CODE_CHARS)
            .collect()
    }

    fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }
}

/// Returns a response's tag, as S3 writes it.
pub(super) fn etag_of(response: &Response) -> String {
    response
        .header(header::ETAG.as_str())
        .unwrap_or_default()
        .to_owned()
}
