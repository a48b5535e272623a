//! The life of a pull request, the same on GitHub and on every GitLab that is played: one list of scenarios,
//! one table.
//!
//! `cargo test -p mirilla-stages --test scenarios -- --nocapture` prints the table;
//! `MIRILLA_SCENARIO=draft` plays those whose name has that in it. A new scenario is a function in
//! `scenarios/`, and a name in its list.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    reason = "test code"
)]

mod change;
mod pipeline;
mod play;
#[expect(dead_code, unused_imports, reason = "shared with another test target")]
#[path = "../it/support.rs"]
mod support;
mod table;
mod talk;
mod trouble;
mod verdict;

/// All scenarios, by what they are about.
fn all() -> Vec<play::Scenario> {
    let lists = [
        pipeline::LIST,
        change::LIST,
        talk::LIST,
        verdict::LIST,
        trouble::LIST,
    ];
    lists.concat()
}

#[test]
fn every_scenario_ends_the_same_on_every_forge() {
    #[expect(
        clippy::disallowed_methods,
        reason = "a person chooses what a test plays"
    )]
    let wanted = std::env::var("MIRILLA_SCENARIO").unwrap_or_default();
    let mut scenarios = all();
    scenarios.retain(|scenario| scenario.name.contains(&wanted));
    assert!(!scenarios.is_empty(), "no scenario is called {wanted:?}");
    let table = table::play_all(&scenarios);
    println!("{table}");
    let failures = table.failures();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
