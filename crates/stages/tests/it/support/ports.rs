//! Every port, wrapped so that each call passes the gate.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mirilla_domain::gate::CheckName;
use mirilla_domain::ids::*;
use mirilla_domain::job::{Claim, Job, JobState, PullRequestRecord};
use mirilla_domain::money::{PicoUsd, Purse, Reservation};
use mirilla_domain::plan::NewReview;
use mirilla_domain::request::{CommentPlace, Delivery};
use mirilla_domain::snapshot::{PullRequest, StoredObject, TrustedFiles};
use mirilla_domain::thread::{Existing, ExistingThread};
use mirilla_ports::artifacts::{ArtifactError, ArtifactWriter, Artifacts};
use mirilla_ports::checks::{CheckFound, ForgeChecks, NewCheck};
use mirilla_ports::deliveries::{Bookmarks, Deliveries, Page};
use mirilla_ports::forge::{
    ChangeAuthors, FetchedDiff, ForgeError, ForgeRead, ForgeWrite, SaidComment,
};
use mirilla_ports::ledger::{
    Claimed, Heads, HeadsWrite, Ledger, LedgerError, Recorded, Transaction,
};
use mirilla_ports::message::Message;
use mirilla_ports::meter::{Leased, Meter, MeterError, MeterSweep, Reserved, ReviewLeases};
use mirilla_ports::model::{Answer, Conversation, Model, Unanswered};
use mirilla_ports::queue::{Queue, QueueDepth, QueueError, QueueName, QueueSend, Received};
use mirilla_ports::resolve::{ForgeResolve, Resolved};

use super::gate::{Bend, Gate};

/// A port behind the gate.
pub(crate) struct Gated<P> {
    pub(crate) port: P,
    pub(crate) gate: Arc<Gate>,
}

macro_rules! pass {
    ($self:ident, $name:literal, $call:expr) => {
        $self.gate.pass($name, $call).await
    };
}

#[async_trait]
impl<P: Ledger> Ledger for Gated<&P> {
    async fn job(&self, id: &JobId) -> Result<Option<Job>, LedgerError> {
        pass!(self, "ledger.job", self.port.job(id))
    }
    async fn pull_request(
        &self,
        id: &PullRequestRef,
    ) -> Result<Option<PullRequestRecord>, LedgerError> {
        pass!(self, "ledger.pull_request", self.port.pull_request(id))
    }
    async fn has_delivery(&self, forge: Forge, id: &DeliveryId) -> Result<bool, LedgerError> {
        pass!(
            self,
            "ledger.has_delivery",
            self.port.has_delivery(forge, id)
        )
    }
    async fn commit(&self, transaction: Transaction) -> Result<Recorded, LedgerError> {
        pass!(self, "ledger.commit", self.port.commit(transaction))
    }
    async fn claim(
        &self,
        id: &JobId,
        states: &[JobState],
        claim: Claim,
        now: Timestamp,
    ) -> Result<Claimed, LedgerError> {
        pass!(
            self,
            "ledger.claim",
            self.port.claim(id, states, claim, now)
        )
    }
    async fn unfinished(&self, before: Timestamp, limit: usize) -> Result<Vec<Job>, LedgerError> {
        pass!(
            self,
            "ledger.unfinished",
            self.port.unfinished(before, limit)
        )
    }
    async fn touched(
        &self,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<PullRequestRecord>, LedgerError> {
        pass!(self, "ledger.touched", self.port.touched(since, limit))
    }
}

#[async_trait]
impl<P: Bookmarks> Bookmarks for Gated<&P> {
    async fn bookmark(&self, name: &str) -> Result<Option<String>, LedgerError> {
        pass!(self, "bookmarks.bookmark", self.port.bookmark(name))
    }
    async fn keep_bookmark(
        &self,
        name: &str,
        known: Option<&str>,
        text: &str,
    ) -> Result<(), LedgerError> {
        pass!(
            self,
            "bookmarks.keep_bookmark",
            self.port.keep_bookmark(name, known, text)
        )
    }
}

#[async_trait]
impl<P: Deliveries> Deliveries for Gated<&P> {
    async fn page(&self, cursor: Option<&str>) -> Result<Page, ForgeError> {
        pass!(self, "deliveries.page", self.port.page(cursor))
    }
    async fn redeliver(&self, id: u64) -> Result<(), ForgeError> {
        pass!(self, "deliveries.redeliver", self.port.redeliver(id))
    }
    async fn read(&self, id: u64) -> Result<Option<Box<Delivery>>, ForgeError> {
        pass!(self, "deliveries.read", self.port.read(id))
    }
}

#[async_trait]
impl<P: Heads> Heads for Gated<&P> {
    async fn newest(&self, id: &PullRequestRef) -> Result<Option<CommitSha>, LedgerError> {
        pass!(self, "heads.newest", self.port.newest(id))
    }
}

#[async_trait]
impl<P: HeadsWrite> HeadsWrite for Gated<&P> {
    async fn record(
        &self,
        id: &PullRequestRef,
        head: &CommitSha,
        read_at: Timestamp,
    ) -> Result<(), LedgerError> {
        pass!(self, "heads.record", self.port.record(id, head, read_at))
    }
}

#[async_trait]
impl<P: Artifacts> Artifacts for Gated<&P> {
    async fn put(&self, key: &str, bytes: &[u8]) -> Result<StoredObject, ArtifactError> {
        pass!(self, "artifacts.put", self.port.put(key, bytes))
    }
    async fn put_new(&self, key: &str, bytes: &[u8]) -> Result<StoredObject, ArtifactError> {
        pass!(self, "artifacts.put_new", self.port.put_new(key, bytes))
    }
    async fn writer(
        &self,
        key: &str,
        limit_bytes: u64,
    ) -> Result<Box<dyn ArtifactWriter>, ArtifactError> {
        let writer = pass!(self, "artifacts.writer", self.port.writer(key, limit_bytes))?;
        Ok(Box::new(GatedWriter {
            writer,
            gate: Arc::clone(&self.gate),
        }))
    }
    async fn get(&self, key: &str, limit_bytes: u64) -> Result<Vec<u8>, ArtifactError> {
        pass!(self, "artifacts.get", self.port.get(key, limit_bytes))
    }
    async fn get_range(
        &self,
        object: &StoredObject,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, ArtifactError> {
        let call = self.port.get_range(object, offset, length);
        pass!(self, "artifacts.get_range", call)
    }
    async fn list(&self, prefix: &str) -> Result<Vec<String>, ArtifactError> {
        pass!(self, "artifacts.list", self.port.list(prefix))
    }
    async fn delete(&self, prefix: &str) -> Result<(), ArtifactError> {
        pass!(self, "artifacts.delete", self.port.delete(prefix))
    }
}

struct GatedWriter {
    writer: Box<dyn ArtifactWriter>,
    gate: Arc<Gate>,
}

#[async_trait]
impl ArtifactWriter for GatedWriter {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), ArtifactError> {
        self.writer.write(bytes).await
    }
    async fn finish(self: Box<Self>) -> Result<StoredObject, ArtifactError> {
        let Self { writer, gate } = *self;
        gate.pass("artifacts.finish", writer.finish()).await
    }
}

#[async_trait]
impl<P: QueueSend> QueueSend for Gated<&P> {
    async fn send(
        &self,
        queue: QueueName,
        message: &Message,
        delay: Duration,
    ) -> Result<(), QueueError> {
        pass!(self, "queue.send", self.port.send(queue, message, delay))
    }
}

#[async_trait]
impl<P: Queue> Queue for Gated<&P> {
    async fn receive(
        &self,
        queue: QueueName,
        visibility: Duration,
    ) -> Result<Option<Received>, QueueError> {
        pass!(self, "queue.receive", self.port.receive(queue, visibility))
    }
    async fn delete(&self, queue: QueueName, receipt: &str) -> Result<(), QueueError> {
        pass!(self, "queue.delete", self.port.delete(queue, receipt))
    }
    async fn put_back(
        &self,
        queue: QueueName,
        receipt: &str,
        delay: Duration,
    ) -> Result<(), QueueError> {
        pass!(
            self,
            "queue.put_back",
            self.port.put_back(queue, receipt, delay)
        )
    }
    async fn bury(&self, queue: QueueName, receipt: &str) -> Result<(), QueueError> {
        pass!(self, "queue.bury", self.port.bury(queue, receipt))
    }
}

#[async_trait]
impl<P: QueueDepth> QueueDepth for Gated<&P> {
    async fn depth(&self, queue: QueueName) -> Result<u64, QueueError> {
        self.port.depth(queue).await
    }
}

#[async_trait]
impl<P: Meter> Meter for Gated<&P> {
    async fn reserve(&self, reservation: &Reservation) -> Result<Reserved, MeterError> {
        pass!(self, "meter.reserve", self.port.reserve(reservation))
    }
    async fn sent(&self, id: &str) -> Result<(), MeterError> {
        pass!(self, "meter.sent", self.port.sent(id))
    }
    async fn settle(&self, id: &str, actual: PicoUsd) -> Result<(), MeterError> {
        pass!(self, "meter.settle", self.port.settle(id, actual))
    }
    async fn release(&self, id: &str) -> Result<(), MeterError> {
        pass!(self, "meter.release", self.port.release(id))
    }
    async fn spent(&self, purse: &Purse) -> Result<PicoUsd, MeterError> {
        self.port.spent(purse).await
    }
}

#[async_trait]
impl<P: MeterSweep> MeterSweep for Gated<&P> {
    async fn settle_expired(&self, now: Timestamp) -> Result<(u64, u64), MeterError> {
        pass!(self, "meter.settle_expired", self.port.settle_expired(now))
    }
}

#[async_trait]
impl<P: ReviewLeases> ReviewLeases for Gated<&P> {
    async fn take(
        &self,
        job: &JobId,
        token: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Leased, MeterError> {
        pass!(self, "leases.take", self.port.take(job, token, until, now))
    }
    async fn give_back(&self, job: &JobId, token: &str) -> Result<(), MeterError> {
        pass!(self, "leases.give_back", self.port.give_back(job, token))
    }
    async fn held_until(&self, job: &JobId) -> Result<Option<Timestamp>, MeterError> {
        self.port.held_until(job).await
    }
}

#[async_trait]
impl<P: Model> Model for Gated<&P> {
    fn id(&self) -> &str {
        self.port.id()
    }
    async fn converse(&self, conversation: Conversation<'_>) -> Result<Answer, Unanswered> {
        pass!(self, "model.converse", self.port.converse(conversation))
    }
}

#[async_trait]
impl<P: ForgeRead + ?Sized> ForgeRead for Gated<&P> {
    fn calls_left(&self) -> Option<u64> {
        self.port.calls_left()
    }
    async fn pull_request(
        &self,
        repo: &RepoName,
        id: &PullRequestRef,
    ) -> Result<PullRequest, ForgeError> {
        let found = pass!(self, "forge.pull_request", self.port.pull_request(repo, id))?;
        Ok(match self.gate.bend() {
            Bend::LetsAuthorsDecline => PullRequest {
                author: None,
                ..found
            },
            _ => found,
        })
    }
    async fn diff(&self, pull_request: &PullRequest) -> Result<FetchedDiff, ForgeError> {
        pass!(self, "forge.diff", self.port.diff(pull_request))
    }
    async fn diff_from(
        &self,
        pull_request: &PullRequest,
        merge_base: &CommitSha,
    ) -> Result<FetchedDiff, ForgeError> {
        pass!(
            self,
            "forge.diff_from",
            self.port.diff_from(pull_request, merge_base)
        )
    }
    async fn files(
        &self,
        repo: &RepoName,
        rev: &str,
        paths: &[&str],
    ) -> Result<TrustedFiles, ForgeError> {
        pass!(self, "forge.files", self.port.files(repo, rev, paths))
    }
    async fn files_and_pull_request(
        &self,
        pull_request: &PullRequest,
        rev: &str,
        paths: &[&str],
    ) -> Result<(TrustedFiles, PullRequest), ForgeError> {
        pass!(
            self,
            "forge.files_and_pull_request",
            self.port.files_and_pull_request(pull_request, rev, paths)
        )
    }
    async fn archive(
        &self,
        repo: &RepoName,
        commit: &CommitSha,
        writer: Box<dyn ArtifactWriter>,
    ) -> Result<StoredObject, ForgeError> {
        pass!(
            self,
            "forge.archive",
            self.port.archive(repo, commit, writer)
        )
    }
    async fn existing(&self, repo: &RepoName, pr: PrNumber) -> Result<Existing, ForgeError> {
        let found = pass!(self, "forge.existing", self.port.existing(repo, pr))?;
        Ok(match self.gate.bend() {
            Bend::ForgetsWhatIsThere => Existing::default(),
            _ => found,
        })
    }
    async fn threads(
        &self,
        repo: &RepoName,
        pr: PrNumber,
    ) -> Result<Vec<ExistingThread>, ForgeError> {
        pass!(self, "forge.threads", self.port.threads(repo, pr))
    }
    async fn comment(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        place: CommentPlace,
        id: CommentId,
    ) -> Result<SaidComment, ForgeError> {
        let call = self.port.comment(repo, pr, place, id);
        pass!(self, "forge.comment", call)
    }
    async fn change_authors(
        &self,
        repo: &RepoName,
        pr: PrNumber,
    ) -> Result<ChangeAuthors, ForgeError> {
        let found = pass!(
            self,
            "forge.change_authors",
            self.port.change_authors(repo, pr)
        )?;
        Ok(match self.gate.bend() {
            Bend::LetsAuthorsDecline => ChangeAuthors {
                logins: Vec::new(),
                ..found
            },
            _ => found,
        })
    }
    async fn may_write(&self, repo: &RepoName, who: &Account) -> Result<bool, ForgeError> {
        pass!(self, "forge.may_write", self.port.may_write(repo, who))
    }
}

#[async_trait]
impl<P: ForgeResolve + ?Sized> ForgeResolve for Gated<&P> {
    async fn resolve_threads(&self, threads: &[&str]) -> Resolved {
        pass!(
            self,
            "forge.resolve_threads",
            self.port.resolve_threads(threads)
        )
    }
}

#[async_trait]
impl<P: ForgeWrite + ?Sized> ForgeWrite for Gated<&P> {
    async fn create_review(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        review: &NewReview,
    ) -> Result<ReviewId, ForgeError> {
        let mut review = review.clone();
        if self.gate.bend() == Bend::DropsAComment {
            drop(review.comments.pop());
        }
        let done = pass!(
            self,
            "forge.create_review",
            self.port.create_review(repo, pr, &review)
        );
        match done {
            Err(ForgeError::Unknown { .. }) if self.gate.bend() == Bend::WritesAgain => {
                self.port.create_review(repo, pr, &review).await
            }
            done => done,
        }
    }
    async fn edit_review(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        review: ReviewId,
        body: &str,
    ) -> Result<(), ForgeError> {
        pass!(
            self,
            "forge.edit_review",
            self.port.edit_review(repo, pr, review, body)
        )
    }
    async fn delete_pending_review(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        review: ReviewId,
    ) -> Result<(), ForgeError> {
        pass!(
            self,
            "forge.delete_pending_review",
            self.port.delete_pending_review(repo, pr, review)
        )
    }
    async fn review_comments(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        review: ReviewId,
    ) -> Result<Vec<CommentId>, ForgeError> {
        pass!(
            self,
            "forge.review_comments",
            self.port.review_comments(repo, pr, review)
        )
    }
    async fn acknowledge(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        place: CommentPlace,
        comment: CommentId,
    ) -> Result<(), ForgeError> {
        let call = self.port.acknowledge(repo, pr, place, comment);
        pass!(self, "forge.acknowledge", call)
    }
    async fn say(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        body: &str,
    ) -> Result<CommentId, ForgeError> {
        pass!(self, "forge.say", self.port.say(repo, pr, body))
    }
}

#[async_trait]
impl<P: ForgeChecks + ?Sized> ForgeChecks for Gated<&P> {
    async fn checks(
        &self,
        repo: &RepoName,
        head: &CommitSha,
        name: CheckName,
    ) -> Result<Vec<CheckFound>, ForgeError> {
        pass!(self, "forge.checks", self.port.checks(repo, head, name))
    }
    async fn write_check(
        &self,
        repo: &RepoName,
        known: Option<&CheckFound>,
        check: &NewCheck,
    ) -> Result<Option<CheckId>, ForgeError> {
        let call = self.port.write_check(repo, known, check);
        pass!(self, "forge.write_check", call)
    }
}
