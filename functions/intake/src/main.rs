//! The intake function.
fn main() {}
