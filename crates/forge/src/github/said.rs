//! One comment as it is now, and whether somebody may write.

use chrono::DateTime;
use mirilla_domain::ids::{Account, AccountId, CommentId, PrNumber, RepoName, Timestamp};
use mirilla_domain::request::CommentPlace;
use mirilla_ports::forge::{ChangeAuthors, ForgeError, SaidComment};
use serde::Deserialize;
use url::Url;

use crate::error::{ApiError, CallError, Named};
use crate::github::api::{Api, Call, End};
use crate::github::identity::{Identity, User};
use crate::github::pull::unusable;
use crate::refused::Refused;

const COMMENT: Named = Named {
    action: "read a comment",
    what: "the comment",
    writes: false,
};
const PERMISSION: Named = Named {
    action: "ask what somebody may do",
    what: "the repository",
    writes: false,
};

const COMMITS: Named = Named {
    action: "list the commits",
    what: "the pull request",
    writes: false,
};
/// GitHub lists no more commits of a pull request than this.
const MAX_LISTED_COMMITS: usize = 250;

/// A commit, with the accounts that its addresses belong to.
#[derive(Debug, Deserialize)]
struct Commit {
    #[serde(default)]
    author: Option<User>,
    #[serde(default)]
    committer: Option<User>,
}

/// The answer, as far as it is looked at. Which of the two addresses is there depends on the list.
#[derive(Debug, Deserialize)]
struct Comment {
    #[serde(default)]
    user: Option<User>,
    #[serde(default)]
    body: Option<String>,
    created_at: String,
    #[serde(default)]
    issue_url: Option<String>,
    #[serde(default)]
    pull_request_url: Option<String>,
}

/// `permission` knows four levels, under which custom roles are filed too.
#[derive(Debug, Deserialize)]
struct Permission {
    permission: String,
}

/// Returns the address of a comment, or of something below it.
pub(crate) fn url(
    api: &Api,
    repo: &RepoName,
    (place, id): (CommentPlace, CommentId),
    below: &[&str],
) -> Url {
    let list = match place {
        CommentPlace::Conversation => "issues",
        CommentPlace::Line => "pulls",
    };
    let id = id.to_string();
    let mut segments = vec!["repos", repo.owner(), repo.name(), list, "comments", &id];
    segments.extend_from_slice(below);
    api.url(&segments)
}

/// Returns one comment.
pub(crate) async fn comment(
    api: &Api,
    us: &Identity,
    repo: &RepoName,
    (place, id): (CommentPlace, CommentId),
) -> Result<SaidComment, ForgeError> {
    let name = match place {
        CommentPlace::Conversation => "GET /repos/{owner}/{repo}/issues/comments/{id}",
        CommentPlace::Line => "GET /repos/{owner}/{repo}/pulls/comments/{id}",
    };
    let call = Call::get(name, url(api, repo, (place, id), &[]));
    let comment = api.read_json::<Comment>(&call).await;
    comment
        .and_then(|comment| comment.into_port(us))
        .map_err(|error| error.into_forge(COMMENT))
}

impl Comment {
    fn into_port(self, us: &Identity) -> Result<SaidComment, CallError> {
        let created =
            DateTime::parse_from_rfc3339(&self.created_at).map_err(unusable("time of writing"))?;
        // The number at its end is read; nothing is fetched from there.
        let number = self
            .issue_url
            .or(self.pull_request_url)
            .as_deref()
            .and_then(|url| url.rsplit('/').next())
            .and_then(|number| number.parse().ok())
            .ok_or(ApiError::Answer("pull request"))?;
        Ok(SaidComment {
            pr: PrNumber::new(number),
            ours: us.is(self.user.as_ref()),
            by_bot: self.user.as_ref().is_some_and(User::is_bot),
            author_id: self
                .user
                .as_ref()
                .and_then(|user| user.id)
                .map(AccountId::new),
            author: self.user.and_then(|user| Account::parse(&user.login).ok()),
            created_at: Timestamp::new(created.timestamp_millis()),
            body: self.body.unwrap_or_default(),
        })
    }
}

/// Returns whether an account may write.
pub(crate) async fn may_write(
    api: &Api,
    repo: &RepoName,
    who: &Account,
) -> Result<bool, ForgeError> {
    let segments = [
        "repos",
        repo.owner(),
        repo.name(),
        "collaborators",
        who.as_str(),
        "permission",
    ];
    let call = Call::get(
        "GET /repos/{owner}/{repo}/collaborators/{user}/permission",
        api.url(&segments),
    );
    match api.read_json::<Permission>(&call).await {
        Ok(said) => Ok(matches!(said.permission.as_str(), "admin" | "write")),
        // Nobody of that name, or nobody who was ever let in.
        Err(CallError::Refused(Refused::NotFound)) => Ok(false),
        Err(error) => Err(error.into_forge(PERMISSION)),
    }
}

/// Returns who wrote the commits of a pull request: one call per hundred of them.
pub(crate) async fn change_authors(
    api: &Api,
    repo: &RepoName,
    pr: PrNumber,
) -> Result<ChangeAuthors, ForgeError> {
    let (mut logins, mut listed) = (Vec::new(), 0_usize);
    let end = api
        .pages(
            "GET /repos/{owner}/{repo}/pulls/{number}/commits",
            &api.pull_url(repo, pr, &["commits"]),
            &mut |page: Vec<Commit>| {
                listed = listed.saturating_add(page.len());
                let people = page.into_iter().flat_map(|one| [one.author, one.committer]);
                logins.extend(people.flatten().map(|user| user.login));
            },
        )
        .await
        .map_err(|error| error.into_forge(COMMITS))?;
    logins.sort();
    logins.dedup();
    Ok(ChangeAuthors {
        logins,
        complete: end == End::Reached && listed < MAX_LISTED_COMMITS,
    })
}
