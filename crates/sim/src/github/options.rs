//! What can be chosen about the simulated GitHub.

use std::time::Duration;

/// How the simulated GitHub is set up.
#[derive(Debug, Clone)]
pub struct GithubOptions {
    /// What stands before every REST path: empty as on github.com, `/api/v3` as on GHES.
    pub prefix: String,
    /// The App whose requests are served.
    pub app: AppOptions,
    /// Which words a refused review is refused with.
    pub wording: Wording,
    /// How a limited caller is told to wait.
    pub retry_after: RetryAfter,
    /// The rate limits.
    pub limits: Limits,
    /// How webhook bodies are written.
    pub hook_encoding: HookEncoding,
    /// How a comment's line is shown once it is outdated.
    pub outdated_line: OutdatedLine,
    /// Padding in installation tokens, in characters: GitHub's newer ones are several hundred long.
    pub token_padding: usize,
}

impl Default for GithubOptions {
    fn default() -> Self {
        Self {
            prefix: String::new(),
            app: AppOptions::default(),
            wording: Wording::Current,
            retry_after: RetryAfter::Seconds,
            limits: Limits::default(),
            hook_encoding: HookEncoding::Json,
            outdated_line: OutdatedLine::Null,
            token_padding: 300,
        }
    }
}

impl GithubOptions {
    /// Returns the set-up of a GitHub Enterprise Server: its paths, and no rate limits.
    pub fn enterprise_server() -> Self {
        Self {
            prefix: "/api/v3".to_owned(),
            limits: Limits::none(),
            ..Self::default()
        }
    }
}

/// The GitHub App.
#[derive(Debug, Clone)]
pub struct AppOptions {
    /// The App's number.
    pub id: u64,
    /// The name in URLs; the bot's login is `{slug}[bot]`.
    pub slug: String,
    /// The client id, which may sign tokens in place of the number.
    pub client_id: String,
    /// The public key, PEM. The default belongs to [`crate::TEST_APP_KEY`].
    pub public_key: String,
    /// The private key that whoever registers the App is given, PEM.
    pub private_key: String,
    /// The webhook secret.
    pub hook_secret: String,
    /// What the App asks for: permission and level, as in `("checks", "write")`.
    pub permissions: Vec<(String, String)>,
    /// The events that are delivered.
    pub events: Vec<String>,
}

impl Default for AppOptions {
    fn default() -> Self {
        let permissions = [
            ("metadata", "read"),
            ("contents", "read"),
            ("pull_requests", "write"),
            ("checks", "write"),
            ("merge_queues", "read"),
        ];
        let events = [
            "pull_request",
            "issue_comment",
            "pull_request_review",
            "pull_request_review_comment",
            "pull_request_review_thread",
            "check_run",
            "check_suite",
            "merge_group",
        ];
        Self {
            id: 4242,
            slug: "mirilla".to_owned(),
            client_id: "Iv23liSIMULATED00001".to_owned(),
            public_key: crate::TEST_APP_PUBLIC_KEY.to_owned(),
            private_key: crate::TEST_APP_KEY.to_owned(),
            hook_secret: "made-up-hook-secret-for-the-simulator".to_owned(),
            permissions: permissions
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
                .to_vec(),
            events: events.map(str::to_owned).to_vec(),
        }
    }
}

/// Words of the errors for anchors that are not in the diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wording {
    /// "Line could not be resolved", "Path could not be resolved" (seen in 2026).
    Current,
    /// "Pull request review thread line must be part of the diff and …" (seen until 2026).
    Older,
}

/// Form of the `Retry-After` header on a secondary limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAfter {
    /// Seconds to wait.
    Seconds,
    /// A date, as HTTP allows.
    HttpDate,
    /// No such header.
    Absent,
}

/// The rate limits of one caller; `u32::MAX` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests in an hour.
    pub requests_per_hour: u32,
    /// Requests that create content, in a minute.
    pub content_per_minute: u32,
    /// Requests that create content, in an hour.
    pub content_per_hour: u32,
    /// Points in a minute over REST: one for a read, five for a write.
    pub points_per_minute: u32,
    /// Points in a minute over GraphQL: one for a query, five for a mutation.
    pub graphql_points_per_minute: u32,
    /// Status of a refusal, 403 or 429.
    pub status: u16,
    /// How long a caller that ran into a secondary limit is told to wait.
    pub wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests_per_hour: 5_000,
            content_per_minute: 80,
            content_per_hour: 500,
            points_per_minute: 900,
            graphql_points_per_minute: 2_000,
            status: 403,
            wait: Duration::from_secs(60),
        }
    }
}

impl Limits {
    /// Returns limits that are never reached.
    pub fn none() -> Self {
        Self {
            requests_per_hour: u32::MAX,
            content_per_minute: u32::MAX,
            content_per_hour: u32::MAX,
            points_per_minute: u32::MAX,
            graphql_points_per_minute: u32::MAX,
            ..Self::default()
        }
    }
}

/// Encoding of webhook bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookEncoding {
    /// `application/json`
    Json,
    /// `application/x-www-form-urlencoded`, the JSON in the field `payload`.
    Form,
}

/// How `line` and `position` of an outdated comment are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutdatedLine {
    /// As `null`, which GitHub does although its published schema has no null there.
    Null,
    /// Left out, which the schema allows.
    Absent,
}
