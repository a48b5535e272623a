//! A project as a token sees it, for the operator's command line; no stage needs any of this.

use mirilla_domain::ids::RepoName;
use mirilla_ports::forge::ForgeError;
use serde::Deserialize;

use crate::error::{CallError, Named};
use crate::gitlab::api::{Api, Call};
use crate::gitlab::identity::Identity;
use crate::gitlab::role::{self, Role};

const NAMED: Named = Named {
    action: "look at the project",
    what: "the project",
    writes: false,
};

/// A project as a token sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProjectFacts {
    /// What the token's account may do there; nothing if it is no member.
    pub role: Option<Role>,
    /// Whether merging waits until all threads are resolved.
    pub needs_resolved_threads: bool,
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
            role: role::of(api, project.as_str(), us.id()).await?,
            needs_resolved_threads: waits == Some(true),
        })
    };
    asked
        .await
        .map_err(|error: CallError| error.into_forge(NAMED))
}
