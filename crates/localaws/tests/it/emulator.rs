//! Starting and stopping.

use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use mirilla_localaws::{Emulator, Options};

/// Set in a process that is to start an emulator and die.
const DYING: &str = "MIRILLA_TEST_DYING";

/// Waits until nothing listens on a port.
fn is_closed(port: u16) -> bool {
    (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        TcpStream::connect(("127.0.0.1", port)).is_err()
    })
}

#[test]
fn emulators_run_side_by_side_and_end_with_their_values() {
    let first = Emulator::start(&Options::default()).unwrap();
    let second = Emulator::start(&Options::default()).unwrap();
    assert_ne!(first.endpoint(), second.endpoint());
    let (port, folder) = (first.port(), first.log_path());
    assert!(folder.exists());
    drop(first);
    assert!(is_closed(port));
    assert!(!folder.exists(), "its files are gone with it");
    assert!(TcpStream::connect(("127.0.0.1", second.port())).is_ok());
}

#[test]
fn emulator_sees_nothing_of_this_environment() {
    let options = Options {
        environment: vec![("MIRILLA_TEST_MARK".to_owned(), "seen".to_owned())],
        ..Options::default()
    };
    let emulator = Emulator::start(&options).unwrap();
    let environment = std::fs::read(format!("/proc/{}/environ", emulator.pid())).unwrap();
    let environment = String::from_utf8(environment).unwrap();
    let names: Vec<_> = environment
        .split_terminator('\0')
        .filter_map(|pair| Some(pair.split_once('=')?.0))
        .collect();
    assert!(names.contains(&"MIRILLA_TEST_MARK"));
    assert!(
        names.iter().all(|name| !name.starts_with("CARGO")),
        "{names:?}"
    );
}

#[test]
fn emulator_ends_with_a_process_that_is_killed() {
    if std::env::var_os(DYING).is_some() {
        let emulator = Emulator::start(&Options::default()).unwrap();
        println!("port={}", emulator.port());
        std::process::abort();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("emulator::emulator_ends_with_a_process_that_is_killed")
        .env(DYING, "1")
        .output()
        .unwrap();
    assert!(!output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let port = text.lines().find_map(|line| line.split_once("port="));
    let port = port.expect("it was started").1.parse().unwrap();
    assert!(is_closed(port));
}
