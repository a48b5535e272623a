//! Log lines, error chains and metric names, fixed in one place.
