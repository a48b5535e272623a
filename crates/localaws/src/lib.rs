//! AWS on one machine, for tests and `cargo xtask local`.
//!
//! [`Venv`] installs the emulator and the template's checks, with exact versions, into the project's own cache folder the first
//! time it is needed. [`Emulator`] runs one on a free loopback port, for as long as its value lives.
//! [`Stack`] is the project's template deployed there, and [`translate()`] what the template becomes.
//!
//! **Invariant:** nothing listens beyond loopback, nothing of the caller's environment reaches the
//! emulator or the functions it runs, and nothing is written outside the project's `.cache` folder.

mod emulator;
mod script;
mod stack;
mod translate;
mod venv;

pub use emulator::{
    ACCOUNT_ID, Emulator, Options, REGION, TEST_ACCESS_KEY_ID, TEST_SECRET_ACCESS_KEY,
};
pub use stack::{FUNCTIONS, Stack, StackRequest};
pub use translate::translate;
pub use venv::{Tools, Venv, project_root};
