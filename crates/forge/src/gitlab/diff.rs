//! The diff of a merge request: as git printed it where the version gives that, else put together from the files of
//! its newest version. <https://docs.gitlab.com/api/merge_requests/#get-single-merge-request-diff-version>
//!
//! GitLab keeps a diff for each version of a merge request, against the merge base of that moment. The newest must
//! have the head that was asked for: right after a push it may not be there yet.
//!
//! A file's patch can be left out because it is long. Older versions do not say so: an empty patch stands for that and
//! for a pure rename alike. Which it is, the objects on both sides tell.
//!
//! **Invariant:** a file whose changes are not in the diff is named among the missing; nothing is left out in silence.

use std::collections::HashMap;

use mirilla_diff::parse;
use mirilla_domain::code::SkipReason;
use mirilla_domain::ids::CommitSha;
use mirilla_domain::snapshot::{MissingFile, PullRequest};
use mirilla_http::HttpError;
use mirilla_ports::forge::{FetchedDiff, ForgeError};
use serde::Deserialize;

use crate::error::{ApiError, CallError, Named};
use crate::github::EMPTY_FILE;
use crate::gitlab::api::{Accept, Api, Call, numbered};
use crate::gitlab::objects::Objects;
use crate::gitlab::place::Place;
use crate::gitlab::pull::unusable;
use crate::gitlab::version::Features;
use crate::section::{Change, Content, FILE_MODE, Section};

/// Bound for a diff, and for the answer that holds its files.
const MAX_DIFF_BYTES: usize = 20 * 1024 * 1024;
/// What GitLab writes in place of the mode of a file that is not there.
const NO_MODE: &str = "0";

const DIFF: Named = Named {
    action: "read the diff",
    what: "the merge request",
    writes: false,
};

/// A version of the diff.
#[derive(Debug, Deserialize)]
struct Version {
    id: u64,
    head_commit_sha: String,
    base_commit_sha: String,
    /// Whether all files were kept: `overflow` says that they were not.
    #[serde(default)]
    state: Option<String>,
    /// How many files there are: `"7"`, `"1000+"`.
    #[serde(default)]
    real_size: Option<String>,
}

/// The files of a version, or of the merge request as it is now.
#[derive(Debug, Deserialize)]
struct Listed {
    #[serde(alias = "changes", default)]
    diffs: Vec<Listing>,
}

/// One changed file as it is listed.
#[derive(Debug, Deserialize)]
struct Listing {
    old_path: String,
    new_path: String,
    #[serde(default)]
    a_mode: Option<String>,
    #[serde(default)]
    b_mode: Option<String>,
    #[serde(default)]
    diff: Option<String>,
    #[serde(default)]
    new_file: bool,
    #[serde(default)]
    renamed_file: bool,
    #[serde(default)]
    deleted_file: bool,
    #[serde(default)]
    collapsed: bool,
    #[serde(default)]
    too_large: bool,
}

/// Returns the diff of a merge request at exactly its head.
pub(crate) async fn read(
    api: &Api,
    features: Features,
    pull: &PullRequest,
) -> Result<FetchedDiff, ForgeError> {
    ask(api, features, pull)
        .await
        .map_err(|error| error.into_forge(DIFF))
}

async fn ask(api: &Api, features: Features, pull: &PullRequest) -> Result<FetchedDiff, CallError> {
    let at = Place::new(pull.id.repo.get(), pull.id.pr);
    let version = newest(api, at, &pull.head).await?;
    let merge_base = CommitSha::parse(&version.base_commit_sha).map_err(unusable("merge base"))?;
    let mut diff = Diff::default();
    if features.raw_diffs && raw(api, at, &mut diff).await? {
        is_still(api, at, pull, &version).await?;
    } else {
        diff = listed(api, features, at, pull, &version).await?;
    }
    let told = version.real_size.as_deref().unwrap_or_default();
    let files: usize = told.trim_end_matches('+').parse().unwrap_or(0);
    let is_cut = version.state.as_deref() == Some("overflow") || told.ends_with('+');
    if is_cut || diff.files < files {
        diff.miss(
            "(more files that GitLab does not keep)".to_owned(),
            SkipReason::PatchUnavailable,
        );
    }
    Ok(FetchedDiff {
        bytes: diff.bytes,
        missing: diff.missing,
        merge_base,
    })
}

/// Returns the newest version of the diff, which must be that of `head`.
async fn newest(api: &Api, at: Place, head: &CommitSha) -> Result<Version, CallError> {
    let call = Call::get(
        "GET /projects/{id}/merge_requests/{iid}/versions",
        numbered(&at.url(api, &["versions"]), 1, 1),
    );
    let versions: Vec<Version> = api.read_json(&call).await?;
    let version = versions.into_iter().next();
    Ok(version
        .filter(|version| version.head_commit_sha == head.as_str())
        .ok_or(ApiError::Answer("diff of the head yet"))?)
}

/// Makes sure that what was read since, which is of the moment, is of this version.
async fn is_still(
    api: &Api,
    at: Place,
    pull: &PullRequest,
    version: &Version,
) -> Result<(), CallError> {
    if newest(api, at, &pull.head).await?.id == version.id {
        Ok(())
    } else {
        Err(ApiError::Answer("diff of the head (it has just moved)").into())
    }
}

/// A diff while it is put together.
#[derive(Debug, Default)]
struct Diff {
    bytes: Vec<u8>,
    missing: Vec<MissingFile>,
    /// How many files were told of.
    files: usize,
}

impl Diff {
    fn miss(&mut self, path: String, reason: SkipReason) {
        self.missing.push(MissingFile { path, reason });
    }

    /// Appends a section, or says that there is no room for it.
    fn put(&mut self, section: &Section<'_>) {
        let before = self.bytes.len();
        section.push(&mut self.bytes);
        if self.bytes.len() > MAX_DIFF_BYTES {
            self.bytes.truncate(before);
            self.miss(section.new_path.to_owned(), SkipReason::TooLarge);
        }
    }
}

/// Reads the diff as git printed it; returns false if it is too long to be read whole. Of files that are too large
/// GitLab prints the header alone.
async fn raw(api: &Api, at: Place, diff: &mut Diff) -> Result<bool, CallError> {
    let call = Call::get(
        "GET /projects/{id}/merge_requests/{iid}/raw_diffs",
        at.url(api, &["raw_diffs"]),
    )
    .accept(Accept::Diff)
    .max_body_bytes(u64::try_from(MAX_DIFF_BYTES).unwrap_or(u64::MAX));
    let answer = match api.read(&call).await {
        Ok(answer) => answer,
        Err(CallError::Http(HttpError::TooLarge { .. })) => return Ok(false),
        Err(error) => return Err(error),
    };
    let parsed = parse(&answer.body);
    diff.files = parsed.files.len();
    for file in &parsed.files {
        let is_text = !file.binary && !file.submodule;
        let has_lines = !file.added.is_empty() || !file.deleted.is_empty();
        let is_empty = |object: Option<&str>| {
            object.is_some_and(|id| EMPTY_FILE.iter().any(|empty| empty.starts_with(id)))
        };
        let changed = file.old_oid != file.new_oid
            && !is_empty(file.new_oid.filter(|_| file.old_path.is_none()))
            && !is_empty(file.old_oid.filter(|_| file.new_path.is_none()));
        if is_text && !has_lines && changed {
            let path = String::from_utf8_lossy(file.path()).into_owned();
            diff.miss(path, SkipReason::PatchUnavailable);
        }
    }
    diff.bytes = answer.body.into();
    Ok(true)
}

/// Puts the diff together from the files of a version.
async fn listed(
    api: &Api,
    features: Features,
    at: Place,
    pull: &PullRequest,
    version: &Version,
) -> Result<Diff, CallError> {
    let number = version.id.to_string();
    let limit = u64::try_from(MAX_DIFF_BYTES).unwrap_or(u64::MAX);
    let call = Call::get(
        "GET /projects/{id}/merge_requests/{iid}/versions/{version}",
        at.url(api, &["versions", &number]),
    )
    .max_body_bytes(limit);
    let mut listed: Listed = api.read_json(&call).await?;
    let mut expanded = HashMap::new();
    if features.raw_changes && listed.diffs.iter().any(Listing::has_no_patch) {
        let mut url = at.url(api, &["changes"]);
        url.query_pairs_mut()
            .append_pair("access_raw_diffs", "true");
        let call =
            Call::get("GET /projects/{id}/merge_requests/{iid}/changes", url).max_body_bytes(limit);
        match api.read_json::<Listed>(&call).await {
            Ok(all) => {
                is_still(api, at, pull, version).await?;
                let patches = all.diffs.into_iter().filter(|one| !one.has_no_patch());
                expanded.extend(patches.map(|one| ((one.old_path, one.new_path), one.diff)));
            }
            // They are missing then.
            Err(CallError::Http(HttpError::TooLarge { .. })) => {}
            Err(error) => return Err(error),
        }
    }
    let mut before = Objects::of(api, pull.id.repo.get(), &version.base_commit_sha);
    let mut after = Objects::of(api, pull.id.repo.get(), &version.head_commit_sha);
    let mut diff = Diff {
        files: listed.diffs.len(),
        ..Diff::default()
    };
    for listing in &mut listed.diffs {
        if listing.has_no_patch() {
            let key = (listing.old_path.clone(), listing.new_path.clone());
            if let Some(patch) = expanded.remove(&key) {
                listing.diff = patch;
                (listing.collapsed, listing.too_large) = (false, false);
            }
        }
        let old = if listing.new_file {
            None
        } else if listing.has_no_patch() || listing.deleted_file {
            before.find(&listing.old_path).await?
        } else {
            None
        };
        let new = if listing.deleted_file {
            None
        } else {
            after.find(&listing.new_path).await?
        };
        listing.put(old.as_deref(), new.as_deref(), &mut diff);
    }
    Ok(diff)
}

impl Listing {
    fn has_no_patch(&self) -> bool {
        self.diff.as_deref().unwrap_or_default().is_empty()
    }

    const fn change(&self) -> Change {
        if self.new_file {
            Change::Added
        } else if self.deleted_file {
            Change::Deleted
        } else if self.renamed_file {
            Change::Renamed
        } else {
            Change::Modified
        }
    }

    /// Appends the file's section, or says why it is not there. `old` and `new` are the objects on both sides, as far as
    /// they are known.
    fn put(&self, old: Option<&str>, new: Option<&str>, diff: &mut Diff) {
        let patch = self.diff.as_deref().unwrap_or_default();
        let is_empty = |object: Option<&str>| object.is_some_and(|id| EMPTY_FILE.contains(&id));
        let content = if patch.starts_with("Binary files ") {
            Content::Binary
        } else if !patch.is_empty() {
            Content::Lines(patch)
        } else {
            let is_same = match self.change() {
                Change::Added => is_empty(new),
                Change::Deleted => is_empty(old),
                _ => old.is_some() && old == new,
            };
            if self.collapsed || self.too_large || !is_same {
                diff.miss(self.path().to_owned(), SkipReason::PatchUnavailable);
                return;
            }
            Content::Same
        };
        let mode = |mode: &Option<String>, other: &Option<String>| {
            let told = |mode: &Option<String>| mode.clone().filter(|mode| mode != NO_MODE);
            told(mode)
                .or_else(|| told(other))
                .unwrap_or_else(|| FILE_MODE.to_owned())
        };
        diff.put(&Section {
            change: self.change(),
            old_path: &self.old_path,
            new_path: &self.new_path,
            old_mode: &mode(&self.a_mode, &self.b_mode),
            new_mode: &mode(&self.b_mode, &self.a_mode),
            old_object: old,
            new_object: new,
            content,
        });
    }

    fn path(&self) -> &str {
        if self.deleted_file {
            &self.old_path
        } else {
            &self.new_path
        }
    }
}
