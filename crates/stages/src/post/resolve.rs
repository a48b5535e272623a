//! Resolves the threads of ours that a plan names, where the operator opted into it.
//!
//! It comes after the review and before the job is closed: a run that dies in between looks again at what is
//! open, and resolving twice is resolving once.
//!
//! **Invariant:** every thread is read again right before, in one call for all, and left if anybody touched it
//! since the plan was made. Nothing that fails here touches the review; what is left open is a later run's.

use std::collections::BTreeMap;

use mirilla_domain::cause::chain;
use mirilla_domain::plan::{Resolve, Veto};
use mirilla_domain::signal::{Signal, ThreadFate, count};
use mirilla_domain::snapshot::PullRequest;
use mirilla_domain::thread::ExistingThread;

use super::Posting;
use crate::report::Report;

/// What became of the threads, to be told with the review.
#[derive(Debug, Default)]
pub(super) struct Closed {
    facts: Vec<Signal>,
    words: Vec<String>,
}

impl Closed {
    /// Adds it to the report on the review.
    pub(super) fn told(self, report: Report, subject: &str) -> Report {
        let report = report.counting_all(self.facts);
        if self.words.is_empty() {
            return report;
        }
        let words = self.words.join("; ");
        report.line(format!("{subject} threads whose finding is gone: {words}"))
    }

    fn add(&mut self, fate: ThreadFate, threads: usize, words: impl FnOnce(usize) -> String) {
        if threads > 0 {
            let count = count(threads);
            self.facts.push(Signal::ThreadsGone { fate, count });
            self.words.push(words(threads));
        }
    }
}

/// Resolves what may still be resolved.
pub(super) async fn resolve(
    posting: &Posting<'_>,
    live: &PullRequest,
    named: &[Resolve],
) -> Closed {
    let mut closed = Closed::default();
    let Some(port) = posting.ports.resolve.filter(|_| !named.is_empty()) else {
        return closed;
    };
    let read = posting.ports.read;
    let now = match read.threads(&live.repo_name, live.id.pr).await {
        Ok(now) => now,
        Err(error) => {
            closed.add(ThreadFate::Failed, named.len(), |threads| {
                let why = chain(&error);
                format!("{threads} left, because they could not be read again: {why}")
            });
            return closed;
        }
    };
    let (free, vetoes) = look_again(named, &now);
    for (veto, threads) in vetoes {
        closed.add(ThreadFate::Left, threads, |threads| {
            format!("{threads} left ({})", veto.as_str())
        });
    }
    if free.is_empty() {
        return closed;
    }
    let said = port.resolve_threads(&free).await;
    closed.add(ThreadFate::Resolved, said.done, |threads| {
        format!("{threads} resolved")
    });
    closed.add(ThreadFate::Failed, said.failed, |threads| {
        let why = said
            .why
            .as_ref()
            .map_or_else(String::new, |error| chain(error));
        format!("{threads} could not be resolved: {why}")
    });
    if let Some(error) = &said.not_revoked {
        closed.facts.push(Signal::TokenNotRevoked);
        closed.words.push(format!(
            "the token for it could not be revoked and lapses within the hour: {}",
            chain(error)
        ));
    }
    closed
}

/// Returns the threads that may be resolved, and how many may not be, by reason.
fn look_again<'n>(
    named: &'n [Resolve],
    now: &[ExistingThread],
) -> (Vec<&'n str>, BTreeMap<Veto, usize>) {
    let mut free = Vec::new();
    let mut vetoes: BTreeMap<Veto, usize> = BTreeMap::new();
    for one in named {
        match one.veto(now.iter().find(|thread| thread.id == one.thread)) {
            None => free.push(one.thread.as_str()),
            Some(veto) => {
                let threads = vetoes.entry(veto).or_default();
                *threads = threads.saturating_add(1);
            }
        }
    }
    (free, vetoes)
}
