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
    let at = (project, commit.as_str());
    let mut kept = Kept::default();
    // A question about the commit alone costs nothing more.
    let top = if paths.is_empty() {
        Top { names: None }
    } else {
        Top::read(api, at).await?
    };
    for path in paths.iter().filter(|path| top.may_hold(path)) {
        let wanted = match path.strip_suffix('/') {
            Some(name) => files_of(api, at, name).await?,
            None => vec![(*path).to_owned()],
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
struct Top {
    /// Nothing if there is more than was listed.
    names: Option<HashSet<String>>,
}

impl Top {
    async fn read(api: &Api, (project, commit): (u64, &str)) -> Result<Self, CallError> {
        let listed = folder(api, project, commit, "").await?;
        let names = match listed {
            Some((entries, End::Reached)) => {
                Some(entries.into_iter().map(|entry| entry.path).collect())
            }
            Some((_, End::Cut)) => None,
            // Without a root there is no commit that this token may see, and "no settings" would be a guess.
            None => return Err(CallError::Refused(Refused::NotFound)),
        };
        Ok(Self { names })
    }

    /// Returns whether a path may be there, by its first folder or its name.
    fn may_hold(&self, path: &str) -> bool {
        let first = path.split('/').next().unwrap_or(path);
        self.names
            .as_ref()
            .is_none_or(|names| names.contains(first))
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
