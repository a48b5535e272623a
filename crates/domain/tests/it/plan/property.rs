//! What holds for every review of every diff.
