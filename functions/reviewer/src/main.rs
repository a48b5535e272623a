//! The reviewer function.
fn main() {}
