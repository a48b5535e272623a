//! Metrics: every name, unit and set of dimensions, and how a fact becomes numbers under them.
//!
//! Dashboards, alarms and `docs/OPERATIONS.md` are compared with [`Metric::ALL`] by tests, and each
//! metric of it is emitted in a test that stages what it is about.
//!
//! **Invariant:** dimensions are closed lists of ours, or the model that the operator chose; a
//! repository, a pull request or a job is a property beside the number and never a dimension, because
//! every new value of a dimension is a new metric to pay for.

mod emf;
mod points;

pub use emf::{MAX_DIMENSION_CHARS, lines};
pub use points::{Number, Point, Points, points};

/// The namespace of all metrics.
pub const NAMESPACE: &str = "Mirilla";

/// What a number counts, in CloudWatch's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Things.
    Count,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Percent.
    Percent,
    /// US dollars, for which CloudWatch has no unit.
    None,
}

impl Unit {
    /// Returns CloudWatch's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Count => "Count",
            Self::Milliseconds => "Milliseconds",
            Self::Seconds => "Seconds",
            Self::Percent => "Percent",
            Self::None => "None",
        }
    }
}

macro_rules! metrics {
    ($($variant:ident => $name:literal, $unit:ident, $sets:expr, $about:literal;)*) => {
        /// A metric.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Metric {
            $(#[doc = $about] $variant,)*
        }

        impl Metric {
            /// Every metric, in the order of this list.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns its name within [`NAMESPACE`]. It never changes: alarms are written upon it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns its unit.
            pub const fn unit(self) -> Unit {
                match self { $(Self::$variant => Unit::$unit,)* }
            }

            /// Returns the sets of dimensions it is written under; the empty set is the sum over all.
            pub const fn dimensions(self) -> &'static [&'static [&'static str]] {
                match self { $(Self::$variant => $sets,)* }
            }

            /// Returns what it says, in one line.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)* }
            }
        }
    };
}

/// Only as a sum.
const SUM: &[&[&str]] = &[&[]];

metrics! {
    // Every stage.
    Runs => "runs", Count, &[&["stage", "outcome"]], "Messages, webhooks and runs that a stage handled.";
    Duration => "duration_ms", Milliseconds, &[&["stage"]], "How long a stage took for one of them.";
    JobsEnded => "jobs_ended", Count, &[&["state"], &[]], "Jobs that ended: posted, skipped, superseded or failed.";
    Superseded => "superseded_percent", Percent, SUM, "100 for a job that ended superseded, 0 for one that ended otherwise; read the average.";
    CallsLeft => "forge_calls_left_percent", Percent, &[&["stage"], &[]], "What the forge's limit leaves of its calls; read the minimum.";
    // Money.
    Spend => "spend_usd", None, &[&["model"], &[]], "Dollars booked for calls to the model, lost answers included.";
    ModelCalls => "model_calls", Count, &[&["model"]], "Calls to the model that were answered.";
    InputTokens => "input_tokens", Count, &[&["model"]], "Input tokens that no cache served or kept.";
    OutputTokens => "output_tokens", Count, &[&["model"]], "Output tokens, thinking included.";
    CacheReadTokens => "cache_read_tokens", Count, &[&["model"]], "Input tokens read from the provider's cache.";
    CacheWriteTokens => "cache_write_tokens", Count, &[&["model"]], "Input tokens written to the provider's cache.";
    CapHits => "cap_hits", Count, &[&["purse"], &[]], "Calls that were not made because a purse had too little left.";
    PurseUsed => "purse_used_percent", Percent, &[&["purse"]], "How much of a purse is spent or set aside; read the maximum.";
    CallsLost => "calls_lost", Count, SUM, "Calls booked at their worst case because their answer was lost: what the provider bills may differ.";
    CallsOverBound => "calls_over_bound", Count, SUM, "Calls that cost more than was set aside: prices or books disagree with the provider's.";
    // What was found and posted.
    Reviews => "reviews", Count, &[&["outcome"], &[]], "Posted reviews by how they ended.";
    Verdicts => "verdicts", Count, &[&["ruling"], &[]], "Verdicts of a gate, by what they say.";
    PassesOnTrust => "passes_on_trust", Count, &[&["trust"], &[]], "Files that were carried over, and findings that somebody declined, where the gate passes.";
    Findings => "findings", Count, &[&["source"], &[]], "Findings that came in, of the model and of the fixed checks.";
    FindingsPosted => "findings_posted", Count, SUM, "Findings posted as comments.";
    FindingsInBody => "findings_in_body", Count, SUM, "Findings named in a review's body only.";
    FindingsKnown => "findings_already_there", Count, SUM, "Findings that stood there already.";
    ThreadsGone => "threads_gone", Count, &[&["fate"]], "Threads of ours whose finding is gone: resolved, left to a person, or failed.";
    FindingsDropped => "findings_dropped", Count, &[&["reason"], &[]], "Findings that were not posted.";
    FindingsRejected => "findings_rejected", Count, &[&["reason"], &[]], "What was refused of review files, because no honest reviewer writes it.";
    Redactions => "redactions", Count, SUM, "Secrets, or what looks like one, taken out of what a model wrote.";
    FloorHits => "floor_hits", Count, &[&["check"], &[]], "Hits of the fixed checks.";
    // What tells of an attack, or of somebody else's work under our name.
    OddFindings => "findings_objects_odd", Count, &[&["what"], &[]], "Findings objects that do not fit their job.";
    BadSignatures => "bad_signatures", Count, SUM, "Webhooks whose signature is missing, malformed or wrong.";
    ReplayedBodies => "replayed_bodies", Count, SUM, "Signed bodies that came again under another delivery id.";
    UnlistedAccounts => "unlisted_accounts", Count, SUM, "Signed webhooks of accounts that are not served.";
    TokensMinted => "tokens_minted", Count, &[&["stage"]], "Tokens handed out by a minter.";
    TokensWithoutJob => "tokens_without_job", Count, &[&["stage"], &[]], "Tokens asked for without a live job, and refused.";
    TokensTooWide => "tokens_too_wide", Count, &[&["stage"], &[]], "Tokens that reached further than their stage, and were thrown away.";
    TokensNotRevoked => "tokens_not_revoked", Count, SUM, "Tokens for resolving threads that could not be revoked, and lapse within the hour.";
    // The sweeper.
    QueueMessages => "queue_messages", Count, &[&["queue"]], "Messages of a queue, waiting and in flight; read the maximum.";
    OldestUnfinished => "oldest_unfinished_seconds", Seconds, SUM, "Since when the oldest unfinished job is due; read the maximum.";
    WithoutVerdict => "jobs_without_verdict", Count, SUM, "Jobs that are due for over 30 minutes; read the maximum.";
    HeadsUnannounced => "heads_unannounced", Count, SUM, "Live heads that no webhook told of; they have a job now.";
    JobsRestarted => "jobs_restarted", Count, SUM, "Dead jobs that were begun anew.";
    JobsGivenUp => "jobs_given_up", Count, SUM, "Jobs tried three times and posted without findings.";
    RedeliveriesAsked => "redeliveries_asked", Count, SUM, "Failed webhook deliveries that the forge was asked to repeat.";
    RedeliveriesGivenUp => "redeliveries_given_up", Count, SUM, "Webhook deliveries that failed as often as they are asked for.";
    DeliveriesRead => "deliveries_read", Count, SUM, "Webhook deliveries too large for the front door, read from the forge.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_snake_case_unique_and_said_in_one_line() {
        let mut seen = BTreeSet::new();
        for metric in Metric::ALL {
            let name = metric.name();
            assert!(seen.insert(name), "{name} stands twice");
            assert!(
                name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
                "{name}"
            );
            assert!(metric.about().ends_with('.'), "{name}");
        }
    }

    #[test]
    fn no_dimension_is_one_that_grows_with_the_users() {
        for metric in Metric::ALL {
            assert!(!metric.dimensions().is_empty(), "{metric:?}");
            for set in metric.dimensions() {
                assert!(set.len() <= 30);
                for name in *set {
                    assert!(
                        ![
                            "repo",
                            "pr",
                            "job_id",
                            "delivery_id",
                            "installation_id",
                            "attempt"
                        ]
                        .contains(name),
                        "{metric:?} has a dimension {name}"
                    );
                }
            }
        }
    }
}
