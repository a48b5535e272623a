//! The sweeper function.
fn main() {}
