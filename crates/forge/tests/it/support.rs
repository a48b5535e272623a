//! What the tests share: a scripted server, a clock that does not wait, and the halves under test.

mod script;
mod things;
mod world;

pub(crate) use script::{Reply, Script, Seen};
pub(crate) use things::{Fixed, MemoryWriter, TestClock, case, pull, pull_json, repo};

pub(crate) use world::{REPO, World, sim_time};

use std::sync::Arc;

use mirilla_forge::github::{GithubReader, GithubSettings, GithubWriter, Identity, Whoami};
use mirilla_forge::{ReadToken, TokenSource, WriteGate, WriteToken};

/// Sentinel tokens: made up, and looked for wherever they must not be.
pub(crate) const READ_TOKEN: &str = "ghs_SENTINEL_read_made_up";
pub(crate) const WRITE_TOKEN: &str = "ghs_SENTINEL_write_made_up";

pub(crate) fn settings(base: &str) -> Arc<GithubSettings> {
    Arc::new(GithubSettings::parse(base).unwrap())
}

pub(crate) fn us() -> Whoami {
    Whoami::Known(Identity::new("reviewbot[bot]", Some(4242)))
}

pub(crate) fn reader(base: &str, clock: &TestClock) -> GithubReader {
    reader_with(
        settings(base),
        Arc::new(ReadToken::plain(READ_TOKEN.into())),
        us(),
        clock,
    )
}

pub(crate) fn reader_with(
    settings: Arc<GithubSettings>,
    tokens: Arc<dyn TokenSource<ReadToken>>,
    whoami: Whoami,
    clock: &TestClock,
) -> GithubReader {
    let client = settings.client().unwrap();
    GithubReader::new(
        client,
        settings,
        tokens,
        whoami,
        Arc::new(clock.clone()),
        Arc::new(Fixed),
    )
}

pub(crate) fn writer(base: &str, clock: &TestClock) -> GithubWriter {
    writer_with(
        settings(base),
        Arc::new(WriteToken::plain(WRITE_TOKEN.into())),
        us(),
        clock,
    )
}

pub(crate) fn writer_with(
    settings: Arc<GithubSettings>,
    tokens: Arc<dyn TokenSource<WriteToken>>,
    whoami: Whoami,
    clock: &TestClock,
) -> GithubWriter {
    let client = settings.client().unwrap();
    GithubWriter::new(
        client,
        settings,
        tokens,
        whoami,
        Arc::new(WriteGate::default()),
        Arc::new(clock.clone()),
        Arc::new(Fixed),
    )
}
