//! Build, check and generate.

fn main() {}
