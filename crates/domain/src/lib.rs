//! Decides what a review is: pure types and functions, no clock, network or file.
