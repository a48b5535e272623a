//! What a stage counts while it works: facts for metrics and alarms, as plain values.
//!
//! A stage says what happened; what that is called outside, and which dimensions it has, is the
//! telemetry's business. So a decision can be tested by the facts it states.
//!
//! **Invariant:** a fact holds counts, codes of closed lists and amounts of money, never a text that a
//! repository, a model or a stranger wrote. Whom it concerns stands in [`About`], by ids and the
//! repository's name alone.

use crate::checks::Check;
use crate::code::{DropReason, RejectReason};
use crate::gate::{Ruling, Trust};
use crate::ids::{AttemptNo, Forge, JobId, PrNumber, RepoName};
use crate::job::{Job, JobState};
use crate::money::{PicoUsd, Purse, Usage};
use crate::plan::Source;
use crate::review::Outcome;

/// Whom a fact concerns. It is written beside a metric to be searched for, and never becomes a
/// dimension: each new value of a dimension is a new metric to pay for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// Which kind of forge.
    pub forge: Option<Forge>,
    /// The repository.
    pub repo: Option<RepoName>,
    /// The pull request.
    pub pr: Option<PrNumber>,
    /// The job.
    pub job: Option<JobId>,
    /// The try.
    pub attempt: Option<AttemptNo>,
}

impl About {
    /// Returns what is known before a job's row was read.
    pub fn job_id(id: &JobId) -> Self {
        Self {
            job: Some(id.clone()),
            ..Self::default()
        }
    }
}

impl From<&Job> for About {
    fn from(job: &Job) -> Self {
        Self {
            forge: Some(job.key.forge),
            repo: Some(job.repo_name.clone()),
            pr: Some(job.key.pr),
            job: Some(job.id.clone()),
            attempt: Some(job.attempt),
        }
    }
}

/// What became of one message, webhook or run, in the words of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RunOutcome {
    /// Recorded and queued.
    Accepted,
    /// Nothing follows from it.
    Ignored,
    /// Worked off.
    Done,
    /// It comes back.
    Retry,
    /// It can never succeed.
    Rejected,
    /// It is of no interest any more.
    Stale,
}

impl RunOutcome {
    /// Every outcome.
    pub const ALL: [Self; 6] = [
        Self::Accepted,
        Self::Ignored,
        Self::Done,
        Self::Retry,
        Self::Rejected,
        Self::Stale,
    ];

    /// Returns the stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Ignored => "ignored",
            Self::Done => "done",
            Self::Retry => "retry",
            Self::Rejected => "rejected",
            Self::Stale => "stale",
        }
    }
}

/// One fact worth counting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// A stage handled one message, webhook or run.
    Ran {
        /// What became of it.
        outcome: RunOutcome,
        /// A kebab-case code of ours that says more.
        reason: &'static str,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
    /// The model answered and the call is paid.
    ModelCalled {
        /// The model, as the operator names it.
        model: String,
        /// Its tokens.
        usage: Usage,
        /// What it cost.
        cost: PicoUsd,
    },
    /// The answer of a sent call was lost; its worst case is booked.
    CallLost {
        /// The model, as the operator names it.
        model: String,
        /// What was booked.
        cost: PicoUsd,
    },
    /// Calls of dead workers were booked at their worst case.
    CallsBooked {
        /// How many.
        count: u64,
    },
    /// A call cost more than the worst case that was set aside for it: the provider's books and ours
    /// disagree, or the price table is wrong.
    CallOverBound,
    /// A purse had too little left for the next call.
    CapHit {
        /// Which kind of purse.
        purse: PurseKind,
    },
    /// How much of a purse is spent or set aside.
    PurseUsed {
        /// Which kind of purse.
        purse: PurseKind,
        /// In percent of its cap.
        percent: u64,
    },
    /// A review was posted.
    Reviewed {
        /// How it ended.
        outcome: Outcome,
    },
    /// A gate judged a change.
    Judged {
        /// What it says.
        ruling: Ruling,
    },
    /// A pass rests on something beside a reading of the change.
    PassOnTrust {
        /// On what.
        trust: Trust,
        /// How many files or findings.
        count: u64,
    },
    /// Findings came in.
    Found {
        /// From whom.
        source: Source,
        /// How many.
        count: u64,
    },
    /// Findings were posted as new comments.
    Posted {
        /// How many.
        count: u64,
    },
    /// Findings were named in the review's body only.
    InBody {
        /// How many.
        count: u64,
    },
    /// Findings stood there already.
    AlreadyThere {
        /// How many.
        count: u64,
    },
    /// Findings were not posted.
    Dropped {
        /// Why.
        reason: DropReason,
        /// How many.
        count: u64,
    },
    /// Something of a review file was refused.
    Rejected {
        /// Why.
        reason: RejectReason,
        /// How many.
        count: u64,
    },
    /// Secrets, or text that looks like one, were taken out of what a model wrote.
    Redacted {
        /// How many.
        count: u64,
    },
    /// A deterministic check hit.
    FloorHit {
        /// Which.
        check: Check,
        /// How often.
        count: u64,
    },
    /// A job ended.
    Ended {
        /// In which state.
        state: JobState,
    },
    /// A findings object that does not fit its job.
    OddFindings(OddFindings),
    /// A webhook's signature is missing, malformed or wrong.
    BadSignature,
    /// A signed body came again under another delivery id.
    ReplayedBody,
    /// An account that is not served sent a signed webhook.
    UnlistedAccount,
    /// A token was handed out.
    TokenMinted,
    /// A token was asked for, and no live job is behind it. None was handed out.
    TokenWithoutJob,
    /// The forge returned a token that reaches further than its stage. It was thrown away.
    TokenTooWide,
    /// A token for resolving threads could not be revoked; it lapses within the hour.
    TokenNotRevoked,
    /// Threads of ours whose finding is gone, where the operator has them resolved.
    ThreadsGone {
        /// What became of them.
        fate: ThreadFate,
        /// How many.
        count: u64,
    },
    /// How many calls the forge's limit leaves.
    CallsLeft {
        /// In percent of the limit.
        percent: u64,
    },
    /// A live head had no job.
    HeadUnannounced,
    /// A queue's messages, waiting and hidden.
    Backlog {
        /// Which queue.
        queue: &'static str,
        /// How many.
        messages: u64,
    },
    /// The age of the oldest unfinished job that is due.
    OldestUnfinished {
        /// In seconds.
        seconds: u64,
    },
    /// Jobs that are due for longer than a verdict may take.
    WithoutVerdict {
        /// How many there are now.
        jobs: u64,
    },
    /// A dead job was begun anew.
    Restarted,
    /// A job was tried as often as allowed, and is posted without findings.
    GivenUp,
    /// The forge was asked to deliver an event again.
    RedeliveryAsked,
    /// An event failed as often as it is asked for.
    RedeliveryGivenUp,
    /// A delivery that is too large for the front door was read from the forge.
    DeliveryRead,
}

/// What became of a thread that was to be resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ThreadFate {
    /// It is resolved.
    Resolved,
    /// Somebody touched it since the plan was made.
    Left,
    /// The forge failed or refused; a later run tries again.
    Failed,
}

impl ThreadFate {
    /// Every fate.
    pub const ALL: [Self; 3] = [Self::Resolved, Self::Left, Self::Failed];

    /// Returns the stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resolved => "resolved",
            Self::Left => "left",
            Self::Failed => "failed",
        }
    }
}

/// Which kind of purse, whoever it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PurseKind {
    /// One review's.
    Review,
    /// A repository's day.
    RepositoryDay,
    /// An account's month.
    AccountMonth,
    /// What outsiders share of a repository's day.
    OutsidersDay,
    /// What outsiders share of an account's month.
    OutsidersMonth,
}

impl PurseKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Review,
        Self::RepositoryDay,
        Self::AccountMonth,
        Self::OutsidersDay,
        Self::OutsidersMonth,
    ];

    /// Returns the stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::RepositoryDay => "repository-day",
            Self::AccountMonth => "account-month",
            Self::OutsidersDay => "outsiders-day",
            Self::OutsidersMonth => "outsiders-month",
        }
    }
}

impl From<&Purse> for PurseKind {
    fn from(purse: &Purse) -> Self {
        match purse {
            Purse::Review(_) => Self::Review,
            Purse::RepositoryDay(..) => Self::RepositoryDay,
            Purse::AccountMonth(..) => Self::AccountMonth,
            Purse::OutsidersDay(..) => Self::OutsidersDay,
            Purse::OutsidersMonth(..) => Self::OutsidersMonth,
        }
    }
}

/// How a findings object does not fit its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OddFindings {
    /// The very file that was accepted was announced again; queues and buckets do that.
    Twice,
    /// It answers a try that was given up.
    GivenUpTry,
    /// The job was not handed to a reviewer yet.
    TooEarly,
    /// The job had ended without accepting any.
    AfterClose,
    /// Its bytes are not those that were accepted.
    OtherHash,
    /// The event names a bucket that is not ours.
    ForeignBucket,
}

impl OddFindings {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Twice,
        Self::GivenUpTry,
        Self::TooEarly,
        Self::AfterClose,
        Self::OtherHash,
        Self::ForeignBucket,
    ];

    /// Returns the stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Twice => "twice",
            Self::GivenUpTry => "given-up-try",
            Self::TooEarly => "too-early",
            Self::AfterClose => "after-close",
            Self::OtherHash => "other-hash",
            Self::ForeignBucket => "foreign-bucket",
        }
    }
}

/// Returns a count as the wide type that facts hold.
pub fn count(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}
