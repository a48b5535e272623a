//! Commands in comments: who is obeyed, once, whatever breaks, and what a crowd can cost.

mod declined;
mod obeyed;
mod refused;

use std::sync::Arc;

use mirilla_domain::ids::{CommentId, Generation};
use mirilla_domain::job::{Job, PullRequestRecord};
use mirilla_domain::request::CommentPlace;
use mirilla_domain::signal::Signal;
use mirilla_ports::Ledger as _;
use mirilla_sim::Role;

use crate::support::{Ended, Gate, Host, REPO, TWO_DEFECTS};

/// Who may write to the repository; `dana` wrote the pull request and may not.
const WRITER: &str = "wanda";

/// A host with a writer whose pull request was reviewed once.
async fn reviewed() -> Host {
    let host = opened();
    let opened = host.deliveries().remove(0);
    let gate = Arc::new(Gate::open());
    assert_eq!(host.deliver_and_run(&gate, &opened).await, Ended::Quiet);
    host.assert_reviewed_once("at first").await;
    host
}

/// The same before anything was delivered.
fn opened() -> Host {
    let host = Host::new(TWO_DEFECTS);
    let github = host.sim.github();
    github.set_role(REPO, WRITER, Role::Write).unwrap();
    host
}

impl Host {
    /// Says something, and lets everything that follows happen; returns the comment.
    async fn hears(&self, by: &str, body: &str) -> u64 {
        let (delivery, comment) = self.said(by, body);
        let gate = Arc::new(Gate::open());
        assert_eq!(self.deliver_and_run(&gate, &delivery).await, Ended::Quiet);
        comment
    }

    /// The calls that reached the forge since, by name.
    fn calls(&self, named: &str) -> usize {
        let log = self.sim.github().calls();
        log.iter().filter(|call| call.path.contains(named)).count()
    }

    /// Why messages ended as they did.
    fn reasons(&self) -> Vec<&'static str> {
        let of = |signal: &Signal| match signal {
            Signal::Ran { reason, .. } => Some(*reason),
            _ => None,
        };
        self.seen().iter().filter_map(of).collect()
    }

    /// Who reacted to a comment.
    fn reactions(&self, comment: u64) -> Vec<(String, String)> {
        let comments = self.sim.github().comments(REPO, self.pr).unwrap();
        let found = comments.into_iter().find(|one| one.id == comment);
        found.map(|one| one.reactions).unwrap_or_default()
    }

    fn is_acknowledged(&self, comment: u64) -> bool {
        self.reactions(comment) == [("mirilla[bot]".to_owned(), "eyes".to_owned())]
    }

    async fn record(&self) -> PullRequestRecord {
        let id = self.key(0).pull_request();
        self.ledger().pull_request(&id).await.unwrap().unwrap()
    }

    async fn generation(&self) -> Generation {
        self.record().await.generation
    }

    async fn job_of(&self, generation: u32) -> Option<Job> {
        self.ledger().job(&self.key(generation).id()).await.unwrap()
    }

    async fn knows(&self, comment: u64) -> bool {
        let record = self.record().await;
        let id = CommentId::new(comment);
        record
            .commands
            .find(CommentPlace::Conversation, id)
            .is_some()
    }
}
