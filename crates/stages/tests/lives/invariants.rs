//! What must hold after every event, whatever it was.
//!
//! An invariant counts what it judged: one that never had anything to judge proves nothing. A further one,
//! about checks for instance, is a row in [`INVARIANTS`].

mod checks;
mod commands;

use std::collections::{BTreeMap, BTreeSet};

use mirilla_domain::ids::{Fingerprint, JobId, PullRequestRef};
use mirilla_domain::job::JobState;
use mirilla_domain::plan::{ItemFate, Source, Tally};
use mirilla_domain::settings::OnInconclusive;
use mirilla_sim::ThreadView;

use crate::commands::Said;
use crate::gate::Passed;
use crate::life::Head;
use crate::model::number_in;
use crate::scene::{LiveJob, Seen, finding_of, job_of};

/// Everything an invariant may look at.
pub(crate) struct Scene<'a> {
    pub(crate) place: PullRequestRef,
    pub(crate) bot: &'a str,
    pub(crate) before: &'a Seen,
    pub(crate) now: &'a Seen,
    /// The head that was live throughout.
    pub(crate) head: &'a str,
    /// The branch it goes into.
    pub(crate) base: &'a str,
    /// Every head there was.
    pub(crate) heads: &'a [Head],
    /// Whether the pull request was open throughout.
    pub(crate) open: bool,
    /// Whether it was open and no draft throughout.
    pub(crate) reviewable: bool,
    /// Whether reviews were off throughout, and nobody asked for them.
    pub(crate) paused_throughout: bool,
    /// Whether reviews are off, by what people said; settled only.
    pub(crate) paused: bool,
    /// The other open pull request with the same head, if there is one.
    pub(crate) beside: Option<u64>,
    /// What is written about a change that was not read in full; `None` without a gate.
    pub(crate) gate: Option<OnInconclusive>,
    /// Checks that pass and did not before.
    pub(crate) passed: &'a [Passed],
    /// Files and lines that the model was shown, ever.
    pub(crate) shown: &'a BTreeSet<(String, String)>,
    /// What people and bots said.
    pub(crate) said: &'a [Said],
    /// How messages, webhooks and runs ended.
    pub(crate) ran: &'a [(JobId, &'static str)],
    /// How many reasons there were to read a head again.
    pub(crate) raises: u64,
    /// Whether all that follows from what happened is done.
    pub(crate) settled: bool,
    /// Threads that people had a part in, as those left them.
    pub(crate) touched: &'a BTreeMap<String, ThreadView>,
    /// Comments whose text a person changed, and what they were about before.
    pub(crate) edited: &'a BTreeMap<u64, Option<Fingerprint>>,
    /// Defects that stand on several lines.
    pub(crate) twins: &'a BTreeSet<u64>,
    /// What the forge complained of.
    pub(crate) complaints: &'a [String],
    /// Reservations that were left open; `None` if a call may still be under way.
    pub(crate) left_open: Option<u64>,
}

/// How many things were judged, or what is wrong.
pub(crate) type Verdict = Result<u64, String>;

/// One invariant.
pub(crate) struct Invariant {
    pub(crate) name: &'static str,
    /// Whether it holds only once all is done.
    pub(crate) when_settled: bool,
    pub(crate) judge: fn(&Scene<'_>) -> Verdict,
}

const fn always(name: &'static str, judge: fn(&Scene<'_>) -> Verdict) -> Invariant {
    Invariant {
        name,
        when_settled: false,
        judge,
    }
}

const fn settled(name: &'static str, judge: fn(&Scene<'_>) -> Verdict) -> Invariant {
    Invariant {
        name,
        when_settled: true,
        judge,
    }
}

/// Every invariant.
pub(crate) const INVARIANTS: &[Invariant] = &[
    always("one open thread for a finding", one_thread_per_finding),
    always("one open thread for a defect", one_thread_per_defect),
    always("people's threads are left alone", threads_of_people),
    always("one review for a job", one_review_per_job),
    always("comments only, none pending", comments_only),
    always("written for the live head", for_the_live_head),
    always("written where a review is wanted", where_wanted),
    always("the forge does not complain", no_complaint),
    always("purses within their caps", within_caps),
    settled("no money set aside for ever", nothing_left_open),
    settled("every job ends, and says why", every_job_ends),
    settled("the live head is reviewed", live_head_is_reviewed),
    settled("the sum comes out", sum_comes_out),
    settled("no finding is lost", no_finding_is_lost),
    settled("the first line says how far it got", first_line),
    always("no pass that is forbidden", checks::no_forbidden_pass),
    always(
        "inconclusive is written as asked",
        checks::inconclusive_as_asked,
    ),
    settled("authors decline nothing", checks::declined_by_others),
    settled("every check ends", checks::every_check_ends),
    settled("every head has its check", checks::every_head_has_its_check),
    settled(
        "the worst verdict of a head counts",
        checks::worst_of_a_head,
    ),
    always(
        "only those who may are obeyed",
        commands::only_those_who_may,
    ),
    always("a command is obeyed once", commands::once),
    always(
        "a head is read again for a reason",
        commands::read_again_for_a_reason,
    ),
    always("crowds are bounded", commands::crowds_are_bounded),
    always("help is given once", commands::help_is_given_once),
    always(
        "what is paused is left alone",
        commands::paused_is_left_alone,
    ),
    settled("commands are answered", commands::answered),
    settled("paused by a word", commands::paused_by_word),
];

/// Threads of ours that were opened since.
fn opened<'s>(scene: &'s Scene<'_>) -> Vec<&'s ThreadView> {
    let before: BTreeSet<&str> = scene
        .before
        .threads
        .iter()
        .map(|t| t.node_id.as_str())
        .collect();
    scene
        .now
        .ours(scene.bot)
        .filter(|thread| !before.contains(thread.node_id.as_str()))
        .collect()
}

/// No thread is opened about what an open one is about, by `about`.
fn opened_once<T: PartialEq + std::fmt::Debug>(
    scene: &Scene<'_>,
    about: impl Fn(&ThreadView) -> Option<T>,
) -> Verdict {
    let new = opened(scene);
    let mut judged = 0;
    for (at, thread) in new.iter().enumerate() {
        let Some(this) = about(thread) else { continue };
        judged += 1;
        let earlier = scene.before.ours(scene.bot).filter(|t| !t.resolved);
        if let Some(other) = earlier
            .chain(new[..at].iter().copied())
            .find(|other| about(other).as_ref() == Some(&this))
        {
            return Err(format!(
                "{this:?} has the open thread {} and was said again in {}:\n{:#?}\n{:#?}",
                other.node_id, thread.node_id, other.comments[0], thread.comments[0]
            ));
        }
    }
    Ok(judged)
}

fn one_thread_per_finding(scene: &Scene<'_>) -> Verdict {
    opened_once(scene, |thread| {
        finding_of(&scene.place, &thread.comments[0].body)
    })
}

fn one_thread_per_defect(scene: &Scene<'_>) -> Verdict {
    opened_once(scene, |thread| {
        let comment = &thread.comments[0];
        let number = number_in(&comment.body)?;
        let is_plain = !scene.twins.contains(&number) && !scene.edited.contains_key(&comment.id);
        is_plain.then_some(number)
    })
}

fn threads_of_people(scene: &Scene<'_>) -> Verdict {
    for (id, left) in scene.touched {
        let Some(thread) = scene.now.threads.iter().find(|t| t.node_id == *id) else {
            return Err(format!(
                "thread {id}, in which a person had a part, is gone"
            ));
        };
        let texts = |thread: &ThreadView| -> Vec<(u64, String)> {
            let all = thread.comments.iter();
            all.map(|comment| (comment.id, comment.body.clone()))
                .collect()
        };
        if (thread.resolved, &thread.resolved_by, texts(thread))
            != (left.resolved, &left.resolved_by, texts(left))
        {
            return Err(format!(
                "thread {id}, in which a person had a part, was changed from {left:#?} to {thread:#?}"
            ));
        }
    }
    Ok(scene.touched.len() as u64)
}

fn one_review_per_job(scene: &Scene<'_>) -> Verdict {
    let mut seen = BTreeMap::new();
    for review in &scene.now.reviews {
        // An edited body tells of a later job than the one it was created for, at another head.
        let Some(said) = job_of(&scene.place, &review.body) else {
            return Err(format!(
                "a review of ours without a marker: {}",
                review.body
            ));
        };
        if let Some(other) = seen.insert(said.job.clone(), review.id) {
            return Err(format!(
                "reviews {other} and {} both answer job {}",
                review.id, said.job
            ));
        }
    }
    Ok(seen.len() as u64)
}

fn comments_only(scene: &Scene<'_>) -> Verdict {
    match scene.now.reviews.iter().find(|r| r.state != "COMMENTED") {
        Some(review) => Err(format!("review {} of ours is {}", review.id, review.state)),
        None => Ok(scene.now.reviews.len() as u64),
    }
}

fn for_the_live_head(scene: &Scene<'_>) -> Verdict {
    let mut judged = 0;
    for review in &scene.now.reviews {
        let known = scene.before.reviews.iter().find(|one| one.id == review.id);
        if known.is_none() && review.commit != scene.head {
            return Err(format!(
                "review {} was written for {} while {} was live",
                review.id, review.commit, scene.head
            ));
        }
        if known.is_some_and(|known| known.body == review.body) {
            continue;
        }
        judged += 1;
        let said = job_of(&scene.place, &review.body);
        let head = said
            .and_then(|said| scene.now.jobs.get(&said.job))
            .map(|job| job.key.head.as_str());
        if head != Some(scene.head) {
            return Err(format!(
                "review {} tells of {head:?} while {} was live",
                review.id, scene.head
            ));
        }
    }
    Ok(judged)
}

fn where_wanted(scene: &Scene<'_>) -> Verdict {
    if scene.reviewable {
        return Ok(0);
    }
    for review in &scene.now.reviews {
        let known = scene.before.reviews.iter().find(|one| one.id == review.id);
        if known.is_some_and(|known| known.body == review.body) {
            continue;
        }
        let said = job_of(&scene.place, &review.body);
        let job = said.and_then(|said| scene.now.jobs.get(&said.job));
        // A draft is read when somebody who may do so asks for it.
        if !(scene.open && job.is_some_and(|job| job.sponsored)) {
            return Err(format!(
                "a closed pull request, or a draft, was written to, for {job:#?}"
            ));
        }
    }
    Ok(1)
}

fn no_complaint(scene: &Scene<'_>) -> Verdict {
    if scene.complaints.is_empty() {
        Ok(1)
    } else {
        Err(scene.complaints.join("; "))
    }
}

fn within_caps(scene: &Scene<'_>) -> Verdict {
    match scene.now.purses.iter().find(|(_, taken, cap)| taken > cap) {
        Some((purse, taken, cap)) => Err(format!("{purse:?} has {taken} taken of {cap}")),
        None => Ok(scene.now.purses.len() as u64),
    }
}

fn nothing_left_open(scene: &Scene<'_>) -> Verdict {
    match scene.left_open {
        None => Ok(0),
        Some(0) => Ok(1),
        Some(open) => Err(format!("{open} reservations are open, and nobody works")),
    }
}

fn every_job_ends(scene: &Scene<'_>) -> Verdict {
    for job in scene.now.jobs.values() {
        let is_told = job.state == JobState::Posted || job.end_reason.is_some();
        if !job.state.is_terminal() || !is_told || job.claim.is_some() {
            return Err(format!("nobody works any more, and there is {job:#?}"));
        }
    }
    Ok(scene.now.jobs.len() as u64)
}

fn live_head_is_reviewed(scene: &Scene<'_>) -> Verdict {
    if !scene.reviewable {
        return Ok(0);
    }
    match scene.now.live.as_ref().map(|live| live.job.state) {
        Some(JobState::Posted | JobState::Failed) => Ok(1),
        // A head whose webhook was lost is not even recorded while reviews are off.
        Some(JobState::Skipped) | None if scene.paused => Ok(0),
        other => Err(format!(
            "the job of the live head {} is {other:?}",
            scene.head
        )),
    }
}

/// The posted job of a head that is live and to be reviewed.
fn posted<'s>(scene: &'s Scene<'_>) -> Option<&'s LiveJob> {
    let live = scene.now.live.as_ref()?;
    (scene.reviewable && live.job.state == JobState::Posted).then_some(live)
}

fn sum_comes_out(scene: &Scene<'_>) -> Verdict {
    let Some(live) = posted(scene) else {
        return Ok(0);
    };
    let Some(plan) = &live.plan else {
        return Err(format!("no plan was kept of job {}", live.job.id));
    };
    let read = live
        .review
        .as_ref()
        .map_or(0, |review| review.findings.len() + review.rejected.len());
    let model = plan.items.iter().filter(|i| i.source == Source::Model);
    if model.count() != read {
        return Err(format!(
            "the review file says {read} things, and the plan has {:#?}",
            plan.items
        ));
    }
    if Tally::of(&plan.items) != plan.tally || !plan.tally.reconciles() {
        return Err(plan.tally.equation());
    }
    Ok(1)
}

fn no_finding_is_lost(scene: &Scene<'_>) -> Verdict {
    let Some(live) = posted(scene) else {
        return Ok(0);
    };
    let Some(plan) = &live.plan else { return Ok(0) };
    let said: Vec<_> = scene
        .now
        .ours(scene.bot)
        .map(|thread| &thread.comments[0])
        .collect();
    let latest = scene.now.reviews.iter().max_by_key(|review| review.id);
    let body = latest.and_then(|review| job_of(&scene.place, &review.body));
    for item in &plan.items {
        let in_body = body
            .as_ref()
            .zip(item.fingerprint.as_ref())
            .is_some_and(|(body, this)| body.in_body.contains(this));
        let is_there = match &item.fate {
            ItemFate::Posted => {
                in_body
                    || said.iter().any(|comment| {
                        let about = finding_of(&scene.place, &comment.body);
                        about == item.fingerprint
                            || scene.edited.get(&comment.id) == Some(&item.fingerprint)
                    })
            }
            ItemFate::AlreadyThere { comment, .. } => {
                comment.is_some_and(|id| said.iter().any(|comment| comment.id == id.get()))
            }
            ItemFate::InBody { .. } => in_body,
            ItemFate::Dropped { .. } => true,
        };
        if !is_there {
            return Err(format!(
                "lost: {item:#?}\nof job {}; the latest body is {:?}",
                live.job.id,
                latest.map(|review| &review.body)
            ));
        }
    }
    Ok(plan.items.len() as u64)
}

fn first_line(scene: &Scene<'_>) -> Verdict {
    let Some(live) = posted(scene) else {
        return Ok(0);
    };
    let Some(plan) = &live.plan else { return Ok(0) };
    let latest = scene.now.reviews.iter().max_by_key(|review| review.id);
    let Some(latest) = latest else {
        return Err("the job is posted, and there is no review".to_owned());
    };
    let is_read = plan
        .coverage
        .files()
        .iter()
        .all(|file| file.state.is_read());
    let is_skipped = |state| matches!(state, mirilla_domain::plan::FileState::Skipped(_));
    let all_accounted = plan
        .coverage
        .files()
        .iter()
        .all(|file| file.state.is_read() || is_skipped(file.state));
    let line = latest.body.lines().next().unwrap_or_default();
    let says_complete = line.starts_with("**Complete review**");
    if says_complete && !(is_read || all_accounted && line.contains("skipped")) {
        return Err(format!("{line:?} although {:#?}", plan.coverage));
    }
    let short = scene.head.get(..7).unwrap_or_default();
    if !line.contains(short) {
        return Err(format!("{line:?} is not about {}", scene.head));
    }
    Ok(1)
}
