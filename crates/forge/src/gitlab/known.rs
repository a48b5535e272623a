//! What all readers and writers of an instance learn once: its version, its projects' numbers, whose tokens theirs are.
//!
//! **Invariant:** a project is called by its number. A name is asked about once, and a merge request that is read by
//! its number says which name is whose now.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use mirilla_domain::ids::{BranchName, RepoName};
use mirilla_ports::forge::ForgeError;
use serde::Deserialize;
use tokio::sync::OnceCell;

use crate::error::{CallError, Named};
use crate::gitlab::api::{Api, Call};
use crate::gitlab::identity::Identity;
use crate::gitlab::pull::unusable;
use crate::gitlab::version::{self, Features, Version};

const PROJECT: Named = Named {
    action: "read the project",
    what: "the project",
    writes: false,
};

/// A project, as far as it is looked at.
#[derive(Debug, Clone)]
pub(crate) struct Project {
    pub(crate) id: u64,
    pub(crate) name: RepoName,
    pub(crate) default_branch: BranchName,
}

#[derive(Deserialize)]
struct Answer {
    id: u64,
    path_with_namespace: String,
    #[serde(default)]
    default_branch: Option<String>,
}

/// What is known of an instance.
#[derive(Debug, Default)]
pub(crate) struct Known {
    version: OnceCell<Version>,
    numbers: Mutex<HashMap<RepoName, u64>>,
    /// Whose token the reading half has.
    pub(crate) reader: OnceCell<Identity>,
    /// Whose token the writing half has.
    pub(crate) writer: OnceCell<Identity>,
}

impl Known {
    /// Returns which version it is.
    pub(crate) async fn version(&self, api: &Api) -> Result<Version, ForgeError> {
        self.version
            .get_or_try_init(|| version::ask(api))
            .await
            .copied()
    }

    /// Returns what it has.
    pub(crate) async fn features(&self, api: &Api) -> Result<Features, ForgeError> {
        self.version(api).await.map(Features::of)
    }

    /// Returns the number of the project that has a name.
    pub(crate) async fn number(&self, api: &Api, name: &RepoName) -> Result<u64, ForgeError> {
        if let Some(number) = self.lock().get(name) {
            return Ok(*number);
        }
        self.project(api, name.as_str())
            .await
            .map(|project| project.id)
            .map_err(|error| error.into_forge(PROJECT))
    }

    /// Reads a project by its number or name, and notes which name is whose.
    pub(crate) async fn project(&self, api: &Api, which: &str) -> Result<Project, CallError> {
        let call = Call::get("GET /projects/{id}", api.url(&["projects", which]));
        let answer: Answer = api.read_json(&call).await?;
        let name = RepoName::parse(&answer.path_with_namespace)
            .map_err(unusable("name of the project"))?;
        self.lock().insert(name.clone(), answer.id);
        let default_branch = answer.default_branch.unwrap_or_default();
        Ok(Project {
            id: answer.id,
            name,
            default_branch: BranchName::parse(&default_branch)
                .map_err(unusable("default branch"))?,
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<RepoName, u64>> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
