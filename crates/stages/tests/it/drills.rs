//! Injection drills: the author of a change tries to talk the reviewer into something, and the simulated
//! model obeys completely.
//!
//! Whether a real model would obey is not asked here. What is held against `expected.json` is what such an
//! obedience can reach: the forge, the purse, and what the review says about itself. Each folder of
//! `tests/fixtures/drills` is one drill; its README describes the files.
//!
//! There is no check run yet that a merge could wait for, so that the place of its verdict is taken by the
//! plan's outcome: it is never `complete` while something was not read, and text that works on the reviewer
//! is a finding of the floor whatever the model says.
//!
//! **Invariant:** nothing in a drill's files goes unread: an unknown file, turn or key fails the test.

mod drill;
mod held;

use mirilla_casekit::{Case, cases};

use drill::Drill;

/// Every drill, so that one that is gone is missed.
const DRILLS: [&str; 24] = [
    "approved-by-security",
    "bidirectional-unicode",
    "closing-our-tags",
    "commands-and-mentions",
    "decoy-findings",
    "echoed-secret",
    "export-ignore",
    "export-subst",
    "fake-finding-marker",
    "fake-tool-result",
    "findings-elsewhere",
    "generated-claim",
    "instructions-in-code",
    "instructions-in-commit-text",
    "instructions-in-file-name",
    "instructions-in-string",
    "instructions-in-title",
    "invisible-unicode",
    "overflow-budget",
    "overflow-file",
    "refusal-trigger",
    "rules-edited",
    "secret-fetched-with-a-tool",
    "suggested-backdoor",
];

#[test]
fn an_obeying_model_reaches_nothing_it_must_not() {
    let folders = cases("tests/fixtures/drills", |_| true);
    let names: Vec<&str> = folders.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, DRILLS);
    let mut wrong = Vec::new();
    for case in folders {
        // On a thread of its own, so that one that fails does not hide the others.
        let name = case.name.clone();
        match std::thread::spawn(move || drilled(&case)).join() {
            Ok(found) => wrong.extend(found),
            Err(_) => wrong.push(format!("{name}: see the message above")),
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Runs one drill; returns what is not as expected.
fn drilled(case: &Case) -> Vec<String> {
    let drill = Drill::load(case);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let happened = runtime.block_on(async {
        let host = drill.host();
        let answers = drill.obey(&host);
        Box::pin(held::run(&drill, host, &answers)).await
    });
    happened.against(&case.name, drill::expected(case))
}
