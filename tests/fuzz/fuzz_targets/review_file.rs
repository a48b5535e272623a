//! Any review file: what the poster would post of it is inside the diff, inert, ours and without a secret.
//!
//! Generator and judge are those of the crate's own property test.
#![no_main]

#[path = "../../../crates/domain/tests/it/bench.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod bench;
#[path = "../../../crates/domain/tests/it/sanitise/fragments.rs"]
mod fragments;
#[path = "../../../crates/domain/tests/it/hostile.rs"]
mod hostile;
#[path = "../../../crates/domain/tests/it/sanitise/oracle.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod oracle;

/// Where the tests have them.
mod sanitise {
    pub(crate) use crate::{fragments, oracle};
}

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| hostile::judge(&hostile::file(input)));
