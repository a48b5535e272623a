//! The poster function.
