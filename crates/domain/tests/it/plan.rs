//! What is posted, once, and what is not.

mod cases;
mod declines;
mod gate;
mod once;
mod property;
mod resolve;
mod review_file;
mod suggest;
mod token_leak;
