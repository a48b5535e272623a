//! The numbers of projects: what is asked once is shared.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use mirilla_domain::ids::RepoName;
use mirilla_ports::forge::ForgeError;
use serde::Deserialize;
use tokio::sync::OnceCell;

use crate::error::Named;
use crate::gitlab::api::{Api, Call};
use crate::gitlab::version::Features;

const PROJECT: Named = Named {
    action: "look the project up",
    what: "the project",
    writes: false,
};
const VERSION: Named = Named {
    action: "ask for GitLab's version",
    what: "the version",
    writes: false,
};

/// What all readers and writers of an instance know of it.
#[derive(Debug, Default)]
pub(crate) struct Known {
    numbers: Mutex<HashMap<String, u64>>,
    features: OnceCell<Features>,
}

#[derive(Deserialize)]
struct Project {
    id: u64,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

impl Known {
    /// Returns the number of a project.
    pub(crate) async fn number(&self, api: &Api, repo: &RepoName) -> Result<u64, ForgeError> {
        let lock = || self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(repo.as_str()).copied();
        if let Some(number) = known {
            return Ok(number);
        }
        let call = Call::get("GET /projects/{id}", api.url(&["projects", repo.as_str()]));
        let project: Project = api
            .read_json(&call)
            .await
            .map_err(|error| error.into_forge(PROJECT))?;
        lock().insert(repo.as_str().to_owned(), project.id);
        Ok(project.id)
    }

    /// Returns what this GitLab has.
    pub(crate) async fn features(&self, api: &Api) -> Result<Features, ForgeError> {
        let asked = async {
            let call = Call::get("GET /version", api.url(&["version"]));
            let said: Version = api
                .read_json(&call)
                .await
                .map_err(|error| error.into_forge(VERSION))?;
            Ok(Features::of(&said.version))
        };
        self.features.get_or_try_init(|| asked).await.copied()
    }
}
