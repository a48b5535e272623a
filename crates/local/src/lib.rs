//! The embedded default: SQLite ledger, heads, meter and queue, and a directory for artifacts.
