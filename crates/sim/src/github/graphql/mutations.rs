//! Changes through GraphQL.

use serde_json::{Map, Value};

use super::Fault;
use super::parse::{Document, Kind, Selection};
use crate::calls::Problem;
use crate::github::auth::Caller;
use crate::github::errors::MAX_BODY_CHARS;
use crate::github::http::Cx;
use crate::github::render::parse_node_id;
use crate::github::talk;
use crate::github::world::{Level, Pull, Repo, Role, World};

/// What one mutation did, for its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Performed {
    /// A thread was resolved or opened: repository, thread.
    Thread(u64, u64),
    /// A thread got an answer: repository, comment.
    Comment(u64, u64),
    /// Something was hidden, for this reason.
    Minimized(String),
    /// It was refused.
    Refused(Fault),
}

/// Why comments can be hidden: the words of the input, and those of the output.
const CLASSIFIERS: [(&str, &str); 6] = [
    ("ABUSE", "abuse"),
    ("DUPLICATE", "duplicate"),
    ("OFF_TOPIC", "off-topic"),
    ("OUTDATED", "outdated"),
    ("RESOLVED", "resolved"),
    ("SPAM", "spam"),
];

/// Performs the mutations of a document in order.
pub(crate) fn perform(
    cx: &mut Cx<'_>,
    document: &Document,
    variables: &Map<String, Value>,
) -> Result<Vec<Performed>, Fault> {
    let mut performed = Vec::new();
    if document.kind == Kind::Query {
        return Ok(performed);
    }
    if !cx.caller.may_write() {
        let what = "a GraphQL mutation".to_owned();
        cx.github.0.log.problem(Problem::WriteWithReadToken(what));
    }
    for selection in &document.selections {
        let Selection::Field(field) = selection else {
            return Err(Fault::Request(
                "fragments on Mutation are not supported".to_owned(),
            ));
        };
        let [(name, input)] = field.arguments.as_slice() else {
            return Err(Fault::Request(format!(
                "{} needs the argument input",
                field.name
            )));
        };
        if name != "input" {
            return Err(Fault::Request(format!(
                "{} takes no argument {name}",
                field.name
            )));
        }
        let Value::Object(input) = document.value(input, variables) else {
            return Err(Fault::Request(format!(
                "{}: input is not an object",
                field.name
            )));
        };
        let outcome = one(cx, &field.name, Input(input));
        performed.push(match outcome {
            Ok(done) => done,
            Err(refused @ Fault::Field { .. }) => Performed::Refused(refused),
            Err(fault) => return Err(fault),
        });
    }
    Ok(performed)
}

struct Input(Map<String, Value>);

impl Input {
    fn text(&mut self, name: &str) -> Result<String, Fault> {
        match self.0.remove(name) {
            Some(Value::String(text)) => Ok(text),
            _ => Err(Fault::Request(format!("the input needs {name}"))),
        }
    }

    fn done(mut self) -> Result<(), Fault> {
        self.0.remove("clientMutationId");
        self.0.keys().next().map_or(Ok(()), |name| {
            Err(Fault::Request(format!(
                "the input has an unknown or unsupported field {name}"
            )))
        })
    }
}

fn one(cx: &mut Cx<'_>, name: &str, mut input: Input) -> Result<Performed, Fault> {
    match name {
        "resolveReviewThread" | "unresolveReviewThread" => {
            let thread = input.text("threadId")?;
            input.done()?;
            let (repo, thread) = thread_of(cx, &thread)?;
            if !can_resolve(cx.world, &cx.caller, repo, thread) {
                return Err(Fault::forbidden());
            }
            let actor = cx.actor();
            let by = (name == "resolveReviewThread").then_some(actor.as_str());
            talk::resolve(cx.github, cx.world, repo, thread, by, &actor)
                .map_err(|error| Fault::Request(error.to_string()))?;
            Ok(Performed::Thread(repo, thread))
        }
        "addPullRequestReviewThreadReply" => {
            let thread = input.text("pullRequestReviewThreadId")?;
            let body = input.text("body")?;
            input.done()?;
            let (repo, thread) = thread_of(cx, &thread)?;
            writes(cx)?;
            if body.trim().is_empty() || body.chars().count() > MAX_BODY_CHARS {
                let message = "Body is blank or too long (maximum is 65536 characters)".to_owned();
                return Err(Fault::Field {
                    kind: "UNPROCESSABLE",
                    message,
                });
            }
            let first = pulls(cx.world, repo)
                .flat_map(|(_, pull)| &pull.review_comments)
                .find(|comment| comment.thread == thread)
                .map(|comment| comment.id)
                .ok_or_else(|| missing("thread"))?;
            let actor = cx.actor();
            let id = talk::reply(cx.github, cx.world, repo, first, &actor, &body, true)
                .map_err(|error| Fault::Request(error.to_string()))?;
            Ok(Performed::Comment(repo, id))
        }
        "minimizeComment" => {
            let subject = input.text("subjectId")?;
            let classifier = input.text("classifier")?;
            input.done()?;
            let reason = CLASSIFIERS.iter().find(|(word, _)| *word == classifier);
            let reason = reason
                .map(|(_, reason)| (*reason).to_owned())
                .ok_or_else(|| {
                    Fault::Request(format!("{classifier} is not a ReportedContentClassifiers"))
                })?;
            minimize(cx, &subject, &reason)?;
            Ok(Performed::Minimized(reason))
        }
        other => Err(Fault::Request(format!(
            "Field '{other}' doesn't exist on type 'Mutation'"
        ))),
    }
}

fn missing(what: &str) -> Fault {
    Fault::not_found(format!(
        "Could not resolve to a node with that global id ({what})."
    ))
}

fn writes(cx: &Cx<'_>) -> Result<(), Fault> {
    let may = ["pull_requests", "issues"]
        .iter()
        .any(|p| cx.caller.level(p) == Some(Level::Write));
    if may { Ok(()) } else { Err(Fault::forbidden()) }
}

fn pulls(world: &World, repo: u64) -> impl Iterator<Item = (&Repo, &Pull)> {
    world
        .repos
        .get(&repo)
        .into_iter()
        .flat_map(|repo| repo.pulls.values().map(move |p| (repo, p)))
}

/// Finds a thread by its GraphQL id, in a repository the caller sees.
fn thread_of(cx: &Cx<'_>, node: &str) -> Result<(u64, u64), Fault> {
    let (kind, id) = parse_node_id(node).ok_or_else(|| missing("thread"))?;
    let found = cx
        .world
        .repos
        .values()
        .filter(|repo| cx.world.sees(&cx.caller, repo))
        .find(|repo| {
            repo.pulls
                .values()
                .any(|pull| pull.threads.iter().any(|thread| thread.id == id))
        })
        .filter(|_| kind == "PullRequestReviewThread");
    found
        .map(|repo| (repo.id, id))
        .ok_or_else(|| missing("thread"))
}

/// Returns whether a caller may resolve a thread.
///
/// An App needs `contents: write` for it, which nothing in GitHub's documentation says; a person
/// needs write access or to be the author of the pull request.
pub(crate) fn can_resolve(world: &World, caller: &Caller, repo: u64, thread: u64) -> bool {
    let found = pulls(world, repo).find(|(_, pull)| pull.threads.iter().any(|t| t.id == thread));
    let Some((repo, pull)) = found else {
        return false;
    };
    match caller {
        Caller::Installation { .. } => {
            caller.level("contents") == Some(Level::Write)
                && caller.level("pull_requests") == Some(Level::Write)
        }
        Caller::User { login, .. } => {
            caller.level("pull_requests") == Some(Level::Write)
                && (World::role(repo, login) >= Role::Write || pull.author == *login)
        }
        Caller::App | Caller::Anonymous => false,
    }
}

fn minimize(cx: &mut Cx<'_>, subject: &str, reason: &str) -> Result<(), Fault> {
    let (kind, id) = parse_node_id(subject).ok_or_else(|| missing("comment"))?;
    writes(cx)?;
    let visible: Vec<u64> = cx
        .world
        .repos
        .values()
        .filter(|repo| cx.world.sees(&cx.caller, repo))
        .map(|repo| repo.id)
        .collect();
    for repo in cx
        .world
        .repos
        .values_mut()
        .filter(|repo| visible.contains(&repo.id))
    {
        for pull in repo.pulls.values_mut() {
            let slot = match kind.as_str() {
                "IssueComment" => pull
                    .comments
                    .iter_mut()
                    .find(|c| c.id == id)
                    .map(|c| &mut c.minimized),
                "PullRequestReviewComment" => pull
                    .review_comments
                    .iter_mut()
                    .find(|c| c.id == id)
                    .map(|c| &mut c.minimized),
                "PullRequestReview" => pull
                    .reviews
                    .iter_mut()
                    .find(|r| r.id == id)
                    .map(|r| &mut r.minimized),
                _ => None,
            };
            if let Some(slot) = slot {
                *slot = Some(reason.to_owned());
                return Ok(());
            }
        }
    }
    Err(missing("comment"))
}
