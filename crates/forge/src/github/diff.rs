//! The diff of a pull request: as git printed it, or rebuilt from the list of files.
//!
//! The diff always comes from the pull request's own endpoint in the base repository, which compares
//! with the merge base and works for a deleted fork too.
//!
//! **Invariant:** a file whose changes are not in the diff is named among the missing; nothing is left
//! out in silence.

use std::collections::HashSet;

use mirilla_domain::code::SkipReason;
use mirilla_domain::ids::CommitSha;
use mirilla_domain::snapshot::{MissingFile, PullRequest};
use mirilla_http::HttpError;
use mirilla_ports::forge::{FetchedDiff, ForgeError};
use serde::Deserialize;
use url::Url;

use crate::github::api::{Accept, Api, Call};
use crate::github::error::{CallError, Named};
use crate::github::pull::unusable;
use crate::github::rebuild::ListedFile;
use crate::github::refuse::Refused;

/// Bound for the diff in one piece. GitHub gives none over 1 MB of raw changes; an Enterprise Server's
/// bounds can be set higher.
const MAX_DIFF_BYTES: u64 = 32 * 1024 * 1024;
/// Bound for one page of the list of files, patches included.
const MAX_PAGE_BYTES: u64 = 64 * 1024 * 1024;
/// Files without a patch that are asked for once more, each by itself.
const MAX_REFETCHED: usize = 10;

const DIFF: Named = Named {
    action: "read the diff",
    what: "the pull request",
    writes: false,
};
const FILES: Named = Named {
    action: "list the changed files",
    what: "the pull request",
    writes: false,
};
const MERGE_BASE: Named = Named {
    action: "compare base and head",
    what: "the merge base",
    writes: false,
};

/// Returns the diff; asks for the merge base only if it is not `known`.
pub(crate) async fn read(
    api: &Api,
    pull: &PullRequest,
    known: Option<&CommitSha>,
) -> Result<FetchedDiff, ForgeError> {
    let merge_base = async {
        match known {
            Some(known) => Ok(known.clone()),
            None => merge_base(api, pull).await,
        }
    };
    let (text, merge_base) = tokio::try_join!(text(api, pull), merge_base)?;
    let (bytes, missing) = text;
    Ok(FetchedDiff {
        bytes,
        missing,
        merge_base,
    })
}

async fn text(api: &Api, pull: &PullRequest) -> Result<(Vec<u8>, Vec<MissingFile>), ForgeError> {
    let url = api.pull_url(&pull.repo_name, pull.id.pr, &[]);
    let call = Call::get("GET /repos/{owner}/{repo}/pulls/{number} (diff)", url)
        .accept(Accept::Diff)
        .max_body_bytes(MAX_DIFF_BYTES);
    match api.read(&call).await {
        Ok(answer) => Ok((answer.body.into(), Vec::new())),
        Err(
            CallError::Refused(Refused::TooLarge) | CallError::Http(HttpError::TooLarge { .. }),
        ) => listed(api, pull).await,
        Err(error) => Err(error.into_forge(DIFF)),
    }
}

/// Rebuilds the diff from the list of files.
async fn listed(api: &Api, pull: &PullRequest) -> Result<(Vec<u8>, Vec<MissingFile>), ForgeError> {
    let url = api.pull_url(&pull.repo_name, pull.id.pr, &["files"]);
    let pages = api
        .pages::<ListedFile>(FILES_ROUTE, url.clone(), MAX_PAGE_BYTES)
        .await
        .map_err(|error| error.into_forge(FILES))?;
    let mut bytes = Vec::new();
    let mut missing = Vec::new();
    let mut refetched = 0_usize;
    let mut seen = HashSet::new();
    for (index, file) in pages.items.into_iter().enumerate() {
        // A list whose pages shift while it is read names a file twice.
        if file.status == "unchanged" || !seen.insert(file.filename.clone()) {
            continue;
        }
        let file = if file.lacks_patch() && refetched < MAX_REFETCHED {
            refetched = refetched.saturating_add(1);
            alone(api, url.clone(), index, file).await?
        } else {
            file
        };
        if file.lacks_patch() {
            missing.push(MissingFile {
                path: file.filename,
                reason: SkipReason::PatchUnavailable,
            });
        } else {
            file.push_section(&mut bytes);
        }
    }
    let listed = u64::try_from(seen.len()).unwrap_or(u64::MAX);
    let unlisted = pull.changed_files.saturating_sub(listed);
    if unlisted > 0 {
        missing.push(MissingFile {
            path: format!("({unlisted} more files that GitHub does not list)"),
            reason: SkipReason::PatchUnavailable,
        });
    }
    Ok((bytes, missing))
}

const FILES_ROUTE: &str = "GET /repos/{owner}/{repo}/pulls/{number}/files";

/// Asks for one entry of the list by itself: a patch can be absent only because its page was too
/// large. Returns the entry as it was if that does not help.
async fn alone(
    api: &Api,
    mut url: Url,
    index: usize,
    file: ListedFile,
) -> Result<ListedFile, ForgeError> {
    url.query_pairs_mut()
        .append_pair("per_page", "1")
        .append_pair("page", &index.saturating_add(1).to_string());
    let call = Call::get(FILES_ROUTE, url).max_body_bytes(MAX_PAGE_BYTES);
    match api.read_json::<Vec<ListedFile>>(&call).await {
        Ok(page) => {
            let again = page
                .into_iter()
                .find(|entry| entry.filename == file.filename);
            Ok(again.filter(|entry| !entry.lacks_patch()).unwrap_or(file))
        }
        Err(error) => match error.into_forge(FILES) {
            limited @ ForgeError::RateLimited { .. } => Err(limited),
            _ => Ok(file),
        },
    }
}

/// The comparison, as far as it is looked at.
#[derive(Debug, Deserialize)]
struct Comparison {
    merge_base_commit: MergeBase,
}

#[derive(Debug, Deserialize)]
struct MergeBase {
    sha: String,
}

/// Asks for the merge base. Changed files come with the first page of a comparison only, so its second
/// page is asked for.
async fn merge_base(api: &Api, pull: &PullRequest) -> Result<CommitSha, ForgeError> {
    let range = format!("{}...{}", pull.base, pull.head);
    let (owner, name) = (pull.repo_name.owner(), pull.repo_name.name());
    let mut url = api.url(&["repos", owner, name, "compare", &range]);
    url.query_pairs_mut()
        .append_pair("per_page", "1")
        .append_pair("page", "2");
    let call = Call::get("GET /repos/{owner}/{repo}/compare/{base}...{head}", url)
        .max_body_bytes(MAX_PAGE_BYTES);
    let compared = api.read_json::<Comparison>(&call).await;
    compared
        .and_then(|c| CommitSha::parse(&c.merge_base_commit.sha).map_err(unusable("merge base")))
        .map_err(|error| error.into_forge(MERGE_BASE))
}
