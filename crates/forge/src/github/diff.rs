//! The diff of a pull request: as git printed it, or rebuilt from the list of files.
//!
//! The diff always comes from the pull request's own endpoint in the base repository, which compares
//! with the merge base and works for a deleted fork too.
//!
//! **Invariant:** a file whose changes are not in the diff is named among the missing; nothing is left
//! out in silence. No pull request makes this hold more than the diff's bound and one page.

use std::collections::HashSet;

use mirilla_domain::code::SkipReason;
use mirilla_domain::ids::CommitSha;
use mirilla_domain::snapshot::{MissingFile, PullRequest};
use mirilla_http::HttpError;
use mirilla_ports::forge::{FetchedDiff, ForgeError};
use serde::Deserialize;
use url::Url;

use crate::error::{CallError, Named};
use crate::github::api::{Accept, Api, Call, numbered};
use crate::github::pull::unusable;
use crate::github::rebuild::ListedFile;
use crate::refused::Refused;

/// Bound for the diff. GitHub gives none in one piece over 1 MB of raw changes; an Enterprise Server's
/// bounds can be set higher, and three thousand files add up.
const MAX_DIFF_BYTES: usize = 20 * 1024 * 1024;
/// Bound for the answer about one file, or about the merge base.
const MAX_ANSWER_BYTES: u64 = 12 * 1024 * 1024;
/// Files without a patch that are asked for once more, each by itself.
const MAX_REFETCHED: usize = 10;

const FILES_ROUTE: &str = "GET /repos/{owner}/{repo}/pulls/{number}/files";

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
    let (rebuilt, merge_base) = tokio::try_join!(text(api, pull), merge_base)?;
    Ok(FetchedDiff {
        bytes: rebuilt.bytes,
        missing: rebuilt.missing,
        merge_base,
    })
}

async fn text(api: &Api, pull: &PullRequest) -> Result<Rebuilt, ForgeError> {
    let url = api.pull_url(&pull.repo_name, pull.id.pr, &[]);
    let call = Call::get("GET /repos/{owner}/{repo}/pulls/{number} (diff)", url)
        .accept(Accept::Diff)
        .max_body_bytes(u64::try_from(MAX_DIFF_BYTES).unwrap_or(u64::MAX));
    match api.read(&call).await {
        Ok(answer) => Ok(Rebuilt {
            bytes: answer.body.into(),
            ..Rebuilt::default()
        }),
        Err(
            CallError::Refused(Refused::TooLarge) | CallError::Http(HttpError::TooLarge { .. }),
        ) => listed(api, pull)
            .await
            .map_err(|error| error.into_forge(FILES)),
        Err(error) => Err(error.into_forge(DIFF)),
    }
}

/// A diff while it is put together.
#[derive(Debug, Default)]
struct Rebuilt {
    bytes: Vec<u8>,
    missing: Vec<MissingFile>,
    /// Names that were in the list.
    seen: HashSet<String>,
    /// Entries whose patch did not come with the list, each with its place in the list, from 1.
    lacking: Vec<(usize, ListedFile)>,
    /// How many entries the list had so far.
    entries: usize,
}

/// Rebuilds the diff from the list of files.
async fn listed(api: &Api, pull: &PullRequest) -> Result<Rebuilt, CallError> {
    let list = api.pull_url(&pull.repo_name, pull.id.pr, &["files"]);
    let mut rebuilt = Rebuilt::default();
    api.pages(FILES_ROUTE, &list, &mut |page: Vec<ListedFile>| {
        for file in page {
            rebuilt.take(file);
        }
    })
    .await?;
    for (number, (place, file)) in std::mem::take(&mut rebuilt.lacking).into_iter().enumerate() {
        let file = if number < MAX_REFETCHED {
            alone(api, &list, place, file).await?
        } else {
            file
        };
        rebuilt.put(&file);
    }
    let seen = u64::try_from(rebuilt.seen.len()).unwrap_or(u64::MAX);
    let unlisted = pull.changed_files.saturating_sub(seen);
    if unlisted > 0 {
        rebuilt.miss(
            format!("({unlisted} more files that GitHub does not list)"),
            SkipReason::PatchUnavailable,
        );
    }
    Ok(rebuilt)
}

impl Rebuilt {
    /// Takes the next entry of the list.
    fn take(&mut self, file: ListedFile) {
        self.entries = self.entries.saturating_add(1);
        // A list whose pages shift while it is read names a file twice.
        if file.status == "unchanged" || !self.seen.insert(file.filename.clone()) {
            return;
        }
        if file.lacks_patch() {
            let bare = ListedFile {
                patch: None,
                ..file
            };
            self.lacking.push((self.entries, bare));
        } else {
            self.put(&file);
        }
    }

    /// Appends a file's section, or says why it is not there.
    fn put(&mut self, file: &ListedFile) {
        if file.lacks_patch() {
            self.miss(file.filename.clone(), SkipReason::PatchUnavailable);
            return;
        }
        let before = self.bytes.len();
        file.push_section(&mut self.bytes);
        if self.bytes.len() > MAX_DIFF_BYTES {
            self.bytes.truncate(before);
            self.miss(file.filename.clone(), SkipReason::TooLarge);
        }
    }

    fn miss(&mut self, path: String, reason: SkipReason) {
        self.missing.push(MissingFile { path, reason });
    }
}

/// Asks for one entry of the list by itself: a patch can be absent only because its page was too
/// large. Returns the entry as it was if that does not help.
async fn alone(
    api: &Api,
    list: &Url,
    place: usize,
    file: ListedFile,
) -> Result<ListedFile, CallError> {
    let call = Call::get(FILES_ROUTE, numbered(list, 1, place)).max_body_bytes(MAX_ANSWER_BYTES);
    match api.read_json::<Vec<ListedFile>>(&call).await {
        Ok(page) => {
            let again = page
                .into_iter()
                .find(|entry| entry.filename == file.filename);
            Ok(again.filter(|entry| !entry.lacks_patch()).unwrap_or(file))
        }
        Err(limited @ CallError::Refused(Refused::Limited(_))) => Err(limited),
        Err(_no_better) => Ok(file),
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
    let url = numbered(&api.url(&["repos", owner, name, "compare", &range]), 1, 2);
    let call = Call::get("GET /repos/{owner}/{repo}/compare/{base}...{head}", url)
        .max_body_bytes(MAX_ANSWER_BYTES);
    let compared = api.read_json::<Comparison>(&call).await;
    compared
        .and_then(|c| CommitSha::parse(&c.merge_base_commit.sha).map_err(unusable("merge base")))
        .map_err(|error| error.into_forge(MERGE_BASE))
}
