//! `.mirilla.toml`: what a repository may set, and what only the operator may.
//!
//! The repository's file is read at a trusted commit and may only make things stricter. Everything
//! that moves money, code or credentials belongs to the operator, and [`RepoSettings`] has no field
//! for it: naming such a key is an error that says so.
//!
//! **Invariant:** for every operator and every repository file, the [`Policy`] is at least as strict
//! as the operator's own; a file that cannot be read never widens what is sent to the model.

mod given;
mod ignore;
mod operator;
mod parse;
mod policy;
mod problem;
mod schema;
pub mod usd;
mod values;

pub use given::{GivenProblem, Single};
pub use ignore::{Ignore, check_pattern};
pub use operator::OperatorPolicy;
pub use parse::{MAX_SETTINGS_BYTES, parse};
pub use policy::{BrokenSettings, IgnoreRules, Overruled, Policy};
pub use problem::{Level, Problem};
pub use schema::{SettingsFile, schema};
pub use values::{Gate, InlineRule, OnInconclusive, PrDescription, RepoSettings};

/// The name of the repository's file.
pub const SETTINGS_FILE: &str = ".mirilla.toml";
