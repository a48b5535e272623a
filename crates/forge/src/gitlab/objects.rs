//! Which objects the files of a commit are: what GitLab's list of changed files leaves out.
//! <https://docs.gitlab.com/api/repositories/#list-repository-tree>
//!
//! **Invariant:** bounded; an object that is not known is not guessed.

use std::collections::HashMap;

use serde::Deserialize;

use crate::error::CallError;
use crate::gitlab::api::{Api, End};
use crate::refused::Refused;

/// Folders of one commit that are listed.
const MAX_FOLDERS: usize = 40;

/// An entry of a folder.
#[derive(Debug, Deserialize)]
pub(crate) struct Entry {
    id: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) path: String,
}

/// Lists a folder of a commit, the root if it is empty; nothing if it is not there.
pub(crate) async fn folder(
    api: &Api,
    project: u64,
    commit: &str,
    folder: &str,
) -> Result<Option<(Vec<Entry>, End)>, CallError> {
    let number = project.to_string();
    let mut url = api.url(&["projects", &number, "repository", "tree"]);
    url.query_pairs_mut().append_pair("ref", commit);
    if !folder.is_empty() {
        url.query_pairs_mut().append_pair("path", folder);
    }
    let mut found = Vec::new();
    let listed = api
        .pages(
            "GET /projects/{id}/repository/tree",
            &url,
            &mut |page: Vec<Entry>| found.extend(page),
        )
        .await;
    match listed {
        Ok(end) => Ok(Some((found, end))),
        Err(CallError::Refused(Refused::NotFound)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The objects of a commit's files, by path, as far as folders were listed.
#[derive(Debug)]
pub(crate) struct Objects<'a> {
    api: &'a Api,
    project: u64,
    commit: &'a str,
    folders: HashMap<String, HashMap<String, String>>,
}

impl<'a> Objects<'a> {
    pub(crate) fn of(api: &'a Api, project: u64, commit: &'a str) -> Self {
        Self {
            api,
            project,
            commit,
            folders: HashMap::new(),
        }
    }

    /// Returns the object that a file is; nothing if there is none, or too much would have to be listed.
    pub(crate) async fn find(&mut self, path: &str) -> Result<Option<String>, CallError> {
        let above = path.rsplit_once('/').map_or("", |(above, _)| above);
        if !self.folders.contains_key(above) {
            if self.folders.len() >= MAX_FOLDERS {
                return Ok(None);
            }
            let listed = folder(self.api, self.project, self.commit, above).await?;
            let entries = listed.map(|(entries, _end)| entries).unwrap_or_default();
            let files = entries.into_iter().map(|entry| (entry.path, entry.id));
            self.folders.insert(above.to_owned(), files.collect());
        }
        let found = self.folders.get(above);
        Ok(found.and_then(|files| files.get(path)).cloned())
    }
}
