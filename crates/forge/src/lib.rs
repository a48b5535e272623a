//! GitHub over HTTP: a reading half and a writing half with different token types.
