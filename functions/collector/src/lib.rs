//! The collector function.
