//! One hostile change and one hostile answer through everything that prints (threat 24): no control character, no
//! command to a CI runner, and in a browser no script that runs and no request that leaves.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use mirilla_domain::escape;
use mirilla_sim::{Otherwise, Scripted, Sim, SimOptions};

use crate::support::mirilla;

/// Chromium's usual names.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// Set where the browser must be there, so that its absence is a failure.
const REQUIRED: &str = "MIRILLA_BROWSER_REQUIRED";

/// A fixture with the address that must never be asked.
fn fixture(name: &str, beacon: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures/exits")
        .join(name);
    std::fs::read_to_string(path)
        .unwrap()
        .replace("{beacon}", beacon)
}

/// The program's output and what it says beside it.
fn review(format: &str, beacon: &str) -> (String, String) {
    let sim = Sim::start(SimOptions::default()).unwrap();
    sim.messages()
        .answer(Scripted::text(fixture("said.json", beacon)));
    sim.messages().otherwise(Otherwise::Reviewer);
    let (key, url) = (sim.messages().api_key().to_owned(), sim.messages().url());
    let (code, stdout, stderr) = mirilla(
        &["review", "--patch", "-", "--format", format],
        fixture("change.patch", beacon).as_bytes(),
        &[("ANTHROPIC_API_KEY", &key), ("MIRILLA_MODEL_URL", &url)],
    );
    assert_eq!(code, 0, "{format}: {stderr}");
    (stdout, stderr)
}

#[test]
fn nothing_steers_a_terminal_or_a_runner() {
    for format in ["text", "json", "sarif", "codequality", "html"] {
        let (stdout, stderr) = review(format, "beacon.example");
        assert!(stdout.contains("page.html"), "{format}: {stdout}");
        for print in [stdout, stderr] {
            let bad: Vec<char> = print
                .chars()
                .filter(|&c| escape::is_unsafe(c) && c != '\n')
                .collect();
            assert!(bad.is_empty(), "{format}: {bad:?} in {print}");
            for line in print.lines() {
                assert!(!line.trim_start().starts_with("::"), "{format}: {line}");
            }
            for mark in ["##[", "##vso["] {
                assert!(
                    format == "html" || !print.contains(mark),
                    "{format}: {print}"
                );
            }
        }
    }
}

#[test]
fn no_script_runs_and_no_request_leaves_the_page() {
    let Some(browser) = browser() else {
        assert!(
            std::env::var_os(REQUIRED).is_none(),
            "no Chromium is installed"
        );
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let (beacon, asked) = listen();
    let page = dir.path().join("page.html");
    let (html, _) = review("html", &beacon);
    assert!(
        html.contains("line-onerror") && html.contains("message-js"),
        "the page shows them as text"
    );
    std::fs::write(&page, &html).unwrap();
    let shown = open(&browser, dir.path(), &page);
    assert!(
        shown.contains("Content-Security-Policy") && shown.contains("page.html"),
        "{shown}"
    );
    for live in [
        "<script",
        "<iframe",
        "<img",
        "<link",
        "http-equiv=\"refresh\"",
        "<title>ran",
    ] {
        assert!(!shown.contains(live), "{live} is live in the page");
    }
    assert_eq!(asked.try_iter().collect::<Vec<_>>(), Vec::<String>::new());

    // The same texts, unescaped, do ask: this test can fail.
    std::fs::write(
        &page,
        format!("<!doctype html>{}", fixture("change.patch", &beacon)),
    )
    .unwrap();
    let mut child = command(&browser, dir.path(), &page).spawn().unwrap();
    let asked = asked.recv_timeout(Duration::from_secs(60));
    drop(child.kill());
    drop(child.wait());
    assert!(asked.is_ok(), "the control page did not ask");
}

/// Opens a page and returns what the browser made of it.
fn open(browser: &Path, profile: &Path, page: &Path) -> String {
    let output = command(browser, profile, page).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn command(browser: &Path, profile: &Path, page: &Path) -> Command {
    let profile = profile.join("profile");
    let mut command = Command::new(browser);
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ])
        .args([
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(["--virtual-time-budget=3000", "--dump-dom"])
        .arg(format!("file://{}", page.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// An address on loopback, and the first line of every request to it.
fn listen() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut bytes = [0; 512];
            let Ok(mut stream) = stream else { continue };
            let read = stream.read(&mut bytes).unwrap_or(0);
            drop(stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"));
            let text = String::from_utf8_lossy(&bytes[..read]);
            let first = text.lines().next().unwrap_or_default().to_owned();
            if send.send(first).is_err() {
                return;
            }
        }
    });
    (address, receive)
}

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    BROWSERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|candidate| candidate.is_file())
}
