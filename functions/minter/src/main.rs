//! The minter function.
fn main() {}
