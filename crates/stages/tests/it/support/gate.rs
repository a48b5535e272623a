//! Counts port calls and stops the world at one of them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// On which side of a call's effect the process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// The call has no effect.
    Before,
    /// The call has its effect and nobody learns of it.
    After,
}

/// The call at which the process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KillAt {
    /// Which call, from 0.
    pub(crate) call: u64,
    /// On which side.
    pub(crate) when: When,
}

/// A defect of a poster, to see that it would be noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Bend {
    /// None.
    #[default]
    Straight,
    /// It does not look at what is there.
    ForgetsWhatIsThere,
    /// A write whose answer is lost is done again at once.
    WritesAgain,
    /// The last comment of a review is not written.
    DropsAComment,
    /// It takes nobody for an author, so that authors decline what was found in their own change.
    LetsAuthorsDecline,
}

/// Every port call of a process passes here.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    calls: AtomicU64,
    bend: Bend,
    kill_at: Option<KillAt>,
    killed: Notify,
    names: Mutex<Vec<&'static str>>,
}

impl Gate {
    /// A process that is not killed.
    pub(crate) fn open() -> Self {
        Self::default()
    }

    /// A process that is killed at a call.
    pub(crate) fn killing(kill_at: KillAt) -> Self {
        Self {
            kill_at: Some(kill_at),
            ..Self::default()
        }
    }

    /// The same, with a poster that has a defect.
    pub(crate) fn bent(self, bend: Bend) -> Self {
        Self { bend, ..self }
    }

    /// What is wrong with the poster.
    pub(crate) const fn bend(&self) -> Bend {
        self.bend
    }

    /// How many calls there were.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// The calls' names, in order.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.names.lock().unwrap().clone()
    }

    /// Waits for the kill.
    pub(crate) async fn killed(&self) {
        self.killed.notified().await;
    }

    /// Runs one call; never comes back if the process dies at it.
    pub(crate) async fn pass<T>(&self, name: &'static str, call: impl Future<Output = T>) -> T {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        self.names.lock().unwrap().push(name);
        let dies = self
            .kill_at
            .filter(|kill| kill.call == number)
            .map(|kill| kill.when);
        if dies == Some(When::Before) {
            self.die().await;
        }
        let result = call.await;
        if dies == Some(When::After) {
            self.die().await;
        }
        result
    }

    async fn die(&self) {
        self.killed.notify_one();
        std::future::pending::<()>().await;
    }
}
