//! How much of settings and rules is kept, whichever forge they come from.

use mirilla_domain::snapshot::RepoFile;

/// Files of a folder that are kept.
pub(crate) const MAX_FOLDER_FILES: usize = 200;
/// Text of all files together; past it a file is left out.
pub(crate) const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
/// Stands in for a file that is not text, so that its reader sees a broken file and not an absent one.
pub(crate) const NOT_TEXT: &str = "\u{fffd}";

/// The files that were kept so far.
#[derive(Debug)]
pub(crate) struct Kept {
    files: Vec<RepoFile>,
    left: usize,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            left: MAX_TEXT_BYTES,
        }
    }
}

impl Kept {
    /// Keeps a file, if there is room for it.
    pub(crate) fn push(&mut self, path: String, text: String) {
        if let Some(left) = self.left.checked_sub(text.len()) {
            self.left = left;
            self.files.push(RepoFile { path, text });
        }
    }

    pub(crate) fn into_files(self) -> Vec<RepoFile> {
        self.files
    }
}
