//! The half that writes: notes, and nothing that approves.
//!
//! A review is one note on the whole, its body, and one discussion for each comment. The body comes last, so that
//! a review whose body stands is there whole. Where GitLab has drafts, all of it is drafted and published at once,
//! and people get one mail; elsewhere each comment is posted by itself.
//!
//! A comment that GitLab refuses does not keep the others back. When they stand, and before the body is written, the
//! refusal is told: the caller reads what is there and says the rest in the body.
//!
//! Publishing takes all drafts of the account, so a person's own among them would be published too. If there are
//! such, ours are published one by one. Drafts of ours that a try left behind are removed by the next one, which
//! then does without drafts: it may have been the publishing that failed.
//!
//! **Invariant:** what this half can send is in the routes named here, in `checks.rs` and in `resolver.rs`; none of
//! them approves, merges or labels. No write is repeated, but for one fresh token after a 401.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use mirilla_domain::ids::{CommentId, PrNumber, RepoName, ReviewId};
use mirilla_domain::marker;
use mirilla_domain::request::CommentPlace;
use mirilla_http::Method;
use mirilla_ports::forge::{ForgeError, ForgeWrite, NewComment, NewReview, Refusal};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{ApiError, CallError, Named};
use crate::gate::WriteGate;
use crate::gitlab::api::{Answer, Api, Call};
use crate::gitlab::existing::{self, Draft, Note, Version};
use crate::gitlab::identity::User;
use crate::gitlab::place::Place;
use crate::gitlab::position::Position;
use crate::gitlab::reader::GitlabReader;
use crate::refused::Refused;

/// GitLab's longest note, in characters. <https://docs.gitlab.com/administration/instance_limits/>
const MAX_NOTE_CHARS: usize = 1_000_000;
/// Pages of the newest notes among which a review that was just published must be.
const READ_BACK_PAGES: usize = 3;

const CREATE: Named = Named {
    action: "post a review",
    what: "review",
    writes: true,
};
const EDIT: Named = Named {
    action: "edit its review",
    what: "review",
    writes: true,
};
const DELETE: Named = Named {
    action: "remove its unpublished draft",
    what: "draft",
    writes: true,
};
const REACT: Named = Named {
    action: "react to a comment",
    what: "the comment",
    writes: true,
};
const SAY: Named = Named {
    action: "comment on a merge request",
    what: "comment",
    writes: true,
};
const READ_BACK: Named = Named {
    action: "read its review back",
    what: "the review",
    writes: false,
};

/// Writes notes to one project of GitLab.
#[derive(Clone)]
pub struct GitlabWriter {
    pub(super) api: Api,
    pub(super) reader: GitlabReader,
    gate: Arc<WriteGate>,
    /// Whether a try before this one left drafts behind.
    drafts_died: Arc<AtomicBool>,
}

#[derive(Deserialize)]
struct Created {
    id: u64,
}

#[derive(Deserialize)]
struct Award {
    #[serde(default)]
    name: String,
    #[serde(default)]
    user: Option<User>,
}

/// What GitLab refused of a review's comments: the first reason, told when the others stand.
#[derive(Default)]
struct Refusals(Option<Refusal>);

impl Refusals {
    /// Takes the refusal of one comment; any other failure comes back.
    fn take<T>(&mut self, outcome: Result<T, ForgeError>) -> Result<Option<T>, ForgeError> {
        match outcome {
            Ok(done) => Ok(Some(done)),
            Err(ForgeError::Unprocessable {
                reason: reason @ (Refusal::Anchor | Refusal::TooLong),
                ..
            }) => {
                self.0.get_or_insert(reason);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn told(&self) -> Result<(), ForgeError> {
        self.0.map_or(Ok(()), |reason| Err(unprocessable(reason)))
    }
}

const fn unprocessable(reason: Refusal) -> ForgeError {
    ForgeError::Unprocessable {
        what: CREATE.what,
        reason,
    }
}

impl GitlabWriter {
    /// Makes a writer; it calls nothing yet. `reader` reads with this writer's own token, and `gate` is shared by
    /// all writers with it.
    pub(super) fn with_reader(api: Api, reader: GitlabReader, gate: Arc<WriteGate>) -> Self {
        Self {
            api,
            reader,
            gate,
            drafts_died: Arc::default(),
        }
    }

    /// Returns a reader with this writer's own token, so that a poster needs no other one.
    pub const fn reader(&self) -> &GitlabReader {
        &self.reader
    }

    /// Makes one write, in its turn.
    pub(super) async fn write(&self, call: &Call) -> Result<Answer, CallError> {
        self.gate.write(&self.api, call).await
    }

    /// Makes one write and reads the number of what it made.
    async fn create(&self, call: &Call, named: Named) -> Result<u64, ForgeError> {
        let answer = self.write(call).await;
        let created: Result<Created, _> = answer.and_then(|answer| answer.json());
        created
            .map(|created| created.id)
            .map_err(|error| error.into_forge(named))
    }

    async fn note(&self, at: Place, body: &str, named: Named) -> Result<u64, ForgeError> {
        check_length(body)?;
        let call = Call::new(
            Method::POST,
            "POST /projects/{id}/merge_requests/{iid}/notes",
            at.url(&self.api, &["notes"]),
        )
        .json(&json!({ "body": body }));
        self.create(&call, named).await
    }

    /// Posts comments one by one.
    async fn post_singly(
        &self,
        at: Place,
        review: &NewReview,
        positions: &[Position<'_>],
    ) -> Result<ReviewId, ForgeError> {
        let mut refused = Refusals::default();
        for (comment, position) in review.comments.iter().zip(positions) {
            refused.take(self.discussion(at, comment, position).await)?;
        }
        refused.told()?;
        self.note(at, &review.body, CREATE).await.map(ReviewId::new)
    }

    async fn discussion(
        &self,
        at: Place,
        comment: &NewComment,
        position: &Position<'_>,
    ) -> Result<(), ForgeError> {
        check_length(&comment.body)?;
        let call = Call::new(
            Method::POST,
            "POST /projects/{id}/merge_requests/{iid}/discussions",
            at.url(&self.api, &["discussions"]),
        )
        .json(&json!({ "body": comment.body, "position": position }));
        let done = self.write(&call).await;
        done.map(drop).map_err(|error| error.into_forge(CREATE))
    }

    /// Drafts everything and publishes it at once.
    async fn post_drafts(
        &self,
        at: Place,
        review: &NewReview,
        positions: &[Position<'_>],
    ) -> Result<ReviewId, ForgeError> {
        let (mut made, mut refused) = (Vec::new(), Refusals::default());
        for (comment, position) in review.comments.iter().zip(positions) {
            let drafted = self.draft(at, &comment.body, Some(position)).await;
            made.extend(refused.take(drafted)?);
        }
        if refused.0.is_none() {
            made.push(self.draft(at, &review.body, None).await?);
        }
        if !made.is_empty() {
            self.publish(at, &made).await?;
        }
        refused.told()?;
        self.published(at, review).await
    }

    /// Writes a draft. One whose place GitLab does not find is taken, and would fail or vanish when it is
    /// published: it is removed and told as refused.
    async fn draft(
        &self,
        at: Place,
        body: &str,
        position: Option<&Position<'_>>,
    ) -> Result<u64, ForgeError> {
        check_length(body)?;
        let mut said = json!({ "note": body });
        if let (Some(said), Some(position)) = (said.as_object_mut(), position) {
            said.insert("position".to_owned(), json!(position));
        }
        let call = Call::new(
            Method::POST,
            "POST /projects/{id}/merge_requests/{iid}/draft_notes",
            at.url(&self.api, &["draft_notes"]),
        )
        .json(&said);
        let answer = self.write(&call).await;
        let draft: Result<Value, _> = answer.and_then(|answer| answer.json());
        let draft = draft.map_err(|error| error.into_forge(CREATE))?;
        let id = draft.get("id").and_then(Value::as_u64).ok_or_else(|| {
            CallError::Answer(ApiError::Answer("number of a draft")).into_forge(CREATE)
        })?;
        // Where the field is missing nothing is known.
        let is_nowhere = draft.get("line_code").is_some_and(Value::is_null);
        if position.is_some() && is_nowhere {
            match self.delete_draft(at, id).await {
                Ok(()) | Err(ForgeError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
            return Err(unprocessable(Refusal::Anchor));
        }
        Ok(id)
    }

    async fn delete_draft(&self, at: Place, id: u64) -> Result<(), ForgeError> {
        let id = id.to_string();
        let call = Call::new(
            Method::DELETE,
            "DELETE /projects/{id}/merge_requests/{iid}/draft_notes/{draft}",
            at.url(&self.api, &["draft_notes", &id]),
        );
        let done = self.write(&call).await;
        done.map(drop).map_err(|error| error.into_forge(DELETE))
    }

    /// Publishes the drafts of this try, and no others.
    async fn publish(&self, at: Place, made: &[u64]) -> Result<(), ForgeError> {
        let (listed, _end) = existing::drafts(&self.api, at)
            .await
            .map_err(|error| error.into_forge(READ_BACK))?;
        let (stale, foreign): (Vec<&Draft>, Vec<&Draft>) = listed
            .iter()
            .filter(|draft| !made.contains(&draft.id))
            .partition(|draft| draft.is_ours());
        for draft in stale {
            self.delete_draft(at, draft.id).await?;
        }
        if foreign.is_empty() {
            let call = Call::new(
                Method::POST,
                "POST /projects/{id}/merge_requests/{iid}/draft_notes/bulk_publish",
                at.url(&self.api, &["draft_notes", "bulk_publish"]),
            );
            let done = self.write(&call).await;
            return done.map(drop).map_err(|error| error.into_forge(CREATE));
        }
        for id in made {
            let id = id.to_string();
            let call = Call::new(
                Method::PUT,
                "PUT /projects/{id}/merge_requests/{iid}/draft_notes/{draft}/publish",
                at.url(&self.api, &["draft_notes", &id, "publish"]),
            );
            let done = self.write(&call).await;
            done.map_err(|error| error.into_forge(CREATE))?;
        }
        Ok(())
    }

    /// Finds the review that was just published: publishing does not say what became of the drafts. A comment that
    /// vanished on the way is told as refused.
    async fn published(&self, at: Place, review: &NewReview) -> Result<ReviewId, ForgeError> {
        let us = self.reader.identity().await?;
        let (mut body, mut comments) = (None, review.comments.len());
        for page in 1..=READ_BACK_PAGES {
            let notes = existing::newest_notes(&self.api, at, page).await;
            let notes = notes.map_err(|error| error.into_forge(READ_BACK))?;
            let is_last = notes.is_empty();
            for note in notes
                .iter()
                .filter(|note| !note.system && us.is(note.author.as_ref()))
            {
                let ends_like = |text: &str| {
                    last_line(text) == note.body.as_deref().map(last_line).unwrap_or_default()
                };
                if note.position.is_none() {
                    body = body.or(ends_like(&review.body).then_some(note.id));
                } else if review.comments.iter().any(|one| ends_like(&one.body)) {
                    comments = comments.saturating_sub(1);
                }
            }
            if is_last || (body.is_some() && comments == 0) {
                break;
            }
        }
        match body {
            Some(_) if comments > 0 => Err(unprocessable(Refusal::Anchor)),
            Some(id) => Ok(ReviewId::new(id)),
            None => Err(CallError::Answer(ApiError::Answer("published review")).into_forge(CREATE)),
        }
    }

    /// Returns the version of the diff that a review's comments stand in.
    async fn version(&self, at: Place, review: &NewReview) -> Result<Version, ForgeError> {
        let newest = existing::newest(&self.api, at).await;
        newest
            .map_err(|error| error.into_forge(READ_BACK))?
            .filter(|version| version.head == review.commit.as_str())
            .ok_or(unprocessable(Refusal::Commit))
    }
}

/// Returns the line that ends a text: of ours the one with the marker, which no other text has.
fn last_line(text: &str) -> &str {
    text.trim_end().lines().next_back().unwrap_or_default()
}

/// Refuses what GitLab would refuse, before anything is written.
fn check_length(body: &str) -> Result<(), ForgeError> {
    if body.chars().nth(MAX_NOTE_CHARS).is_some() {
        return Err(unprocessable(Refusal::TooLong));
    }
    Ok(())
}

#[async_trait]
impl ForgeWrite for GitlabWriter {
    async fn create_review(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        review: &NewReview,
    ) -> Result<ReviewId, ForgeError> {
        if review.body.trim().is_empty() {
            return Err(unprocessable(Refusal::Other));
        }
        check_length(&review.body)?;
        let at = self.place(repo, pr).await?;
        if review.comments.is_empty() {
            let posted = self.note(at, &review.body, CREATE).await;
            return posted.map(ReviewId::new);
        }
        let version = self.version(at, review).await?;
        let has = self.reader.features().await?;
        let positions: Vec<Position<'_>> = review
            .comments
            .iter()
            .map(|comment| Position::of(comment, &version, has.line_range))
            .collect();
        if has.draft_notes && !self.drafts_died.load(Ordering::Relaxed) {
            self.post_drafts(at, review, &positions).await
        } else {
            self.post_singly(at, review, &positions).await
        }
    }

    async fn edit_review(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        review: ReviewId,
        body: &str,
    ) -> Result<(), ForgeError> {
        check_length(body)?;
        let at = self.place(repo, pr).await?;
        let id = review.to_string();
        let call = Call::new(
            Method::PUT,
            "PUT /projects/{id}/merge_requests/{iid}/notes/{note}",
            at.url(&self.api, &["notes", &id]),
        )
        .json(&json!({ "body": body }));
        let done = self.write(&call).await;
        done.map(drop).map_err(|error| error.into_forge(EDIT))
    }

    async fn delete_pending_review(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        review: ReviewId,
    ) -> Result<(), ForgeError> {
        self.drafts_died.store(true, Ordering::Relaxed);
        let at = self.place(repo, pr).await?;
        self.delete_draft(at, review.get()).await
    }

    /// GitLab does not tie comments to a note: those of ours on lines count whose marker names the job that the
    /// review's own marker names. Whether the markers are genuine is not asked.
    async fn review_comments(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        review: ReviewId,
    ) -> Result<Vec<CommentId>, ForgeError> {
        let at = self.place(repo, pr).await?;
        let id = review.to_string();
        let call = Call::get(
            "GET /projects/{id}/merge_requests/{iid}/notes/{note}",
            at.url(&self.api, &["notes", &id]),
        );
        let note: Note = self
            .api
            .read_json(&call)
            .await
            .map_err(|error| error.into_forge(READ_BACK))?;
        let Some(job) = note.body.as_deref().and_then(marker::claimed_job) else {
            return Ok(Vec::new());
        };
        let us = self.reader.identity().await?;
        let there = existing::list(&self.api, us, at, false).await?;
        let of_job = there.comments.iter().filter(|comment| {
            comment.ours
                && comment.in_reply_to.is_none()
                && marker::claimed_job(&comment.body).as_ref() == Some(&job)
        });
        Ok(of_job.map(|comment| comment.id).collect())
    }

    async fn acknowledge(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        _place: CommentPlace,
        comment: CommentId,
    ) -> Result<(), ForgeError> {
        let at = self.place(repo, pr).await?;
        let id = comment.to_string();
        let url = at.url(&self.api, &["notes", &id, "award_emoji"]);
        let call = Call::new(
            Method::POST,
            "POST /projects/{id}/merge_requests/{iid}/notes/{note}/award_emoji",
            url.clone(),
        )
        .json(&json!({ "name": "eyes" }));
        let refused = match self.write(&call).await {
            Ok(_awarded) => return Ok(()),
            Err(error) => error,
        };
        // GitLab says 404 of a note that is not there, and also of an emoji that is.
        if matches!(refused, CallError::Refused(Refused::NotFound)) && self.has_eyes(&url).await? {
            return Ok(());
        }
        Err(refused.into_forge(REACT))
    }

    async fn say(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        body: &str,
    ) -> Result<CommentId, ForgeError> {
        let at = self.place(repo, pr).await?;
        self.note(at, body, SAY).await.map(CommentId::new)
    }
}

impl GitlabWriter {
    /// Returns whether our eyes are on a note already.
    async fn has_eyes(&self, awards: &url::Url) -> Result<bool, ForgeError> {
        let us = self.reader.identity().await?;
        let mut found = false;
        let listed = self
            .api
            .pages(
                "GET /projects/{id}/merge_requests/{iid}/notes/{note}/award_emoji",
                awards,
                &mut |page: Vec<Award>| {
                    let ours = |award: &Award| award.name == "eyes" && us.is(award.user.as_ref());
                    found |= page.iter().any(ours);
                },
            )
            .await;
        match listed {
            Ok(_end) => Ok(found),
            Err(CallError::Refused(Refused::NotFound)) => Ok(false),
            Err(error) => Err(error.into_forge(REACT)),
        }
    }

    /// Returns where a merge request is.
    pub(super) async fn place(&self, repo: &RepoName, pr: PrNumber) -> Result<Place, ForgeError> {
        self.reader.place(repo, pr).await
    }
}

impl fmt::Debug for GitlabWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitlabWriter")
            .field("api", &self.api)
            .finish_non_exhaustive()
    }
}
