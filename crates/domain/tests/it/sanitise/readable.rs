//! What realistic comments look like afterwards: as a person would have written them.
