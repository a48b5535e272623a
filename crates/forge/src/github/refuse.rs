//! What a refusal means: the same status stands for different things, told apart by headers and by
//! short fixed texts.
//!
//! Rate limits: <https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api>.
//!
//! **Invariant:** no text of an answer is kept; it is looked at and becomes one of these values.

use mirilla_http::retry::{reset_after, retry_after};
use mirilla_http::{HeaderMap, StatusCode};
use mirilla_ports::forge::Refusal;
use serde::Deserialize;

use crate::refused::{Limit, Refused, UNNAMED_WAIT};

/// An error body, as far as it is looked at. Anything may be missing.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ErrorBody {
    message: String,
    errors: Vec<ErrorItem>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ErrorItem {
    Text(String),
    Object {
        #[serde(default)]
        code: Option<String>,
        #[serde(default)]
        field: Option<String>,
        #[serde(default)]
        message: Option<String>,
    },
    Other(serde::de::IgnoredAny),
}

impl ErrorBody {
    fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }

    fn has_code(&self, wanted: &str) -> bool {
        self.errors.iter().any(
            |item| matches!(item, ErrorItem::Object { code: Some(code), .. } if code == wanted),
        )
    }

    /// Returns everything it says, in lower case.
    fn text(&self) -> String {
        let mut all = self.message.to_lowercase();
        for item in &self.errors {
            let (field, message) = match item {
                ErrorItem::Text(text) => (None, Some(text)),
                ErrorItem::Object { field, message, .. } => (field.as_ref(), message.as_ref()),
                ErrorItem::Other(_) => (None, None),
            };
            for part in [field, message].into_iter().flatten() {
                all.push('\n');
                all.push_str(&part.to_lowercase());
            }
        }
        all
    }
}

/// Says what an answer that is not a success means. `now_ms` is the present in Unix milliseconds.
pub(crate) fn classify(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    now_ms: i64,
) -> Refused {
    let body = ErrorBody::read(body);
    match status.as_u16() {
        401 => Refused::Unauthorized,
        403 | 429 => forbidden_or_limited(status, headers, &body.text(), now_ms),
        404 | 410 => Refused::NotFound,
        406 if body.has_code("too_large") => Refused::TooLarge,
        422 => unprocessable(&body.text(), headers, now_ms),
        451 => Refused::Forbidden,
        500..=599 => Refused::Server(status),
        _ => Refused::Other(status),
    }
}

/// Says what the first of a list of GraphQL errors means, by its type and message.
pub(crate) fn classify_graphql(
    kind: &str,
    message: &str,
    headers: &HeaderMap,
    now_ms: i64,
) -> Refused {
    let message = message.to_lowercase();
    if kind == "RATE_LIMITED" || kind == "RATE_LIMIT" || message.contains("rate limit") {
        return Refused::Limited(limit(headers, now_ms));
    }
    match kind {
        "NOT_FOUND" => Refused::NotFound,
        "FORBIDDEN" | "INSUFFICIENT_SCOPES" => Refused::Forbidden,
        "UNPROCESSABLE" => Refused::Graphql("UNPROCESSABLE"),
        // Seen when a query runs into GitHub's own time limit; passes.
        "" if message.contains("something went wrong") => Refused::Server(StatusCode::BAD_GATEWAY),
        _ => Refused::Graphql("other"),
    }
}

fn forbidden_or_limited(
    status: StatusCode,
    headers: &HeaderMap,
    text: &str,
    now_ms: i64,
) -> Refused {
    let secondary = text.contains("secondary rate limit") || text.contains("abuse detection");
    let told_to_wait = headers.contains_key("retry-after");
    let used_up = header(headers, "x-ratelimit-remaining").map(str::trim) == Some("0");
    if secondary || told_to_wait || used_up || status == StatusCode::TOO_MANY_REQUESTS {
        Refused::Limited(limit(headers, now_ms))
    } else {
        // Missing permission, SSO, IP allow list, suspended installation, locked conversation:
        // none of them passes by waiting.
        Refused::Forbidden
    }
}

/// Returns how long a limit lasts: what `Retry-After` says, else the reset of a used-up quota, else
/// our own minimum. A reset says nothing while quota is left.
fn limit(headers: &HeaderMap, now_ms: i64) -> Limit {
    let named = header(headers, "retry-after")
        .and_then(|value| retry_after(value, now_ms))
        .filter(|wait| !wait.is_zero())
        .or_else(|| {
            let used_up = header(headers, "x-ratelimit-remaining").map(str::trim) == Some("0");
            let reset = header(headers, "x-ratelimit-reset").filter(|_| used_up)?;
            reset_after(reset, now_ms)
        });
    Limit {
        after: named.unwrap_or(UNNAMED_WAIT),
        named: named.is_some(),
    }
}

/// Tells the reasons of a 422 apart. The texts are those seen in public reports; GitHub says which
/// rule is broken but not by which comment.
fn unprocessable(text: &str, headers: &HeaderMap, now_ms: i64) -> Refused {
    const ANCHOR: [&str; 7] = [
        "must be part of the diff",
        "line could not be resolved",
        "path could not be resolved",
        "must be part of the same hunk",
        "must precede the end line",
        "position is invalid",
        "diff hunk can't be blank",
    ];
    let says = |needle: &str| text.contains(needle);
    // A content-creation limit that comes as a 422.
    if says("submitted too quickly") {
        return Refused::Limited(limit(headers, now_ms));
    }
    let reason = if says("pending review") {
        Refusal::PendingReview
    } else if says("is too long") {
        Refusal::TooLong
    } else if ANCHOR.iter().any(|needle| says(needle)) {
        Refusal::Anchor
    } else if says("commit") && (says("not part of the pull request") || says("no commit found")) {
        Refusal::Commit
    } else {
        Refusal::Other
    };
    Refused::Unprocessable(reason)
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests;
