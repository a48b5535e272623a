use mirilla_casekit::repo_path;

use std::time::Duration;

use super::*;

/// 2026-01-01T00:00:00Z.
const NOW_MS: i64 = 1_767_225_600_000;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect()
}

fn said(status: u16, pairs: &[(&'static str, &str)], body: &str) -> Refused {
    let status = StatusCode::from_u16(status).unwrap();
    classify(status, &headers(pairs), body.as_bytes(), NOW_MS)
}

/// Reads a body as seen in a public report.
fn seen(file: &str) -> String {
    let path = repo_path("tests/fixtures/material/github/errors").join(file);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn bodies_seen_in_public_are_told_apart() {
    use Refusal::{Anchor, Other, PendingReview, TooLong};
    let limited = Refused::Limited(Limit {
        after: UNNAMED_WAIT,
        named: false,
    });
    for (status, file, want) in [
        (403, "403.integration.json", Refused::Forbidden),
        (403, "403.secondary.json", limited),
        (429, "403.secondary.json", limited),
        (406, "406.too_many_files.json", Refused::TooLarge),
        (406, "406.too_many_lines.json", Refused::TooLarge),
        (
            422,
            "422.body_too_long.json",
            Refused::Unprocessable(TooLong),
        ),
        (
            422,
            "422.review.line_not_in_diff.json",
            Refused::Unprocessable(Anchor),
        ),
        (
            422,
            "422.review.line_unresolved.json",
            Refused::Unprocessable(Anchor),
        ),
        (
            422,
            "422.review.multi_line_hunk.json",
            Refused::Unprocessable(Anchor),
        ),
        (
            422,
            "422.review.path_unresolved.json",
            Refused::Unprocessable(Anchor),
        ),
        (
            422,
            "422.review.position_invalid.json",
            Refused::Unprocessable(Anchor),
        ),
        (
            422,
            "422.review.start_equals_line.json",
            Refused::Unprocessable(Anchor),
        ),
        (
            422,
            "422.review.pending_exists.json",
            Refused::Unprocessable(PendingReview),
        ),
        (422, "422.review.own_pr.json", Refused::Unprocessable(Other)),
    ] {
        assert_eq!(said(status, &[], &seen(file)), want, "{file}");
    }
}

#[test]
fn errors_may_be_texts_objects_or_anything() {
    let anchor = Refused::Unprocessable(Refusal::Anchor);
    for body in [
        r#"{"message":"Unprocessable Entity","errors":["Line could not be resolved"]}"#,
        r#"{"message":"Validation Failed","errors":[{"resource":"PullRequestReviewComment","code":"custom","field":"pull_request_review_thread.line","message":"pull_request_review_thread.line must be part of the diff"}]}"#,
        r#"{"message":"x","errors":[7,null,{"code":null},"Path could not be resolved"]}"#,
    ] {
        assert_eq!(said(422, &[], body), anchor, "{body}");
    }
    for body in [
        "",
        "<html>",
        "[]",
        "null",
        r#"{"errors":{}}"#,
        r#"{"message":7}"#,
    ] {
        assert_eq!(
            said(422, &[], body),
            Refused::Unprocessable(Refusal::Other),
            "{body}"
        );
        assert_eq!(said(403, &[], body), Refused::Forbidden, "{body}");
        assert_eq!(
            said(406, &[], body),
            Refused::Other(StatusCode::NOT_ACCEPTABLE),
            "{body}"
        );
    }
    let foreign =
        r#"{"message":"Validation Failed","errors":["commit_id is not part of the pull request"]}"#;
    assert_eq!(
        said(422, &[], foreign),
        Refused::Unprocessable(Refusal::Commit)
    );
    let hasty =
        r#"{"message":"Validation Failed","errors":[{"message":"was submitted too quickly"}]}"#;
    assert!(matches!(said(422, &[], hasty), Refused::Limited(_)));
}

#[test]
fn used_up_quota_lasts_until_its_reset() {
    let limit = |after, named| {
        Refused::Limited(Limit {
            after: Duration::from_secs(after),
            named,
        })
    };
    let primary = r#"{"message":"API rate limit exceeded for installation ID 1."}"#;
    let none_left = ("x-ratelimit-remaining", "0");
    for status in [403, 429] {
        let reset = [none_left, ("x-ratelimit-reset", "1767226200")];
        assert_eq!(said(status, &reset, primary), limit(600, true));
        // A reset that has passed, or none: the least wait, never zero.
        let past = [none_left, ("x-ratelimit-reset", "1767225570")];
        assert_eq!(said(status, &past, primary), limit(60, false));
        assert_eq!(said(status, &[none_left], primary), limit(60, false));
        // What is asked for counts before the reset.
        let both = [
            none_left,
            ("x-ratelimit-reset", "1767226200"),
            ("retry-after", "7"),
        ];
        assert_eq!(said(status, &both, primary), limit(7, true));
    }
    // A reset says nothing about a secondary limit while quota is left.
    let left = [
        ("x-ratelimit-remaining", "4650"),
        ("x-ratelimit-reset", "1767226200"),
    ];
    assert_eq!(
        said(403, &left, &seen("403.secondary.json")),
        limit(60, false)
    );
    assert_eq!(said(403, &[("retry-after", "0")], "{}"), limit(60, false));
    assert_eq!(said(429, &[], ""), limit(60, false));
}

#[test]
fn what_no_waiting_helps_is_forbidden_or_gone() {
    for message in [
        "Resource not accessible by personal access token",
        "Resource protected by organization SAML enforcement. You must grant your token access.",
        "Although you appear to have the correct authorization credentials, the `acme` organization has an IP allow list enabled",
        "This installation has been suspended",
        "Repository access blocked",
        "Unable to create comment because issue is locked.",
    ] {
        let body = serde_json::json!({ "message": message }).to_string();
        let headers = [("x-ratelimit-remaining", "4999")];
        assert_eq!(said(403, &headers, &body), Refused::Forbidden, "{message}");
    }
    assert_eq!(said(404, &[], ""), Refused::NotFound);
    assert_eq!(said(410, &[], ""), Refused::NotFound);
    assert_eq!(said(451, &[], ""), Refused::Forbidden);
    assert_eq!(said(401, &[], ""), Refused::Unauthorized);
    assert!(matches!(said(502, &[], ""), Refused::Server(_)));
    assert!(matches!(said(304, &[], ""), Refused::Other(_)));
}

#[test]
fn graphql_errors_come_by_type_or_by_words() {
    let says = |kind, message| classify_graphql(kind, message, &HeaderMap::new(), NOW_MS);
    assert!(matches!(says("RATE_LIMITED", ""), Refused::Limited(_)));
    assert!(matches!(
        says("", "You have exceeded a secondary rate limit"),
        Refused::Limited(_)
    ));
    assert_eq!(says("NOT_FOUND", "Could not resolve"), Refused::NotFound);
    assert_eq!(
        says("FORBIDDEN", "Resource not accessible by integration"),
        Refused::Forbidden
    );
    assert!(matches!(
        says("", "Something went wrong while executing your query."),
        Refused::Server(_)
    ));
    assert_eq!(
        says("", "Field 'x' doesn't exist"),
        Refused::Graphql("other")
    );
}
