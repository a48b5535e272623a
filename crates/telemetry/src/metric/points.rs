//! From a fact to numbers.

use mirilla_domain::money::PicoUsd;
use mirilla_domain::plan::Source;
use mirilla_domain::review::Outcome;
use mirilla_domain::signal::Signal;

use super::Metric;

/// A metric's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// A whole number of the metric's unit.
    Whole(u64),
    /// An amount of dollars.
    Usd(PicoUsd),
}

/// One number under one metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// Which metric.
    pub metric: Metric,
    /// The value.
    pub value: Number,
}

/// What a fact amounts to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Points {
    /// The numbers.
    pub points: Vec<Point>,
    /// The values of the dimensions they are written under, but for the stage.
    pub dimensions: Vec<(&'static str, String)>,
    /// More to search for.
    pub properties: Vec<(&'static str, &'static str)>,
}

impl Points {
    fn plain(metric: Metric, value: u64) -> Self {
        Self::default().and(metric, value)
    }

    fn by(self, dimension: &'static str, value: &str) -> Self {
        let mut dimensions = self.dimensions;
        dimensions.push((dimension, value.to_owned()));
        Self { dimensions, ..self }
    }

    fn and(self, metric: Metric, value: u64) -> Self {
        self.number(metric, Number::Whole(value))
    }

    fn number(self, metric: Metric, value: Number) -> Self {
        let mut points = self.points;
        points.push(Point { metric, value });
        Self { points, ..self }
    }
}

/// Returns the numbers that a fact amounts to.
pub fn points(signal: &Signal) -> Points {
    use Metric as M;
    match signal {
        Signal::Ran {
            outcome,
            reason,
            duration_ms,
        } => Points {
            properties: vec![(crate::field::REASON, *reason)],
            ..Points::plain(M::Runs, 1)
                .and(M::Duration, *duration_ms)
                .by(crate::field::OUTCOME, outcome.as_str())
        },
        Signal::ModelCalled { model, usage, cost } => Points::plain(M::ModelCalls, 1)
            .number(M::Spend, Number::Usd(*cost))
            .and(M::InputTokens, usage.input_tokens)
            .and(M::OutputTokens, usage.output_tokens)
            .and(M::CacheReadTokens, usage.cache_read_tokens)
            .and(
                M::CacheWriteTokens,
                usage
                    .cache_write_5m_tokens
                    .saturating_add(usage.cache_write_1h_tokens),
            )
            .by("model", model),
        Signal::CallLost { model, cost } => Points::plain(M::CallsLost, 1)
            .number(M::Spend, Number::Usd(*cost))
            .by("model", model),
        Signal::CallsBooked { count } => Points::plain(M::CallsLost, *count),
        Signal::CallOverBound => Points::plain(M::CallsOverBound, 1),
        Signal::CapHit { purse } => Points::plain(M::CapHits, 1).by("purse", purse.as_str()),
        Signal::PurseUsed { purse, percent } => {
            Points::plain(M::PurseUsed, *percent).by("purse", purse.as_str())
        }
        Signal::Reviewed { outcome } => {
            Points::plain(M::Reviews, 1).by(crate::field::OUTCOME, ended(*outcome))
        }
        Signal::Judged { ruling } => Points::plain(M::Verdicts, 1).by("ruling", ruling.as_str()),
        Signal::PassOnTrust { trust, count } => {
            Points::plain(M::PassesOnTrust, *count).by("trust", trust.as_str())
        }
        Signal::Found { source, count } => {
            let source = match source {
                Source::Floor => "checks",
                Source::Model => "model",
            };
            Points::plain(M::Findings, *count).by("source", source)
        }
        Signal::Posted { count } => Points::plain(M::FindingsPosted, *count),
        Signal::InBody { count } => Points::plain(M::FindingsInBody, *count),
        Signal::AlreadyThere { count } => Points::plain(M::FindingsKnown, *count),
        Signal::Dropped { reason, count } => {
            Points::plain(M::FindingsDropped, *count).by(crate::field::REASON, reason.as_str())
        }
        Signal::Rejected { reason, count } => {
            Points::plain(M::FindingsRejected, *count).by(crate::field::REASON, reason.as_str())
        }
        Signal::Redacted { count } => Points::plain(M::Redactions, *count),
        Signal::FloorHit { check, count } => {
            Points::plain(M::FloorHits, *count).by("check", check.as_str())
        }
        Signal::Ended { state } => {
            let superseded = *state == mirilla_domain::job::JobState::Superseded;
            Points::plain(M::JobsEnded, 1)
                .and(M::Superseded, if superseded { 100 } else { 0 })
                .by("state", state.as_str())
        }
        Signal::OddFindings(what) => Points::plain(M::OddFindings, 1).by("what", what.as_str()),
        Signal::BadSignature => Points::plain(M::BadSignatures, 1),
        Signal::ReplayedBody => Points::plain(M::ReplayedBodies, 1),
        Signal::UnlistedAccount => Points::plain(M::UnlistedAccounts, 1),
        Signal::TokenMinted => Points::plain(M::TokensMinted, 1),
        Signal::TokenWithoutJob => Points::plain(M::TokensWithoutJob, 1),
        Signal::TokenTooWide => Points::plain(M::TokensTooWide, 1),
        Signal::TokenNotRevoked => Points::plain(M::TokensNotRevoked, 1),
        Signal::ThreadsGone { fate, count } => {
            Points::plain(M::ThreadsGone, *count).by("fate", fate.as_str())
        }
        Signal::CallsLeft { percent } => Points::plain(M::CallsLeft, *percent),
        Signal::HeadUnannounced => Points::plain(M::HeadsUnannounced, 1),
        Signal::Backlog { queue, messages } => {
            Points::plain(M::QueueMessages, *messages).by("queue", queue)
        }
        Signal::OldestUnfinished { seconds } => Points::plain(M::OldestUnfinished, *seconds),
        Signal::WithoutVerdict { jobs } => Points::plain(M::WithoutVerdict, *jobs),
        Signal::Restarted => Points::plain(M::JobsRestarted, 1),
        Signal::GivenUp => Points::plain(M::JobsGivenUp, 1),
        Signal::RedeliveryAsked => Points::plain(M::RedeliveriesAsked, 1),
        Signal::RedeliveryGivenUp => Points::plain(M::RedeliveriesGivenUp, 1),
        Signal::DeliveryRead => Points::plain(M::DeliveriesRead, 1),
    }
}

const fn ended(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Complete => "complete",
        Outcome::Partial => "partial",
        Outcome::Failed => "failed",
        Outcome::Superseded => "superseded",
    }
}
