//! What a scenario is, and what is said in many of them.

use std::pin::Pin;
use std::sync::Arc;

use mirilla_domain::code::DropReason;
use mirilla_domain::job::{Job, PullRequestRecord};
use mirilla_domain::signal::Signal;
use mirilla_ports::Ledger as _;
use mirilla_sim::Fault;

use crate::support::{Ended, Gate, Host, Place, Sent, TWO_DEFECTS};

/// Something that happens to a pull request and how it has to end, wherever it is.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) play: fn(Place) -> Pin<Box<dyn Future<Output = ()>>>,
}

/// Makes a list of scenarios out of functions.
macro_rules! scenarios {
    ($($name:ident),* $(,)?) => {
        pub(crate) const LIST: &[$crate::play::Scenario] = &[$($crate::play::Scenario {
            name: stringify!($name),
            play: |place| Box::pin($name(place)),
        }),*];
    };
}
pub(crate) use scenarios;

/// Who may write to the repository; `dana` wrote the pull request and may not.
pub(crate) const WRITER: &str = "wanda";
/// The file of one of the two findings, and its text without the defect.
pub(crate) const PAY: &str = "a/Pay.java";
pub(crate) const MENDED: &str = "class Pay {\n  void pay() {\n    charge();\n  }\n}\n";
/// And of the other.
pub(crate) const ORDERS: &str = "b/orders.py";

/// A host whose pull request was just opened, and that has a writer.
pub(crate) fn opened(place: Place) -> Host {
    let host = Host::at(place, TWO_DEFECTS);
    host.town.let_write(WRITER);
    host
}

/// The same after its first review, which said two things.
pub(crate) async fn reviewed(place: Place) -> Host {
    let host = opened(place);
    host.settles().await;
    host.assert_reviewed_once("at first").await;
    assert_eq!(host.comments().len(), 2, "both defects are found");
    host
}

impl Host {
    /// Hands in what the forge sent, and works until nothing is left to do.
    pub(crate) async fn settles(&self) {
        let gate = Arc::new(Gate::open());
        for sent in self.town.sent() {
            let answer = self.hand_in(&gate, &sent).await;
            assert!(answer.status < 300, "{}: {}", answer.status, answer.text);
        }
        assert_eq!(self.run(&gate).await, Ended::Quiet);
    }

    /// Somebody says something, and all that follows from it happens; returns the comment.
    pub(crate) async fn hears(&self, by: &str, body: &str) -> u64 {
        let comment = self.town.comment(self.pr, by, body);
        self.settles().await;
        comment
    }

    /// Somebody answers our comment on a file.
    pub(crate) fn answers(&self, path: &str, by: &str, body: &str) -> u64 {
        let about = self.ours_on(path);
        self.town.reply(self.pr, about, by, body)
    }

    /// Our first comment on a file.
    pub(crate) fn ours_on(&self, path: &str) -> u64 {
        let said = self.town.said(self.pr).into_iter();
        let mut ours = said.filter(|one| one.path == path && one.by == self.town.bot());
        ours.next().expect("something was said on the file").id
    }

    /// Who resolved the thread about a file.
    pub(crate) fn resolver_of(&self, path: &str) -> Option<String> {
        let mut threads = self.town.threads(self.pr).into_iter();
        let thread = threads.find(|one| one.said[0].path == path);
        thread.expect("there is a thread on the file").resolved_by
    }

    /// How many findings stand on lines, each once.
    pub(crate) fn findings(&self) -> usize {
        let bot = self.town.bot();
        let threads = self.town.threads(self.pr);
        threads.iter().filter(|one| one.said[0].by == bot).count()
    }

    /// Whether we showed that a comment was seen.
    pub(crate) fn is_acknowledged(&self, comment: u64) -> bool {
        let reactions = self.town.reactions(self.pr, comment);
        reactions == [(self.town.bot(), "eyes".to_owned())]
    }

    /// Hands in and works, as one process that may die.
    pub(crate) async fn hand_in_and_run(&self, gate: &Arc<Gate>, sent: &Sent) -> Ended {
        tokio::select! {
            biased;
            () = gate.killed() => Ended::Killed,
            () = async { self.hand_in(gate, sent).await; } => self.run(gate).await,
        }
    }

    /// How many findings were dropped because somebody declined them.
    pub(crate) fn declined(&self) -> u64 {
        let seen = self.seen().into_iter();
        seen.map(|signal| match signal {
            Signal::Dropped {
                reason: DropReason::Declined,
                count,
            } => count,
            _ => 0,
        })
        .sum()
    }

    /// No call of the model is answered from now on.
    pub(crate) fn model_is_down(&self) {
        let overloaded =
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
        let faults = self.sim.messages().faults();
        for call in 1..=100 {
            faults.on("POST /v1/messages", call, Fault::status(529, overloaded));
        }
    }

    pub(crate) async fn job_of(&self, generation: u32) -> Option<Job> {
        self.ledger().job(&self.key(generation).id()).await.unwrap()
    }

    pub(crate) async fn record(&self) -> PullRequestRecord {
        let id = self.key(0).pull_request();
        self.ledger().pull_request(&id).await.unwrap().unwrap()
    }
}
