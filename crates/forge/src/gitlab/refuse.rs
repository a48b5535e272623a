//! What a refusal of GitLab means: its words differ from version to version, and so does the key that they stand
//! under. Statuses: <https://docs.gitlab.com/api/rest/troubleshooting/>.
//!
//! **Invariant:** no text of an answer is kept; it is looked at and becomes a [`Refused`].

use mirilla_http::retry::{reset_after, retry_after};
use mirilla_http::{HeaderMap, StatusCode};
use mirilla_ports::forge::Refusal;

use crate::refused::{Limit, Refused, UNNAMED_WAIT};

/// The headers that say when a limit ends, as seconds since the epoch: GitLab's own, and those of what stands in
/// front of an instance.
const RESET_HEADERS: [&str; 2] = ["ratelimit-reset", "x-ratelimit-reset"];
/// What the refusal of a position names. Ruby prints keys as `:line_code=>` and, from 3.4 on, as `line_code:`.
const ANCHOR: [&str; 3] = ["line_code", "position", "new-style diff notes"];
/// And what some versions find out too late.
const LATE_ANCHOR: &str = "failed to find diff line";

/// Says what an answer that is not a success means. `now_ms` is the present in Unix milliseconds.
pub(crate) fn classify(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    now_ms: i64,
) -> Refused {
    let text = String::from_utf8_lossy(body).to_lowercase();
    let is_about_anchor = ANCHOR.iter().any(|words| text.contains(words));
    match status.as_u16() {
        401 => Refused::Unauthorized,
        429 => Refused::Limited(limit(headers, now_ms)),
        // What stands in front of an instance says so too when it wants fewer calls.
        403 | 503 if headers.contains_key("retry-after") => {
            Refused::Limited(limit(headers, now_ms))
        }
        403 | 451 => Refused::Forbidden,
        404 | 410 => Refused::NotFound,
        413 => Refused::Unprocessable(Refusal::TooLong),
        400 | 409 | 422 => Refused::Unprocessable(if text.contains("is too long") {
            Refusal::TooLong
        } else if is_about_anchor {
            Refusal::Anchor
        } else {
            Refusal::Other
        }),
        500 if text.contains(LATE_ANCHOR) => Refused::Unprocessable(Refusal::Anchor),
        500..=599 => Refused::Server(status),
        _ => Refused::Other(status),
    }
}

/// Returns how long a limit lasts: what `Retry-After` says, else when the quota is there again, else our own
/// minimum.
fn limit(headers: &HeaderMap, now_ms: i64) -> Limit {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let named = text("retry-after")
        .and_then(|value| retry_after(value, now_ms))
        .or_else(|| {
            let mut resets = RESET_HEADERS.iter().filter_map(|name| text(name));
            resets.find_map(|value| reset_after(value, now_ms))
        })
        .filter(|wait| !wait.is_zero());
    Limit {
        after: named.unwrap_or(UNNAMED_WAIT),
        named: named.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// 2026-01-01T00:00:00Z.
    const NOW_MS: i64 = 1_767_225_600_000;

    fn said(status: u16, headers: &[(&'static str, &str)], body: &str) -> Refused {
        let pairs = headers.iter();
        let headers = pairs
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect();
        let status = StatusCode::from_u16(status).unwrap();
        classify(status, &headers, body.as_bytes(), NOW_MS)
    }

    #[test]
    fn the_same_refusal_is_known_in_the_words_of_every_version() {
        let anchor = Refused::Unprocessable(Refusal::Anchor);
        for (status, body) in [
            (
                400,
                r#"{"message":"400 Bad request - Note {:line_code=>[\"can't be blank\", \"must be a valid line code\"]}"}"#,
            ),
            (
                400,
                r#"{"message":"400 (Bad request) \"Note {:line_code=>[\"can't be blank\"]}\" not given"}"#,
            ),
            (
                400,
                r#"{"message":"400 Bad request - Note {line_code: [\"can't be blank\"]}"}"#,
            ),
            (
                400,
                r#"{"message":"400 Bad request - Note {:position=>[\"is incomplete\"]}"}"#,
            ),
            (
                400,
                r#"{"message":"400 Bad request - Note {:noteable=>[\"doesn't support new-style diff notes\"]}"}"#,
            ),
            (
                400,
                r#"{"error":"position[line_range][start_line_code] is invalid"}"#,
            ),
            (
                500,
                r#"{"message":"500 Internal Server Error: Failed to find diff line for: a.rs"}"#,
            ),
        ] {
            assert_eq!(said(status, &[], body), anchor, "{body}");
        }
        let too_long = Refused::Unprocessable(Refusal::TooLong);
        let note = r#"{"message":"400 Bad request - Note {:note=>[\"is too long (maximum is 1000000 characters)\"]}"}"#;
        assert_eq!(said(400, &[], note), too_long);
        assert_eq!(said(413, &[], "<html>"), too_long);
        let step = r#"{"message":"Cannot transition status via :enqueue from :pending"}"#;
        assert_eq!(said(400, &[], step), Refused::Unprocessable(Refusal::Other));
    }

    #[test]
    fn statuses_mean_what_they_say() {
        for (status, body, refused) in [
            (
                401,
                r#"{"message":"401 Unauthorized"}"#,
                Refused::Unauthorized,
            ),
            (401, r#"{"error":"invalid_token"}"#, Refused::Unauthorized),
            (
                403,
                r#"{"error":"insufficient_scope","scope":"api"}"#,
                Refused::Forbidden,
            ),
            (
                404,
                r#"{"message":"404 Project Not Found"}"#,
                Refused::NotFound,
            ),
            (404, "<html>a line_code page</html>", Refused::NotFound),
            (502, "<html>", Refused::Server(StatusCode::BAD_GATEWAY)),
            (
                500,
                "<style>div { position: fixed }</style>",
                Refused::Server(StatusCode::INTERNAL_SERVER_ERROR),
            ),
            (418, "", Refused::Other(StatusCode::IM_A_TEAPOT)),
        ] {
            assert_eq!(said(status, &[], body), refused, "{status} {body}");
        }
    }

    #[test]
    fn a_limit_lasts_as_long_as_either_style_of_header_says() {
        let limited = |seconds, named| {
            let after = Duration::from_secs(seconds);
            Refused::Limited(Limit { after, named })
        };
        let reset = "1767225630";
        for (status, headers, expected) in [
            (429, vec![("retry-after", "7")], limited(7, true)),
            (
                429,
                vec![("retry-after", "7"), ("ratelimit-reset", reset)],
                limited(7, true),
            ),
            (429, vec![("ratelimit-reset", reset)], limited(30, true)),
            (429, vec![("x-ratelimit-reset", reset)], limited(30, true)),
            (429, vec![("ratelimit-reset", "1")], limited(60, false)),
            (429, vec![], limited(60, false)),
            (403, vec![("retry-after", "9")], limited(9, true)),
        ] {
            assert_eq!(
                said(status, &headers, "Retry later\n"),
                expected,
                "{headers:?}"
            );
        }
    }
}
