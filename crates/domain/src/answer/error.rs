//! Why an answer cannot be read.

use crate::code::FailReason;

/// Why an answer cannot be read. None of these means that nothing was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// There is no text.
    #[error("the answer is empty")]
    Empty,
    /// The text is longer than [`MAX_ANSWER_BYTES`](super::MAX_ANSWER_BYTES).
    #[error("the answer has {bytes} bytes, more than is read")]
    TooLong {
        /// Its size.
        bytes: usize,
    },
    /// Objects or lists are nested deeper than [`MAX_DEPTH`](super::MAX_DEPTH).
    #[error("the answer is nested too deeply")]
    TooDeep,
    /// There is no object of the wanted kind in the text.
    #[error("the answer holds no JSON object of the given schema")]
    NoObject,
    /// The answer is a list or another value that is no object.
    #[error("the answer is {found} where an object is expected")]
    NotAnObject {
        /// What it is.
        found: &'static str,
    },
    /// An object begins and does not end.
    #[error("the answer breaks off inside its JSON object")]
    Unfinished,
    /// Several objects contradict each other.
    #[error("the answer holds several JSON objects, and the last one is empty")]
    Ambiguous,
    /// The object is not valid JSON.
    #[error("the JSON of the answer is not valid at line {line}, column {column}")]
    Syntax {
        /// The line within the object, from 1.
        line: usize,
        /// The column within the line, from 1.
        column: usize,
    },
    /// One object has the same key twice, so that a reader may take either.
    #[error("the answer has the key `{key}` twice in one object")]
    DuplicateKey {
        /// The key, cut and escaped.
        key: String,
    },
    /// The object lacks its list.
    #[error("the answer has no `{key}`")]
    ListMissing {
        /// The list's key.
        key: &'static str,
    },
    /// What should be the list is none.
    #[error("`{key}` is {found}, not a list")]
    NotAList {
        /// The list's key.
        key: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// The list has items, and none can be used.
    #[error("none of the {items} findings can be used; the first: {first}")]
    NoUsableFinding {
        /// How many there are.
        items: usize,
        /// What is wrong with the first.
        first: String,
    },
}

impl AnswerError {
    /// Returns the reason for the coverage.
    pub const fn fail_reason(&self) -> FailReason {
        match self {
            Self::Empty => FailReason::EmptyAnswer,
            Self::Unfinished => FailReason::Truncated,
            _ => FailReason::MalformedAnswer,
        }
    }

    /// Returns what to tell the model when it is asked once more. Holds nothing of its answer but a key.
    pub fn again(&self) -> String {
        format!(
            "Your answer could not be used: {self}. Answer again with one JSON object of the given schema and \
             nothing else: no text around it, no code fence, every key once."
        )
    }
}
