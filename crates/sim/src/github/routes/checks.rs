//! Check runs and commit statuses.
//!
//! <https://docs.github.com/rest/checks/runs>, <https://docs.github.com/rest/commits/statuses>

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

use super::pulls::commit_of;
use crate::github::errors::{DOCS, basic, invalid, invalid_field, not_accessible, not_found};
use crate::github::http::{Answer, Cx};
use crate::github::world::{CheckRun, Repo, Status};
use crate::server::Reply;

/// Longest summary and text of a check run's output, in characters.
const MAX_OUTPUT_CHARS: usize = 65_535;
/// Most annotations in one request.
const MAX_ANNOTATIONS: usize = 50;
/// Most buttons.
const MAX_ACTIONS: usize = 3;
/// Longest description of a status, in characters.
const MAX_STATUS_CHARS: usize = 140;
/// Most statuses of one commit and context.
const MAX_STATUSES: usize = 1_000;

const CONCLUSIONS: [&str; 7] = [
    "action_required",
    "cancelled",
    "failure",
    "neutral",
    "success",
    "skipped",
    "timed_out",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunBody {
    name: Option<String>,
    head_sha: Option<String>,
    details_url: Option<String>,
    external_id: Option<String>,
    status: Option<String>,
    started_at: Option<DateTime<Utc>>,
    conclusion: Option<String>,
    completed_at: Option<DateTime<Utc>>,
    output: Option<Output>,
    #[serde(default)]
    actions: Vec<Action>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Output {
    title: Option<String>,
    summary: Option<String>,
    text: Option<String>,
    #[serde(default)]
    annotations: Vec<Annotation>,
    #[serde(default, rename = "images")]
    _images: Vec<Value>,
}

#[derive(Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
struct Annotation {
    path: String,
    start_line: u64,
    end_line: u64,
    start_column: Option<u64>,
    end_column: Option<u64>,
    #[serde(rename = "annotation_level")]
    level: String,
    message: String,
    title: Option<String>,
    raw_details: Option<String>,
}

#[derive(Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
struct Action {
    label: String,
    description: String,
    identifier: String,
}

fn wrong(field: &str, code: &str) -> Reply {
    invalid_field("CheckRun", field, code, DOCS)
}

fn check(body: &RunBody) -> Result<(), Reply> {
    let too_long =
        |text: Option<&String>, max: usize| text.is_some_and(|t| t.chars().count() > max);
    if body
        .conclusion
        .as_deref()
        .is_some_and(|c| !CONCLUSIONS.contains(&c))
    {
        return Err(wrong("conclusion", "invalid"));
    }
    match body.status.as_deref() {
        None | Some("queued" | "in_progress" | "completed") => {}
        Some(_) => return Err(wrong("status", "invalid")),
    }
    if body.status.as_deref() == Some("completed") && body.conclusion.is_none() {
        return Err(wrong("conclusion", "missing_field"));
    }
    if body.actions.len() > MAX_ACTIONS {
        return Err(wrong("actions", "invalid"));
    }
    for action in &body.actions {
        let fits = action.label.chars().count() <= 20
            && action.description.chars().count() <= 40
            && action.identifier.chars().count() <= 20;
        if !fits {
            return Err(wrong("actions", "invalid"));
        }
    }
    let Some(output) = &body.output else {
        return Ok(());
    };
    if output.summary.is_none() || output.title.is_none() {
        return Err(wrong("output", "missing_field"));
    }
    if too_long(output.summary.as_ref(), MAX_OUTPUT_CHARS)
        || too_long(output.text.as_ref(), MAX_OUTPUT_CHARS)
    {
        return Err(invalid(
            &json!({
                "resource": "CheckRun", "code": "custom", "field": "output",
                "message": format!("Only {MAX_OUTPUT_CHARS} characters are allowed"),
            }),
            DOCS,
        ));
    }
    if output.annotations.len() > MAX_ANNOTATIONS {
        return Err(wrong("annotations", "too_many"));
    }
    for annotation in &output.annotations {
        let columns = annotation.start_column.is_some() || annotation.end_column.is_some();
        let level = ["notice", "warning", "failure"].contains(&annotation.level.as_str());
        let fits = annotation.message.len() <= 65_536
            && !too_long(annotation.title.as_ref(), 255)
            && annotation
                .raw_details
                .as_ref()
                .is_none_or(|d| d.len() <= 65_536);
        let ordered = annotation.start_line <= annotation.end_line && annotation.start_line > 0;
        if !level || !fits || !ordered || (columns && annotation.start_line != annotation.end_line)
        {
            return Err(wrong("annotations", "invalid"));
        }
    }
    Ok(())
}

fn apply(run: &mut CheckRun, body: RunBody, now: DateTime<Utc>) {
    if let Some(name) = body.name {
        run.name = name;
    }
    if body.details_url.is_some() {
        run.details_url = body.details_url;
    }
    if let Some(id) = body.external_id {
        run.external_id = id;
    }
    if let Some(at) = body.started_at {
        run.started = at;
    }
    if let Some(status) = body.status {
        if status != "completed" {
            run.conclusion = None;
            run.completed = None;
        }
        run.status = status;
    }
    if let Some(conclusion) = body.conclusion {
        run.conclusion = Some(conclusion);
        "completed".clone_into(&mut run.status);
        run.completed = Some(body.completed_at.unwrap_or(now));
    }
    if let Some(output) = body.output {
        run.title = output.title;
        run.summary = output.summary;
        run.text = output.text.or_else(|| run.text.take());
        // Annotations are added, never replaced.
        run.annotations
            .extend(output.annotations.iter().map(|a| json!(a)));
    }
    if !body.actions.is_empty() {
        run.actions = body.actions.iter().map(|a| json!(a)).collect();
    }
}

/// Check runs are for Apps only.
fn by_app(cx: &Cx<'_>) -> Result<(), Reply> {
    if cx.by_app() {
        Ok(())
    } else {
        Err(not_accessible("personal access token"))
    }
}

/// Returns whether a commit is on a branch's or pull request's side of this repository.
fn reachable(repo: &Repo, sha: &str) -> Result<bool, Reply> {
    let plain = sha.len() >= 40 && sha.bytes().all(|b| b.is_ascii_hexdigit());
    Ok(plain && repo.git.resolve(sha, "commit")?.is_some())
}

pub(crate) fn create(cx: &mut Cx<'_>) -> Answer {
    by_app(cx)?;
    let body: RunBody = cx.body()?;
    check(&body)?;
    let head = body
        .head_sha
        .clone()
        .ok_or_else(|| wrong("head_sha", "missing_field"))?;
    let name = body
        .name
        .clone()
        .ok_or_else(|| wrong("name", "missing_field"))?;
    if !reachable(cx.repo()?, &head)? {
        return Err(basic(422, &format!("No commit found for SHA: {head}")));
    }
    let (id, now) = (cx.world.next_id(), cx.github.now());
    let mut run = CheckRun {
        id,
        name,
        head,
        status: "queued".to_owned(),
        conclusion: None,
        external_id: String::new(),
        details_url: None,
        started: now,
        completed: None,
        title: None,
        summary: None,
        text: None,
        annotations: Vec::new(),
        actions: Vec::new(),
    };
    apply(&mut run, body, now);
    let completed = run.completed.is_some();
    cx.repo_mut()?.checks.push(run);
    cx.github.check_event(cx.world, cx.repo, id, "created");
    if completed {
        cx.github.check_event(cx.world, cx.repo, id, "completed");
    }
    shown(cx, id, 201)
}

fn shown(cx: &Cx<'_>, id: u64, status: u16) -> Answer {
    let repo = cx.repo()?;
    let run = repo
        .checks
        .iter()
        .find(|run| run.id == id)
        .ok_or_else(not_found)?;
    Ok(Reply::json(status, &cx.show().check_run(repo, run)))
}

pub(crate) fn get(cx: &mut Cx<'_>) -> Answer {
    shown(cx, cx.number(2)?, 200)
}

pub(crate) fn update(cx: &mut Cx<'_>) -> Answer {
    by_app(cx)?;
    let body: RunBody = cx.body()?;
    check(&body)?;
    if body.head_sha.is_some() {
        return Err(wrong("head_sha", "invalid"));
    }
    let (id, now) = (cx.number(2)?, cx.github.now());
    let run = cx
        .repo_mut()?
        .checks
        .iter_mut()
        .find(|run| run.id == id)
        .ok_or_else(not_found)?;
    let before = run.completed;
    apply(run, body, now);
    let completed = before.is_none() && run.completed.is_some();
    if completed {
        cx.github.check_event(cx.world, cx.repo, id, "completed");
    }
    shown(cx, id, 200)
}

pub(crate) fn list(cx: &mut Cx<'_>) -> Answer {
    let cx = &*cx;
    let repo = cx.repo()?;
    let sha = commit_of(repo, cx.var(2))?;
    let name = cx.request.param("check_name");
    let status = cx.request.param("status");
    let app = cx.request.param("app_id");
    let ours = app.is_none_or(|app| app == cx.github.options().app.id.to_string());
    let mut runs: Vec<&CheckRun> = repo
        .checks
        .iter()
        .rev()
        .filter(|run| run.head == sha && ours)
        .filter(|run| name.as_ref().is_none_or(|name| *name == run.name))
        .filter(|run| status.as_ref().is_none_or(|status| *status == run.status))
        .collect();
    if cx.request.param("filter").as_deref() != Some("all") {
        let mut seen = std::collections::BTreeSet::new();
        runs.retain(|run| seen.insert(run.name.as_str()));
    }
    cx.page(runs.len(), |range| {
        let shown: Vec<Value> = runs
            .get(range)
            .unwrap_or_default()
            .iter()
            .map(|run| cx.show().check_run(repo, run))
            .collect();
        Ok(json!({ "total_count": runs.len(), "check_runs": shown }))
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatusBody {
    state: String,
    target_url: Option<String>,
    description: Option<String>,
    context: Option<String>,
}

pub(crate) fn create_status(cx: &mut Cx<'_>) -> Answer {
    let body: StatusBody = cx.body()?;
    let wrong = |field: &str, code: &str| invalid_field("Status", field, code, DOCS);
    if !["error", "failure", "pending", "success"].contains(&body.state.as_str()) {
        return Err(wrong("state", "invalid"));
    }
    if body
        .description
        .as_ref()
        .is_some_and(|d| d.chars().count() > MAX_STATUS_CHARS)
    {
        return Err(invalid(
            &json!({
                "resource": "Status", "code": "custom", "field": "description",
                "message": "description is too long (maximum is 140 characters)",
            }),
            DOCS,
        ));
    }
    let sha = cx.var(2).to_owned();
    if !reachable(cx.repo()?, &sha)? {
        return Err(basic(422, &format!("No commit found for SHA: {sha}")));
    }
    let context = body.context.unwrap_or_else(|| "default".to_owned());
    let same = |s: &&Status| s.sha == sha && s.context.eq_ignore_ascii_case(&context);
    if cx.repo()?.statuses.iter().filter(same).count() >= MAX_STATUSES {
        return Err(basic(
            422,
            "This SHA and context has reached the maximum number of statuses.",
        ));
    }
    let status = Status {
        id: cx.world.next_id(),
        sha,
        state: body.state,
        context,
        description: body.description,
        target_url: body.target_url,
        creator: cx.actor(),
        created: cx.github.now(),
    };
    let shown = cx.show().status(cx.repo()?, &status);
    cx.repo_mut()?.statuses.push(status);
    Ok(Reply::json(201, &shown))
}

pub(crate) fn combined_status(cx: &mut Cx<'_>) -> Answer {
    let cx = &*cx;
    let repo = cx.repo()?;
    let sha = commit_of(repo, cx.var(2))?;
    let mut latest: Vec<&Status> = Vec::new();
    for status in repo.statuses.iter().rev().filter(|s| s.sha == sha) {
        if !latest
            .iter()
            .any(|l| l.context.eq_ignore_ascii_case(&status.context))
        {
            latest.push(status);
        }
    }
    let has = |wanted: &[&str]| latest.iter().any(|s| wanted.contains(&s.state.as_str()));
    let state = if has(&["error", "failure"]) {
        "failure"
    } else if latest.is_empty() || has(&["pending"]) {
        "pending"
    } else {
        "success"
    };
    let url = cx.show().repo_url(repo);
    cx.page(latest.len(), |range| {
        let mut shown = Vec::new();
        for status in latest.get(range).unwrap_or_default() {
            let mut status = cx.show().status(repo, status);
            // The combined view does not say who set it.
            if let Some(status) = status.as_object_mut() {
                status.remove("creator");
            }
            shown.push(status);
        }
        Ok(json!({
            "state": state,
            "statuses": shown,
            "sha": sha,
            "total_count": latest.len(),
            "repository": cx.show().repo(repo),
            "commit_url": format!("{url}/commits/{sha}"),
            "url": format!("{url}/commits/{sha}/status"),
        }))
    })
}
