//! Which failures may be tried again, which cannot be mended, and which may have cost money.

use std::time::Duration;

use mirilla_model::wire::{Failure, read_failure};

use crate::support::{fixture, head};

/// Says in short what is made of a failure.
fn verdict(status: u16, headers: &[(&str, &str)], body: &[u8]) -> String {
    match read_failure(&head(status, headers), body) {
        Failure::Unprocessed {
            retry_after,
            give_up,
            ..
        } => {
            let after = retry_after.map_or(String::new(), |d| format!(" after {d:?}"));
            format!("{}{after}", if give_up { "give up" } else { "retry" })
        }
        Failure::TooLong => "too long".to_owned(),
        Failure::Rejected { kind, hint, .. } => format!("{kind}: {hint}"),
        Failure::Lost(lost) => format!("lost: {lost}"),
    }
}

fn error(kind: &str, code: Option<&str>, message: &str) -> Vec<u8> {
    let details = code.map(|code| serde_json::json!({ "error_code": code }));
    let error = serde_json::json!({"type": kind, "message": message, "details": details});
    serde_json::json!({"type": "error", "error": error, "request_id": null})
        .to_string()
        .into_bytes()
}

#[test]
fn recorded_errors_are_judged() {
    let judged: Vec<String> = [
        (400, "error.400.grammar_too_large.json"),
        (400, "error.400.thinking_disabled.json"),
        (401, "error.401.json"),
        (402, "error.402.json"),
        (429, "error.429.ramp.json"),
        (429, "error.429.spend.json"),
        (504, "error.504.json"),
        (529, "error.529.json"),
    ]
    .into_iter()
    .map(|(status, file)| {
        let body = fixture(&format!("material/anthropic/{file}"));
        format!("{file} -> {}", verdict(status, &[], &body))
    })
    .collect();
    insta::assert_snapshot!(judged.join("\n"), @r"
    error.400.grammar_too_large.json -> invalid_request_error: check the model and effort settings, and the account's spending limit
    error.400.thinking_disabled.json -> invalid_request_error: check the model and effort settings, and the account's spending limit
    error.401.json -> authentication_error: check the model key
    error.402.json -> billing_error: the account has no credit; add some with the provider
    error.429.ramp.json -> retry
    error.429.spend.json -> contract_spend_limit_reached: the account's spending limit is reached; raise it with the provider
    error.504.json -> lost: status 504 does not say whether the request was processed
    error.529.json -> retry
    ");
}

#[test]
fn every_documented_status_is_judged() {
    let judged: Vec<String> = [
        (400, "invalid_request_error", None),
        (400, "invalid_request_error", Some("organization_on_hold")),
        (400, "invalid_request_error", Some("cmek_key_disabled")),
        (403, "permission_error", None),
        (404, "not_found_error", None),
        (408, "timeout_error", None),
        (409, "conflict_error", None),
        (413, "request_too_large", None),
        (422, "invalid_request_error", None),
        (429, "rate_limit_error", None),
        (429, "rate_limit_error", Some("ramp_limit_exceeded")),
        (
            429,
            "rate_limit_error",
            Some("enforced_spend_limit_reached"),
        ),
        (
            429,
            "rate_limit_error",
            Some("contract_spend_limit_reached"),
        ),
        (500, "api_error", None),
        (502, "api_error", None),
        (503, "api_error", Some("cmek_unavailable")),
        (504, "timeout_error", None),
        (529, "overloaded_error", None),
    ]
    .into_iter()
    .map(|(status, kind, code)| {
        let named = code.map_or(String::new(), |code| format!("/{code}"));
        let said = verdict(status, &[], &error(kind, code, "prose"));
        format!("{status} {kind}{named} -> {said}")
    })
    .collect();
    insta::assert_snapshot!(judged.join("\n"), @r"
    400 invalid_request_error -> invalid_request_error: check the model and effort settings, and the account's spending limit
    400 invalid_request_error/organization_on_hold -> organization_on_hold: the account is on hold; ask the provider
    400 invalid_request_error/cmek_key_disabled -> cmek_key_disabled: the account's encryption key cannot be used; check it with the provider
    403 permission_error -> permission_error: the key may not use this model; check its workspace and permissions
    404 not_found_error -> not_found_error: check the model's id and the endpoint
    408 timeout_error -> lost: status 408 does not say whether the request was processed
    409 conflict_error -> retry
    413 request_too_large -> too long
    422 invalid_request_error -> invalid_request_error: check the endpoint and what stands between it and here
    429 rate_limit_error -> retry
    429 rate_limit_error/ramp_limit_exceeded -> retry
    429 rate_limit_error/enforced_spend_limit_reached -> enforced_spend_limit_reached: the account's spending limit is reached; raise it with the provider
    429 rate_limit_error/contract_spend_limit_reached -> contract_spend_limit_reached: the account's spending limit is reached; raise it with the provider
    500 api_error -> retry
    502 api_error -> lost: status 502 does not say whether the request was processed
    503 api_error/cmek_unavailable -> retry
    504 timeout_error -> lost: status 504 does not say whether the request was processed
    529 overloaded_error -> retry
    ");
}

#[test]
fn page_of_a_gateway_proves_nothing() {
    let page = b"<html><body>Bad gateway</body></html>";
    for status in [408, 500, 502, 503, 504, 520, 529, 599, 201, 204] {
        let lost = format!("lost: status {status} does not say whether the request was processed");
        assert_eq!(verdict(status, &[], page), lost);
    }
    assert_eq!(verdict(429, &[], page), "retry");
    assert_eq!(verdict(413, &[], page), "too long");
    for (status, hint) in [
        (
            302,
            "the endpoint redirects; set the address it redirects to",
        ),
        (
            403,
            "the key may not use this model; check its workspace and permissions",
        ),
        (407, "the proxy wants a password"),
        (
            418,
            "check the endpoint and what stands between it and here",
        ),
    ] {
        assert_eq!(verdict(status, &[], page), format!("unknown: {hint}"));
    }
}

#[test]
fn overlong_prompt_is_told_by_its_wording() {
    for message in [
        "prompt is too long: 231000 tokens > 200000 maximum",
        "Prompt is too long",
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
    ] {
        let body = error("invalid_request_error", None, message);
        assert_eq!(verdict(400, &[], &body), "too long", "{message}");
        assert_ne!(verdict(403, &[], &body), "too long", "{message}");
    }
}

#[test]
fn provider_decides_whether_it_wants_a_retry() {
    let overloaded = error("overloaded_error", None, "");
    assert_eq!(
        verdict(529, &[("x-should-retry", "false")], &overloaded),
        "give up"
    );
    let conflict = error("invalid_request_error", None, "");
    assert_eq!(
        verdict(400, &[("x-should-retry", "true")], &conflict),
        "retry"
    );
    // It cannot make safe what may have been charged, nor lift a spending limit.
    let timeout = error("timeout_error", None, "");
    assert!(verdict(504, &[("x-should-retry", "true")], &timeout).starts_with("lost"));
    let spent = error("rate_limit_error", Some("contract_spend_limit_reached"), "");
    assert!(verdict(429, &[("x-should-retry", "true")], &spent).starts_with("contract_spend"));
}

#[test]
fn wanted_wait_is_read_from_both_headers() {
    let wait = |headers: &[(&str, &str)]| head(429, headers).retry_after;
    let millis = |n| Some(Duration::from_millis(n));
    assert_eq!(wait(&[("retry-after", "67")]), millis(67_000));
    assert_eq!(
        wait(&[("retry-after", "Thu, 01 Jan 2026 00:01:30 GMT")]),
        millis(90_000)
    );
    assert_eq!(
        wait(&[("retry-after-ms", "1500"), ("retry-after", "67")]),
        millis(1_500)
    );
    assert_eq!(wait(&[("retry-after-ms", "1500.25")]), millis(1_501));
    assert_eq!(
        wait(&[("retry-after-ms", "soon"), ("retry-after", "3")]),
        millis(3_000)
    );
    assert_eq!(wait(&[("retry-after", "86400")]), millis(3_600_000));
    assert_eq!(
        wait(&[("retry-after-ms", "99999999999999999999999")]),
        millis(3_600_000)
    );
    for nonsense in ["", "-1", "x", "1e9", ".5", "Wed, 31 Dec 2025 23:59:00 GMT"] {
        assert_eq!(wait(&[("retry-after", nonsense)]), None, "{nonsense}");
        assert_eq!(wait(&[("retry-after-ms", nonsense)]), None, "{nonsense}");
    }
}

#[test]
fn verdict_holds_nothing_of_the_message() {
    let body = error(
        "invalid_request_error",
        None,
        "your prompt was: fn secret() {}",
    );
    let said = format!("{:?}", read_failure(&head(400, &[]), &body));
    assert!(!said.contains("secret"), "{said}");
    let body = error("fn secret() {}", Some("fn secret()"), "");
    let said = format!("{:?}", read_failure(&head(400, &[]), &body));
    assert!(!said.contains("secret"), "{said}");
}
