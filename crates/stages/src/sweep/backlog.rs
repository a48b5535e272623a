//! How much waits, and for how long.

use std::time::Duration;

use mirilla_domain::ids::Timestamp;
use mirilla_domain::job::Job;
use mirilla_domain::signal::{Signal, count};
use mirilla_ports::QueueDepth;
use mirilla_ports::queue::QueueName;

use crate::error::StageError;

/// How long after a job is due a person may still be waiting for its verdict.
const VERDICT_DUE: Duration = Duration::from_secs(30 * 60);

/// What the queues hold, waiting and in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Backlog {
    pub(super) collect: u64,
    pub(super) review: u64,
    pub(super) post: u64,
}

impl Backlog {
    /// Reads it once for a whole run.
    pub(super) async fn read(depth: &dyn QueueDepth) -> Result<Self, StageError> {
        Ok(Self {
            collect: depth.depth(QueueName::Collect).await?,
            review: depth.depth(QueueName::Review).await?,
            post: depth.depth(QueueName::Post).await?,
        })
    }

    /// Returns the figures of this run; zeros too, so that a graph shows that the sweeper runs.
    pub(super) fn facts(&self, unfinished: &[Job], now: Timestamp) -> Vec<Signal> {
        let queues = [
            (QueueName::Collect, self.collect),
            (QueueName::Review, self.review),
            (QueueName::Post, self.post),
        ];
        let mut facts: Vec<Signal> = queues
            .into_iter()
            .map(|(queue, messages)| Signal::Backlog {
                queue: queue.as_str(),
                messages,
            })
            .collect();
        let waiting = || unfinished.iter().map(|job| now.since(job.due_at));
        facts.push(Signal::OldestUnfinished {
            seconds: waiting().max().unwrap_or_default().as_secs(),
        });
        facts.push(Signal::WithoutVerdict {
            jobs: count(waiting().filter(|since| *since > VERDICT_DUE).count()),
        });
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_host_still_says_so() {
        let facts = Backlog::default().facts(&[], Timestamp::new(5));
        assert_eq!(
            facts,
            [
                Signal::Backlog {
                    queue: "collect",
                    messages: 0
                },
                Signal::Backlog {
                    queue: "review",
                    messages: 0
                },
                Signal::Backlog {
                    queue: "post",
                    messages: 0
                },
                Signal::OldestUnfinished { seconds: 0 },
                Signal::WithoutVerdict { jobs: 0 },
            ]
        );
    }
}
