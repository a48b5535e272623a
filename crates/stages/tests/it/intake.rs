//! Intake over the local ledger and queue.

mod answers;
mod cases;
mod faults;
mod orders;
mod secrets;
mod world;
