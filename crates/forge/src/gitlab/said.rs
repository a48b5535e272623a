//! One comment as it is now, who wrote a change, and whether somebody may write.
//!
//! GitLab does not say whose addresses those of commits are, nor who pushed what was there when a merge request was
//! opened. Who wrote a change is put together from what it does tell: who opened the merge request, who is named
//! in its own notes "added 2 commits", and whom the commits name, as far as that leads to somebody: by one of
//! GitLab's private addresses, by a public one, or by the name or user name of a member. More than is right may
//! be named, and somebody who commits under a name and an address of which GitLab shows nothing is not, unless
//! they opened it or pushed to it later.

use chrono::DateTime;
use mirilla_domain::ids::{Account, AccountId, CommentId, PrNumber, Timestamp};
use mirilla_ports::forge::{ChangeAuthors, ForgeError, SaidComment};
use serde::Deserialize;

use crate::error::{ApiError, CallError, Named};
use crate::gitlab::api::{Api, Call, End};
use crate::gitlab::existing::Note;
use crate::gitlab::identity::{Identity, User};
use crate::gitlab::place::Place;
use crate::gitlab::role::{self, Role};
use crate::refused::Refused;

const COMMENT: Named = Named {
    action: "read a comment",
    what: "the comment",
    writes: false,
};
const PERMISSION: Named = Named {
    action: "ask what somebody may do",
    what: "the project",
    writes: false,
};
const AUTHORS: Named = Named {
    action: "find out who wrote the change",
    what: "the merge request",
    writes: false,
};

/// A commit, as it names people.
#[derive(Debug, Deserialize)]
struct Commit {
    #[serde(default)]
    author_name: String,
    #[serde(default)]
    author_email: String,
    #[serde(default)]
    committer_name: String,
    #[serde(default)]
    committer_email: String,
}

/// A member of a project, or somebody else as GitLab shows them.
#[derive(Debug, Deserialize)]
struct Person {
    id: u64,
    username: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    email: Option<String>,
    #[serde(default)]
    public_email: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Opened {
    #[serde(default)]
    author: Option<Person>,
}

/// Returns one note.
pub(crate) async fn comment(
    api: &Api,
    us: &Identity,
    at: Place,
    id: CommentId,
) -> Result<SaidComment, ForgeError> {
    let number = id.to_string();
    let call = Call::get(
        "GET /projects/{id}/merge_requests/{iid}/notes/{note}",
        at.url(api, &["notes", &number]),
    );
    let note = api.read_json::<Note>(&call).await;
    note.and_then(|note| said(note, us, at))
        .map_err(|error| error.into_forge(COMMENT))
}

fn said(note: Note, us: &Identity, at: Place) -> Result<SaidComment, CallError> {
    // What GitLab itself notes down may hold anybody's words, and nobody said them.
    if note.system {
        return Err(CallError::Refused(Refused::NotFound));
    }
    let created = note
        .created_at
        .as_deref()
        .and_then(|text| DateTime::parse_from_rfc3339(text).ok())
        .ok_or(ApiError::Answer("time of writing"))?;
    Ok(SaidComment {
        pr: PrNumber::new(note.noteable_iid.unwrap_or(at.iid)),
        ours: us.is(note.author.as_ref()),
        by_bot: note.author.as_ref().is_some_and(User::is_bot),
        author_id: note.author.as_ref().map(|author| AccountId::new(author.id)),
        author: note
            .author
            .and_then(|author| Account::parse(&author.username).ok()),
        created_at: Timestamp::new(created.timestamp_millis()),
        body: note.body.unwrap_or_default(),
    })
}

/// Returns whether an account may push to the project now.
pub(crate) async fn may_write(api: &Api, project: u64, who: &Account) -> Result<bool, ForgeError> {
    let asked = async {
        let number = project.to_string();
        let members = ["projects", &number, "members", "all"];
        let mut url = api.url(&members);
        url.query_pairs_mut().append_pair("query", who.as_str());
        let mut id = None;
        api.pages("GET /projects/{id}/members/all", &url, &mut |page: Vec<
            Person,
        >| {
            let mut page = page.into_iter();
            let found = page.find(|one| one.username.eq_ignore_ascii_case(who.as_str()));
            id = id.or(found.map(|one| one.id));
        })
        .await?;
        let Some(id) = id else {
            return Ok(false);
        };
        // The list has somebody once for every group that lets them in.
        let role = role::of(api, &number, id).await?;
        Ok(role.is_some_and(|role| role >= Role::DEVELOPER))
    };
    asked
        .await
        .map_err(|error: CallError| error.into_forge(PERMISSION))
}

/// Returns who wrote the change, as far as GitLab tells.
pub(crate) async fn change_authors(api: &Api, at: Place) -> Result<ChangeAuthors, ForgeError> {
    let found = async {
        let mut people: Vec<Person> = Vec::new();
        let call = Call::get("GET /projects/{id}/merge_requests/{iid}", at.url(api, &[]));
        let opened: Opened = api.read_json(&call).await?;
        let mut logins: Vec<String> = opened
            .author
            .iter()
            .map(|one| one.username.clone())
            .collect();
        people.extend(opened.author);
        let notes = api
            .pages(
                "GET /projects/{id}/merge_requests/{iid}/notes",
                &at.url(api, &["notes"]),
                &mut |page: Vec<Note>| {
                    let pushes = page.into_iter().filter(tells_of_a_push);
                    logins.extend(pushes.filter_map(|note| Some(note.author?.username)));
                },
            )
            .await?;
        let mut commits: Vec<Commit> = Vec::new();
        let listed = api
            .pages(
                "GET /projects/{id}/merge_requests/{iid}/commits",
                &at.url(api, &["commits"]),
                &mut |page: Vec<Commit>| commits.extend(page),
            )
            .await?;
        let project = at.project.to_string();
        let members = api
            .pages(
                "GET /projects/{id}/members/all",
                &api.url(&["projects", &project, "members", "all"]),
                &mut |page: Vec<Person>| people.extend(page),
            )
            .await?;
        for commit in &commits {
            for (name, email) in [
                (&commit.author_name, &commit.author_email),
                (&commit.committer_name, &commit.committer_email),
            ] {
                logins.extend(private_login(email).map(str::to_owned));
                let named = people.iter().filter(|one| one.is_named(name, email));
                logins.extend(named.map(|one| one.username.clone()));
            }
        }
        logins.sort();
        logins.dedup();
        Ok(ChangeAuthors {
            logins,
            complete: [notes, listed, members] == [End::Reached; 3],
        })
    };
    found
        .await
        .map_err(|error: CallError| error.into_forge(AUTHORS))
}

/// Returns whether GitLab notes down that somebody pushed: `added 2 commits`.
fn tells_of_a_push(note: &Note) -> bool {
    let mut words = note.body.as_deref().unwrap_or_default().split_whitespace();
    note.system
        && words.next() == Some("added")
        && words
            .next()
            .is_some_and(|count| count.bytes().all(|b| b.is_ascii_digit()))
        && words.next().is_some_and(|what| what.starts_with("commit"))
}

/// Returns the user name in one of GitLab's private addresses: `42-bob@users.noreply.gitlab.example`.
fn private_login(email: &str) -> Option<&str> {
    let (local, host) = email.split_once('@')?;
    host.contains("noreply").then_some(())?;
    match local.split_once('-') {
        Some((number, login)) if number.bytes().all(|b| b.is_ascii_digit()) => Some(login),
        _ => Some(local),
    }
}

impl Person {
    /// Returns whether a commit that names this person may mean them.
    fn is_named(&self, name: &str, email: &str) -> bool {
        let same = |one: &str, other: &str| !one.is_empty() && one.eq_ignore_ascii_case(other);
        let local = email.split('@').next().unwrap_or_default();
        [&self.name, &self.username]
            .into_iter()
            .any(|own| same(own, name))
            || same(&self.username, local)
            || [&self.email, &self.public_email]
                .into_iter()
                .flatten()
                .any(|own| same(own, email))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_name_their_user() {
        for (email, want) in [
            ("42-bob@users.noreply.gitlab.example", Some("bob")),
            ("42-mary-ann@users.noreply.gitlab.example", Some("mary-ann")),
            ("mary-ann@users.noreply.gitlab.test", Some("mary-ann")),
            ("bob@example.com", None),
            ("noreply", None),
        ] {
            assert_eq!(private_login(email), want, "{email}");
        }
    }

    #[test]
    fn only_gitlabs_own_word_tells_of_a_push() {
        let note = |system: bool, body: &str| -> Note {
            serde_json::from_value(serde_json::json!({"id": 1, "system": system, "body": body}))
                .unwrap()
        };
        for (system, body, want) in [
            (true, "added 1 commit\n\n* 1234abcd", true),
            (true, "added 12 commits\n\n<ul>", true),
            (false, "added 1 commit", false),
            (true, "added ~bug label", false),
            (true, "added 2 labels", false),
            (true, "changed title from **added 1 commit**", false),
        ] {
            assert_eq!(tells_of_a_push(&note(system, body)), want, "{body}");
        }
    }
}
