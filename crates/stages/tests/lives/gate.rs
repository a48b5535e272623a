//! When a pass is forbidden, worked out from the world and not from what the poster thinks.
//!
//! The rules are those of the design's section on the gate. What was read is what the model was shown, what
//! changed is what the branches hold, and who may decline follows from who may write and who wrote.

use std::collections::BTreeSet;

use mirilla_domain::code::DropReason;
use mirilla_domain::ids::PullRequestRef;
use mirilla_domain::job::{Job, JobState};
use mirilla_domain::marker::{self, FindingMarker, Marker};
use mirilla_domain::plan::{Item, ItemFate, Plan};
use mirilla_domain::request::Verb;
use mirilla_domain::review::{Fate, Outcome, Review, Severity};
use mirilla_sim::{CheckView, ThreadView};

use crate::commands::Said;
use crate::invariants::Scene;
use crate::life::Head;
use crate::model::subject_in;
use crate::support::marker_key;
use crate::tree::{Tree, addresses_reviewer};

/// A check that passes, and what its job was posted from.
#[derive(Debug, Clone)]
pub(crate) struct Passed {
    pub(crate) check: CheckView,
    pub(crate) job: Option<Job>,
    pub(crate) review: Option<Review>,
    pub(crate) plan: Option<Plan>,
}

/// Returns why a check must not pass, if it must not.
pub(crate) fn forbids(scene: &Scene<'_>, passed: &Passed) -> Option<String> {
    let Some(job) = &passed.job else {
        return Some("it answers no job".to_owned());
    };
    let head = scene
        .heads
        .iter()
        .find(|one| one.sha == job.key.head.as_str());
    let (Some(head), Some(review), Some(plan)) = (head, &passed.review, &passed.plan) else {
        return Some("nothing says what was read".to_owned());
    };
    if job.state != JobState::Posted || passed.check.head != job.key.head.as_str() {
        return Some(format!("its job is {:?} at {}", job.state, job.key.head));
    }
    // Decided before this event, and only written now.
    let before = scene.before.jobs.get(&job.id);
    let reworded = before.is_some_and(|one| one.state == job.state && one.attempt == job.attempt);
    let trusted = ["main", "next"].contains(&job.key.base_ref.as_str());
    if trusted != (passed.check.name == "Mirilla") {
        return Some(format!(
            "it is called {} into {}",
            passed.check.name, job.key.base_ref
        ));
    }
    let start = Tree::start();
    let base = if job.key.base_ref.as_str() == "main" {
        &head.fork.1
    } else {
        &start
    };
    not_read(scene, head, base, review)
        .or_else(|| spoken_to(head))
        .or_else(|| found(scene, head, plan, reworded))
        .or_else(|| standing(scene, head, job, plan, reworded))
}

/// Every changed file was read at these bytes: each line of it that is new was shown to the model under its
/// name, and the review counts it.
fn not_read(scene: &Scene<'_>, head: &Head, base: &Tree, review: &Review) -> Option<String> {
    let changed: Vec<(&String, &Vec<String>)> = head
        .tree
        .0
        .iter()
        .filter(|(path, lines)| base.0.get(*path) != Some(lines))
        .collect();
    if changed.is_empty() {
        return Some("nothing is changed".to_owned());
    }
    if review.outcome != Outcome::Complete {
        return Some(format!("the review is {:?}", review.outcome));
    }
    let old: BTreeSet<&str> = base.0.values().flatten().map(|line| line.trim()).collect();
    for (path, lines) in changed {
        let read = review.coverage.iter().find(|one| one.path == *path);
        if !matches!(
            read.map(|one| &one.fate),
            Some(Fate::Reviewed | Fate::Carried)
        ) {
            return Some(format!("{path} is {:?}", read.map(|one| &one.fate)));
        }
        for line in lines.iter().map(|line| line.trim()) {
            let is_new = !line.is_empty() && !old.contains(line);
            if is_new && !scene.shown.contains(&(path.clone(), line.to_owned())) {
                return Some(format!("nobody read {line:?} of {path}"));
            }
        }
    }
    None
}

/// Nothing speaks to the reviewer.
fn spoken_to(head: &Head) -> Option<String> {
    let lines = head.tree.0.values().flatten();
    let mut speaking = lines.filter(|line| addresses_reviewer(line));
    speaking
        .next()
        .map(|line| format!("{line:?} speaks to the reviewer"))
}

/// No finding of this review is critical or high, unless somebody who may do so declined it.
fn found(scene: &Scene<'_>, head: &Head, plan: &Plan, reworded: bool) -> Option<String> {
    let is_bad = |item: &&Item| item.severity.is_none_or(|how| how >= Severity::High);
    let counts = |item: &&Item| {
        let settled = [DropReason::Duplicate, DropReason::BelowThreshold];
        !matches!(&item.fate, ItemFate::Dropped { reason, .. } if settled.contains(reason))
    };
    let mut open = plan.items.iter().filter(is_bad).filter(counts);
    let open = open.find(|item| !is_declined(scene, head, item, reworded))?;
    Some(format!("it is open: {open:#?}"))
}

/// No comment of ours about something critical or high stands on a line that is still there, about which this
/// review says nothing, unless somebody who may do so declined it.
fn standing(
    scene: &Scene<'_>,
    head: &Head,
    job: &Job,
    plan: &Plan,
    reworded: bool,
) -> Option<String> {
    if head.sha != scene.head || job.key.pull_request() != scene.place {
        return None;
    }
    for thread in scene.now.ours(scene.bot) {
        let first = &thread.comments[0];
        let Some(said) = finding(&scene.place, thread) else {
            continue;
        };
        let by_us = thread.resolved_by.as_deref() == Some(scene.bot);
        let subject = subject_in(&first.body);
        let again = plan.items.iter().any(|item| {
            item.fingerprint.as_ref() == Some(&said.fingerprint)
                || (subject.is_some() && subject_in(&item.title) == subject)
        });
        if said.severity < Severity::High
            || first.line.is_none()
            || by_us
            || again
            || scene.edited.contains_key(&first.id)
        {
            continue;
        }
        let declined = declines(scene, head, reworded).any(|(one, at)| {
            one.fingerprint == said.fingerprint && one.severity >= said.severity
                || at.comments[0].id == first.id
        });
        if !declined {
            return Some(format!("it stands: {first:#?}"));
        }
    }
    None
}

/// Returns whether somebody who may do so declined what an item says.
pub(crate) fn is_declined(scene: &Scene<'_>, head: &Head, item: &Item, reworded: bool) -> bool {
    let subject = subject_in(&item.title);
    declines(scene, head, reworded).any(|(said, thread)| {
        let same = Some(&said.fingerprint) == item.fingerprint.as_ref()
            || (subject.is_some() && subject_in(&thread.comments[0].body) == subject);
        same && item.severity.is_none_or(|how| said.severity >= how)
    })
}

/// What people declined who may: they can write, and neither opened the pull request nor wrote a commit of it.
/// What somebody changed since counts only for what was decided before (`reworded`).
fn declines<'s>(
    scene: &'s Scene<'_>,
    head: &'s Head,
    reworded: bool,
) -> impl Iterator<Item = (FindingMarker, &'s ThreadView)> {
    let counts = move |one: &&Said| {
        let apart = one.by != "dana" && !(one.by == "cory" && head.by_cory);
        one.may && one.verb == Some(Verb::Dismiss) && (reworded || !one.edited) && apart
    };
    scene.said.iter().filter(counts).filter_map(|one| {
        let ours = scene.now.ours(scene.bot);
        let mut about = ours.filter(|thread| Some(thread.comments[0].id) == one.about);
        let thread = about.next()?;
        Some((finding(&scene.place, thread)?, thread))
    })
}

/// What a thread of ours is about.
fn finding(place: &PullRequestRef, thread: &ThreadView) -> Option<FindingMarker> {
    match marker::read(&marker_key(), place, &thread.comments[0].body)? {
        Marker::Finding(said) => Some(said),
        Marker::Review(_) => None,
    }
}
