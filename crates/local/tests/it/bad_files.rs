//! Files that are damaged, foreign, locked or newer: an error that names the file and the way out.

use std::error::Error as _;
use std::path::Path;

use mirilla_contract::sample;
use mirilla_local::{DataDir, LocalError, LocalLedger, LocalMeter};
use mirilla_ports::{Ledger as _, LedgerError};

fn text(error: &LocalError, path: &Path) -> String {
    let text = error.to_string();
    assert!(
        text.contains(&path.display().to_string()),
        "names the file: {text}"
    );
    text
}

#[test]
fn a_file_that_is_no_database_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("ledger.db");
    std::fs::write(
        &path,
        "these are not the rows you are looking for ".repeat(50),
    )
    .unwrap();
    let error = LocalLedger::open(&path).unwrap_err();
    assert!(matches!(error, LocalError::Corrupt { .. }), "{error:?}");
    assert!(text(&error, &path).contains("move it away"));
}

#[test]
fn a_newer_schema_is_not_touched() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("meter.db");
    drop(LocalMeter::open(&path).unwrap());
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    let error = LocalMeter::open(&path).unwrap_err();
    assert!(text(&error, &path).contains("schema 99, this mirilla knows 2: upgrade"));
    let version: i64 = raw
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 99);
}

#[test]
fn a_missing_directory_is_an_error_with_the_path() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("none/ledger.db");
    let error = LocalLedger::open(&path).unwrap_err();
    text(&error, &path);
    assert!(error.source().is_some());
}

#[test]
fn a_data_directory_that_is_a_file_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("data");
    std::fs::write(&path, "x").unwrap();
    text(&DataDir::create(&path).unwrap_err(), &path);
}

#[tokio::test]
async fn a_row_that_cannot_be_read_names_file_and_table() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("ledger.db");
    let ledger = LocalLedger::open(&path).unwrap();
    let job = sample::job('a', sample::at(1));
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute(
            "INSERT INTO job VALUES (?1, 1, 0, 0, '{\"id\": 3}')",
            [job.id.as_str()],
        )
        .unwrap();
    let error = ledger.job(&job.id).await.unwrap_err();
    let LedgerError::Unavailable { source, .. } = error else {
        panic!("{error:?}");
    };
    let text = source.to_string();
    assert!(
        text.contains("ledger.db") && text.contains("a row of jobs"),
        "{text}"
    );
}
