//! Merge queues: what waits there for a verdict that the pull request has already.
//!
//! A queue tests its own commit, the base with one or more changes merged into it, and a required check must
//! report there too. The change in it was read on its pull request; what is written on the queue's commit
//! is that verdict again.
//!
//! **Invariant:** the name of a queue's branch is a hint about which pull request it is for; what is
//! remembered of entries is bounded.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::command::Admission;
use crate::ids::{BranchName, CommitSha, JobId, PrNumber, PullRequestRef, Timestamp, hash_fields};

/// What GitHub's own branches of a queue begin with.
const PREFIX: &str = "gh-readonly-queue/";
/// How long an entry is remembered: longer than a queue waits for a check.
pub const REMEMBERED_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// Entries of one pull request that are remembered; a queue forms its groups anew whenever one before it
/// fails.
pub const MAX_ENTRIES: usize = 20;
/// How long after an entry's webhook what the forge says of it may still be older than the webhook.
pub const SETTLES_WITHIN: Duration = Duration::from_secs(60);
/// A message about an entry that led to nothing for this long was lost.
const LOST_AFTER: Duration = Duration::from_secs(2 * 60);

/// What the name of a queue's branch says: `gh-readonly-queue/<base>/pr-<number>-<sha>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueBranch {
    /// The branch that is merged into.
    pub base: BranchName,
    /// The last pull request that the group holds.
    pub pr: PrNumber,
}

impl QueueBranch {
    /// Reads a branch's name; nothing if no queue made it.
    pub fn parse(branch: &BranchName) -> Option<Self> {
        let (base, entry) = branch.as_str().strip_prefix(PREFIX)?.rsplit_once('/')?;
        let (number, sha) = entry.strip_prefix("pr-")?.split_once('-')?;
        CommitSha::parse(sha).ok()?;
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = number.parse().ok().filter(|_| is_plain)?;
        Some(Self {
            base: BranchName::parse(base).ok()?,
            pr: PrNumber::new(number),
        })
    }
}

/// How far an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Progress {
    /// Nobody looked at it yet.
    Waiting,
    /// Its check runs, because the pull request's verdict is still being made.
    Begun,
    /// Its check is over, or there is none to write.
    Done,
}

/// One commit of a merge queue that waits for a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueEntry {
    /// The queue's branch, as its webhook names it.
    pub branch: BranchName,
    /// The queue's commit.
    pub sha: CommitSha,
    /// When its webhook came.
    pub at: Timestamp,
    /// How far it is.
    pub progress: Progress,
}

/// The entries of one pull request that are remembered, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QueueEntries(Vec<QueueEntry>);

impl QueueEntries {
    /// Returns none.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns what is known of a commit.
    pub fn find(&self, sha: &CommitSha) -> Option<&QueueEntry> {
        self.0.iter().find(|entry| entry.sha == *sha)
    }

    /// Notes an entry that waits, unless it is known, and forgets the oldest past the bound.
    pub fn admit(&mut self, branch: &BranchName, sha: &CommitSha, now: Timestamp) -> Admission {
        if let Some(known) = self.find(sha) {
            return match known.progress {
                Progress::Waiting | Progress::Begun => Admission::Waiting,
                Progress::Done => Admission::Done,
            };
        }
        self.0.retain(|entry| now.since(entry.at) < REMEMBERED_FOR);
        let excess = self.0.len().saturating_add(1).saturating_sub(MAX_ENTRIES);
        drop(self.0.drain(..excess));
        self.0.push(QueueEntry {
            branch: branch.clone(),
            sha: sha.clone(),
            at: now,
            progress: Progress::Waiting,
        });
        Admission::Admitted
    }

    /// Notes how far an entry is; one that is done stays done, whoever was slower.
    pub fn settle(&mut self, sha: &CommitSha, progress: Progress) {
        let mut open = self.0.iter_mut().filter(|entry| entry.is_open());
        if let Some(entry) = open.find(|entry| entry.sha == *sha) {
            entry.progress = progress;
        }
    }

    /// Returns the entries whose check is not over, and that still are remembered.
    pub fn open(&self, now: Timestamp) -> impl Iterator<Item = &QueueEntry> {
        let is_remembered = move |entry: &&QueueEntry| now.since(entry.at) < REMEMBERED_FOR;
        self.0
            .iter()
            .filter(|entry| entry.is_open())
            .filter(is_remembered)
    }

    /// Returns the entries whose message was lost, in all likelihood. What has begun goes on once there is a
    /// verdict.
    pub fn overdue(&self, now: Timestamp, has_verdict: bool) -> impl Iterator<Item = &QueueEntry> {
        self.open(now).filter(move |entry| {
            let goes_on = entry.progress == Progress::Waiting || has_verdict;
            goes_on && now.since(entry.at) >= LOST_AFTER
        })
    }
}

impl QueueEntry {
    /// Returns whether its check is not over.
    pub fn is_open(&self) -> bool {
        self.progress != Progress::Done
    }
}

/// Returns the id under which the work for an entry is logged and counted. No job has it.
pub fn run_id(pull_request: &PullRequestRef, sha: &CommitSha) -> JobId {
    JobId::from_hash(&hash_fields(&[
        b"mirilla.merge-group.v1",
        pull_request.to_string().as_bytes(),
        sha.as_str().as_bytes(),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn branch(name: &str) -> BranchName {
        BranchName::parse(name).unwrap()
    }

    fn sha(number: usize) -> CommitSha {
        CommitSha::parse(&format!("{number:040x}")).unwrap()
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::new(0).plus(Duration::from_secs(seconds))
    }

    #[test]
    fn queue_branch_names_base_and_pull_request() {
        let hex = "929f8209d40f77f4abc622a499c93a83babdbe64";
        let parsed = |name: String| {
            QueueBranch::parse(&branch(&name)).map(|it| (it.base.to_string(), it.pr.get()))
        };
        let said = |base: &str, pr| Some((base.to_owned(), pr));
        assert_eq!(
            parsed(format!("gh-readonly-queue/main/pr-104-{hex}")),
            said("main", 104)
        );
        assert_eq!(
            parsed(format!("gh-readonly-queue/release/pr-1-a/2.x/pr-7-{hex}")),
            said("release/pr-1-a/2.x", 7)
        );
        for other in [
            format!("main/pr-104-{hex}"),
            format!("gh-readonly-queue/pr-104-{hex}"),
            format!("gh-readonly-queue/main/pr-+4-{hex}"),
            format!("gh-readonly-queue/main/pr--{hex}"),
            "gh-readonly-queue/main/pr-104-929f82".to_owned(),
            "gh-readonly-queue/main/pr-104".to_owned(),
        ] {
            assert_eq!(parsed(other.clone()), None, "{other}");
        }
    }

    #[test]
    fn each_commit_is_noted_once_and_the_oldest_are_forgotten() {
        let mut entries = QueueEntries::new();
        let name = branch("gh-readonly-queue/main/pr-1-x");
        entries.admit(&name, &sha(0), at(0));
        entries.settle(&sha(0), Progress::Done);
        assert_eq!(entries.admit(&name, &sha(0), at(1)), Admission::Done);
        for number in 1..=MAX_ENTRIES {
            entries.admit(&name, &sha(number), at(2));
        }
        assert_eq!(entries.0.len(), MAX_ENTRIES);
        assert_eq!(entries.find(&sha(0)), None);
        assert_eq!(entries.open(at(3)).count(), MAX_ENTRIES);
        let later = at(2 + REMEMBERED_FOR.as_secs());
        assert_eq!(entries.open(later).count(), 0, "they lapse");
        entries.admit(&name, &sha(99), later);
        assert_eq!(entries.0.len(), 1);
    }

    #[test]
    fn entry_that_has_begun_waits_for_a_verdict_and_no_message_is_lost() {
        let mut entries = QueueEntries::new();
        entries.admit(&branch("b"), &sha(1), at(0));
        let overdue =
            |entries: &QueueEntries, now, verdict| entries.overdue(at(now), verdict).count();
        assert_eq!(overdue(&entries, 119, true), 0);
        assert_eq!(overdue(&entries, 120, false), 1);
        entries.settle(&sha(1), Progress::Begun);
        assert_eq!(overdue(&entries, 120, false), 0);
        assert_eq!(overdue(&entries, 120, true), 1);
        entries.settle(&sha(1), Progress::Done);
        assert_eq!(overdue(&entries, 120, true), 0);
    }
}
