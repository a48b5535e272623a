//! A project as a token sees it, for the operator's command line; no stage needs any of this.

use std::fmt;

use mirilla_domain::ids::RepoName;
use mirilla_ports::forge::ForgeError;
use serde::Deserialize;

use crate::error::{CallError, Named};
use crate::gitlab::api::{Api, Call};
use crate::gitlab::identity::Identity;
use crate::refused::Refused;

const NAMED: Named = Named {
    action: "look at the project",
    what: "the project",
    writes: false,
};

/// What a member may do in a project, as GitLab counts it.
/// <https://docs.gitlab.com/api/access_requests/#valid-access-levels>
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(transparent)]
pub struct Role(u32);

/// A project as a token sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProjectFacts {
    /// What the token's account may do there; nothing if it is no member.
    pub role: Option<Role>,
    /// Whether merging waits until all threads are resolved.
    pub needs_resolved_threads: bool,
}

impl Role {
    /// May read code and comment.
    pub const REPORTER: Self = Self(20);
    /// May resolve threads and set statuses too.
    pub const DEVELOPER: Self = Self(30);
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            50.. => "Owner",
            40.. => "Maintainer",
            30.. => "Developer",
            20.. => "Reporter",
            15.. => "Planner",
            10.. => "Guest",
            _ => "less than Guest",
        })
    }
}

/// Asks about a project, and for our account's role there, by a group or its own.
pub(crate) async fn ask(
    api: &Api,
    us: &Identity,
    project: &RepoName,
) -> Result<ProjectFacts, ForgeError> {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(default)]
        only_allow_merge_if_all_discussions_are_resolved: Option<bool>,
    }
    let asked = async {
        let url = api.url(&["projects", project.as_str()]);
        let answer: Answer = api.read_json(&Call::get("GET /projects/{id}", url)).await?;
        let waits = answer.only_allow_merge_if_all_discussions_are_resolved;
        Ok(ProjectFacts {
            role: role(api, us, project).await?,
            needs_resolved_threads: waits == Some(true),
        })
    };
    asked
        .await
        .map_err(|error: CallError| error.into_forge(NAMED))
}

async fn role(api: &Api, us: &Identity, project: &RepoName) -> Result<Option<Role>, CallError> {
    #[derive(Deserialize)]
    struct Member {
        access_level: Role,
    }
    let id = us.id().to_string();
    let url = api.url(&["projects", project.as_str(), "members", "all", &id]);
    let call = Call::get("GET /projects/{id}/members/all/{user}", url);
    match api.read_json::<Member>(&call).await {
        Ok(member) => Ok(Some(member.access_level)),
        Err(CallError::Refused(Refused::NotFound)) => Ok(None),
        Err(error) => Err(error),
    }
}
