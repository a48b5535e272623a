//! The `mirilla` command: try it, run it on one host, look into every step.
//!
//! **Invariant:** `main` only parses words and maps results to exit codes: 0 fine, 1 failed or nothing read by the model, 2 usage,
//! 3 nothing to review, 10 findings at or above `--fail-on` or a `--gate` that does not let the change pass.

mod app;
mod arguments;
mod config;
mod confine;
mod demo;
mod doctor;
mod eval;
mod explain;
mod failure;
mod git;
mod html;
mod input;
mod inspect;
mod jobs;
mod output;
mod preview;
mod reference;
mod rehearsal;
mod replay;
mod run_folder;
mod secret;
mod serve;
mod settings;
mod webhook;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let environment = settings::environment();
    let arguments = arguments::Arguments::parse();
    match arguments::run(arguments, &environment) {
        Ok(code) => code,
        Err(error) => failure::report(&error),
    }
}
