//! What a plan is made from: fetched once, so that a plan can be made again when the forge refuses a line.
//!
//! **Invariant:** what stands on the pull request is no part of it. That is read right before every plan.

use std::collections::BTreeSet;

use mirilla_domain::checks;
use mirilla_domain::ids::{Fingerprint, ReviewId};
use mirilla_domain::plan::{self, FloorHit, FreshDiff, JobFacts, Plan, PlanInput, PlanPolicy};
use mirilla_domain::redact::Haystack;
use mirilla_domain::settings::Policy;
use mirilla_domain::snapshot::{Keys, PullRequest, SnapshotMeta, TRUSTED_PATHS, TrustedFiles};
use mirilla_domain::thread::Existing;
use mirilla_ports::ArtifactError;
use mirilla_ports::forge::FetchedDiff;

use super::{KeepRuns, PostSettings, Posting, Read, declines, keep, settings_notes};
use crate::collect::trusted_rev;
use crate::error::StageError;
use crate::review::{effective_policy, read_json};

/// What the ledger remembers of single findings: nothing yet, the markers on the forge do.
static NOTHING_RECORDED: BTreeSet<Fingerprint> = BTreeSet::new();

/// Everything that a plan looks at, but for what stands on the pull request.
pub(super) struct Basis<'b> {
    settings: &'b PostSettings,
    fetched: &'b FetchedDiff,
    read: Read<'b>,
    last_review: Option<ReviewId>,
    facts: JobFacts,
    diff: FreshDiff,
    floor: Vec<FloorHit>,
    public: Haystack<'b>,
    notes: Vec<String>,
    on_lines: PlanPolicy,
    in_body: PlanPolicy,
    /// The policy that applies to the pull request.
    pub(super) policy: Policy,
}

impl Basis<'_> {
    /// Makes the plan, and keeps what it was made from where that is wanted.
    pub(super) async fn plan(&self, posting: &Posting<'_>, existing: &Existing) -> Plan {
        let input = self.input(existing, &self.on_lines);
        let plan = plan::plan(&input);
        if self.settings.keep_runs != KeepRuns::No {
            keep::keep(posting, &input, self.fetched, self.read.bytes, &plan).await;
        }
        plan
    }

    /// Makes the plan that is left when the forge refuses a line: everything that is new is in the body.
    pub(super) fn plan_in_body(&self, existing: &Existing) -> Plan {
        plan::plan(&self.input(existing, &self.in_body))
    }

    fn input<'i>(&'i self, existing: &'i Existing, policy: &'i PlanPolicy) -> PlanInput<'i> {
        PlanInput {
            job: &self.facts,
            diff: &self.diff,
            review: self.read.review,
            floor: &self.floor,
            existing,
            recorded: &NOTHING_RECORDED,
            last_review: self.last_review,
            policy,
            notes: &self.notes,
            redactor: &self.settings.redactor,
            public: &self.public,
            key: &self.settings.marker_key,
        }
    }
}

impl<'a> Posting<'a> {
    /// Returns what stands on the pull request now, and which of it dismisses findings.
    pub(super) async fn existing(&self, live: &PullRequest) -> Result<Existing, StageError> {
        let read = self.ports.read;
        let mut existing = read.existing(&live.repo_name, live.id.pr).await?;
        declines::read(self.ports, live, &mut existing).await?;
        Ok(existing)
    }

    /// Gathers what plans are made from.
    pub(super) async fn basis<'b>(
        &self,
        live: &PullRequest,
        fetched: &'b FetchedDiff,
        read: Read<'b>,
    ) -> Result<Basis<'b>, StageError>
    where
        'a: 'b,
    {
        let parsed = mirilla_diff::parse(&fetched.bytes);
        let trusted = self.trusted_files(live).await?;
        let policy = effective_policy(&self.settings.policy, &trusted);
        let on_lines = PlanPolicy {
            resolve_threads: self.ports.resolve.is_some(),
            ..PlanPolicy::from(&policy)
        };
        Ok(Basis {
            settings: self.settings,
            fetched,
            read,
            last_review: self.last_review,
            facts: JobFacts {
                job: self.job.id.clone(),
                attempt: self.job.attempt,
                pull_request: live.id,
                head: live.head.clone(),
                merge_base: fetched.merge_base.clone(),
            },
            diff: FreshDiff::of(&parsed.files, &fetched.missing, None),
            floor: checks::floor(&parsed.files),
            public: Haystack::new([fetched.bytes.as_slice()]),
            notes: settings_notes(&policy),
            in_body: PlanPolicy {
                comment_on_lines: false,
                ..on_lines.clone()
            },
            on_lines,
            policy,
        })
    }

    /// Fetches the diff; the merge base is asked for again only if the base branch moved.
    pub(super) async fn fresh_diff(&self, live: &PullRequest) -> Result<FetchedDiff, StageError> {
        let meta = read_json::<SnapshotMeta>(
            self.ports.artifacts,
            &Keys::meta(&self.job.id),
            "snapshot description",
        )
        .await;
        match meta {
            Ok(meta)
                if meta.pull_request.base == live.base && meta.pull_request.head == live.head =>
            {
                Ok(self.ports.read.diff_from(live, &meta.merge_base).await?)
            }
            _ => Ok(self.ports.read.diff(live).await?),
        }
    }

    /// Returns settings and rules of the snapshot; without one they are read where a collector would have:
    /// a change that nobody could collect is held to the same settings.
    async fn trusted_files(&self, live: &PullRequest) -> Result<TrustedFiles, StageError> {
        let read = self.ports.read;
        match read_json(self.ports.artifacts, &Keys::rules(&self.job.id), "rules").await {
            Ok(files) => Ok(files),
            Err(StageError::Artifact(ArtifactError::NotFound { .. })) => {
                let rev = trusted_rev(&self.settings.policy, live);
                Ok(read.files(&live.repo_name, rev, TRUSTED_PATHS).await?)
            }
            Err(error) => Err(error),
        }
    }
}
