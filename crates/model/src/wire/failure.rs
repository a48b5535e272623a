//! From a failed call to what may be done about it.
//!
//! The provider's own order of evidence: the status, then the error's type, then its code. The
//! message is for people and changes; it is read in one place, where the provider has no code.
//! See <https://platform.claude.com/docs/en/api/errors>.
//!
//! **Invariant:** a failure is called unprocessed only if the provider itself said so. A gateway's
//! 502 or 504 may hide an answer that was charged.

use std::time::Duration;

use mirilla_domain::ids::Timestamp;
use mirilla_http::retry::retry_after;
use serde_json::Value;

use super::response::{Lost, LostAnswer};

/// Longest wait that is believed; a larger one means "not today" and is cut to this.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// Longest error type or code that is kept.
const MAX_KIND_CHARS: usize = 64;

/// Limits that waiting does not lift.
const SPEND_CODES: [&str; 2] = [
    "enforced_spend_limit_reached",
    "contract_spend_limit_reached",
];

/// Why a call gave no answer.
#[derive(Debug)]
pub enum Failure {
    /// The provider did not process the request: it may be sent again.
    Unprocessed {
        /// HTTP status; 0 when no connection was made.
        status: u16,
        /// The least wait the provider asked for.
        retry_after: Option<Duration>,
        /// Whether the provider asked not to be asked again by this client.
        give_up: bool,
    },
    /// The prompt is too long for the model or the request too large for the API.
    TooLong,
    /// The request will be refused however often it is sent.
    Rejected {
        /// HTTP status.
        status: u16,
        /// The provider's error code or type; `unknown` if it gave none.
        kind: String,
        /// What to do.
        hint: &'static str,
    },
    /// The request may have been processed and charged.
    Lost(LostAnswer),
}

/// The status line and the headers of a reply that matter here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyHead {
    /// The HTTP status.
    pub status: u16,
    /// `content-type`
    pub content_type: Option<String>,
    /// `request-id`
    pub request_id: Option<String>,
    /// `x-should-retry`
    pub should_retry: Option<bool>,
    /// `retry-after-ms`, else `retry-after` in seconds or as a date; at most an hour.
    pub retry_after: Option<Duration>,
}

impl ReplyHead {
    /// Reads the headers through `header`, which looks one up by its lower-case name.
    pub fn read<'h>(status: u16, now: Timestamp, header: impl Fn(&str) -> Option<&'h str>) -> Self {
        let should_retry = match header("x-should-retry").map(str::trim) {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        let exact = header("retry-after-ms").and_then(millis);
        let coarse = header("retry-after").and_then(|text| retry_after(text, now.get()));
        let retry_after = exact.or(coarse).map(|wait| wait.min(MAX_RETRY_AFTER));
        Self {
            status,
            content_type: header("content-type").map(str::to_owned),
            request_id: header("request-id").map(str::to_owned),
            should_retry,
            retry_after,
        }
    }
}

/// Reads a whole or decimal number of milliseconds, rounded up.
fn millis(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) {
        return None;
    }
    let rounded = u64::from(part.bytes().any(|b| b != b'0'));
    let millis = whole.parse::<u64>().unwrap_or(u64::MAX);
    Some(Duration::from_millis(millis.saturating_add(rounded)))
}

/// Returns a provider's name for something if it looks like one, else `unknown`.
///
/// These names end in logs and messages, and a gateway could put anything there.
pub(super) fn plain_name(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    if name.is_empty() || name.len() > MAX_KIND_CHARS || !name.bytes().all(plain) {
        return "unknown".to_owned();
    }
    name.to_owned()
}

/// What an error's body says.
struct Told {
    kind: Option<String>,
    code: Option<String>,
    too_long: bool,
}

impl Told {
    fn read(body: &[u8]) -> Self {
        let value = serde_json::from_slice::<Value>(body).unwrap_or_default();
        let error = value.get("error");
        let text = |key: &str| error.and_then(|e| e.get(key)).and_then(Value::as_str);
        let details = error.and_then(|e| e.get("details"));
        let code = details.and_then(|d| d.get("error_code"));
        Self {
            kind: text("type").map(plain_name),
            code: code.and_then(Value::as_str).map(plain_name),
            too_long: text("message").is_some_and(says_too_long),
        }
    }

    /// Returns the more exact of code and type.
    fn name(&self) -> String {
        let named = self.code.as_ref().or(self.kind.as_ref());
        named.cloned().unwrap_or_else(|| "unknown".to_owned())
    }
}

/// The overflow of the window has a type shared with every other bad request and no code, so its
/// wording is all there is; the second one is what older models say.
fn says_too_long(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let ways = [
        "prompt is too long",
        "exceed context limit",
        "input is too long",
    ];
    ways.iter().any(|way| message.contains(way))
}

/// Reads a reply whose status is not 200.
pub fn read_failure(head: &ReplyHead, body: &[u8]) -> Failure {
    let told = Told::read(body);
    let status = head.status;
    let unprocessed = || Failure::Unprocessed {
        status,
        retry_after: head.retry_after,
        give_up: head.should_retry == Some(false),
    };
    let spent = (told.code.as_deref()).is_some_and(|code| SPEND_CODES.contains(&code));
    match status {
        400 if told.too_long => Failure::TooLong,
        413 => Failure::TooLong,
        429 if spent => rejected(status, &told),
        // A rate limiter answers before the request is looked at, whoever runs it.
        429 => unprocessed(),
        // With the provider's own error these mean that the request failed and is not charged;
        // without it something in between answered and the provider may still be at work.
        409 | 500 | 503 | 529 if told.kind.is_some() => unprocessed(),
        408 | 500..=599 => Failure::Lost(Lost::Unclear { status }.into()),
        // Accepted, but with no answer in it.
        100..=299 => Failure::Lost(Lost::Unclear { status }.into()),
        _ if head.should_retry == Some(true) => unprocessed(),
        _ => rejected(status, &told),
    }
}

/// Reads an error of Bedrock's, which has its type in a header and only a message in its body.
///
/// See <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html>.
pub fn read_bedrock_failure(head: &ReplyHead, kind: Option<&str>, body: &[u8]) -> Failure {
    // The service puts a URL after a colon.
    let kind = kind.and_then(|kind| kind.split(':').next()).map(plain_name);
    let message = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let message = ["message", "Message"]
        .iter()
        .find_map(|key| message.get(key).and_then(Value::as_str))
        .unwrap_or_default();
    let status = head.status;
    let rejected = |hint| Failure::Rejected {
        status,
        kind: kind.clone().unwrap_or_else(|| "unknown".to_owned()),
        hint,
    };
    match (status, kind.as_deref()) {
        (400, _) if says_too_long(message) => Failure::TooLong,
        (413, _) => Failure::TooLong,
        // Throttled, or the service's own word that it failed.
        (429, _)
        | (500, Some("InternalServerException"))
        | (503, Some("ServiceUnavailableException")) => Failure::Unprocessed {
            status,
            retry_after: head.retry_after,
            give_up: false,
        },
        (400, Some("ServiceQuotaExceededException")) => {
            rejected("the account's quota for this model is used up; raise it in Service Quotas")
        }
        (400, _) if message.contains("on-demand throughput") => rejected(
            "this model is called through an inference profile: set the profile's id or ARN as the Bedrock model id",
        ),
        (400, _) => rejected("check the Bedrock model id, the model and its effort"),
        (401 | 403, _) => rejected(
            "the role may not call this model: it needs bedrock:InvokeModel on the model and its inference profile, and access to the model in this account and region",
        ),
        (404, _) => rejected("check the Bedrock model id, and that this region has it"),
        // 408: the model took too long; 424: it failed. Neither says that nothing was charged.
        (408 | 424 | 500..=599 | 100..=299, _) => Failure::Lost(Lost::Unclear { status }.into()),
        _ => rejected("check the Bedrock model id and the region"),
    }
}

fn rejected(status: u16, told: &Told) -> Failure {
    Failure::Rejected {
        status,
        kind: told.name(),
        hint: hint(status, told),
    }
}

fn hint(status: u16, told: &Told) -> &'static str {
    let code = told.code.as_deref().unwrap_or_default();
    match (status, code) {
        (429, _) => "the account's spending limit is reached; raise it with the provider",
        (_, "organization_on_hold") => "the account is on hold; ask the provider",
        (_, code) if code.starts_with("cmek_key") => {
            "the account's encryption key cannot be used; check it with the provider"
        }
        (300..=399, _) => "the endpoint redirects; set the address it redirects to",
        (400, _) => "check the model and effort settings, and the account's spending limit",
        (401, _) => "check the model key",
        (402, _) => "the account has no credit; add some with the provider",
        (403, _) => "the key may not use this model; check its workspace and permissions",
        (404, _) => "check the model's id and the endpoint",
        (407, _) => "the proxy wants a password",
        _ => "check the endpoint and what stands between it and here",
    }
}
