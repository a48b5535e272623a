//! Commands: obeyed once, by those who may give them, and answered.

use std::collections::BTreeMap;

use mirilla_domain::command::{COMMANDS_PER_PERSON, HOUR, REVIEWS_PER_HOUR, run_id};
use mirilla_domain::ids::{CommentId, Timestamp};
use mirilla_domain::request::Verb;

use super::{Scene, Verdict};
use crate::commands::Said;
use crate::scene::job_of;

/// What says that a command was obeyed, among how runs ended.
const OBEYED: &str = "obeyed";

/// Comments that have a reaction of ours.
fn obeyed<'s>(scene: &'s Scene<'_>) -> impl Iterator<Item = &'s Said> {
    let has = |one: &&Said| scene.now.obeyed.contains(&one.id);
    scene.said.iter().filter(has)
}

pub(super) fn only_those_who_may(scene: &Scene<'_>) -> Verdict {
    if let Some(one) = obeyed(scene).find(|one| !one.may) {
        return Err(format!("it was obeyed: {one:#?}"));
    }
    Ok(scene.said.iter().filter(|one| !one.may).count() as u64)
}

pub(super) fn answered(scene: &Scene<'_>) -> Verdict {
    let mut judged = 0;
    for one in scene.said.iter().filter(|one| one.must && !one.gone) {
        if !scene.now.obeyed.contains(&one.id) {
            let id = CommentId::new(one.id);
            let record = scene.now.record.as_ref();
            let note = record.map(|record| record.commands.find(one.place, id));
            return Err(format!("it was not obeyed: {one:#?}; noted is {note:#?}"));
        }
        judged += 1;
    }
    Ok(judged)
}

pub(super) fn once(scene: &Scene<'_>) -> Verdict {
    let mut times: BTreeMap<&str, u64> = BTreeMap::new();
    for (run, reason) in scene.ran {
        if *reason == OBEYED {
            *times.entry(run.as_str()).or_default() += 1;
        }
    }
    let mut judged = 0;
    for one in scene.said {
        let run = run_id(&scene.place, one.place, CommentId::new(one.id));
        match times.get(run.as_str()) {
            Some(1) => judged += 1,
            Some(more) => return Err(format!("obeyed {more} times: {one:#?}")),
            None => {}
        }
    }
    Ok(judged)
}

/// A head is read again only for a reason, and each reason is good for once.
pub(super) fn read_again_for_a_reason(scene: &Scene<'_>) -> Verdict {
    let Some(record) = &scene.now.record else {
        return Ok(0);
    };
    let generation = u64::from(record.generation.get());
    if generation > scene.raises {
        return Err(format!(
            "generation {generation}, and {} reasons to raise it",
            scene.raises
        ));
    }
    Ok(generation)
}

/// The most commands that were obeyed within one hour for sure: it is known between which two looks each was. How old
/// a comment was by then does not matter; a webhook may come again a day later.
fn most_in_an_hour<'s>(obeyed: impl Iterator<Item = &'s Said>) -> usize {
    let times: Vec<(Timestamp, Timestamp)> = obeyed.filter_map(|one| one.obeyed).collect();
    let within = |(begun, _): &(Timestamp, Timestamp)| {
        let later = times.iter().filter(|(from, _)| from >= begun);
        later
            .filter(|(_, until)| until.since(*begun) < HOUR)
            .count()
    };
    times.iter().map(within).max().unwrap_or(0)
}

pub(super) fn crowds_are_bounded(scene: &Scene<'_>) -> Verdict {
    let reviews = obeyed(scene).filter(|one| one.verb == Some(Verb::Review));
    let most = most_in_an_hour(reviews);
    if most > REVIEWS_PER_HOUR {
        return Err(format!("{most} reviews by hand within an hour"));
    }
    for by in crate::commands::PEOPLE {
        let theirs = obeyed(scene).filter(|one| one.by == by);
        let most = most_in_an_hour(theirs);
        if most > COMMANDS_PER_PERSON {
            return Err(format!("{most} commands of {by} obeyed within an hour"));
        }
    }
    Ok(u64::from(most > 0))
}

/// Beside the list of commands nothing is said in the conversation, and that once.
pub(super) fn help_is_given_once(scene: &Scene<'_>) -> Verdict {
    let ours = scene.now.talk.iter().filter(|one| one.author == scene.bot);
    match ours.count() {
        given @ (0 | 1) => Ok(given as u64),
        given => Err(format!("{given} comments of ours in the conversation")),
    }
}

/// What a pause leaves alone: everything that nobody asked for by hand.
pub(super) fn paused_is_left_alone(scene: &Scene<'_>) -> Verdict {
    if !scene.paused_throughout {
        return Ok(0);
    }
    for review in &scene.now.reviews {
        let known = scene.before.reviews.iter().find(|one| one.id == review.id);
        if known.is_some_and(|known| known.body == review.body) {
            continue;
        }
        let said = job_of(&scene.place, &review.body);
        let job = said.and_then(|said| scene.now.jobs.get(&said.job));
        if !job.is_some_and(|job| job.sponsored) {
            return Err(format!("written while paused, for {job:#?}"));
        }
    }
    Ok(1)
}

/// Reviews are off exactly when the last word of somebody who may say so was that.
pub(super) fn paused_by_word(scene: &Scene<'_>) -> Verdict {
    let Some(record) = &scene.now.record else {
        return Ok(0);
    };
    if record.paused != scene.paused {
        return Err(format!(
            "paused is {}, and people said {}",
            record.paused, scene.paused
        ));
    }
    Ok(u64::from(record.paused))
}
