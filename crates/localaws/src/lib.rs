//! AWS on one machine, for tests.
