//! What each child of a running host holds: its environment and its open files.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use mirilla_sim::{Fault, GitlabVersion, Sim};

use crate::support::gitlab::{From, GitlabWorld};
use crate::support::{Server, World, mirilla, wait_for};

/// What was seen of one child.
#[derive(Debug, Default, Clone)]
struct Seen {
    environment: String,
    files: Vec<String>,
}

/// Looks at every child of a process.
fn children(parent: u32) -> BTreeMap<String, Seen> {
    let mut seen = BTreeMap::new();
    let own = fs::read_to_string(format!("/proc/{parent}/cmdline")).unwrap_or_default();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let path = entry.path();
        let Ok(stat) = fs::read_to_string(path.join("stat")) else {
            continue;
        };
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        let ppid = after_name
            .split_whitespace()
            .nth(1)
            .and_then(|ppid| ppid.parse::<u32>().ok());
        if ppid != Some(parent) {
            continue;
        }
        let Ok(command) = fs::read_to_string(path.join("cmdline")) else {
            continue;
        };
        // Between fork and exec it is a copy of its parent, and nobody's child yet.
        if command == own {
            continue;
        }
        let Some(stage) = command.split('\0').nth(2).map(ToOwned::to_owned) else {
            continue;
        };
        let environment = fs::read_to_string(path.join("environ")).unwrap_or_default();
        let files = fs::read_dir(path.join("fd")).map(|fds| {
            fds.flatten()
                .filter_map(|fd| {
                    Some(
                        fs::read_link(fd.path())
                            .ok()?
                            .to_string_lossy()
                            .into_owned(),
                    )
                })
                .collect()
        });
        seen.insert(
            stage,
            Seen {
                environment,
                files: files.unwrap_or_default(),
            },
        );
    }
    seen
}

/// Waits until a process of each stage was seen, the reviewer at its work; returns what was seen of all.
fn every_child(server: &Server, stages: &[&str]) -> BTreeMap<String, Seen> {
    let mut all: BTreeMap<String, Seen> = BTreeMap::new();
    wait_for("every stage's process", Duration::from_secs(30), || {
        for (stage, seen) in children(server.process.id()) {
            let best = all.entry(stage).or_default();
            if seen.files.len() >= best.files.len() {
                *best = seen;
            }
        }
        let missing: Vec<&&str> = stages
            .iter()
            .filter(|stage| !all.contains_key(**stage))
            .collect();
        let reviewer_works = all
            .get("reviewer")
            .is_some_and(|seen| seen.files.iter().any(|file| file.ends_with("meter.db")));
        if missing.is_empty() && reviewer_works {
            Ok(())
        } else {
            Err(format!("missing {missing:?}"))
        }
    });
    all
}

fn environments_hold_none_of(all: &BTreeMap<String, Seen>, secrets: &[String]) {
    for (stage, seen) in all {
        for secret in secrets {
            assert!(
                !seen.environment.contains(secret.as_str()),
                "{stage} has a secret in its environment"
            );
        }
        for variable in seen
            .environment
            .split('\0')
            .filter(|variable| !variable.is_empty())
        {
            let name = variable.split('=').next().unwrap();
            assert!(
                ["MIRILLA_LOG", "NO_COLOR", "TZ"].contains(&name),
                "{stage} inherits {name}"
            );
        }
    }
}

/// Makes the model take its time, so that the reviewer can be looked at.
fn slow(sim: &Sim) {
    sim.messages().faults().on(
        "POST /v1/messages",
        1,
        Fault::SlowBody {
            chunk: 64,
            pause: Duration::from_millis(200),
        },
    );
}

#[test]
fn each_child_holds_what_its_stage_needs_and_nothing_else() {
    let world = World::new();
    world.open_pull("change");
    slow(&world.sim);
    let server = world.serve();
    for delivery in world.deliveries() {
        assert_eq!(server.deliver(&delivery), Some(202));
    }
    let all = every_child(
        &server,
        &[
            "intake",
            "collector",
            "reviewer",
            "poster",
            "sweeper",
            "minter-read",
            "minter-write",
            "minter-deliveries",
        ],
    );
    drop(server);

    let key_line = mirilla_sim::TEST_APP_KEY.lines().nth(1).unwrap();
    let secrets = [
        mirilla_sim::AppOptions::default().hook_secret,
        world.sim.messages().api_key().to_owned(),
        key_line.to_owned(),
        "ghs_".to_owned(),
    ];
    environments_hold_none_of(&all, &secrets);
    let opens = |stage: &str, file: &str| all[stage].files.iter().any(|open| open.contains(file));
    for (stage, may_not) in [
        ("intake", &["heads.db", "meter.db"][..]),
        ("collector", &["meter.db"]),
        (
            "reviewer",
            &["ledger.db", "heads.db", "queue.db", "marker.key"],
        ),
        ("poster", &["meter.db", "heads.db"]),
        (
            "minter-read",
            &["ledger.db", "queue.db", "meter.db", "heads.db", "artifacts"],
        ),
        (
            "minter-write",
            &["ledger.db", "queue.db", "meter.db", "heads.db", "artifacts"],
        ),
    ] {
        for file in may_not {
            assert!(
                !opens(stage, file),
                "{stage} opens {file}: {:?}",
                all[stage].files
            );
        }
    }
    assert!(
        opens("reviewer", "meter.db") && opens("collector", "ledger.db"),
        "the test looks at the wrong files: {all:#?}"
    );
}

#[test]
fn a_host_of_gitlabs_hands_no_token_on_and_has_no_minter() {
    const HOOK_TOKEN: &str = "made-up-hook-token-of-the-boundary";
    let world = GitlabWorld::of(GitlabVersion::CURRENT, From::Branch);
    let (server, tokens) = world.serve(HOOK_TOKEN);
    slow(&world.sim);
    world.push(1);
    let sent = world.sim.gitlab().take_deliveries();
    let taken = sent
        .iter()
        .filter(|one| server.post("/webhooks/gitlab", &one.headers, &one.body) == Some(202));
    assert!(taken.count() > 0);
    let stages = ["intake", "collector", "reviewer", "poster", "sweeper"];
    let all = every_child(&server, &stages);
    drop(server);
    assert_eq!(all.len(), stages.len(), "{:?}", all.keys());
    let more = [
        HOOK_TOKEN.to_owned(),
        world.sim.messages().api_key().to_owned(),
    ];
    environments_hold_none_of(&all, &[&tokens[..], &more].concat());
}

#[test]
fn a_reviewer_does_not_start_beside_a_forge_credential() {
    for value in [
        "ghs_1_eyJhbGciOiJSUzI1NiJ9.made-up.signature",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "glpat-made-up-0123456789abcdef",
        "-----BEGIN RSA PRIVATE KEY-----\nbWFkZSB1cA==\n-----END RSA PRIVATE KEY-----",
    ] {
        let (code, _, stderr) = mirilla(&["stage", "reviewer"], b"", &[("ANY_NAME_AT_ALL", value)]);
        assert_eq!(code, 1, "{stderr}");
        assert!(
            stderr.contains("ANY_NAME_AT_ALL") && stderr.contains("does not start"),
            "{stderr}"
        );
        assert!(!stderr.contains(value), "the value is printed: {stderr}");
    }
}
