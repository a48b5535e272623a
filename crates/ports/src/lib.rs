//! Names what a stage needs from the world: traits only.
