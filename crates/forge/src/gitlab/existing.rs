//! What stands on a merge request: our reviews, comments on lines, and the threads that hold them.
//! <https://docs.gitlab.com/api/discussions/#merge-requests>
//!
//! GitLab has no reviews in its API. A review of ours is the note on the whole that carries the marker of one; a
//! draft of ours that was never published is a review that was begun and never submitted.
//!
//! What GitLab tells of edits is `updated_at`, and it moves that also for every note of a thread when somebody
//! resolves it (`updated_at` and `resolved_at` are then one moment). A text that somebody changed before cannot
//! be told from one that nobody changed after that. So a note counts as unedited if it was not updated since it was
//! written, or if its own author was the one who resolved it in that moment, and who so stands by what it said.
//! All else counts as edited. Of a note of ours, the marker alone is believed: maintainers may edit it.
//!
//! A note's line is the one it has now if its position is on the newest head: GitLab moves what can follow a push.
//! It does not say where a moved one was written. Who resolved is a person's name also where the project lets
//! GitLab resolve outdated threads by itself: then it is the one who pushed.

use mirilla_domain::ids::{CommentId, ReviewId};
use mirilla_domain::marker;
use mirilla_domain::review::Side;
use mirilla_domain::thread::{Existing, ExistingComment, ExistingReview, ExistingThread};
use mirilla_ports::forge::ForgeError;
use serde::Deserialize;

use crate::error::{CallError, Named};
use crate::gitlab::api::{Api, Call, End, numbered};
use crate::gitlab::identity::{Identity, User};
use crate::gitlab::place::Place;
use crate::kept::kept;

const NAMED: Named = Named {
    action: "list discussions",
    what: "the merge request",
    writes: false,
};

/// Notes that belong together, oldest first.
#[derive(Debug, Deserialize)]
struct Discussion {
    id: String,
    #[serde(default)]
    notes: Vec<Note>,
}

/// A note; whatever may be missing may be missing.
#[derive(Debug, Deserialize)]
pub(crate) struct Note {
    pub(crate) id: u64,
    #[serde(default)]
    pub(crate) author: Option<User>,
    #[serde(default)]
    pub(crate) body: Option<String>,
    #[serde(default)]
    pub(crate) system: bool,
    #[serde(default)]
    pub(crate) created_at: Option<String>,
    #[serde(default)]
    updated_at: Option<String>,
    #[serde(default)]
    pub(crate) noteable_iid: Option<u64>,
    #[serde(default)]
    pub(crate) position: Option<Position>,
    #[serde(default)]
    pub(crate) resolvable: bool,
    #[serde(default)]
    pub(crate) resolved: bool,
    #[serde(default)]
    resolved_by: Option<User>,
    #[serde(default)]
    resolved_at: Option<String>,
}

/// Where a note stands.
#[derive(Debug, Deserialize)]
pub(crate) struct Position {
    #[serde(default)]
    head_sha: Option<String>,
    #[serde(default)]
    old_path: Option<String>,
    #[serde(default)]
    new_path: Option<String>,
    #[serde(default)]
    old_line: Option<u32>,
    #[serde(default)]
    new_line: Option<u32>,
}

/// A draft; a list has those of the token's own account alone.
#[derive(Debug, Deserialize)]
pub(crate) struct Draft {
    pub(crate) id: u64,
    #[serde(default)]
    note: String,
}

impl Draft {
    /// Returns whether a run of ours wrote it, and not a person with our account.
    pub(crate) fn is_ours(&self) -> bool {
        marker::poses_as_one(&self.note)
    }
}

impl Note {
    /// Returns whether it may say something else than at first.
    fn is_edited(&self) -> bool {
        if self.updated_at == self.created_at {
            return false;
        }
        let same_moment = self.resolved_at.is_some() && self.resolved_at == self.updated_at;
        let (author, by) = (self.author.as_ref(), self.resolved_by.as_ref());
        let by_author = author.is_some_and(|author| by.is_some_and(|by| by.id == author.id));
        !(self.resolved && same_moment && by_author)
    }

    /// Reads a note on a line. `first` is the one that opened its thread, if that is another one, `head` the
    /// newest head.
    fn into_comment(
        self,
        us: &Identity,
        first: Option<u64>,
        head: Option<&str>,
    ) -> ExistingComment {
        let ours = us.is(self.author.as_ref());
        let edited = self.is_edited();
        let place = self.position;
        let (side, line) = match &place {
            Some(place) if place.new_line.is_none() && place.old_line.is_some() => {
                (Side::Left, place.old_line)
            }
            Some(place) => (Side::Right, place.new_line),
            None => (Side::Right, None),
        };
        let is_current = place.as_ref().is_some_and(|place| place.is_on(head));
        ExistingComment {
            id: CommentId::new(self.id),
            in_reply_to: first.map(CommentId::new),
            review: None,
            author: self.author.map(|author| author.username),
            ours,
            path: place
                .and_then(|place| place.new_path.or(place.old_path))
                .unwrap_or_default(),
            line: line.filter(|_| is_current),
            original_line: line,
            side,
            body: kept(self.body.unwrap_or_default(), ours),
            edited,
        }
    }
}

impl Position {
    fn is_on(&self, head: Option<&str>) -> bool {
        self.head_sha.is_some() && self.head_sha.as_deref() == head
    }
}

impl Discussion {
    fn is_on_a_line(&self) -> bool {
        let first = self.notes.first();
        first.is_some_and(|note| note.position.is_some() && !note.system)
    }

    /// Returns the thread; none of its notes is missing, because pages are cut between discussions.
    fn thread(&self, us: &Identity, at: Place, head: Option<&str>) -> ExistingThread {
        let resolvable = || self.notes.iter().filter(|note| note.resolvable);
        let resolved = resolvable().next().is_some() && resolvable().all(|note| note.resolved);
        let last = resolvable().max_by(|one, other| one.resolved_at.cmp(&other.resolved_at));
        let by = last
            .filter(|_| resolved)
            .and_then(|note| note.resolved_by.as_ref());
        let place = self.notes.first().and_then(|note| note.position.as_ref());
        ExistingThread {
            id: at.thread(&self.id),
            comments: self
                .notes
                .iter()
                .filter(|note| !note.system)
                .map(|note| CommentId::new(note.id))
                .collect(),
            complete: true,
            resolved,
            resolved_by: by.map(|by| by.username.clone()),
            resolved_by_us: us.is(by),
            outdated: !place.is_some_and(|place| place.is_on(head)),
        }
    }

    /// Adds what it holds.
    fn add_to(self, existing: &mut Existing, us: &Identity, at: Place, head: Option<&str>) {
        if !self.is_on_a_line() {
            existing.reviews.extend(self.into_review(us));
            return;
        }
        existing.threads.push(self.thread(us, at, head));
        let mut first = None;
        for note in self.notes.into_iter().filter(|note| !note.system) {
            let id = note.id;
            existing.comments.push(note.into_comment(us, first, head));
            first.get_or_insert(id);
        }
    }

    /// Returns the review of ours that a discussion of the whole begins with.
    fn into_review(self, us: &Identity) -> Option<ExistingReview> {
        let first = self.notes.into_iter().next()?;
        let body = first.body.unwrap_or_default();
        let is_one = !first.system && us.is(first.author.as_ref()) && marker::poses_as_one(&body);
        is_one.then_some(ExistingReview {
            id: ReviewId::new(first.id),
            ours: true,
            pending: false,
            body,
        })
    }
}

/// Lists everything; `truncated` if a list did not end within the bound on pages.
pub(crate) async fn list(
    api: &Api,
    us: &Identity,
    at: Place,
    has_drafts: bool,
) -> Result<Existing, ForgeError> {
    let listed = async {
        let mut existing = read(api, us, at).await?;
        if has_drafts {
            let (drafts, end) = drafts(api, at).await?;
            existing.truncated |= end == End::Cut;
            let ours = drafts.into_iter().filter(Draft::is_ours);
            existing.reviews.extend(ours.map(|draft| ExistingReview {
                id: ReviewId::new(draft.id),
                ours: true,
                pending: true,
                body: draft.note,
            }));
        }
        Ok(existing)
    };
    listed
        .await
        .map_err(|error: CallError| error.into_forge(NAMED))
}

/// Lists the threads alone. One that the bound on pages cut off is not in it.
pub(crate) async fn threads(
    api: &Api,
    us: &Identity,
    at: Place,
) -> Result<Vec<ExistingThread>, ForgeError> {
    let existing = read(api, us, at).await;
    existing
        .map(|existing| existing.threads)
        .map_err(|error| error.into_forge(NAMED))
}

async fn read(api: &Api, us: &Identity, at: Place) -> Result<Existing, CallError> {
    // Before the notes: what is pushed in between leaves them outdated, which is what they are then.
    let head = newest(api, at).await?.map(|version| version.head);
    let mut existing = Existing::default();
    let end = api
        .pages(
            "GET /projects/{id}/merge_requests/{iid}/discussions",
            &at.url(api, &["discussions"]),
            &mut |page: Vec<Discussion>| {
                for discussion in page {
                    discussion.add_to(&mut existing, us, at, head.as_deref());
                }
            },
        )
        .await?;
    existing.truncated = end == End::Cut;
    Ok(existing)
}

/// Lists the drafts of the token's own account.
pub(crate) async fn drafts(api: &Api, at: Place) -> Result<(Vec<Draft>, End), CallError> {
    let mut drafts = Vec::new();
    let end = api
        .pages(
            "GET /projects/{id}/merge_requests/{iid}/draft_notes",
            &at.url(api, &["draft_notes"]),
            &mut |page: Vec<Draft>| drafts.extend(page),
        )
        .await?;
    Ok((drafts, end))
}

/// A version of the diff: what positions refer to.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Version {
    #[serde(rename = "base_commit_sha")]
    pub(crate) base: String,
    #[serde(rename = "start_commit_sha")]
    pub(crate) start: String,
    #[serde(rename = "head_commit_sha")]
    pub(crate) head: String,
}

/// Returns the newest version of the diff; none as long as GitLab prepares the first.
pub(crate) async fn newest(api: &Api, at: Place) -> Result<Option<Version>, CallError> {
    let call = Call::get(
        "GET /projects/{id}/merge_requests/{iid}/versions",
        numbered(&at.url(api, &["versions"]), 1, 1),
    );
    let versions: Vec<Version> = api.read_json(&call).await?;
    Ok(versions.into_iter().next())
}

/// Returns the newest notes of the whole merge request, replies included.
pub(crate) async fn newest_notes(
    api: &Api,
    at: Place,
    page: usize,
) -> Result<Vec<Note>, CallError> {
    let mut url = numbered(&at.url(api, &["notes"]), NEWEST_NOTES, page);
    url.query_pairs_mut()
        .append_pair("sort", "desc")
        .append_pair("order_by", "created_at");
    let call = Call::get("GET /projects/{id}/merge_requests/{iid}/notes", url);
    api.read_json(&call).await
}

/// Notes of one page of the newest.
const NEWEST_NOTES: usize = 100;
