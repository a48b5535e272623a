//! The mirilla command.

fn main() {}
