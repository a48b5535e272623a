//! The intake function.
