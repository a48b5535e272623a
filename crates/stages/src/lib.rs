//! The use cases, in the order data flows: intake, collect, review, post, sweep.
