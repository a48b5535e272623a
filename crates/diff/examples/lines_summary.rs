//! Prints what a diff amounts to: files, added and deleted lines, incomplete files.
//!
//! `lines_summary FILE` reads the file a buffer at a time. The whole process is what
//! docs/PERFORMANCE.md compares with `git apply --numstat FILE`.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program, unlike the crate, opens the file and prints"
)]

use std::{env, error::Error, fs::File};

use mirilla_diff::summary;

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1).ok_or("usage: lines_summary FILE")?;
    let total = summary::of_reader(File::open(path)?)?;
    println!(
        "files={} added={} deleted={} binary={} incomplete={} problems={}",
        total.files, total.added, total.deleted, total.binary, total.incomplete, total.problems
    );
    Ok(())
}
