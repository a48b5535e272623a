//! Opens one file, and says why it cannot be shown.

use std::borrow::Cow;

use mirilla_domain::eyes::{self, Content, Fidelity, MAX_FILE_BYTES};
use mirilla_ports::source::{Entry, EntryKind};
use mirilla_ports::{Source, SourceError};

use super::{Changed, Eyes};

/// Why there are no bytes to show.
pub(super) enum Closed {
    /// It is a changed file, and these are not its bytes.
    Differs,
    /// It is a changed file, and nothing says which bytes it has.
    Unchecked,
    /// The change removes it.
    Gone,
    /// It has too many bytes.
    TooLarge,
    /// It cannot be read, for this reason.
    Unreadable(&'static str),
    /// The source failed.
    Unavailable(SourceError),
}

impl Closed {
    /// Says it to the model.
    pub(super) fn explain(&self) -> String {
        match self {
            Self::Differs => "The archive's copy of this changed file differs from the commit (export-ignore, export-subst or a filter in .gitattributes). Use the diff: only it shows what the commit holds.".to_owned(),
            Self::Unchecked => "This file is changed, and the diff does not say which blob it became, so the archive's copy cannot be checked against the commit. Use the diff.".to_owned(),
            Self::Gone => "The change removes or renames this file. Its old lines are in the diff.".to_owned(),
            Self::TooLarge => format!("The file is larger than {MAX_FILE_BYTES} bytes and is not opened."),
            Self::Unreadable(reason) => format!("The file is in the archive and cannot be read: {reason}."),
            Self::Unavailable(error) => super::unavailable(error),
        }
    }
}

impl Eyes<'_> {
    /// Returns a file's or a link's bytes, if they are the commit's.
    pub(super) async fn open(
        &self,
        source: &dyn Source,
        entry: &Entry,
        limit_bytes: u64,
    ) -> Result<Vec<u8>, Closed> {
        let changed = self.changes.get(&entry.path);
        match (changed, &entry.blob) {
            (Some(Changed::Gone), _) => return Err(Closed::Gone),
            (Some(Changed::Withheld), None) => return Err(Closed::Unchecked),
            _ => {}
        }
        if entry.kind == EntryKind::Ambiguous {
            return Err(Closed::Unreadable(
                "several entries have this path, and none can be told to be the commit's",
            ));
        }
        let read = source.read(&entry.path, limit_bytes).await;
        let bytes = read.map_err(|error| match error {
            SourceError::TooLarge { .. } => Closed::TooLarge,
            SourceError::Unreadable { reason } => Closed::Unreadable(reason),
            other => Closed::Unavailable(other),
        })?;
        let opened = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        {
            let mut spent = self.spent();
            spent.opened_bytes = spent.opened_bytes.saturating_add(opened);
        }
        match changed {
            Some(Changed::Shown(file)) => checked(bytes, file, entry.blob.as_deref()),
            _ => Ok(bytes),
        }
    }

    /// Returns whether the change added a line.
    pub(super) fn added(&self, path: &str, line: u32) -> bool {
        match self.changes.get(path) {
            Some(Changed::Shown(file)) => file.added.contains(line),
            _ => false,
        }
    }
}

/// Compares a changed file's bytes with the diff. A source that names the blob itself took it from the
/// commit; only a diff that names another one can contradict it.
fn checked(
    bytes: Vec<u8>,
    file: &mirilla_diff::FileDiff<'_>,
    blob: Option<&str>,
) -> Result<Vec<u8>, Closed> {
    if let Some(blob) = blob {
        return match file.new_oid {
            Some(id) if !blob.starts_with(&id.to_ascii_lowercase()) => Err(Closed::Differs),
            _ => Ok(bytes),
        };
    }
    match eyes::fidelity(&bytes, file) {
        Fidelity::Same => Ok(bytes),
        Fidelity::Unknown => Err(Closed::Unchecked),
        Fidelity::Differs => {
            // An archive has the line endings that `eol=crlf` asks for; the blob has not.
            let without = without_carriage_returns(&bytes).ok_or(Closed::Differs)?;
            match eyes::fidelity(&without, file) {
                Fidelity::Same => Ok(without),
                Fidelity::Differs | Fidelity::Unknown => Err(Closed::Differs),
            }
        }
    }
}

fn without_carriage_returns(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter().peekable();
    while let Some(byte) = rest.next() {
        if *byte != b'\r' || rest.peek() != Some(&&b'\n') {
            out.push(*byte);
        }
    }
    (out.len() < bytes.len()).then_some(out)
}

/// Returns a file's text, and whether it was converted; else what it is instead.
pub(super) fn text(bytes: &[u8]) -> Result<(Cow<'_, [u8]>, bool), String> {
    match eyes::content(bytes) {
        Content::Text(text) => Ok((text, false)),
        Content::Utf16(text) => Ok((Cow::Owned(text.into_bytes()), true)),
        Content::LfsPointer(size) => Err(match size {
            Some(size) => format!(
                "It is a Git LFS pointer: the file itself ({size} bytes) is kept elsewhere and cannot be read."
            ),
            None => {
                "It is a Git LFS pointer: the file itself is kept elsewhere and cannot be read."
                    .to_owned()
            }
        }),
        Content::Binary => Err(format!(
            "It is a binary file of {} bytes, which is not shown.",
            bytes.len()
        )),
    }
}
