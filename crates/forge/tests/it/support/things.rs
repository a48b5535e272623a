//! Small stand-ins and made-up domain values.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mirilla_casekit::{Case, cases};
use mirilla_domain::ids::{
    BranchName, CommitSha, Forge, PrNumber, PullRequestRef, RepoId, RepoName, Timestamp,
};
use mirilla_domain::snapshot::{PullRequest, StoredObject};
use mirilla_ports::{ArtifactError, ArtifactWriter, Clock, Entropy};
use serde_json::{Value, json};

/// A clock that stands still; sleeping moves it and takes no time.
#[derive(Debug, Clone)]
pub(crate) struct TestClock(Arc<Mutex<(i64, Vec<Duration>)>>);

impl TestClock {
    /// 2026-01-01T00:00:00Z, as the cases have it.
    pub(crate) fn new() -> Self {
        Self::at(1_767_225_600_000)
    }

    pub(crate) fn at(ms: i64) -> Self {
        Self(Arc::new(Mutex::new((ms, Vec::new()))))
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.0.lock().unwrap().0 += time.as_millis() as i64;
    }

    /// Returns the waits so far.
    pub(crate) fn waits(&self) -> Vec<Duration> {
        self.0.lock().unwrap().1.clone()
    }
}

#[async_trait]
impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::new(self.0.lock().unwrap().0)
    }

    async fn sleep(&self, duration: Duration) {
        self.pass(duration);
        self.0.lock().unwrap().1.push(duration);
    }
}

/// Chance that always comes out the same.
pub(crate) struct Fixed;

impl Entropy for Fixed {
    fn hex(&self, bytes: usize) -> String {
        "ab".repeat(bytes)
    }

    fn below(&self, bound: u64) -> u64 {
        bound.min(1000).saturating_sub(1)
    }
}

/// What an artifact writer was given.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    pub(crate) bytes: Vec<u8>,
    pub(crate) finished: bool,
    pub(crate) dropped: bool,
}

/// A writer into memory with a bound.
pub(crate) struct MemoryWriter {
    limit: u64,
    stored: Arc<Mutex<Stored>>,
}

impl MemoryWriter {
    pub(crate) fn within(limit: u64) -> (Box<dyn ArtifactWriter>, Arc<Mutex<Stored>>) {
        let stored = Arc::new(Mutex::new(Stored::default()));
        let writer = Self {
            limit,
            stored: Arc::clone(&stored),
        };
        (Box::new(writer), stored)
    }
}

#[async_trait]
impl ArtifactWriter for MemoryWriter {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), ArtifactError> {
        let mut stored = self.stored.lock().unwrap();
        stored.bytes.extend_from_slice(bytes);
        if stored.bytes.len() as u64 > self.limit {
            return Err(ArtifactError::TooLarge {
                key: "archive".to_owned(),
                limit: self.limit,
            });
        }
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<StoredObject, ArtifactError> {
        let mut stored = self.stored.lock().unwrap();
        stored.finished = true;
        Ok(StoredObject {
            key: "archive".to_owned(),
            etag: "e".to_owned(),
            size_bytes: stored.bytes.len() as u64,
        })
    }
}

impl Drop for MemoryWriter {
    fn drop(&mut self) {
        self.stored.lock().unwrap().dropped = true;
    }
}

/// Loads the case of a number.
pub(crate) fn case(id: &str) -> Case {
    let mut found = cases("tests/fixtures/cases", |name| {
        name.starts_with(&format!("{id}-"))
    });
    found.remove(0)
}

pub(crate) fn repo() -> RepoName {
    RepoName::parse("acme/shop").unwrap()
}

/// Pull request 7 of repository 2, as the cases have it.
pub(crate) fn pull(changed_files: u64) -> PullRequest {
    PullRequest {
        id: PullRequestRef {
            forge: Forge::Github,
            repo: RepoId::new(2),
            pr: PrNumber::new(7),
        },
        repo_name: repo(),
        head: CommitSha::parse(&"b".repeat(40)).unwrap(),
        base_ref: BranchName::parse("main").unwrap(),
        base: CommitSha::parse(&"a".repeat(40)).unwrap(),
        default_branch: BranchName::parse("main").unwrap(),
        open: true,
        draft: false,
        from_fork: false,
        title: "Add cart".to_owned(),
        description: String::new(),
        author: None,
        author_is_bot: false,
        author_is_outsider: false,
        labels: Vec::new(),
        changed_files,
    }
}

/// Returns what GitHub says about that pull request, with `part` laid over it.
pub(crate) fn pull_json(part: &Value) -> Value {
    let repo = json!({"id": 2, "full_name": "acme/shop", "default_branch": "main"});
    let mut whole = json!({
        "number": 7, "state": "open", "draft": false, "title": "Add cart", "body": null,
        "user": {"login": "human-1", "id": 1, "type": "User"}, "labels": [], "changed_files": 1,
        "head": {"ref": "feature", "sha": "b".repeat(40), "repo": repo},
        "base": {"ref": "main", "sha": "a".repeat(40), "repo": repo},
    });
    lay_over(&mut whole, part);
    whole
}

fn lay_over(whole: &mut Value, part: &Value) {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            for (key, value) in part {
                lay_over(whole.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (whole, part) => *whole = part.clone(),
    }
}
