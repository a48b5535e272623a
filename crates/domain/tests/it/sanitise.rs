//! The sanitiser against independent oracles.

mod bots;
mod cases;
pub(crate) mod fragments;
pub(crate) mod oracle;
mod property;
mod readable;
mod table;

use mirilla_domain::sanitise::TextPolicy;

/// The only host that links may lead to in these tests.
const HOST: &str = "docs.example.org";

fn policy() -> TextPolicy {
    TextPolicy {
        link_hosts: vec![HOST.to_owned()],
        ..TextPolicy::default()
    }
}

/// Asserts that `text` is safe to post.
#[track_caller]
fn assert_safe(text: &str) {
    let bad = oracle::violations(text, &[HOST]);
    assert!(bad.is_empty(), "{bad:#?}\nin:\n{text}");
}

/// How many cases to try: `PROPTEST_CASES`, for a long search, or what a test run has time for.
pub(crate) fn cases(usual: u32) -> u32 {
    let wanted = std::env::var("PROPTEST_CASES").ok();
    wanted.map_or(usual, |count| count.parse().unwrap())
}
