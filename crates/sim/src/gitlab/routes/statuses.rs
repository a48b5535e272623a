//! Commit statuses.
//!
//! A status that is not finished moves on; a finished one is followed by a new one of the same name.
//! <https://docs.gitlab.com/api/commits/#set-commit-pipeline-status>

use serde_json::{Value, json};

use crate::gitlab::errors::{message, not_found};
use crate::gitlab::http::{Answer, Cx};
use crate::gitlab::world::Status;
use crate::server::Reply;

/// The states that can be set.
const STATES: [&str; 5] = ["pending", "running", "success", "failed", "canceled"];
/// Longest name and description, in characters.
const MAX_CHARS: usize = 255;

pub(crate) fn list(cx: &mut Cx<'_>) -> Answer {
    let (reference, name) = (cx.params.text("ref")?, cx.params.text("name")?);
    let all = cx.params.truth("all")?.unwrap_or_default();
    let (show, project) = (cx.show(), cx.project()?);
    let sha = project
        .commit_of(cx.var(1))?
        .ok_or_else(|| not_found("Commit"))?;
    let of_sha: Vec<&Status> = project
        .statuses
        .iter()
        .filter(|status| status.sha == sha)
        .filter(|status| reference.as_ref().is_none_or(|r| *r == status.reference))
        .filter(|status| name.as_ref().is_none_or(|n| *n == status.name))
        .collect();
    let is_newest = |index: usize, status: &Status| {
        let later = of_sha.iter().skip(index.saturating_add(1));
        later
            .into_iter()
            .all(|other| (&other.name, &other.reference) != (&status.name, &status.reference))
    };
    let found: Vec<&Status> = of_sha
        .iter()
        .enumerate()
        .filter(|(index, status)| all || is_newest(*index, status))
        .map(|(_, status)| *status)
        .collect();
    cx.page(found.len(), |range| {
        let found = found.get(range).unwrap_or_default();
        let shown: Vec<Value> = found.iter().map(|status| show.status(status)).collect();
        Ok(json!(shown))
    })
}

/// Refuses a text that is too long.
fn check_length(field: &str, text: Option<&String>) -> Result<(), Reply> {
    if text.is_none_or(|text| text.chars().count() <= MAX_CHARS) {
        return Ok(());
    }
    let words = format!("is too long (maximum is {MAX_CHARS} characters)");
    Err(Reply::json(400, &json!({ "message": { field: [words] } })))
}

/// Returns the name of the step from one state to another, if GitLab refuses it.
fn refused_step(from: &str, to: &str) -> Option<&'static str> {
    match (from, to) {
        ("pending" | "running", "pending") => Some("enqueue"),
        ("running", "running") => Some("run"),
        _ => None,
    }
}

pub(crate) fn create(cx: &mut Cx<'_>) -> Answer {
    cx.params.require(&["state"])?;
    let state = cx.params.choice("state", &STATES)?.unwrap_or_default();
    let context = cx.params.text("context")?;
    let name = cx.params.text("name")?.or(context);
    let description = cx.params.text("description")?;
    let target_url = cx.params.text("target_url")?;
    check_length("name", name.as_ref())?;
    check_length("description", description.as_ref())?;
    let name = name.unwrap_or_else(|| "default".to_owned());
    let wanted = cx.params.text("ref")?;
    let (sha, reference) = {
        let project = cx.project()?;
        // Short names are not taken here.
        let full = Some(cx.var(1)).filter(|sha| sha.len() == 40);
        let sha = full.map_or(Ok(None), |sha| project.commit_of(sha))?;
        let sha = sha.ok_or_else(|| not_found("Commit"))?;
        let reference = match wanted {
            Some(wanted) => Some(wanted),
            None => project.branches_with(&sha)?.into_iter().next(),
        };
        let reference = reference.ok_or_else(|| not_found("References for commit"))?;
        (sha, reference)
    };
    let (now, actor, id) = (cx.gitlab.now(), cx.actor(), cx.world.next_id());
    let done = !matches!(state.as_str(), "pending" | "running");
    let project = cx.project_mut()?;
    let open = project.statuses.iter_mut().rev().find(|status| {
        (&status.sha, &status.reference, &status.name) == (&sha, &reference, &name)
            && status.finished.is_none()
    });
    let id = if let Some(open) = open {
        if let Some(step) = refused_step(&open.state, &state) {
            let text = format!(
                "Cannot transition status via :{step} from :{} (Reason(s): Status cannot \
                 transition via \"{step}\")",
                open.state
            );
            return Err(message(400, &text));
        }
        open.state = state;
        open.description = description.or_else(|| open.description.take());
        open.target_url = target_url.or_else(|| open.target_url.take());
        open.finished = done.then_some(now);
        open.id
    } else {
        project.statuses.push(Status {
            id,
            sha,
            reference,
            name,
            state,
            description,
            target_url,
            author: actor,
            created: now,
            finished: done.then_some(now),
        });
        id
    };
    let project = cx.project()?;
    let status = project.statuses.iter().find(|status| status.id == id);
    let status = status.ok_or_else(|| not_found("Status"))?;
    Ok(Reply::json(201, &cx.show().status(status)))
}
