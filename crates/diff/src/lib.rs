//! Parses unified diffs as git, GitHub and GitLab emit them.
//!
//! ```
//! use mirilla_diff::{Side, parse};
//!
//! let parsed = parse(b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n one\n+two\n");
//! let file = &parsed.files[0];
//! assert_eq!(file.path(), b"x");
//! assert!(file.commentable(Side::Right, 2));
//! assert!(!file.commentable(Side::Right, 3));
//! ```
//!
//! A diff is bytes that anyone may have written. Hunks are read by the counts their header declares,
//! never by what a line looks like, so that text inside a change cannot pose as structure; what does
//! not add up is kept as far as it is certain and flagged ([`FileDiff::incomplete`], [`Problem`]).
//!
//! **Invariant:** nothing here panics or fails, on any bytes; nothing here opens, connects, spawns or
//! reads a clock. [`SectionReader`] reads from the `Read` it is given and from nothing else.
//!
//! **Invariant:** every line number handed out lies in a hunk whose line was seen, whole, in the input.
#![warn(clippy::arithmetic_side_effects)]

mod cursor;
mod file;
mod hunk;
mod parse;
mod path;
mod problem;
mod ranges;
mod reader;
pub mod summary;

pub use file::{FileDiff, FileStatus, Incomplete, Parsed};
pub use hunk::{Hunk, Line, LineKind, Lines, Side};
pub use parse::{parse, parse_patch};
pub use problem::{Problem, ProblemKind};
pub use ranges::LineRanges;
pub use reader::{MAX_SECTION_BYTES, Section, SectionReader, SectionRef};
