//! The reviewer function.
