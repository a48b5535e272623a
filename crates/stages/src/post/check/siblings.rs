//! Other pull requests with the same head: their verdicts hang on the same commit.
//!
//! The forge's list of our checks is the index by commit; what each of them is worth stands in the ledger,
//! and whether its pull request is still open, on the forge.
//!
//! **Invariant:** at most a few pull requests are asked for; past that the verdict is inconclusive.

use mirilla_domain::gate::{CheckName, CheckReport, Ruling, Verdict};
use mirilla_domain::ids::{JobId, PullRequestRef};
use mirilla_domain::job::{Job, JobCheck};
use mirilla_ports::ForgeError;
use mirilla_ports::checks::{CheckFound, NewCheck};

use super::{PostPorts, Posting, blank};
use crate::error::StageError;

/// More open pull requests with one head are somebody's doing.
const MAX_SIBLINGS: usize = 5;

/// One of them.
struct Sibling {
    job: Job,
    run: CheckFound,
}

/// All of them.
pub(in crate::post) struct Siblings {
    all: Vec<Sibling>,
    /// Whether there are more.
    cut: bool,
}

/// Returns open pull requests beside the job's own, each with its newest check of the name.
pub(in crate::post) async fn read(
    ports: PostPorts<'_>,
    own: &Job,
    name: CheckName,
    found: &[CheckFound],
) -> Result<Siblings, StageError> {
    let mut seen: Vec<PullRequestRef> = vec![own.key.pull_request()];
    let mut siblings = Siblings {
        all: Vec::new(),
        cut: false,
    };
    for run in found {
        let Ok(id) = JobId::parse(&run.job) else {
            continue;
        };
        // What is in no ledger of ours is not our word.
        let Some(job) = ports.ledger.job(&id).await? else {
            continue;
        };
        let place = job.key.pull_request();
        let same_commit = job.key.head == own.key.head && place.repo == own.key.repo;
        let same_name = job.check.as_ref().is_some_and(|one| one.name == name);
        if !same_commit || !same_name || seen.contains(&place) {
            continue;
        }
        if siblings.all.len() >= MAX_SIBLINGS {
            siblings.cut = true;
            break;
        }
        seen.push(place);
        let live = ports.read.pull_request(&own.repo_name, &place).await;
        let counts = match live {
            Ok(live) => {
                live.open
                    && !live.draft
                    && live.head == job.key.head
                    && live.base_ref == job.key.base_ref
            }
            Err(ForgeError::NotFound { .. }) => false,
            Err(error) => return Err(error.into()),
        };
        if counts {
            siblings.all.push(Sibling {
                job,
                run: run.clone(),
            });
        }
    }
    Ok(siblings)
}

impl Siblings {
    /// Returns what each is worth; nothing for one that is not read yet.
    pub(in crate::post) fn rulings(&self) -> impl Iterator<Item = Option<Ruling>> {
        let more = self.cut.then_some(None);
        self.all.iter().map(Sibling::ruling).chain(more)
    }

    /// Writes the worst verdict over checks of theirs that say something better, or that waited for this one.
    pub(super) async fn tell(
        &self,
        posting: &Posting<'_>,
        check: &JobCheck,
    ) -> Result<(), StageError> {
        let own = posting.job.verdict().map(|verdict| verdict.ruling);
        for (at, sibling) in self.all.iter().enumerate() {
            let Some(verdict) = sibling.job.verdict() else {
                // Its own poster will look.
                continue;
            };
            let beside = self.all.iter().enumerate();
            let others = beside.filter(|(other, _)| *other != at);
            let rulings = others
                .map(|(_, other)| other.ruling())
                .chain(std::iter::once(own))
                .chain(self.cut.then_some(None));
            let report = rulings.fold(sibling.report(verdict, check), CheckReport::beside);
            let conclusion = report.conclusion();
            if sibling.run.conclusion.as_deref() == Some(conclusion.as_str()) {
                continue;
            }
            let told = NewCheck {
                conclusion: Some(conclusion),
                review: sibling.job.review_id,
                title: report.title,
                summary: report.summary,
                ..blank(&sibling.job, check)
            };
            let repo = &posting.job.repo_name;
            let checks = posting.ports.checks;
            checks.write_check(repo, Some(&sibling.run), &told).await?;
        }
        Ok(())
    }
}

impl Sibling {
    fn ruling(&self) -> Option<Ruling> {
        self.job.verdict().map(|verdict| verdict.ruling)
    }

    fn report(&self, verdict: Verdict, check: &JobCheck) -> CheckReport {
        let own = self.job.check.as_ref();
        let on_inconclusive = own.map_or(check.on_inconclusive, |own| own.on_inconclusive);
        CheckReport::plain(verdict, on_inconclusive)
    }
}
