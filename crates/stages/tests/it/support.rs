//! A host in one process whose every port call can be the last one.

mod gate;
mod host;
mod ports;

pub(crate) use gate::{Gate, KillAt, When};
pub(crate) use host::{Ended, Host, REPO, Story, TWO_DEFECTS};
