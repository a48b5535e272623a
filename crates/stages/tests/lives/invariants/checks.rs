//! Checks: none passes that must not, none is left running, and each head has one.

use std::collections::BTreeMap;

use mirilla_domain::code::DropReason;
use mirilla_domain::ids::JobId;
use mirilla_domain::plan::ItemFate;
use mirilla_domain::settings::OnInconclusive;
use mirilla_sim::CheckView;

use super::{Scene, Verdict};
use crate::gate::{forbids, is_declined};

pub(super) fn no_forbidden_pass(scene: &Scene<'_>) -> Verdict {
    for passed in scene.passed {
        if let Some(why) = forbids(scene, passed) {
            return Err(format!("{:#?}\npasses, although {why}", passed.check));
        }
    }
    Ok(scene.passed.len() as u64)
}

/// Only the word of somebody who can write and has no part in the change declines a finding.
pub(super) fn declined_by_others(scene: &Scene<'_>) -> Verdict {
    let Some(plan) = scene.now.live.as_ref().and_then(|live| live.plan.as_ref()) else {
        return Ok(0);
    };
    let Some(head) = scene.heads.iter().find(|one| one.sha == scene.head) else {
        return Ok(0);
    };
    // What was decided before an event is nothing that it changes.
    let earlier = scene
        .before
        .live
        .as_ref()
        .and_then(|live| live.plan.as_ref());
    let earlier = earlier.map(|plan| (&plan.job.job, plan.job.attempt));
    let is_of_now =
        plan.job.head.as_str() == scene.head && earlier != Some((&plan.job.job, plan.job.attempt));
    let mut judged = 0;
    for item in plan.items.iter().filter(|_| is_of_now) {
        let reason = DropReason::Declined;
        if !matches!(&item.fate, ItemFate::Dropped { reason: why, .. } if *why == reason) {
            continue;
        }
        judged += 1;
        if !is_declined(scene, head, item, false) {
            return Err(format!("nobody who may do so declined {item:#?}"));
        }
    }
    Ok(judged)
}

pub(super) fn every_check_ends(scene: &Scene<'_>) -> Verdict {
    let running = |one: &&CheckView| one.status != "completed" || one.conclusion.is_none();
    match scene.now.checks.iter().find(running) {
        Some(check) => Err(format!("nobody works any more, and there is {check:#?}")),
        None => Ok(scene.now.checks.len() as u64),
    }
}

/// What is inconclusive blocks or is neutral, as the operator says, and never anything else.
pub(super) fn inconclusive_as_asked(scene: &Scene<'_>) -> Verdict {
    let Some(on_inconclusive) = scene.gate else {
        return match scene.now.checks.first() {
            Some(check) => Err(format!("there is no gate, and there is {check:#?}")),
            None => Ok(1),
        };
    };
    let mut judged = 0;
    for check in &scene.now.checks {
        let ended = check.conclusion.as_deref();
        let fits = match on_inconclusive {
            OnInconclusive::Block => matches!(ended, None | Some("success" | "failure")),
            OnInconclusive::Allow => {
                matches!(ended, None | Some("success" | "failure" | "neutral"))
            }
        };
        if !fits {
            return Err(format!("{on_inconclusive:?}, and there is {check:#?}"));
        }
        judged += 1;
    }
    Ok(judged)
}

/// What is called a head's check: of the branch that a change goes into depends whether it is one to require.
fn name(base: &str) -> &'static str {
    match base {
        "main" | "next" => "Mirilla",
        _ => "Mirilla (other base)",
    }
}

pub(super) fn every_head_has_its_check(scene: &Scene<'_>) -> Verdict {
    // A head whose webhook was lost is not recorded as long as nobody wants it reviewed.
    let unknown = scene.now.live.is_none() && (scene.paused || !scene.reviewable);
    if scene.gate.is_none() || !scene.open || unknown {
        return Ok(0);
    }
    let of_head = |one: &&CheckView| one.head == scene.head && one.name == name(scene.base);
    if scene.now.checks.iter().any(|one| of_head(&one)) {
        return Ok(1);
    }
    Err(format!(
        "{} is live and has no check {:?}: {:#?}\n{:#?}",
        scene.head,
        name(scene.base),
        scene
            .now
            .checks
            .iter()
            .filter(|one| one.head == scene.head)
            .collect::<Vec<_>>(),
        scene.now.live.as_ref().map(|live| &live.job),
    ))
}

/// Of several open pull requests with one head none passes unless all do.
pub(super) fn worst_of_a_head(scene: &Scene<'_>) -> Verdict {
    let mut newest: BTreeMap<u64, &CheckView> = BTreeMap::new();
    for check in &scene.now.checks {
        let job = JobId::parse(&check.external_id).ok();
        let Some(job) = job.and_then(|id| scene.now.jobs.get(&id)) else {
            continue;
        };
        let pr = job.key.pr.get();
        let base = if Some(pr) == scene.beside {
            "next"
        } else {
            scene.base
        };
        let is_open = Some(pr) == scene.beside || scene.reviewable;
        let counts = check.head == scene.head && check.name == name(base);
        if is_open && counts && job.key.base_ref.as_str() == base {
            newest.insert(pr, check);
        }
    }
    let same_name = newest.values().filter(|one| one.name == name("main"));
    let ends: Vec<&str> = same_name
        .filter_map(|one| one.conclusion.as_deref())
        .collect();
    if ends.len() < 2 {
        return Ok(0);
    }
    if ends.contains(&"success") && ends.iter().any(|end| *end != "success") {
        return Err(format!("one head, and {newest:#?}"));
    }
    Ok(1)
}
