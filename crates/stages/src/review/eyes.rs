//! What the model may look up: three tools over the files of the head commit.
//!
//! The tools are the same for every question and every repository, with or without files behind them, so
//! that what is sent before the question stays in the provider's cache. Results stand between nonce
//! tags, like the diff; what Mirilla itself says about them stands outside.
//!
//! A changed file counts only if its bytes agree with the diff: the head's own `.gitattributes` decides
//! what an archive leaves out (`export-ignore`) and rewrites (`export-subst`).
//!
//! **Invariant:** there is no file system behind a path; "not in the archive" is never said as "does not
//! exist"; every call and every review has a bound on what it reads and on what it returns.

mod list;
mod open;
mod read;
mod search;
mod spec;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use mirilla_diff::FileDiff;
use mirilla_domain::carry::SeenFile;
use mirilla_domain::eyes::MAX_FILE_BYTES;
use mirilla_domain::ids::{Sha256Hex, sha256};
use mirilla_domain::prompt::Nonce;
use mirilla_domain::snapshot::MissingFile;
use mirilla_ports::source::Tree;
use mirilla_ports::{Source, SourceError, ToolOutput, ToolSpec, Toolbox};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Most bytes of text that one call returns, tags and notes aside. What a turn and a conversation may
/// bring together is the conversation's to bound.
pub const MAX_CALL_BYTES: usize = 16 * 1024;
/// Most bytes of text that all calls of a review return together.
pub const MAX_REVIEW_BYTES: u64 = 1024 * 1024;
/// Most inflated bytes that one search looks through.
pub const MAX_SEARCH_BYTES: u64 = 32 * 1024 * 1024;
/// Most inflated bytes that all calls of a review open together.
pub const MAX_REVIEW_OPENED_BYTES: u64 = 512 * 1024 * 1024;

const USED_UP: &str = "The tools' bound for this review is used up. Answer with what you have seen; report nothing that you could not confirm.";
const NO_FILES: &str = "context-unavailable: the files of this commit are not at hand in this review. Answer from the diff alone; that a file cannot be read does not mean that it does not exist.";

/// The three tools over one commit.
pub struct Eyes<'a> {
    source: Option<&'a dyn Source>,
    /// What the change does to paths.
    changes: BTreeMap<String, Changed<'a>>,
    nonce: &'a Nonce,
    specs: Vec<ToolSpec>,
    spent: Mutex<Spent>,
}

/// What a change does to a path.
#[derive(Debug, Clone, Copy)]
enum Changed<'a> {
    /// The file's new side, as the diff says it.
    Shown(&'a FileDiff<'a>),
    /// The forge did not give its diff.
    Withheld,
    /// The file is gone.
    Gone,
}

#[derive(Debug, Default)]
struct Spent {
    returned_bytes: u64,
    opened_bytes: u64,
    seen: BTreeMap<String, Sha256Hex>,
}

impl std::fmt::Debug for Eyes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Eyes").finish_non_exhaustive()
    }
}

impl<'a> Eyes<'a> {
    /// Takes the commit's files, if they are at hand, and the change: its diff as it was collected, not
    /// masked, and the files whose diff the forge did not give.
    pub fn new(
        source: Option<&'a dyn Source>,
        files: &'a [FileDiff<'a>],
        missing: &[MissingFile],
        nonce: &'a Nonce,
    ) -> Self {
        let mut changes = BTreeMap::new();
        for file in files {
            let path = |side: &Option<std::borrow::Cow<'_, [u8]>>| {
                let path = std::str::from_utf8(side.as_deref()?).ok()?;
                Some(path.to_owned())
            };
            if let Some(new) = path(&file.new_path) {
                changes.insert(new, Changed::Shown(file));
            }
            // Of a type change both halves name the path, and the new one counts; a copy's origin stays.
            let moved = file.new_path.is_none() || file.status == mirilla_diff::FileStatus::Renamed;
            if let Some(old) = path(&file.old_path).filter(|_| moved) {
                changes.entry(old).or_insert(Changed::Gone);
            }
        }
        for file in missing {
            changes.insert(file.path.clone(), Changed::Withheld);
        }
        Self {
            source,
            changes,
            nonce,
            specs: spec::specs(),
            spent: Mutex::default(),
        }
    }

    /// Returns the files that something was shown of since this was last asked, sorted by path.
    pub fn take_seen(&self) -> Vec<SeenFile> {
        let seen = std::mem::take(&mut self.spent().seen);
        let seen = seen.into_iter();
        seen.map(|(path, sha256)| SeenFile { path, sha256 })
            .collect()
    }

    /// Returns whether a file would be shown with exactly the bytes that were seen before. What cannot be
    /// read would not.
    pub async fn would_show(&self, seen: &SeenFile) -> bool {
        let Ok((source, tree)) = self.files().await else {
            return false;
        };
        let Some(entry) = tree.entry(&seen.path) else {
            return false;
        };
        // Half of the bound is left for looking things up.
        if self.spent().opened_bytes.saturating_mul(2) > MAX_REVIEW_OPENED_BYTES {
            return false;
        }
        let bytes = self.open(source, entry, MAX_FILE_BYTES).await;
        bytes.is_ok_and(|bytes| sha256(&bytes) == seen.sha256)
    }

    fn spent(&self) -> std::sync::MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn saw(&self, path: &str, bytes: &[u8]) {
        self.spent().seen.insert(path.to_owned(), sha256(bytes));
    }

    /// Returns the files and their list, or what to say instead.
    async fn files(&self) -> Result<(&'a dyn Source, std::sync::Arc<Tree>), String> {
        let source = self.source.ok_or_else(|| NO_FILES.to_owned())?;
        match source.tree().await {
            Ok(tree) => Ok((source, tree)),
            Err(SourceError::Unusable { .. }) => Err(NO_FILES.to_owned()),
            Err(error) => Err(unavailable(&error)),
        }
    }

    /// Puts what stands in a repository between tags, and says something about it after them.
    fn fenced(&self, data: &str, note: &str) -> String {
        let fenced = self.nonce.absent_from(&[data]).enclose("tool-result", data);
        format!("{fenced}{note}")
    }

    async fn answer(&self, name: &str, input: &Value) -> Result<String, String> {
        let within = {
            let spent = self.spent();
            spent.returned_bytes < MAX_REVIEW_BYTES && spent.opened_bytes < MAX_REVIEW_OPENED_BYTES
        };
        match name {
            spec::READ_FILE | spec::LIST_FILES | spec::SEARCH if !within => Err(USED_UP.to_owned()),
            spec::READ_FILE => self.read_file(arguments(input)?).await,
            spec::LIST_FILES => self.list_files(arguments(input)?).await,
            spec::SEARCH => self.search(arguments(input)?).await,
            _ => Err(format!(
                "There is no such tool. There are {}, {} and {}.",
                spec::READ_FILE,
                spec::LIST_FILES,
                spec::SEARCH
            )),
        }
    }
}

#[async_trait]
impl Toolbox for Eyes<'_> {
    fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    async fn call(&self, name: &str, input: &Value) -> ToolOutput {
        let answer = self.answer(name, input).await;
        let is_error = answer.is_err();
        let text = answer.unwrap_or_else(|reason| reason);
        let mut spent = self.spent();
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        spent.returned_bytes = spent.returned_bytes.saturating_add(length);
        ToolOutput { text, is_error }
    }
}

fn arguments<T: DeserializeOwned>(input: &Value) -> Result<T, String> {
    if !input.is_object() {
        return Err("The arguments cannot be used: they are no object.".to_owned());
    }
    T::deserialize(input).map_err(|error| format!("The arguments cannot be used: {error}."))
}

fn unavailable(error: &SourceError) -> String {
    // The chain of causes may name keys and hosts, which are nothing for a model.
    tracing::warn!("a tool had no answer: {}", mirilla_telemetry::chain(error));
    "The files of this commit cannot be read at the moment. Answer from what you have; that a file cannot be read does not mean that it does not exist.".to_owned()
}

/// Returns a path as the tree spells it: without what models put before it.
fn spelled(path: &str) -> &str {
    let path = path.trim();
    let path = path.strip_prefix("./").unwrap_or(path);
    path.trim_matches('/')
}

/// Returns an argument that says something.
fn given(argument: Option<&String>) -> Option<&str> {
    argument
        .map(|text| text.trim())
        .filter(|text| !text.is_empty())
}

/// Appends formatted text. Writing to a `String` cannot fail.
fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    let written = out.write_fmt(text);
    debug_assert!(written.is_ok(), "writing to a String cannot fail");
}
