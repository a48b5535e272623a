//! A strict GitHub and a strict Messages API on loopback, for the demo and the tests.
//!
//! [`Sim::start`] opens the simulated services. Tests and the demo arrange the world through a
//! state API, point the production clients at the URLs, and read back what a person would see.
//! What the real service refuses is refused here; what our own clients must never do is recorded
//! and fails the test in [`Sim::finish`].
//!
//! **Invariant:** nothing here listens or connects outside 127.0.0.1.

mod calls;
mod clock;
mod faults;
mod sentinels;
mod server;
mod sim;

pub use calls::{Call, Problem, Problems};
pub use clock::SimClock;
pub use faults::{Fault, Faults, Hook};
pub use sentinels::Sentinels;
pub use sim::{Sim, SimError, SimOptions};
