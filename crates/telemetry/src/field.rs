//! The names of fields. They are `snake_case` because CloudWatch Logs Insights reads dots as nesting,
//! and they do not change: alarms and queries are written upon them.
//!
//! In an event they stand in braces: `info!({ field::JOB_ID } = %job.id, "…")`.

macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $text;)*

        /// Every name.
        pub const ALL: &[&str] = &[$($name,)*];
    };
}

fields! {
    /// The function or stage.
    STAGE = "stage";
    /// The program's version.
    VERSION = "version";
    /// The job.
    JOB_ID = "job_id";
    /// The forge's id of a delivery.
    DELIVERY_ID = "delivery_id";
    /// Which try.
    ATTEMPT = "attempt";
    /// Which kind of forge.
    FORGE = "forge";
    /// `owner/name`.
    REPO = "repo";
    /// The pull request's number.
    PR = "pr";
    /// The head, 12 hex digits of it.
    HEAD_SHA = "head_sha";
    /// The App installation.
    INSTALLATION_ID = "installation_id";
    /// The webhook's event.
    EVENT = "event";
    /// The event's action.
    ACTION = "action";
    /// `accepted`, `ignored`, `done`, `retry`, `rejected` or `stale`.
    OUTCOME = "outcome";
    /// A kebab-case code that says why.
    REASON = "reason";
    /// How long it took.
    DURATION_MS = "duration_ms";
    /// An error with all its causes.
    ERROR = "error";
    /// The status of an HTTP answer.
    HTTP_STATUS = "http_status";
    /// The size of a body.
    SIZE_BYTES = "size_bytes";
}

/// How many digits of a commit id a log line holds.
pub const HEAD_SHA_DIGITS: usize = 12;
