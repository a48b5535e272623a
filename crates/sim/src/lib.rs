//! A strict GitHub and a strict Messages API on loopback, for the demo and the tests.
