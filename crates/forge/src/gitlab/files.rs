//! Settings and rules at one commit.
//!
//! **Invariant:** they are read at the commit that `rev` was when it was asked, also if the branch moves meanwhile.

use std::collections::HashSet;

use mirilla_domain::ids::CommitSha;
use mirilla_domain::snapshot::TrustedFiles;
use mirilla_http::HttpError;
use mirilla_ports::forge::ForgeError;

use crate::error::{CallError, Named};
use crate::gitlab::api::{Accept, Api, Call, End};
use crate::gitlab::objects::folder;
use crate::gitlab::pull::branch_tip;
use crate::refused::Refused;
use crate::trusted::{Kept, MAX_FOLDER_FILES, MAX_TEXT_BYTES, NOT_TEXT};

const FILES: Named = Named {
    action: "read settings and rules",
    what: "the trusted commit",
    writes: false,
};

/// Reads `paths` at `rev`, a commit id or a branch name.
pub(crate) async fn read(
    api: &Api,
    project: u64,
    rev: &str,
    paths: &[&str],
) -> Result<TrustedFiles, ForgeError> {
    ask(api, project, rev, paths)
        .await
        .map_err(|error| error.into_forge(FILES))
}

async fn ask(
    api: &Api,
    project: u64,
    rev: &str,
    paths: &[&str],
) -> Result<TrustedFiles, CallError> {
    let commit = match CommitSha::parse(rev) {
        Ok(commit) => commit,
        Err(_branch) => branch_tip(api, project, rev).await?,
    };
    let mut top = Top::default();
    let mut kept = Kept::default();
    for path in paths {
        let at = (project, commit.as_str());
        let wanted = match path.strip_suffix('/') {
            Some(name) if top.may_hold(api, at, name).await? => files_of(api, at, name).await?,
            None if top.may_hold(api, at, path).await? => vec![(*path).to_owned()],
            _ => Vec::new(),
        };
        for path in wanted {
            if let Some(text) = raw(api, at, &path).await? {
                kept.push(path, text);
            }
        }
    }
    Ok(TrustedFiles {
        commit,
        files: kept.into_files(),
    })
}

/// What the root of the commit holds: most of what is asked for is not there, and need not be asked for one by one.
#[derive(Debug, Default)]
struct Top(Option<HashSet<String>>);

impl Top {
    /// Returns whether a path may be there, by its first folder or its name.
    async fn may_hold(
        &mut self,
        api: &Api,
        (project, commit): (u64, &str),
        path: &str,
    ) -> Result<bool, CallError> {
        let names = match &mut self.0 {
            Some(names) => names,
            unread @ None => {
                let listed = folder(api, project, commit, "").await?;
                let Some((entries, End::Reached)) = listed else {
                    return Ok(true);
                };
                unread.insert(entries.into_iter().map(|entry| entry.path).collect())
            }
        };
        Ok(names.contains(path.split('/').next().unwrap_or(path)))
    }
}

/// Returns the files of a folder, not deeper.
async fn files_of(
    api: &Api,
    (project, commit): (u64, &str),
    name: &str,
) -> Result<Vec<String>, CallError> {
    let listed = folder(api, project, commit, name).await?;
    let entries = listed.map(|(entries, _end)| entries).unwrap_or_default();
    let files = entries.into_iter().filter(|entry| entry.kind == "blob");
    Ok(files
        .map(|entry| entry.path)
        .take(MAX_FOLDER_FILES)
        .collect())
}

/// Returns a file's text; nothing if it is not there, and a mark if it is not text or longer than all that is kept.
async fn raw(
    api: &Api,
    (project, commit): (u64, &str),
    path: &str,
) -> Result<Option<String>, CallError> {
    let number = project.to_string();
    let mut url = api.url(&["projects", &number, "repository", "files", path, "raw"]);
    url.query_pairs_mut().append_pair("ref", commit);
    let call = Call::get("GET /projects/{id}/repository/files/{path}/raw", url)
        .accept(Accept::Raw)
        .max_body_bytes(u64::try_from(MAX_TEXT_BYTES).unwrap_or(u64::MAX));
    match api.read(&call).await {
        Ok(answer) => {
            let text = String::from_utf8(answer.body.into());
            Ok(Some(text.unwrap_or_else(|_bytes| NOT_TEXT.to_owned())))
        }
        Err(CallError::Refused(Refused::NotFound)) => Ok(None),
        Err(CallError::Http(HttpError::TooLarge { .. })) => Ok(Some(NOT_TEXT.to_owned())),
        Err(error) => Err(error),
    }
}
