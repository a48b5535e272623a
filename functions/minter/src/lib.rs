//! The minter function.
