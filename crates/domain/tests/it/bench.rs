//! A pull request on a bench: a diff, a review of it, and a forge that keeps what is posted.

use std::collections::BTreeSet;

use mirilla_domain::code::SkipReason;
use mirilla_domain::ids::{
    AttemptNo, CommentId, CommitSha, Fingerprint, Forge, JobId, PrNumber, PullRequestRef, RepoId,
    ReviewId,
};
use mirilla_domain::marker::MarkerKey;
use mirilla_domain::money::{PicoUsd, Usage};
use mirilla_domain::plan::{
    FloorHit, FreshDiff, JobFacts, NewReview, Plan, PlanInput, PlanPolicy, ReadReview,
    ReviewAction, plan,
};
use mirilla_domain::redact::{Haystack, Redactor};
use mirilla_domain::review::{
    Category, Coverage, Fate, Finding, Outcome, REVIEW_SCHEMA, Review, Severity, Side,
};
use mirilla_domain::thread::{Existing, ExistingComment, ExistingReview, ExistingThread};

/// The diff that most cases share: line 5 changed, line 31 added, lines 51 and 52 removed.
pub(crate) const MAIN_GO: &str = "\
diff --git a/svc/main.go b/svc/main.go
index 8b2034d..58d39bb 100644
--- a/svc/main.go
+++ b/svc/main.go
@@ -2,7 +2,7 @@ line 1
 line 2
 line 3
 line 4
-line 5
+line 5 changed
 line 6
 line 7
 line 8
@@ -28,6 +28,7 @@ line 27
 line 28
 line 29
 line 30
+new 31
 line 31
 line 32
 line 33
@@ -48,8 +49,6 @@ line 47
 line 48
 line 49
 line 50
-line 51
-line 52
 line 53
 line 54
 line 55
";

pub(crate) struct Bench {
    pub(crate) diff: String,
    pub(crate) job: JobFacts,
    pub(crate) review: Option<ReadReview>,
    pub(crate) floor: Vec<FloorHit>,
    pub(crate) existing: Existing,
    pub(crate) recorded: BTreeSet<Fingerprint>,
    pub(crate) last_review: Option<ReviewId>,
    pub(crate) policy: PlanPolicy,
    pub(crate) notes: Vec<String>,
    pub(crate) redactor: Redactor,
    next_id: u64,
    /// Reviews that were created, for counting notifications.
    pub(crate) created: usize,
    pub(crate) edited: usize,
}

pub(crate) fn key() -> MarkerKey {
    MarkerKey::new(b"a key made up for tests").unwrap()
}

pub(crate) fn sha(c: char) -> CommitSha {
    CommitSha::parse(&c.to_string().repeat(40)).unwrap()
}

pub(crate) fn job_id(n: u32) -> JobId {
    JobId::parse(&format!("{n:032x}")).unwrap()
}

impl Bench {
    pub(crate) fn new(diff: &str) -> Self {
        let mut bench = Self {
            diff: diff.to_owned(),
            job: JobFacts {
                job: job_id(1),
                attempt: AttemptNo::FIRST,
                pull_request: PullRequestRef {
                    forge: Forge::Github,
                    repo: RepoId::new(77),
                    pr: PrNumber::new(7),
                },
                head: sha('b'),
                merge_base: sha('a'),
            },
            review: None,
            floor: Vec::new(),
            existing: Existing::default(),
            recorded: BTreeSet::new(),
            last_review: None,
            policy: PlanPolicy {
                resolve_threads: true,
                ..PlanPolicy::default()
            },
            notes: Vec::new(),
            redactor: Redactor::default(),
            next_id: 1000,
            created: 0,
            edited: 0,
        };
        bench.found(Vec::new());
        bench
    }

    /// The model read every file and found this.
    /// Puts the pull request on another forge.
    pub(crate) fn on(&mut self, forge: Forge) -> &mut Self {
        self.job.pull_request.forge = forge;
        self
    }

    pub(crate) fn found(&mut self, findings: Vec<Finding>) -> &mut Self {
        let coverage = self
            .fresh()
            .files()
            .iter()
            .map(|file| Coverage {
                path: file.path.clone(),
                fate: Fate::Reviewed,
                digest: file.digest.clone(),
            })
            .collect();
        self.review = Some(ReadReview {
            review: Review {
                schema: REVIEW_SCHEMA.to_owned(),
                job: self.job.job.clone(),
                attempt: self.job.attempt,
                head: self.job.head.clone(),
                summary: String::new(),
                findings,
                coverage,
                rejected: Vec::new(),
                usage: Usage {
                    input_tokens: 11_000,
                    output_tokens: 307,
                    ..Usage::default()
                },
                cost: PicoUsd::parse("0.0251").unwrap(),
                model: "claude-sonnet-5-5".to_owned(),
                prompt_version: "p1".to_owned(),
                turns: 2,
                tool_calls: 0,
                outcome: Outcome::Complete,
                sight: None,
            },
            refused: Vec::new(),
            lost_coverage: 0,
        });
        self
    }

    pub(crate) fn read(&mut self) -> &mut Review {
        &mut self.review.as_mut().unwrap().review
    }

    /// Says of a file what became of it, with the digest of its present patch.
    pub(crate) fn cover(&mut self, path: &str, fate: Fate) -> &mut Self {
        let digest = self.fresh().file(path).unwrap().digest.clone();
        let coverage = &mut self.read().coverage;
        coverage.retain(|entry| entry.path != path);
        coverage.push(Coverage {
            path: path.to_owned(),
            fate,
            digest,
        });
        self
    }

    /// A push: another diff, another job.
    pub(crate) fn push(&mut self, diff: &str, findings: Vec<Finding>) -> &mut Self {
        diff.clone_into(&mut self.diff);
        self.next_job().found(findings)
    }

    pub(crate) fn next_job(&mut self) -> &mut Self {
        let number =
            u32::from_str_radix(self.job.job.as_str().trim_start_matches('0'), 16).unwrap();
        self.job.job = job_id(number + 1);
        if let Some(read) = &mut self.review {
            read.review.job = self.job.job.clone();
        }
        self
    }

    pub(crate) fn fresh(&self) -> FreshDiff {
        let parsed = mirilla_diff::parse(self.diff.as_bytes());
        let wanted = FreshDiff::wanted(self.review.as_ref(), &self.floor);
        FreshDiff::of(&parsed.files, &[], Some(&wanted))
    }

    pub(crate) fn plan(&self) -> Plan {
        let plan = plan(&PlanInput {
            job: &self.job,
            diff: &self.fresh(),
            review: self.review.as_ref(),
            floor: &self.floor,
            existing: &self.existing,
            recorded: &self.recorded,
            last_review: self.last_review,
            policy: &self.policy,
            notes: &self.notes,
            redactor: &self.redactor,
            public: &Haystack::new([self.diff.as_bytes()]),
            key: &key(),
        });
        self.check(&plan);
        plan
    }

    /// What holds for every plan.
    fn check(&self, plan: &Plan) {
        let fresh = self.fresh();
        assert!(plan.tally.reconciles(), "{}", plan.tally.equation());
        assert!(plan.body.len() <= 65_000 && !plan.body.trim().is_empty());
        let first = plan.body.lines().next().unwrap();
        assert!(
            [
                "**Complete review**",
                "**Partial review**",
                "**Failed review**"
            ]
            .iter()
            .any(|start| first.starts_with(start)),
            "{first}"
        );
        assert_eq!(
            plan.coverage.files().len(),
            fresh.files().len(),
            "every file once"
        );
        if let ReviewAction::Create { review } = &plan.review {
            assert_eq!(review.comments.len(), plan.tally.posted);
            assert_eq!(review.commit, self.job.head, "the commit that was read");
            for comment in &review.comments {
                assert!(comment.body.len() <= 65_000);
                let start = comment.start_line.unwrap_or(comment.line);
                assert!(start <= comment.line && comment.start_line != Some(comment.line));
                let parsed = mirilla_diff::parse(self.diff.as_bytes());
                let side = match comment.side {
                    Side::Left => mirilla_diff::Side::Left,
                    Side::Right => mirilla_diff::Side::Right,
                };
                let fits = parsed.files.iter().any(|file| {
                    file.path_str() == Some(comment.path.as_str())
                        && file.commentable(side, start)
                        && file.commentable(side, comment.line)
                        && file.hunk_at(side, start) == file.hunk_at(side, comment.line)
                });
                assert!(fits, "the forge would refuse {comment:?}");
            }
        } else {
            assert_eq!(plan.tally.posted, 0);
        }
    }

    /// What the forge and the resolving worker would do with the plan.
    pub(crate) fn apply(&mut self, plan: &Plan) {
        self.existing
            .reviews
            .retain(|review| !plan.delete_pending.contains(&review.id));
        match &plan.review {
            ReviewAction::Create { review } => self.create(review),
            ReviewAction::Edit { review_id, body } => {
                let review = (self.existing.reviews.iter_mut())
                    .find(|review| review.id == *review_id)
                    .expect("the plan edits a review that is there");
                assert!(review.ours, "edits a stranger's review");
                body.clone_into(&mut review.body);
                self.edited += 1;
            }
            ReviewAction::Nothing { .. } => {}
        }
        for resolve in &plan.resolve {
            let thread = (self.existing.threads.iter_mut())
                .find(|thread| thread.id == resolve.thread)
                .unwrap();
            thread.resolved = true;
            thread.resolved_by_us = true;
        }
    }

    fn create(&mut self, review: &NewReview) {
        assert!(
            !self
                .existing
                .reviews
                .iter()
                .any(|one| one.ours && one.pending),
            "only one pending review per person"
        );
        self.created += 1;
        let id = ReviewId::new(self.id());
        self.existing.reviews.push(ExistingReview {
            id,
            ours: true,
            pending: false,
            body: review.body.clone(),
        });
        for comment in &review.comments {
            let comment_id = CommentId::new(self.id());
            self.existing.comments.push(ExistingComment {
                edited: false,
                id: comment_id,
                in_reply_to: None,
                review: Some(id),
                author: Some("mirilla[bot]".to_owned()),
                ours: true,
                path: comment.path.clone(),
                line: Some(comment.line),
                original_line: Some(comment.line),
                side: comment.side,
                body: comment.body.clone(),
            });
            self.existing.threads.push(ExistingThread {
                id: format!("T{comment_id}"),
                comments: vec![comment_id],
                complete: true,
                resolved: false,
                resolved_by: None,
                resolved_by_us: false,
                outdated: false,
            });
        }
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Plans and applies.
    pub(crate) fn run(&mut self) -> Plan {
        let plan = self.plan();
        self.apply(&plan);
        plan
    }

    /// The threads that our account opened.
    pub(crate) fn threads(&self) -> usize {
        self.existing.threads.len()
    }
}

pub(crate) fn finding(path: &str, line: u32, title: &str) -> Finding {
    Finding {
        path: path.to_owned(),
        line,
        end_line: None,
        side: Side::Right,
        severity: Severity::High,
        category: Category::Correctness,
        title: title.to_owned(),
        message: format!("Explanation of: {title}"),
        confidence: 90,
        quote: None,
        symbol: None,
        rule: None,
        suggestion: None,
        doubted: false,
    }
}

pub(crate) fn hit(kind: &str, path: &str, line: u32, severity: Severity) -> FloorHit {
    FloorHit {
        kind: kind.to_owned(),
        path: path.to_owned(),
        side: Side::Right,
        line,
        end_line: None,
        severity,
        title: format!("{kind} found"),
        message: "A fixed check says so.".to_owned(),
    }
}

/// The comments that a plan posts: path, line, first line of a range.
pub(crate) fn posted(plan: &Plan) -> Vec<(String, u32, Option<u32>)> {
    match &plan.review {
        ReviewAction::Create { review } => review
            .comments
            .iter()
            .map(|one| (one.path.clone(), one.line, one.start_line))
            .collect(),
        _ => Vec::new(),
    }
}

/// A diff of new files with two lines each.
pub(crate) fn new_files(paths: &[String]) -> String {
    let file = |path: &String| {
        format!(
            "diff --git a/{path} b/{path}\nnew file mode 100644\nindex 0000000..1111111\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,2 @@\n+first line of {path}\n+second line of {path}\n"
        )
    };
    paths.iter().map(file).collect::<Vec<_>>().concat()
}

pub(crate) fn skipped(reason: SkipReason) -> Fate {
    Fate::Skipped(reason)
}
