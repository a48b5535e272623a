//! What a refusal means.
//!
//! **Invariant:** no text of an answer is kept.

use mirilla_http::retry::{reset_after, retry_after};
use mirilla_http::{HeaderMap, StatusCode};
use mirilla_ports::forge::Refusal;

use crate::refused::{Limit, Refused, UNNAMED_WAIT};

/// Says what an answer that is not a success means. `now_ms` is the present in Unix milliseconds.
pub(crate) fn classify(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    now_ms: i64,
) -> Refused {
    match status.as_u16() {
        401 => Refused::Unauthorized,
        403 => Refused::Forbidden,
        404 | 410 => Refused::NotFound,
        429 => Refused::Limited(limit(headers, now_ms)),
        400 | 422 => unprocessable(&String::from_utf8_lossy(body).to_lowercase()),
        500..=599 => Refused::Server(status),
        _ => Refused::Other(status),
    }
}

fn unprocessable(text: &str) -> Refused {
    let reason = if text.contains("is too long") {
        Refusal::TooLong
    } else if text.contains("line_code") || text.contains("position") {
        Refusal::Anchor
    } else {
        Refusal::Other
    };
    Refused::Unprocessable(reason)
}

fn limit(headers: &HeaderMap, now_ms: i64) -> Limit {
    let header = |name: &str| headers.get(name)?.to_str().ok();
    let named = header("retry-after")
        .and_then(|value| retry_after(value, now_ms))
        .filter(|wait| !wait.is_zero())
        .or_else(|| reset_after(header("ratelimit-reset")?, now_ms));
    Limit {
        after: named.unwrap_or(UNNAMED_WAIT),
        named: named.is_some(),
    }
}
