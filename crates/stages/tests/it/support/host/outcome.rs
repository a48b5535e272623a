//! What a run left behind, and what a test may do to a host between two steps.

use std::sync::Arc;
use std::time::Duration;

use mirilla_domain::ids::{AttemptNo, InstallationId, JobId, RepoId};
use mirilla_domain::job::{Job, JobState};
use mirilla_domain::money::PicoUsd;
use mirilla_domain::snapshot::Keys;
use mirilla_forge::github::Minter;
use mirilla_ports::message::Message;
use mirilla_ports::queue::QueueName;
use mirilla_ports::{Artifacts as _, Ledger as _, Queue as _, QueueSend as _};

use super::Host;
use crate::support::Gate;

impl Host {
    /// The lines of metrics that were written so far.
    pub(crate) fn metric_lines(&self) -> Vec<String> {
        let at = self.now();
        let seen = self.seen.lock().unwrap();
        seen.iter()
            .flat_map(|(about, signal)| {
                mirilla_telemetry::metric::lines("test", about, std::slice::from_ref(signal), at)
            })
            .collect()
    }

    /// Everything said on lines: file, line, text without markers.
    pub(crate) fn comments(&self) -> Vec<(String, Option<u64>, String)> {
        let mut said: Vec<_> = self
            .town
            .said(self.pr)
            .into_iter()
            .map(|one| {
                let text = one.body.split("<!--").next().unwrap_or_default().to_owned();
                (one.path, one.line, text)
            })
            .collect();
        said.sort();
        said
    }

    /// The body of our newest review.
    pub(crate) fn review_body(&self) -> String {
        self.town.bodies(self.pr).pop().unwrap_or_default()
    }

    pub(crate) async fn ledger_state(&self, job: &JobId) -> Option<JobState> {
        self.ledger().job(job).await.unwrap().map(|job| job.state)
    }

    pub(crate) async fn ledger_knows_the_pull_request(&self) -> bool {
        let record = self
            .ledger()
            .pull_request(&self.key(0).pull_request())
            .await
            .unwrap();
        record.is_some_and(|record| record.last_job.is_some())
    }

    /// Lets one message be handled, waiting for it if it is not due.
    pub(crate) async fn one_step(&self, gate: &Arc<Gate>) {
        self.announce(gate).await;
        if self.one_message(gate).await.is_none() {
            self.advance(Duration::from_secs(10));
        }
    }

    /// Lets messages be handled until the present head's job is in a state.
    pub(crate) async fn until(&self, gate: &Arc<Gate>, state: JobState) -> Job {
        for _ in 0..100 {
            let job = self.job().await;
            if let Some(job) = job.filter(|job| job.state == state) {
                return job;
            }
            self.one_step(gate).await;
        }
        panic!("the job never was {state:?}: {:?}", self.job().await);
    }

    /// Writes the findings object of a job's present try, as a reviewer that was taken over may.
    pub(crate) async fn forge_findings(&self, job: &Job, bytes: &[u8]) -> String {
        let key = Keys::findings(&job.id, job.attempt);
        self.artifacts().put(&key, bytes).await.unwrap();
        key
    }

    /// Removes one object.
    pub(crate) async fn remove(&self, key: &str) {
        self.artifacts().delete(key).await.unwrap();
    }

    /// Announces findings to the poster, as the bucket does.
    pub(crate) async fn announce_findings(&self, job: &Job, attempt: AttemptNo, key: &str) {
        let message = Message::PostV1 {
            job: job.id.clone(),
            attempt,
            findings: Some(key.to_owned()),
        };
        self.queue()
            .send(QueueName::Post, &message, Duration::ZERO)
            .await
            .unwrap();
    }

    /// Removes what waits in a queue, as a lost message would be.
    pub(crate) async fn lose(&self, name: QueueName) {
        let queue = self.queue();
        while let Some(received) = queue.receive(name, Duration::from_secs(1)).await.unwrap() {
            queue.delete(name, &received.receipt).await.unwrap();
        }
    }

    /// A minter of this host's App, and where the job's tokens are for.
    pub(crate) async fn minter_for(&self, job: &JobId) -> (Arc<Minter>, RepoId, InstallationId) {
        self.minter(job).await
    }

    /// Every request that the provider bills is booked, and nothing is booked for ever that was not.
    pub(crate) async fn assert_paid_once(&self, context: &str) {
        // Reservations of calls that a dead process sent are booked once they expire.
        self.advance(Duration::from_secs(3_600));
        let meter = self.meter();
        mirilla_ports::MeterSweep::settle_expired(meter, self.now())
            .await
            .unwrap();
        let booked = self.spent_on_review().await;
        let calls = self.sim.messages().model_calls();
        let billed = PicoUsd::new(calls.iter().map(|call| call.pico_usd).sum());
        assert!(
            booked >= billed,
            "{context}: booked {booked}, billed {billed}"
        );
        assert!(
            booked <= self.policy.max_usd,
            "{context}: booked {booked} past the cap"
        );
    }

    /// How much more is booked than billed, and how much less, in 10⁻¹² dollars.
    pub(crate) async fn booked_and_billed(&self) -> (u64, u64) {
        let booked = self.spent_on_review().await.get();
        let calls = self.sim.messages().model_calls();
        let billed: u64 = calls.iter().map(|call| call.pico_usd).sum();
        (booked.saturating_sub(billed), billed.saturating_sub(booked))
    }

    /// What must hold whatever happened: one review of the live head, nothing said twice, money right.
    pub(crate) async fn assert_reviewed_once(&self, context: &str) {
        let job = self
            .job()
            .await
            .unwrap_or_else(|| panic!("{context}: the live head has no job"));
        assert_eq!(job.state, JobState::Posted, "{context}: {job:#?}");
        assert!(
            !self.town.bodies(self.pr).is_empty(),
            "{context}: no review"
        );
        let mut said: Vec<(String, Option<u64>)> = Vec::new();
        for thread in self.town.threads(self.pr) {
            said.extend(
                thread
                    .said
                    .into_iter()
                    .map(|one| (one.path, one.line))
                    .take(1),
            );
        }
        let count = said.len();
        said.sort();
        said.dedup();
        assert_eq!(
            said.len(),
            count,
            "{context}: something is said twice: {said:?}"
        );
        self.town.assert_no_verdict(self.pr);
        assert!(
            self.spent_on_review().await <= self.policy.max_usd,
            "{context}: spent more than the cap"
        );
    }
}
