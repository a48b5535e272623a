//! One file's section of a unified diff, written as git prints it, for forges that give a diff in pieces.
//! <https://git-scm.com/docs/diff-generate-patch>
//!
//! **Invariant:** what is written is read back as the same file, with the same lines; an object id that the forge
//! did not tell is not made up, but for git's own name of an absent object.

use crate::quote::{push_path, push_side};

/// What git calls the absence of an object.
const NO_OBJECT: &str = "0000000";
/// The usual mode of a file.
pub(crate) const FILE_MODE: &str = "100644";

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Added,
    Deleted,
    Renamed,
    Copied,
    Modified,
}

/// What changed in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content<'a> {
    /// Nothing.
    Same,
    /// It is not text.
    Binary,
    /// Lines: the hunks, from the first `@@` on.
    Lines(&'a str),
}

/// A file's section.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section<'a> {
    pub(crate) change: Change,
    pub(crate) old_path: &'a str,
    pub(crate) new_path: &'a str,
    pub(crate) old_mode: &'a str,
    pub(crate) new_mode: &'a str,
    pub(crate) old_object: Option<&'a str>,
    pub(crate) new_object: Option<&'a str>,
    pub(crate) content: Content<'a>,
}

impl Section<'_> {
    /// Appends the section.
    pub(crate) fn push(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"diff --git ");
        push_path(out, "a/", self.old_path);
        out.push(b' ');
        push_path(out, "b/", self.new_path);
        out.push(b'\n');
        self.push_header(out);
        self.push_content(out);
    }

    fn push_header(&self, out: &mut Vec<u8>) {
        let mut line = |text: String| out.extend_from_slice(text.as_bytes());
        let is_same = self.content == Content::Same;
        match self.change {
            Change::Added => line(format!("new file mode {}\n", self.new_mode)),
            Change::Deleted => line(format!("deleted file mode {}\n", self.old_mode)),
            Change::Renamed | Change::Copied | Change::Modified => {
                if self.old_mode != self.new_mode {
                    line(format!(
                        "old mode {}\nnew mode {}\n",
                        self.old_mode, self.new_mode
                    ));
                }
            }
        }
        match self.change {
            Change::Renamed => self.push_move(out, "rename"),
            Change::Copied => self.push_move(out, "copy"),
            Change::Added | Change::Deleted | Change::Modified => {}
        }
        let mode = if self.old_mode == self.new_mode {
            format!(" {}", self.new_mode)
        } else {
            String::new()
        };
        let (old, new) = (self.old_object.unwrap_or(NO_OBJECT), self.new_object);
        let index = match self.change {
            Change::Added => new.map(|new| format!("index {NO_OBJECT}..{new}\n")),
            Change::Deleted => Some(format!("index {old}..{NO_OBJECT}\n")),
            _ if is_same => None,
            _ => new.map(|new| format!("index {old}..{new}{mode}\n")),
        };
        out.extend_from_slice(index.unwrap_or_default().as_bytes());
    }

    fn push_move(&self, out: &mut Vec<u8>, verb: &str) {
        // How similar, no forge says; git moves nothing that is less than half the same.
        let similarity = if self.content == Content::Same {
            "100"
        } else {
            "50"
        };
        out.extend_from_slice(format!("similarity index {similarity}%\n{verb} from ").as_bytes());
        push_path(out, "", self.old_path);
        out.extend_from_slice(format!("\n{verb} to ").as_bytes());
        push_path(out, "", self.new_path);
        out.push(b'\n');
    }

    fn push_content(&self, out: &mut Vec<u8>) {
        let mut side =
            |before: &[u8], prefix, path: &str, absent, push: fn(&mut Vec<u8>, &str, &str)| {
                out.extend_from_slice(before);
                if absent {
                    out.extend_from_slice(b"/dev/null");
                } else {
                    push(out, prefix, path);
                }
            };
        let (added, deleted) = (self.change == Change::Added, self.change == Change::Deleted);
        match self.content {
            Content::Same => {}
            Content::Binary => {
                side(b"Binary files ", "a/", self.old_path, added, push_path);
                side(b" and ", "b/", self.new_path, deleted, push_path);
                out.extend_from_slice(b" differ\n");
            }
            Content::Lines(hunks) => {
                side(b"--- ", "a/", self.old_path, added, push_side);
                side(b"\n+++ ", "b/", self.new_path, deleted, push_side);
                out.push(b'\n');
                out.extend_from_slice(hunks.trim_end_matches('\n').as_bytes());
                out.push(b'\n');
            }
        }
    }
}
