//! The lines between `diff --git` and the first hunk.
//!
//! Grammar: <https://git-scm.com/docs/diff-format#generate_patch_text_with_p>. Which of them names the
//! file: `rename`/`copy` lines first, as they have no prefix; then `---` and `+++`; the `diff --git`
//! line last, as blanks make it ambiguous.

use crate::{
    cursor::Cursor,
    file::FileStatus,
    parse::start::is_section_start,
    path::{Name, Path, read_name, read_path, split_git_line, strip_prefix, strip_prefixes},
};

/// Bits of a mode that say file, symbolic link or submodule.
const TYPE_BITS: u32 = 0o170_000;
/// The mode of a submodule.
const SUBMODULE_MODE: u32 = 0o160_000;
/// The ids of the empty blob, SHA-1 and SHA-256; printed ids are prefixes of them.
const EMPTY_BLOBS: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

/// What a header says. Fields are as printed; [`Header::paths`] and [`Header::status`] judge them.
#[derive(Debug, Default)]
pub(super) struct Header<'a> {
    /// The path of the `diff --git` line, if it can be told.
    git_line: Option<Path<'a>>,
    renamed: (Option<Path<'a>>, Option<Path<'a>>),
    copied: (Option<Path<'a>>, Option<Path<'a>>),
    minus: Option<Name<'a>>,
    plus: Option<Name<'a>>,
    /// Whether `---` and `+++` lines were there, readable or not.
    named: bool,
    pub(super) old_mode: Option<u32>,
    pub(super) new_mode: Option<u32>,
    pub(super) old_oid: Option<&'a str>,
    pub(super) new_oid: Option<&'a str>,
    added: bool,
    deleted: bool,
    /// Whether the similarity index is below 100 %, so that a hunk must follow.
    edited: bool,
    pub(super) binary: bool,
    /// Whether a `GIT binary patch` follows.
    pub(super) binary_patch: bool,
    /// Whether the input ends in the middle of the header.
    pub(super) cut: bool,
}

impl<'a> Header<'a> {
    /// Reads the header whose `diff --git` line is next, up to the first hunk, binary patch or section.
    pub(super) fn read_git(cursor: &mut Cursor<'a>) -> Self {
        let mut header = Self::default();
        if let Some(line) = cursor.peek() {
            header.cut = !line.ended;
            if let Some(names) = line.header().strip_prefix(b"diff --git ") {
                header.git_line = split_git_line(names).filter(|_| line.ended);
            }
            cursor.skip_line();
        }
        while let Some(line) = cursor.peek() {
            if line.text.starts_with(b"@@") {
                break;
            }
            // A `---`, `+++` pair is this file's, unless it has one already.
            if (header.named || !line.text.starts_with(b"--- ")) && is_section_start(cursor.rest())
            {
                break;
            }
            if !line.ended {
                // What was cut can be cut inside a name or a number.
                header.cut = true;
                cursor.skip_line();
                break;
            }
            if !header.line(line.header()) {
                break;
            }
            cursor.skip_line();
            if header.binary {
                break;
            }
        }
        header
    }

    /// Reads a header that is `---` and `+++` alone.
    pub(super) fn read_plain(cursor: &mut Cursor<'a>) -> Self {
        let mut header = Self::default();
        for _ in 0..2 {
            if let Some(line) = cursor.peek() {
                let _known = header.line(line.header());
                cursor.skip_line();
            }
        }
        header
    }

    /// Takes in one line; returns whether it is one of a header.
    fn line(&mut self, line: &'a [u8]) -> bool {
        if let Some(text) = line.strip_prefix(b"index ") {
            self.index(text);
        } else if let Some(text) = line.strip_prefix(b"--- ") {
            self.minus = read_name(text);
            self.named = true;
        } else if let Some(text) = line.strip_prefix(b"+++ ") {
            self.plus = read_name(text);
            self.named = true;
        } else if let Some(text) = line.strip_prefix(b"old mode ") {
            self.old_mode = mode(text);
        } else if let Some(text) = line.strip_prefix(b"new mode ") {
            self.new_mode = mode(text);
        } else if let Some(text) = line.strip_prefix(b"new file mode ") {
            self.added = true;
            self.new_mode = mode(text);
        } else if let Some(text) = line.strip_prefix(b"deleted file mode ") {
            self.deleted = true;
            self.old_mode = mode(text);
        } else if let Some(text) = line.strip_prefix(b"rename from ") {
            self.renamed.0 = read_path(text);
        } else if let Some(text) = line.strip_prefix(b"rename to ") {
            self.renamed.1 = read_path(text);
        } else if let Some(text) = line.strip_prefix(b"copy from ") {
            self.copied.0 = read_path(text);
        } else if let Some(text) = line.strip_prefix(b"copy to ") {
            self.copied.1 = read_path(text);
        } else if let Some(text) = line.strip_prefix(b"similarity index ") {
            self.edited = text != b"100%";
        } else if line == b"GIT binary patch" {
            self.binary = true;
            self.binary_patch = true;
        } else if is_binary_notice(line) {
            self.binary = true;
        } else {
            return line.starts_with(b"dissimilarity index ");
        }
        true
    }

    /// Reads `<old>..<new>[ <mode>]`; the mode stands here only if both sides share it.
    fn index(&mut self, text: &'a [u8]) {
        let Ok(text) = std::str::from_utf8(text) else {
            return;
        };
        let (ids, shared) = match text.split_once(' ') {
            Some((ids, digits)) => (ids, mode(digits.as_bytes())),
            None => (text, None),
        };
        let is_id = |id: &&str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if let Some((old, new)) = ids.split_once("..") {
            self.old_oid = Some(old).filter(is_id);
            self.new_oid = Some(new).filter(is_id);
        }
        if shared.is_some() {
            self.old_mode = shared;
            self.new_mode = shared;
        }
    }

    /// Returns old and new path, the absent side left out; nothing if no path can be told.
    pub(super) fn paths(&self) -> Option<(Option<Path<'a>>, Option<Path<'a>>)> {
        let (old, new) = self.both_paths()?;
        let status = self.status();
        Some((
            (status != FileStatus::Added).then_some(old),
            (status != FileStatus::Deleted).then_some(new),
        ))
    }

    /// Returns the path on either side, as if both were there.
    fn both_paths(&self) -> Option<(Path<'a>, Path<'a>)> {
        if let (Some(old), Some(new)) = self.moved() {
            return Some((old.clone(), new.clone()));
        }
        let path = match (&self.minus, &self.plus) {
            (Some(Name::Path(old)), Some(Name::Path(new))) => {
                return Some(strip_prefixes(old.clone(), new.clone()));
            }
            (Some(Name::Path(path)), _) | (_, Some(Name::Path(path))) => {
                strip_prefix(path.clone(), self.git_line.clone())
            }
            _ => self.git_line.clone()?,
        };
        Some((path.clone(), path))
    }

    fn moved(&self) -> (Option<&Path<'a>>, Option<&Path<'a>>) {
        match (&self.renamed, &self.copied) {
            ((Some(old), Some(new)), _) | (_, (Some(old), Some(new))) => (Some(old), Some(new)),
            _ => (None, None),
        }
    }

    /// Returns what happened to the file, as far as the header says.
    pub(super) fn status(&self) -> FileStatus {
        if self.added || self.minus == Some(Name::Absent) {
            FileStatus::Added
        } else if self.deleted || self.plus == Some(Name::Absent) {
            FileStatus::Deleted
        } else if let (Some(_), Some(_)) = &self.renamed {
            FileStatus::Renamed
        } else if let (Some(_), Some(_)) = &self.copied {
            FileStatus::Copied
        } else {
            match (self.old_mode, self.new_mode) {
                (Some(old), Some(new)) if (old ^ new) & TYPE_BITS != 0 => FileStatus::TypeChanged,
                (Some(old), Some(new)) if old != new && !self.announces_content() => {
                    FileStatus::ModeChanged
                }
                _ => FileStatus::Modified,
            }
        }
    }

    /// Returns whether one of the modes is that of a submodule.
    pub(super) fn submodule(&self) -> bool {
        self.old_mode == Some(SUBMODULE_MODE) || self.new_mode == Some(SUBMODULE_MODE)
    }

    /// Returns whether the header is consistent with a section that has neither hunk nor binary part:
    /// a pure rename or copy, a mode change, an empty file that came or went.
    pub(super) fn stands_alone(&self) -> bool {
        let pair = |pair: &(Option<_>, Option<_>)| pair.0.is_some() && pair.1.is_some();
        if self.announces_content() {
            return false;
        }
        pair(&self.renamed)
            || pair(&self.copied)
            || (self.old_mode.is_some() && self.new_mode.is_some())
            || ((self.added || self.deleted) && self.old_oid.is_some())
    }

    fn announces_content(&self) -> bool {
        let has_text = |id: Option<&str>| {
            id.is_some_and(|id| {
                let absent = id.bytes().all(|byte| byte == b'0');
                !absent && !EMPTY_BLOBS.iter().any(|empty| empty.starts_with(id))
            })
        };
        let changed = self.old_oid != self.new_oid;
        self.named || self.edited || (changed && (has_text(self.old_oid) || has_text(self.new_oid)))
    }
}

/// Reads an octal mode.
fn mode(text: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(text).ok()?;
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mode = u32::from_str_radix(text, 8).ok()?;
    (digits && mode <= 0o777_777).then_some(mode)
}

/// Returns whether `line` is git's notice in place of binary content.
pub(super) fn is_binary_notice(line: &[u8]) -> bool {
    line.starts_with(b"Binary files ") && line.ends_with(b" differ")
}
