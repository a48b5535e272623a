//! One review of one head against one base: its key, its states and when it is due.
//!
//! **Invariant:** only a posted review closes a job key. Skipped, superseded and failed jobs can be
//! armed again, because a head that returns must still be read.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::code::EndReason;
use crate::command::Commands;
use crate::gate::{CheckName, Verdict};
use crate::ids::{
    AttemptNo, BranchName, CommitSha, Forge, Generation, InstallationId, JobId, PrNumber,
    PullRequestRef, RepoId, RepoName, ReviewId, Sha256Hex, Timestamp, hash_fields,
};
use crate::merge_queue::QueueEntries;
use crate::settings::{OnInconclusive, Policy};
use crate::snapshot::PullRequest;

/// Waiting time before a pull request's first push is read.
pub const DEBOUNCE_FIRST: Duration = Duration::from_secs(20);
/// Waiting time when the last accepted push is recent: a person is pushing in a row.
pub const DEBOUNCE_BUSY: Duration = Duration::from_secs(90);
/// How long a push counts as recent.
pub const BUSY_WINDOW: Duration = Duration::from_secs(5 * 60);
/// How often a job is tried over queue, sweeper and redrive together.
pub const MAX_TRIES: u32 = 3;

/// How long pushes wait, so that a row of them is read once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Debounce {
    /// Before a pull request's first push is read.
    pub first: Duration,
    /// Before a push is read whose predecessor is younger than [`BUSY_WINDOW`].
    pub busy: Duration,
}

impl Default for Debounce {
    /// [`DEBOUNCE_FIRST`] and [`DEBOUNCE_BUSY`].
    fn default() -> Self {
        Self {
            first: DEBOUNCE_FIRST,
            busy: DEBOUNCE_BUSY,
        }
    }
}

impl Debounce {
    /// Returns how long to wait before reading a push that arrives at `now`.
    pub fn delay(&self, last_accepted_push: Option<Timestamp>, now: Timestamp) -> Duration {
        match last_accepted_push {
            Some(last) if now.since(last) < BUSY_WINDOW => self.busy,
            _ => self.first,
        }
    }
}

/// What makes two requests the same job.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct JobKey {
    /// Which kind of forge.
    pub forge: Forge,
    /// The repository's number.
    pub repo: RepoId,
    /// The pull request.
    pub pr: PrNumber,
    /// The commit to read.
    pub head: CommitSha,
    /// The branch it is to be merged into.
    pub base_ref: BranchName,
    /// Raised when the same head is to be read again on purpose.
    pub generation: Generation,
}

impl JobKey {
    /// Returns the key of a pull request as it is now.
    pub fn of(live: &PullRequest, generation: Generation) -> Self {
        Self {
            forge: live.id.forge,
            repo: live.id.repo,
            pr: live.id.pr,
            head: live.head.clone(),
            base_ref: live.base_ref.clone(),
            generation,
        }
    }

    /// Returns the job's id: a hash over the length-prefixed fields.
    pub fn id(&self) -> JobId {
        JobId::from_hash(&hash_fields(&[
            b"mirilla.job.v1",
            self.forge.as_str().as_bytes(),
            &self.repo.get().to_be_bytes(),
            &self.pr.get().to_be_bytes(),
            self.head.as_str().as_bytes(),
            self.base_ref.as_str().as_bytes(),
            &self.generation.get().to_be_bytes(),
        ]))
    }

    /// Returns the pull request this job is about.
    pub const fn pull_request(&self) -> PullRequestRef {
        PullRequestRef {
            forge: self.forge,
            repo: self.repo,
            pr: self.pr,
        }
    }
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// Recorded; its collect message was sent, or the sweeper will see that nobody claims it.
    Accepted,
    /// Its collect message was sent again.
    Queued,
    /// Its snapshot is complete.
    Collected,
    /// Its findings file was seen.
    Reviewed,
    /// Its review is on the pull request.
    Posted,
    /// It is not to be reviewed.
    Skipped,
    /// Another head or base took its place.
    Superseded,
    /// Tried as often as allowed.
    Failed,
}

impl JobState {
    /// Returns the stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Queued => "queued",
            Self::Collected => "collected",
            Self::Reviewed => "reviewed",
            Self::Posted => "posted",
            Self::Skipped => "skipped",
            Self::Superseded => "superseded",
            Self::Failed => "failed",
        }
    }

    /// Every state.
    pub const ALL: [Self; 8] = [
        Self::Accepted,
        Self::Queued,
        Self::Collected,
        Self::Reviewed,
        Self::Posted,
        Self::Skipped,
        Self::Superseded,
        Self::Failed,
    ];

    /// Parses the stable name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Returns whether no stage will touch the job again by itself.
    pub const fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Posted | Self::Skipped | Self::Superseded | Self::Failed
        )
    }

    /// Returns whether the key is closed: the same request again is a duplicate for good.
    pub const fn closes_key(self) -> bool {
        matches!(self, Self::Posted)
    }

    /// Returns whether a stage may move a job from this state to `next`.
    ///
    /// Arming a terminal job again (`accepted`) is for intake, collector, poster and sweeper when
    /// its head is live again.
    pub const fn may_become(self, next: Self) -> bool {
        use JobState::{
            Accepted, Collected, Failed, Posted, Queued, Reviewed, Skipped, Superseded,
        };
        matches!(
            (self, next),
            (Accepted, Queued | Collected | Skipped | Superseded | Failed)
                | (Queued, Collected | Skipped | Superseded | Failed)
                | (Collected, Reviewed | Posted | Skipped | Superseded | Failed)
                | (Reviewed, Posted | Skipped | Superseded | Failed)
                | (Skipped | Superseded | Failed, Accepted)
        )
    }
}

/// Which stage works on a job; a claim belongs to one stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Takes the webhook.
    Intake,
    /// Takes the snapshot.
    Collect,
    /// Asks the model.
    Review,
    /// Posts.
    Post,
    /// Restarts what died.
    Sweep,
}

impl Stage {
    /// Returns the stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Intake => "intake",
            Self::Collect => "collect",
            Self::Review => "review",
            Self::Post => "post",
            Self::Sweep => "sweep",
        }
    }
}

/// A worker's hold on a job: until it expires nobody else works on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The stage that holds it.
    pub stage: Stage,
    /// A value only the holder knows.
    pub token: String,
    /// When it lapses.
    pub until: Timestamp,
}

/// One row of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The key's hash.
    pub id: JobId,
    /// What it is about.
    pub key: JobKey,
    /// The repository's name when it was accepted, for display and URLs.
    pub repo_name: RepoName,
    /// The App installation that may act on the repository.
    pub installation: Option<InstallationId>,
    /// Where it stands.
    pub state: JobState,
    /// Which run of the key this is: goes up whenever the job is begun anew, so that no findings
    /// file of an earlier run can be taken for this one's.
    pub attempt: AttemptNo,
    /// How often it was begun since it was last armed; bounded by [`MAX_TRIES`].
    pub tries: u32,
    /// Why it ended, when it ended without a review.
    pub end_reason: Option<EndReason>,
    /// The commit the diff was taken against; a verdict counts for this one only.
    pub merge_base: Option<CommitSha>,
    /// SHA-256 of the findings file that was accepted for the present attempt.
    pub findings_sha256: Option<Sha256Hex>,
    /// Set before the first write to the forge: a later try waits and looks first.
    pub posting_since: Option<Timestamp>,
    /// The review that holds the findings.
    pub review_id: Option<ReviewId>,
    /// Whether somebody with write access asked for this review by hand. It holds for this key only:
    /// the next push is not what that person saw.
    #[serde(default)]
    pub sponsored: bool,
    /// Whether the author has neither a merged contribution nor write access, as found with the snapshot:
    /// then the purses that outsiders share pay, too.
    #[serde(default)]
    pub by_outsider: bool,
    /// The check that speaks for it; nothing if its gate is off, or not known yet.
    #[serde(default)]
    pub check: Option<JobCheck>,
    /// Whether it ended before anybody read the settings, so that it may need a check.
    #[serde(default)]
    pub settings_unread: bool,
    /// Who works on it.
    pub claim: Option<Claim>,
    /// Not to be read before this moment.
    pub due_at: Timestamp,
    /// When it was recorded.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Counts changes; a write names the version it saw.
    pub version: u64,
}

impl Job {
    /// Returns a job as intake records it.
    pub fn accepted(
        key: JobKey,
        repo_name: RepoName,
        installation: Option<InstallationId>,
        due_at: Timestamp,
        now: Timestamp,
    ) -> Self {
        Self {
            id: key.id(),
            key,
            repo_name,
            installation,
            state: JobState::Accepted,
            attempt: AttemptNo::FIRST,
            tries: 1,
            end_reason: None,
            merge_base: None,
            findings_sha256: None,
            posting_since: None,
            review_id: None,
            sponsored: false,
            by_outsider: false,
            check: None,
            settings_unread: false,
            claim: None,
            due_at,
            created_at: now,
            updated_at: now,
            version: 0,
        }
    }

    /// Returns the job armed for another run of its key.
    ///
    /// A job that was skipped or superseded has all its tries again; one that failed gets one more.
    pub fn armed_again(&self, due_at: Timestamp, now: Timestamp) -> Self {
        Self {
            state: JobState::Accepted,
            attempt: self.attempt.next(),
            tries: if self.state == JobState::Failed {
                MAX_TRIES
            } else {
                1
            },
            end_reason: None,
            merge_base: None,
            findings_sha256: None,
            check: None,
            settings_unread: false,
            claim: None,
            due_at,
            updated_at: now,
            ..self.clone()
        }
    }

    /// Returns whether a check of the job is still to be written, or may have to be.
    pub fn is_check_open(&self) -> bool {
        self.settings_unread || self.check.as_ref().is_some_and(|check| !check.written)
    }

    /// Returns whether somebody read the settings for it: only a collector does before there is a review.
    pub const fn is_collected(&self) -> bool {
        self.merge_base.is_some()
    }

    /// Returns what the gate says of the job; nothing as long as it runs. Only a posted review has a verdict
    /// of its own, and it counts for nothing if the review was not posted.
    pub fn verdict(&self) -> Option<Verdict> {
        if !self.state.is_terminal() {
            return None;
        }
        let judged = self.check.as_ref().and_then(|check| check.verdict.clone());
        Some(match (self.state, judged) {
            (JobState::Posted, Some(verdict)) => verdict,
            (JobState::Posted, None) => Verdict::given_up(),
            _ => Verdict::ended(self.end_reason.unwrap_or(EndReason::AttemptsExhausted)),
        })
    }

    /// Returns whether a worker holds the job at `now`.
    pub fn is_claimed(&self, now: Timestamp) -> bool {
        self.claim.as_ref().is_some_and(|claim| claim.until > now)
    }
}

/// The check that speaks for a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobCheck {
    /// What it is called.
    pub name: CheckName,
    /// What is written if the verdict is inconclusive.
    pub on_inconclusive: OnInconclusive,
    /// What the gate says of the review, once it is decided.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// Whether one that runs may stand on the forge. It is noted before it is written.
    #[serde(default)]
    pub begun: bool,
    /// Whether what the job came to stands on the forge, or never can.
    #[serde(default)]
    pub written: bool,
}

impl JobCheck {
    /// Returns the check of a pull request under a policy; nothing if the gate is off.
    pub fn of(live: &PullRequest, policy: &Policy) -> Option<Self> {
        policy.gate.fails_at()?;
        let trusted = live.is_into_trusted(&policy.trusted_bases);
        Some(Self {
            name: if trusted {
                CheckName::Trusted
            } else {
                CheckName::OtherBase
            },
            on_inconclusive: policy.on_inconclusive,
            verdict: None,
            begun: false,
            written: false,
        })
    }
}

/// What is known of a pull request across its jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequestRecord {
    /// Which pull request.
    pub pull_request: PullRequestRef,
    /// The repository's name, for URLs.
    pub repo_name: RepoName,
    /// The App installation.
    pub installation: Option<InstallationId>,
    /// The present generation.
    pub generation: Generation,
    /// When a push was last accepted: the debounce depends on it.
    pub last_push: Option<Timestamp>,
    /// The head and base branch of the last posted review.
    pub last_posted: Option<PostedHead>,
    /// The job that was last armed for it.
    pub last_job: Option<JobId>,
    /// Who posts to it now: one poster per pull request, or a finding could be posted twice.
    pub poster: Option<Claim>,
    /// Whether somebody with write access wants no reviews for now but those asked for by hand.
    #[serde(default)]
    pub paused: bool,
    /// The commands that people gave lately.
    #[serde(default)]
    pub commands: Commands,
    /// When the list of commands was posted; once is enough.
    #[serde(default)]
    pub helped_at: Option<Timestamp>,
    /// When its check was run again by hand, lately.
    #[serde(default)]
    pub reruns: Vec<Timestamp>,
    /// Commits of merge queues that hold its change, lately.
    #[serde(default)]
    pub queued: QueueEntries,
    /// When anything was last heard of it.
    pub touched_at: Timestamp,
    /// Counts changes; a write names the version it saw.
    pub version: u64,
}

impl PullRequestRecord {
    /// Returns the record of a pull request that is heard of for the first time.
    pub const fn new(
        pull_request: PullRequestRef,
        repo_name: RepoName,
        installation: Option<InstallationId>,
        now: Timestamp,
    ) -> Self {
        Self {
            pull_request,
            repo_name,
            installation,
            generation: Generation::new(0),
            last_push: None,
            last_posted: None,
            last_job: None,
            poster: None,
            paused: false,
            commands: Commands::new(),
            helped_at: None,
            reruns: Vec::new(),
            queued: QueueEntries::new(),
            touched_at: now,
            version: 0,
        }
    }
}

/// How often the check of one pull request is run again within [`RERUN_WINDOW`].
pub const MAX_RERUNS: usize = 5;
/// How long a re-run counts.
pub const RERUN_WINDOW: Duration = Duration::from_secs(60 * 60);

impl PullRequestRecord {
    /// Notes that a check is run again; `false` if it was so often enough.
    pub fn note_rerun(&mut self, now: Timestamp) -> bool {
        self.reruns.retain(|at| now.since(*at) < RERUN_WINDOW);
        let may = self.reruns.len() < MAX_RERUNS;
        if may {
            self.reruns.push(now);
        }
        may
    }
}

/// What the last posted review was of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostedHead {
    /// The job that posted.
    pub job: JobId,
    /// The commit.
    pub head: CommitSha,
    /// The branch it was compared with.
    pub base_ref: BranchName,
    /// The merge base it was compared with.
    pub merge_base: CommitSha,
    /// The review on the forge.
    pub review_id: ReviewId,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::new(seconds.saturating_mul(1000))
    }

    #[test]
    fn debounce_first_push_waits_twenty_seconds() {
        assert_eq!(Debounce::default().delay(None, at(1000)), DEBOUNCE_FIRST);
        assert_eq!(
            Debounce::default().delay(Some(at(0)), at(300)),
            DEBOUNCE_FIRST
        );
    }

    #[test]
    fn debounce_pushes_in_a_row_wait_longer() {
        assert_eq!(
            Debounce::default().delay(Some(at(1000)), at(1299)),
            DEBOUNCE_BUSY
        );
        assert_eq!(
            Debounce::default().delay(Some(at(1000)), at(900)),
            DEBOUNCE_BUSY
        );
    }

    #[test]
    fn check_is_run_again_five_times_within_an_hour() {
        let pull_request = PullRequestRef {
            forge: Forge::Github,
            repo: RepoId::new(1),
            pr: PrNumber::new(2),
        };
        let name = RepoName::parse("acme/shop").unwrap();
        let mut record = PullRequestRecord::new(pull_request, name, None, at(0));
        assert!((0..5).all(|second| record.note_rerun(at(second))));
        assert!(!record.note_rerun(at(3_599)));
        assert!(record.note_rerun(at(3_600)));
    }

    #[test]
    fn rows_from_before_a_field_existed_are_still_read() {
        let key = JobKey {
            forge: Forge::Github,
            repo: RepoId::new(1),
            pr: PrNumber::new(2),
            head: CommitSha::parse(&"a".repeat(40)).unwrap(),
            base_ref: BranchName::parse("main").unwrap(),
            generation: Generation::new(0),
        };
        let name = RepoName::parse("acme/shop").unwrap();
        let job = Job::accepted(key, name, None, at(20), at(0));
        let mut row = serde_json::to_value(&job).unwrap();
        for field in ["sponsored", "by_outsider", "check", "settings_unread"] {
            row.as_object_mut().unwrap().remove(field).unwrap();
        }
        assert_eq!(serde_json::from_value::<Job>(row).unwrap(), job);
        let record = PullRequestRecord::new(job.key.pull_request(), job.repo_name, None, at(0));
        let mut row = serde_json::to_value(&record).unwrap();
        for field in ["paused", "commands", "helped_at", "reruns", "queued"] {
            row.as_object_mut().unwrap().remove(field).unwrap();
        }
        assert_eq!(
            serde_json::from_value::<PullRequestRecord>(row).unwrap(),
            record
        );
    }

    #[test]
    fn only_posted_closes_a_key_and_every_other_end_can_be_armed_again() {
        for state in [JobState::Skipped, JobState::Superseded, JobState::Failed] {
            assert!(
                !state.closes_key() && state.may_become(JobState::Accepted),
                "{state:?}"
            );
        }
        assert!(JobState::Posted.closes_key() && !JobState::Posted.may_become(JobState::Accepted));
    }
}
