//! What a model is shown when it looks something up in the files of a commit.
//!
//! A file is shown as the diff is: each line with its number and mark, secrets masked, invisible
//! characters spelled out. What is no text, is too long or is not what the commit holds is said instead.
//!
//! **Invariant:** nothing is shown unmasked, and of the lines of a file only what the caller's bound allows.

mod blob;
mod content;
mod near;
mod page;
mod search;

pub use blob::{Fidelity, fidelity};
pub use content::{Content, content};
pub use near::Near;
pub use page::{Page, page};
pub use search::{Found, PatternError, Search};

/// Largest file that is opened; nobody reviews what is larger, and source rarely is.
pub const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Longest line that is shown whole, in bytes.
pub const MAX_LINE_BYTES: usize = 1_000;
