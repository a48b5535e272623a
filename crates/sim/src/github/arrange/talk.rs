//! What people say on pull requests, and what they do to what others said.

use serde_json::json;

use crate::diff::Side;
use crate::github::Github;
use crate::github::anchors::{Wanted, place};
use crate::github::render::Show;
use crate::github::talk::{
    NewReview, issue_comment, issue_comment_event, react, reply, resolve, review,
    review_comment_event,
};
use crate::github::world::{ReviewComment, ReviewState, Thread, World};
use crate::state::StateError;

impl Github {
    /// Comments on a pull request as a whole and returns the comment's number.
    pub fn comment(
        &self,
        full_name: &str,
        number: u64,
        by: &str,
        body: &str,
    ) -> Result<u64, StateError> {
        let mut world = self.world();
        let repo = world.repo_named(full_name)?.id;
        issue_comment(self, &mut world, repo, number, by, body, false)
    }

    /// Comments `count` times, for floods; no webhook is delivered for these.
    pub fn flood(
        &self,
        full_name: &str,
        number: u64,
        by: &str,
        count: usize,
    ) -> Result<(), StateError> {
        let mut world = self.world();
        world.account(by);
        let repo = world.repo_named(full_name)?.id;
        let now = self.now();
        for index in 0..count {
            let id = world.next_id();
            world
                .pull_mut(repo, number)?
                .comments
                .push(crate::github::world::IssueComment {
                    id,
                    author: by.to_owned(),
                    body: format!("comment {index}"),
                    created: now,
                    updated: now,
                    by_app: false,
                    minimized: None,
                    reactions: Vec::new(),
                    unread: false,
                });
        }
        Ok(())
    }

    /// Comments `count` times on a line of the diff, for floods; no webhook is delivered for these.
    pub fn flood_line(
        &self,
        full_name: &str,
        number: u64,
        by: &str,
        at: (&str, Side, u64),
        count: usize,
    ) -> Result<(), StateError> {
        // The first one finds the place; the others are copies of it in threads of their own.
        let first = self.comment_on_line(full_name, number, by, at, "comment 0")?;
        let mut world = self.world();
        let repo = world.repo_named(full_name)?.id;
        let known = world
            .pull_mut(repo, number)?
            .review_comments
            .iter()
            .find(|c| c.id == first);
        let known = known
            .cloned()
            .ok_or_else(|| StateError::missing("the comment just made"))?;
        for index in 1..count {
            let (id, thread) = (world.next_id(), world.next_id());
            let pull = world.pull_mut(repo, number)?;
            pull.threads.push(Thread {
                id: thread,
                resolved_by: None,
            });
            let body = format!("comment {index}");
            pull.review_comments.push(ReviewComment {
                id,
                thread,
                body,
                ..known.clone()
            });
        }
        Ok(())
    }

    /// Reacts to a comment of either kind, as in `+1` or `-1`.
    pub fn react(
        &self,
        full_name: &str,
        comment: u64,
        by: &str,
        content: &str,
    ) -> Result<(), StateError> {
        let mut world = self.world();
        world.account(by);
        let (id, now) = (world.next_id(), self.now());
        let repo = world.repo_named_mut(full_name)?;
        let whole = repo.issue_comment_mut(comment).map(|c| &mut c.reactions);
        if let Some(reactions) = whole {
            react(reactions, id, by, content, now);
            return Ok(());
        }
        let inline = repo.review_comment_mut(comment).map(|c| &mut c.reactions);
        let reactions = inline.ok_or_else(|| StateError::missing(format!("comment {comment}")))?;
        react(reactions, id, by, content, now);
        Ok(())
    }

    /// Comments on a line of the diff as a person and returns the comment's number.
    pub fn comment_on_line(
        &self,
        full_name: &str,
        number: u64,
        by: &str,
        (path, side, line): (&str, Side, u64),
        body: &str,
    ) -> Result<u64, StateError> {
        let mut world = self.world();
        let (repo, commit, anchor) = {
            let repo = world.repo_named(full_name)?;
            let pull = repo.pulls.get(&number);
            let pull = pull.ok_or_else(|| StateError::missing(format!("pull request {number}")))?;
            let diff = repo.git.diff(&repo.base_sha(pull), &pull.head)?;
            let wanted = Wanted {
                path: path.as_bytes().to_vec(),
                line: Some(line),
                side: Some(side),
                ..Wanted::default()
            };
            let anchor = place(&diff, &wanted)
                .map_err(|_refused| StateError::missing(format!("{path}:{line} in the diff")))?;
            (repo.id, pull.head.clone(), anchor)
        };
        let new = NewReview {
            author: by.to_owned(),
            body: String::new(),
            state: ReviewState::Commented,
            commit,
            comments: vec![(anchor, body.to_owned())],
            unread: false,
        };
        let review = review(self, &mut world, repo, number, new)?;
        let pull = world.pull_mut(repo, number)?;
        let id = pull
            .review_comments
            .iter()
            .find(|c| c.review == Some(review))
            .map(|c| c.id);
        id.ok_or_else(|| StateError::missing("the comment just made"))
    }

    /// Answers a comment on the diff and returns the answer's number.
    pub fn reply(
        &self,
        full_name: &str,
        comment: u64,
        by: &str,
        body: &str,
    ) -> Result<u64, StateError> {
        let mut world = self.world();
        let repo = world.repo_named(full_name)?.id;
        reply(self, &mut world, repo, comment, by, body, false)
    }

    /// Submits a review without comments: `APPROVED`, `CHANGES_REQUESTED` or `COMMENTED`.
    pub fn submit_review(
        &self,
        full_name: &str,
        number: u64,
        by: &str,
        state: &str,
        body: &str,
    ) -> Result<u64, StateError> {
        let mut world = self.world();
        let state = match state {
            "APPROVED" => ReviewState::Approved,
            "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
            "COMMENTED" => ReviewState::Commented,
            other => {
                return Err(StateError::conflict(format!(
                    "{other} is not a review's state"
                )));
            }
        };
        let repo = world.repo_named(full_name)?.id;
        let commit = world.pull_mut(repo, number)?.head.clone();
        let new = NewReview {
            author: by.to_owned(),
            body: body.to_owned(),
            state,
            commit,
            comments: Vec::new(),
            unread: false,
        };
        review(self, &mut world, repo, number, new)
    }

    /// Resolves the thread of a comment, as anyone may who wrote the pull request or can write.
    pub fn resolve_thread(
        &self,
        full_name: &str,
        comment: u64,
        by: &str,
    ) -> Result<(), StateError> {
        let mut world = self.world();
        let (repo, thread) = thread_of(&world, full_name, comment)?;
        resolve(self, &mut world, repo, thread, Some(by), by)
    }

    /// Opens the thread of a comment again.
    pub fn unresolve_thread(
        &self,
        full_name: &str,
        comment: u64,
        by: &str,
    ) -> Result<(), StateError> {
        let mut world = self.world();
        let (repo, thread) = thread_of(&world, full_name, comment)?;
        resolve(self, &mut world, repo, thread, None, by)
    }

    /// Edits a comment of either kind, whoever wrote it: people who can write may.
    pub fn edit_comment(
        &self,
        full_name: &str,
        comment: u64,
        by: &str,
        body: &str,
    ) -> Result<(), StateError> {
        let mut world = self.world();
        let now = self.now();
        let found = world.repo_named_mut(full_name)?;
        let repo = found.id;
        let missing = || StateError::missing(format!("comment {comment}"));
        if let Some(known) = found.issue_comment_mut(comment) {
            let before = std::mem::replace(&mut known.body, body.to_owned());
            known.updated = now;
            let more = json!({ "changes": { "body": { "from": before } } });
            issue_comment_event(self, &mut world, repo, comment, "edited", by, more);
            return Ok(());
        }
        let known = found.review_comment_mut(comment).ok_or_else(missing)?;
        let before = std::mem::replace(&mut known.body, body.to_owned());
        known.updated = now;
        let more = json!({ "changes": { "body": { "from": before } } });
        review_comment_event(self, &mut world, repo, comment, "edited", by, more);
        Ok(())
    }

    /// Deletes a comment of either kind.
    pub fn delete_comment(
        &self,
        full_name: &str,
        comment: u64,
        by: &str,
    ) -> Result<(), StateError> {
        let mut world = self.world();
        let repo = world.repo_named(full_name)?.id;
        issue_comment_event(self, &mut world, repo, comment, "deleted", by, json!({}));
        review_comment_event(self, &mut world, repo, comment, "deleted", by, json!({}));
        if !world.repo_named_mut(full_name)?.remove_comment(comment) {
            return Err(StateError::missing(format!("comment {comment}")));
        }
        Ok(())
    }

    /// Presses "Re-run" on a check run.
    pub fn rerun_check(&self, full_name: &str, check: u64, by: &str) -> Result<(), StateError> {
        let mut world = self.world();
        let repo = world.repo_named(full_name)?;
        let known = repo.checks.iter().any(|run| run.id == check);
        let id = repo.id;
        if !known {
            return Err(StateError::missing(format!("check run {check}")));
        }
        self.check_event_by(&mut world, id, check, "rerequested", by);
        Ok(())
    }

    /// Presses "Re-run all checks" on a commit.
    pub fn rerun_all_checks(&self, full_name: &str, sha: &str, by: &str) -> Result<(), StateError> {
        let mut world = self.world();
        let repo = world.repo_named(full_name)?;
        let id = repo.id;
        let payload = {
            let show = self.show(&world);
            let suite = Show::suite_id(sha);
            json!({
                "action": "rerequested",
                "check_suite": show.check_suite(repo, sha, suite),
            })
        };
        self.emit(&mut world, id, "check_suite", by, payload);
        Ok(())
    }

    /// Delivers an event of a check run that the App itself caused.
    pub(crate) fn check_event(&self, world: &mut World, repo: u64, check: u64, action: &str) {
        let bot = self.bot();
        self.check_event_by(world, repo, check, action, &bot);
    }

    fn check_event_by(&self, world: &mut World, repo: u64, check: u64, action: &str, by: &str) {
        let payload = {
            let show = self.show(world);
            let Some(found) = world.repos.get(&repo) else {
                return;
            };
            let Some(run) = found.checks.iter().find(|run| run.id == check) else {
                return;
            };
            let mut shown = show.check_run(found, run);
            if let Some(shown) = shown.as_object_mut() {
                let suite = Show::suite_id(&run.head);
                shown.insert(
                    "check_suite".to_owned(),
                    show.check_suite(found, &run.head, suite),
                );
            }
            json!({ "action": action, "check_run": shown })
        };
        self.emit(world, repo, "check_run", by, payload);
    }
}

fn thread_of(world: &World, full_name: &str, comment: u64) -> Result<(u64, u64), StateError> {
    let repo = world.repo_named(full_name)?;
    let (_, found) = repo
        .review_comment(comment)
        .ok_or_else(|| StateError::missing(format!("review comment {comment}")))?;
    Ok((repo.id, found.thread))
}
