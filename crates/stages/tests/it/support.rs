//! A host in one process whose every port call can be the last one.

mod gate;
mod host;
mod ports;

pub(crate) use gate::{Gate, KillAt, When};
pub(crate) use host::{Ended, Host, KEEP_RUNS, REPO, Story, TWO_DEFECTS, marker_key};
