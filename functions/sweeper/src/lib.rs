//! The sweeper function.
