//! What a stage tells about a finished message: lines for people, facts for machines.
//!
//! **Invariant:** nothing a repository contains but escaped file names and titles of findings that
//! were sanitised; no diff text, no prompt, no answer. The facts hold not even those.

use std::time::Duration;

use mirilla_domain::ids::JobId;
use mirilla_domain::job::{Job, PullRequestRecord};
use mirilla_domain::signal::{About, RunOutcome, Signal};
use mirilla_ports::ForgeError;
use mirilla_ports::message::CommandMessage;

use crate::error::{Disposition, StageError};

/// What a stage says of a message that is of no interest any more.
pub const STALE: &str = "stale";
/// What an edge says of a message of another stage.
pub const NOT_FOR_THIS_STAGE: &str = "not-for-this-stage";

/// What became of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The job.
    pub job: JobId,
    /// What happened, as a stable kebab-case word.
    pub outcome: &'static str,
    /// Worker lines for a person, in order.
    pub lines: Vec<String>,
    /// Whom it concerns.
    pub about: About,
    /// What is worth counting.
    pub signals: Vec<Signal>,
}

impl Report {
    /// Returns a report without lines.
    pub fn silent(job: JobId, outcome: &'static str) -> Self {
        Self {
            about: About::job_id(&job),
            job,
            outcome,
            lines: Vec::new(),
            signals: Vec::new(),
        }
    }

    /// Returns a report on a job whose row is known.
    pub fn on(job: &Job, outcome: &'static str) -> Self {
        Self {
            about: About::from(job),
            ..Self::silent(job.id.clone(), outcome)
        }
    }

    /// Returns a report on a command in a comment.
    pub(crate) fn on_command(
        about: &CommandMessage,
        record: &PullRequestRecord,
        outcome: &'static str,
    ) -> Self {
        Self::on_run(&about.run, record, outcome)
    }

    /// Returns a report on work for a pull request that no job is about.
    pub(crate) fn on_run(run: &JobId, record: &PullRequestRecord, outcome: &'static str) -> Self {
        Self {
            about: About {
                forge: Some(record.pull_request.forge),
                repo: Some(record.repo_name.clone()),
                pr: Some(record.pull_request.pr),
                ..About::job_id(run)
            },
            ..Self::silent(run.clone(), outcome)
        }
    }

    /// Adds a line.
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// Adds a fact.
    pub fn counting(mut self, signal: Signal) -> Self {
        self.signals.push(signal);
        self
    }

    /// Adds facts.
    pub fn counting_all(mut self, signals: impl IntoIterator<Item = Signal>) -> Self {
        self.signals.extend(signals);
        self
    }
}

/// Returns whom a message's result concerns and everything that is worth counting about it. Every edge
/// that runs a stage hands this to the telemetry, so that all count alike.
pub fn facts(
    job: &JobId,
    result: &Result<Report, StageError>,
    took: Duration,
) -> (About, Vec<Signal>) {
    let (outcome, reason) = match result {
        Ok(report) => {
            let outcome = match report.outcome {
                STALE => RunOutcome::Stale,
                NOT_FOR_THIS_STAGE => RunOutcome::Ignored,
                _ => RunOutcome::Done,
            };
            (outcome, report.outcome)
        }
        Err(error) => {
            let outcome = match error.disposition() {
                Disposition::Retry { .. } => RunOutcome::Retry,
                Disposition::Reject => RunOutcome::Rejected,
                Disposition::Stale => RunOutcome::Stale,
            };
            (outcome, error.code())
        }
    };
    let ran = Signal::Ran {
        outcome,
        reason,
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    };
    let mut facts = vec![ran];
    let about = match result {
        Ok(report) => {
            facts.extend(report.signals.iter().cloned());
            report.about.clone()
        }
        Err(error) => {
            if matches!(error, StageError::Forge(ForgeError::RateLimited { .. })) {
                facts.push(Signal::CallsLeft { percent: 0 });
            }
            About::job_id(job)
        }
    };
    (about, facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> JobId {
        JobId::parse(&"ab".repeat(16)).unwrap()
    }

    fn ran(result: &Result<Report, StageError>) -> (RunOutcome, &'static str, Vec<Signal>) {
        let (about, mut facts) = facts(&job(), result, Duration::from_millis(7));
        assert_eq!(about.job, Some(job()));
        match facts.remove(0) {
            Signal::Ran {
                outcome,
                reason,
                duration_ms: 7,
            } => (outcome, reason, facts),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_became_of_a_message_is_counted_in_the_words_of_the_log() {
        let left = Signal::CallsLeft { percent: 40 };
        let done = Report::silent(job(), "posted").counting(left.clone());
        assert_eq!(ran(&Ok(done)), (RunOutcome::Done, "posted", vec![left]));
        let stale = Report::silent(job(), STALE);
        assert_eq!(ran(&Ok(stale)), (RunOutcome::Stale, "stale", vec![]));
        assert_eq!(
            ran(&Err(StageError::UnknownJob)),
            (RunOutcome::Rejected, "unknown-job", vec![])
        );
        let limited = StageError::Forge(ForgeError::RateLimited {
            after: Duration::from_secs(9),
        });
        assert_eq!(
            ran(&Err(limited)),
            (
                RunOutcome::Retry,
                "forge",
                vec![Signal::CallsLeft { percent: 0 }]
            )
        );
    }
}
