//! An error with all its causes, in one line.

use std::error::Error;

/// The most causes that are named; a longer chain is a loop.
const MAX_CAUSES: usize = 16;

/// Returns an error's text and those of its causes, separated by `: `.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    for _ in 0..MAX_CAUSES {
        let Some(error) = cause else { break };
        text.extend([": ", &error.to_string()]);
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("inner")]
    struct Inner(#[source] std::io::Error);

    #[test]
    fn all_causes_are_named_once() {
        let error = Outer(Inner(std::io::Error::other("the disk")));
        assert_eq!(chain(&error), "outer: inner: the disk");
        assert_eq!(chain(&std::fmt::Error), std::fmt::Error.to_string());
    }
}
