//! The poster function.
fn main() {}
