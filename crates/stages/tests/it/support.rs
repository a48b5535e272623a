//! A host in one process whose every port call can be the last one.

// Named by path, because another test target takes this file in from where it stands.
#[path = "support/gate.rs"]
mod gate;
#[path = "support/host.rs"]
mod host;
#[path = "support/place.rs"]
mod place;
#[path = "support/ports.rs"]
mod ports;

pub(crate) use gate::{Bend, Gate, KillAt, When};
pub(crate) use host::{Ended, Host, KEEP_RUNS, REPO, Story, TWO_DEFECTS, marker_key};
pub(crate) use place::{Place, Said, Sent};
