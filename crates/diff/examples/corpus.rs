//! Writes the benchmark's diff to standard output: `corpus MEGABYTES > corpus.diff`.
#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::let_underscore_must_use,
    clippy::disallowed_methods,
    missing_docs,
    unreachable_pub,
    reason = "a program, unlike the crate, reads its arguments and prints"
)]

#[path = "../benches/diff/corpus.rs"]
mod corpus;

use std::{
    env,
    error::Error,
    io::{self, Write as _},
};

fn main() -> Result<(), Box<dyn Error>> {
    let megabytes: usize = env::args()
        .nth(1)
        .ok_or("usage: corpus MEGABYTES")?
        .parse()?;
    let diff = corpus::generate(megabytes.saturating_mul(1_000_000));
    io::stdout().write_all(&diff)?;
    Ok(())
}
