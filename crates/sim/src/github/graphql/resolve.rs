//! The fields of each type.

use std::ops::Range;

use serde_json::{Value, json};

use super::Fault;
use super::execute::{Arguments, Run};
use super::mutations::Performed;
use super::nodes::{Found, Node};
use crate::git::GitError;
use crate::github::anchors::current;
use crate::github::render::{Show, lossy, maybe_time, node_id, parse_node_id, time};
use crate::github::world::{Level, Pull, Repo, Review, ReviewState, Thread};

mod objects;
mod talk;

type Resolved<'a> = Result<Found<'a>, Fault>;

impl From<GitError> for Fault {
    fn from(error: GitError) -> Self {
        Self::Request(error.to_string())
    }
}

#[expect(clippy::unnecessary_wraps, reason = "every field ends in one of these")]
fn scalar<'a>(value: impl Into<Value>) -> Resolved<'a> {
    Ok(Found::Scalar(value.into()))
}

#[expect(clippy::unnecessary_wraps, reason = "every field ends in one of these")]
fn maybe(node: Option<Node<'_>>) -> Resolved<'_> {
    Ok(node.map_or(Found::Nothing, Found::One))
}

fn unknown<'a>(node: &Node<'_>, field: &str) -> Resolved<'a> {
    let kind = node.type_name();
    Err(Fault::Request(format!(
        "Field '{field}' doesn't exist on type '{kind}'"
    )))
}

/// Returns the items of a slice that lie on a page.
fn on_page<'a, T>(
    items: &[&'a T],
    range: Range<usize>,
    node: impl Fn(&'a T) -> Node<'a>,
) -> Vec<Node<'a>> {
    items
        .get(range)
        .unwrap_or_default()
        .iter()
        .map(|item| node(item))
        .collect()
}

impl<'a> Run<'a> {
    /// Returns what a field of a node is.
    pub(crate) fn resolve(
        &self,
        node: &Node<'a>,
        field: &str,
        arguments: &mut Arguments,
    ) -> Resolved<'a> {
        match node {
            Node::Query => self.query(node, field, arguments),
            Node::Mutation(performed) => self.mutation(node, performed, field, arguments),
            Node::Payload(_, name, inner) if *name == field => {
                Ok(Found::One(inner.as_ref().clone()))
            }
            Node::Repo(repo) => self.repo(node, repo, field, arguments),
            Node::Pull(repo, pull) => self.pull(node, repo, pull, field, arguments),
            Node::Thread(repo, pull, thread) => {
                self.thread(node, repo, pull, thread, field, arguments)
            }
            Node::Comment(repo, pull, comment, place) => {
                self.comment(node, repo, pull, comment, place, field)
            }
            Node::IssueComment(repo, pull, comment) => {
                self.issue_comment(node, repo, pull, comment, field)
            }
            Node::Review(repo, pull, review) => {
                self.review(node, repo, pull, review, field, arguments)
            }
            Node::Tree(repo, tree, path) => Self::tree(node, repo, tree, path, field),
            Node::Entry(repo, mode, name, oid, above) => {
                Self::entry(node, repo, (mode, name, oid, above), field)
            }
            Node::Commit(repo, commit) => Self::commit(node, repo, commit, field),
            other => simple(other, field),
        }
    }

    fn query(&self, node: &Node<'a>, field: &str, arguments: &mut Arguments) -> Resolved<'a> {
        match field {
            "repository" => {
                let (owner, name) = (arguments.text("owner")?, arguments.text("name")?);
                let full_name = format!("{owner}/{name}");
                let found = self
                    .world
                    .repo_id(&full_name)
                    .and_then(|id| self.world.repos.get(&id))
                    .filter(|repo| self.world.sees(self.caller, repo));
                found
                    .map(|repo| Found::One(Node::Repo(repo)))
                    .ok_or_else(|| {
                        Fault::not_found(format!(
                            "Could not resolve to a Repository with the name '{full_name}'."
                        ))
                    })
            }
            "viewer" => {
                let account = self.world.accounts.get(self.actor);
                let id = account.map_or(0, |account| account.id);
                Ok(Found::One(Node::Viewer(self.actor.to_owned(), id)))
            }
            "rateLimit" => {
                let balance = self.github.balance(self.caller, true);
                Ok(Found::One(Node::RateLimit(
                    balance.limit,
                    balance.used,
                    balance.reset,
                    balance.remaining(),
                )))
            }
            "node" => {
                let id = arguments.text("id")?;
                let found = parse_node_id(&id).and_then(|(kind, id)| self.node(&kind, id));
                found.map(Found::One).ok_or_else(|| {
                    Fault::not_found(format!(
                        "Could not resolve to a node with the global id of '{id}'."
                    ))
                })
            }
            _ => unknown(node, field),
        }
    }

    fn node(&self, kind: &str, id: u64) -> Option<Node<'a>> {
        self.world
            .repos
            .values()
            .filter(|repo| self.world.sees(self.caller, repo))
            .find_map(|repo| match kind {
                "Repository" => (repo.id == id).then_some(Node::Repo(repo)),
                "PullRequest" => {
                    let pull = repo.pulls.values().find(|pull| pull.id == id)?;
                    Some(Node::Pull(repo, pull))
                }
                "PullRequestReviewThread" => repo.pulls.values().find_map(|pull| {
                    let thread = pull.threads.iter().find(|thread| thread.id == id)?;
                    Some(Node::Thread(repo, pull, thread))
                }),
                "PullRequestReviewComment" => {
                    let (pull, comment) = repo.review_comment(id)?;
                    let place = current(repo, pull, comment).ok()?;
                    Some(Node::Comment(repo, pull, comment, place))
                }
                "IssueComment" => {
                    let (pull, comment) = repo.issue_comment(id)?;
                    Some(Node::IssueComment(repo, pull, comment))
                }
                _ => None,
            })
    }

    fn mutation(
        &self,
        node: &Node<'a>,
        performed: &'a [Performed],
        field: &str,
        arguments: &mut Arguments,
    ) -> Resolved<'a> {
        arguments.take("input");
        let Some(done) = performed.first() else {
            return unknown(node, field);
        };
        let kind = match field {
            "resolveReviewThread" => "ResolveReviewThreadPayload",
            "unresolveReviewThread" => "UnresolveReviewThreadPayload",
            "minimizeComment" => "MinimizeCommentPayload",
            _ => "AddPullRequestReviewThreadReplyPayload",
        };
        let gone = || Fault::not_found("The subject is gone.".to_owned());
        match done {
            Performed::Refused(fault) => Err(fault.clone()),
            Performed::Thread(_, id) => {
                let thread = self.node("PullRequestReviewThread", *id).ok_or_else(gone)?;
                Ok(Found::One(Node::Payload(kind, "thread", Box::new(thread))))
            }
            Performed::Comment(_, id) => {
                let comment = self
                    .node("PullRequestReviewComment", *id)
                    .ok_or_else(gone)?;
                Ok(Found::One(Node::Payload(
                    kind,
                    "comment",
                    Box::new(comment),
                )))
            }
            Performed::Minimized(reason) => {
                let hidden = Node::Minimized(true, Some(reason.clone()));
                Ok(Found::One(Node::Payload(
                    kind,
                    "minimizedComment",
                    Box::new(hidden),
                )))
            }
        }
    }

    fn may_read(&self, permission: &str) -> Result<(), Fault> {
        if self.caller.level(permission) >= Some(Level::Read) {
            Ok(())
        } else {
            Err(Fault::forbidden())
        }
    }

    fn repo(
        &self,
        node: &Node<'a>,
        repo: &'a Repo,
        field: &str,
        arguments: &mut Arguments,
    ) -> Resolved<'a> {
        match field {
            "id" => scalar(node_id("Repository", repo.id)),
            "databaseId" => scalar(repo.id),
            "name" => scalar(repo.name.as_str()),
            "nameWithOwner" => scalar(repo.full_name()),
            "isPrivate" => scalar(repo.private),
            "isFork" => scalar(repo.fork_of.is_some()),
            "owner" => Ok(Found::One(Node::Actor(repo.owner.clone()))),
            "defaultBranchRef" => {
                self.may_read("contents")?;
                let name = &repo.default_branch;
                let tip = repo.branches.get(name);
                maybe(tip.map(|tip| Node::Ref(repo, name.clone(), tip.clone())))
            }
            "ref" => {
                self.may_read("contents")?;
                let name = arguments.text("qualifiedName")?;
                let name = name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned();
                let tip = repo.branches.get(&name);
                maybe(tip.map(|tip| Node::Ref(repo, name.clone(), tip.clone())))
            }
            "object" => {
                self.may_read("contents")?;
                let name = match arguments.take("oid") {
                    Some(oid) => oid.as_str().unwrap_or_default().to_owned(),
                    None => arguments.text("expression")?,
                };
                objects::object(repo, &name)
            }
            "pullRequest" => {
                self.may_read("pull_requests")?;
                let number = arguments.number("number")?;
                let pull = repo.pulls.get(&number);
                pull.map(|pull| Found::One(Node::Pull(repo, pull)))
                    .ok_or_else(|| {
                        Fault::not_found(format!(
                            "Could not resolve to a PullRequest with the number of {number}."
                        ))
                    })
            }
            _ => unknown(node, field),
        }
    }

    fn pull(
        &self,
        node: &Node<'a>,
        repo: &'a Repo,
        pull: &'a Pull,
        field: &str,
        arguments: &mut Arguments,
    ) -> Resolved<'a> {
        let base = || repo.base_sha(pull);
        match field {
            "id" => scalar(node_id("PullRequest", pull.id)),
            "fullDatabaseId" => scalar(pull.id.to_string()),
            "number" => scalar(pull.number),
            "title" => scalar(pull.title.as_str()),
            "body" => scalar(pull.body.clone().unwrap_or_default()),
            "url" => scalar(self.github.show(self.world).pull_page(repo, pull)),
            "state" => scalar(match (pull.open, &pull.merged) {
                (true, _) => "OPEN",
                (false, Some(_)) => "MERGED",
                (false, None) => "CLOSED",
            }),
            "merged" => scalar(pull.merged.is_some()),
            "closed" => scalar(!pull.open),
            "isDraft" => scalar(pull.draft),
            "locked" => scalar(pull.locked),
            "headRefOid" => scalar(pull.head.as_str()),
            "headRefName" => scalar(pull.head_ref.as_str()),
            "baseRefOid" => scalar(base()),
            "baseRefName" => scalar(pull.base_ref.as_str()),
            "isCrossRepository" => scalar(pull.head_repo != Some(repo.id)),
            "headRepository" => {
                let head = pull.head_repo.and_then(|id| self.world.repos.get(&id));
                maybe(head.map(Node::Repo))
            }
            "author" => Ok(Found::One(Node::Actor(pull.author.clone()))),
            "authorAssociation" => scalar(self.world.association(repo, &pull.author)),
            "createdAt" => scalar(time(pull.created)),
            "updatedAt" => scalar(time(pull.updated)),
            "changedFiles" => scalar(repo.git.diff(&base(), &pull.head)?.files.len()),
            "additions" => {
                let diff = repo.git.diff(&base(), &pull.head)?;
                scalar(diff.files.iter().map(|file| file.additions).sum::<u64>())
            }
            "deletions" => {
                let diff = repo.git.diff(&base(), &pull.head)?;
                scalar(diff.files.iter().map(|file| file.deletions).sum::<u64>())
            }
            "labels" => {
                let labels: Vec<_> = pull.labels.iter().collect();
                arguments.page("LabelConnection", labels.len(), |range| {
                    Ok(on_page(&labels, range, Node::Label))
                })
            }
            "commits" => {
                let log = repo.git.log(&base(), &pull.head)?;
                arguments.page("PullRequestCommitConnection", log.len(), |range| {
                    let shown = log.get(range).unwrap_or_default();
                    Ok(shown
                        .iter()
                        .map(|c| Node::PullCommit(repo, c.clone()))
                        .collect())
                })
            }
            "comments" => {
                let all: Vec<_> = pull.comments.iter().collect();
                arguments.page("IssueCommentConnection", all.len(), |range| {
                    Ok(on_page(&all, range, |c| Node::IssueComment(repo, pull, c)))
                })
            }
            "reviews" => {
                let visible = |review: &&Review| {
                    review.state != ReviewState::Pending || review.author == self.actor
                };
                let all: Vec<_> = pull.reviews.iter().filter(visible).collect();
                arguments.page("PullRequestReviewConnection", all.len(), |range| {
                    Ok(on_page(&all, range, |r| Node::Review(repo, pull, r)))
                })
            }
            "reviewThreads" => {
                let visible = |thread: &&Thread| {
                    pull.review_comments
                        .iter()
                        .any(|c| c.thread == thread.id && Show::published(pull, c.review))
                };
                let all: Vec<_> = pull.threads.iter().filter(visible).collect();
                arguments.page("PullRequestReviewThreadConnection", all.len(), |range| {
                    Ok(on_page(&all, range, |t| Node::Thread(repo, pull, t)))
                })
            }
            _ => unknown(node, field),
        }
    }
}

/// Blobs up to this size have their text in the answer; beyond, it is cut.
const MAX_TEXT_BYTES: usize = 512_000;

/// The fields of types that need nothing but themselves.
fn simple<'a>(node: &Node<'a>, field: &str) -> Resolved<'a> {
    match (node, field) {
        (Node::Blob(blob), "oid") => scalar(blob.oid.as_str()),
        (Node::Blob(blob), "byteSize") => scalar(blob.size),
        (Node::Blob(blob), "isBinary") => scalar(is_binary(&blob.bytes)),
        (Node::Blob(blob), "isTruncated") => scalar(blob.bytes.len() > MAX_TEXT_BYTES),
        (Node::Blob(blob), "text") if is_binary(&blob.bytes) => scalar(Value::Null),
        (Node::Blob(blob), "text") => scalar(lossy(
            blob.bytes.get(..MAX_TEXT_BYTES).unwrap_or(&blob.bytes),
        )),
        (Node::Oid(oid), "oid") => scalar(oid.as_str()),
        (Node::Ref(_, name, _), "name") => scalar(name.as_str()),
        (Node::Ref(repo, _, tip), "target") => {
            Ok(Found::One(Node::Commit(repo, repo.git.commit_info(tip)?)))
        }
        (Node::PullCommit(repo, commit), "commit") => {
            Ok(Found::One(Node::Commit(repo, commit.clone())))
        }
        (Node::Label(label), "name") => scalar(label.name.as_str()),
        // Logins of bots have no suffix here.
        (Node::Actor(login), "login") => scalar(login.trim_end_matches("[bot]")),
        (Node::Viewer(login, _), "login") => scalar(login.as_str()),
        (Node::Viewer(_, id), "databaseId") => scalar(*id),
        (Node::GitActor(name, ..), "name") => scalar(name.as_str()),
        (Node::GitActor(_, email, _), "email") => scalar(email.as_str()),
        (Node::GitActor(_, _, date), "date") => scalar(date.as_str()),
        (Node::GitActor(name, ..), "user") => Ok(Found::One(Node::Actor(name.clone()))),
        (Node::RateLimit(limit, ..), "limit") => scalar(*limit),
        (Node::RateLimit(_, used, ..), "used") => scalar(*used),
        (Node::RateLimit(_, _, reset, _), "resetAt") => {
            scalar(maybe_time(chrono::DateTime::from_timestamp(*reset, 0)))
        }
        (Node::RateLimit(.., remaining), "remaining") => scalar(*remaining),
        (Node::RateLimit(..), "cost") => scalar(1),
        (Node::Connection(page), "totalCount") => scalar(page.total),
        (Node::Connection(page), "nodes") => Ok(Found::Many(page.items.clone())),
        (Node::Connection(page), "pageInfo") => Ok(Found::One(Node::PageInfo(page.info.clone()))),
        (Node::Connection(page), "edges") => Ok(Found::Many(
            (page.info.start.saturating_add(1)..)
                .zip(&page.items)
                .map(|(cursor, item)| Node::Edge(Box::new(item.clone()), cursor.to_string()))
                .collect(),
        )),
        (Node::Edge(node, _), "node") => Ok(Found::One(node.as_ref().clone())),
        (Node::Edge(_, cursor), "cursor") => scalar(cursor.as_str()),
        (Node::PageInfo(info), "hasNextPage") => scalar(info.end < info.total),
        (Node::PageInfo(info), "hasPreviousPage") => scalar(info.start > 0),
        (Node::PageInfo(info), "endCursor") if info.end > info.start => {
            scalar(info.end.to_string())
        }
        (Node::PageInfo(info), "startCursor") if info.end > info.start => {
            scalar(info.start.saturating_add(1).to_string())
        }
        (Node::PageInfo(_), "endCursor" | "startCursor") => scalar(Value::Null),
        (Node::Minimized(hidden, _), "isMinimized") => scalar(*hidden),
        (Node::Minimized(_, reason), "minimizedReason") => scalar(json!(reason)),
        _ => unknown(node, field),
    }
}

/// Git's own test: a zero byte near the start.
fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8_000).any(|&b| b == 0)
}
