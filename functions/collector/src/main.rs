//! The collector function.
fn main() {}
