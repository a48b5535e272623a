//! What is posted, once, and what is not.

mod cases;
mod once;
mod property;
mod token_leak;
