//! `mirilla doctor` for this host: the settings, GitHub, the door and the model, each defect alone.

use std::time::Duration;

use mirilla_sim::{AppOptions, GithubOptions, InstallOptions, Sim, SimOptions};
use serde_json::Value;

use crate::support::{MODEL_KEY_NAME, World, mirilla};

/// A host with an App, as the guide sets it up.
struct Host {
    world: World,
    environment: Vec<(String, String)>,
}

impl Host {
    fn new() -> Self {
        Self::on(World::new())
    }

    fn on(world: World) -> Self {
        let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
        let environment = [
            ("MIRILLA_DATA_DIR", text(&world.data())),
            ("MIRILLA_LISTEN", "127.0.0.1:9".to_owned()),
            ("MIRILLA_ALLOWED_ACCOUNTS", "acme".to_owned()),
            ("MIRILLA_WEBHOOK_SECRET", AppOptions::default().hook_secret),
            ("MIRILLA_GITHUB_API_URL", world.sim.github_api_url()),
            ("MIRILLA_GITHUB_APP_ID", "4242".to_owned()),
            ("MIRILLA_GITHUB_APP_SLUG", "mirilla".to_owned()),
            ("MIRILLA_GITHUB_APP_KEY_FILE", text(&world.key_file)),
            (MODEL_KEY_NAME, world.sim.messages().api_key().to_owned()),
            ("MIRILLA_MODEL_URL", world.sim.messages().url()),
        ];
        Self {
            environment: environment
                .map(|(name, value)| (name.to_owned(), value))
                .to_vec(),
            world,
        }
    }

    fn set(mut self, name: &str, value: &str) -> Self {
        self.environment.retain(|(have, _)| have != name);
        if !value.is_empty() {
            self.environment.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Returns what is not `ok`, as `check level: what`.
    fn trouble(&self) -> Vec<String> {
        let environment: Vec<(&str, &str)> = self
            .environment
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let (code, stdout, stderr) = mirilla(&["doctor", "--json"], b"", &environment);
        let json: Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stderr}"));
        let checks = json["checks"].as_array().unwrap();
        let failed = checks.iter().any(|check| check["level"] == "fail");
        assert_eq!(code, i32::from(failed), "{stdout}");
        let bad = checks.iter().filter(|check| check["level"] != "ok");
        bad.map(|check| {
            assert!(check["fix"].is_string(), "names no fix: {check}");
            let text = |key: &str| check[key].as_str().unwrap();
            format!("{} {}: {}", text("check"), text("level"), text("what"))
        })
        .collect()
    }
}

/// Checks that exactly one thing beside the closed door is found.
fn assert_found(host: &Host, wanted: &str) {
    let mut trouble = host.trouble();
    trouble.retain(|one| !one.starts_with("webhook warn: nobody listens"));
    assert_eq!(trouble.len(), 1, "{wanted}: {trouble:?}");
    assert!(trouble[0].starts_with(wanted), "{wanted}: {trouble:?}");
    host.world.sim.github().take_problems();
}

#[test]
fn host_that_serves_is_fine() {
    let host = Host::new();
    let server = host.world.serve();
    let host = host.set("MIRILLA_LISTEN", &server.address.to_string());
    assert_eq!(host.trouble(), Vec::<String>::new());
    let wrong = host.set(
        "MIRILLA_WEBHOOK_SECRET",
        "another-secret-than-the-server-has",
    );
    assert_found(
        &wrong,
        "webhook fail: a ping signed with the stored secret is turned away",
    );
    drop(server);
}

#[test]
fn each_defect_of_a_host_is_found_alone() {
    assert_found(
        &Host::new().set("MIRILLA_GITHUB_APP_ID", "999"),
        "app fail: GitHub does not take the key",
    );
    assert_found(
        &Host::new().set("MIRILLA_GITHUB_APP_SLUG", "other"),
        "app fail: the App is called mirilla",
    );
    assert_found(
        &Host::new().set("MIRILLA_ALLOWED_ACCOUNTS", "acme, elsewhere"),
        "installations warn: not installed on elsewhere",
    );
    assert_found(
        &Host::new().set(MODEL_KEY_NAME, "sk-ant-somebody-elses"),
        "model fail: ",
    );
    assert_found(
        &Host::new().set(MODEL_KEY_NAME, ""),
        "model warn: no key is set",
    );
    assert_found(
        &Host::new().set("MIRILLA_REVIEW_USD", "0.01"),
        "price fail: a cap of",
    );
    assert_found(
        &Host::new().set("MIRILLA_RESOLVE_THREADS", "yes"),
        "permissions fail: the App lacks contents: write (MIRILLA_RESOLVE_THREADS is `yes`)",
    );
    assert_found(
        &Host::new().set("MIRILLA_DATA_DIR", "/proc/mirilla"),
        "data fail: /proc cannot be written",
    );
    assert_found(
        &Host::new().set("MIRILLA_GITHUB_API_URL", "http://127.0.0.1:9"),
        "github fail: ",
    );
    let host = Host::new();
    let ahead = Duration::from_secs(300);
    host.world.sim.clock().advance(ahead);
    let trouble = host.trouble();
    assert!(
        trouble.iter().any(
            |one| one.starts_with("clock fail: this machine's clock is 29")
                || one.starts_with("clock fail: this machine's clock is 300")
        ),
        "{trouble:?}"
    );
    host.world.sim.github().take_problems();

    let settings = Host::new()
        .set("MIRILLA_ALLOWED_ACCOUNTS", "")
        .set("MIRILLA_REVIEW_USD", "much");
    let trouble = settings.trouble();
    assert_eq!(trouble.len(), 2, "all problems at once: {trouble:?}");
    assert!(
        trouble
            .iter()
            .all(|one| one.starts_with("settings fail: MIRILLA_")),
        "{trouble:?}"
    );
}

#[test]
fn permissions_of_the_app_are_compared_with_the_manifest() {
    let with = |change: fn(&mut AppOptions)| {
        let mut app = AppOptions::default();
        change(&mut app);
        let sim = Sim::start(SimOptions {
            github: GithubOptions {
                app,
                ..GithubOptions::default()
            },
            ..SimOptions::default()
        })
        .unwrap();
        sim.github()
            .install("acme", InstallOptions::default())
            .unwrap();
        let mut world = World::new();
        world.sim = sim;
        Host::on(world)
    };
    assert_found(
        &with(|app| app.permissions.retain(|(name, _)| name != "checks")),
        "permissions fail: the App lacks checks: write",
    );
    assert_found(
        &with(|app| {
            app.permissions
                .push(("administration".into(), "write".into()));
        }),
        "permissions warn: the App may do more than it needs: administration: write",
    );
    assert_found(
        &with(|app| app.events.retain(|event| event != "pull_request")),
        "permissions fail: the App is not told of pull requests",
    );
    assert_found(
        &with(|app| app.events.retain(|event| event != "check_suite")),
        "permissions warn: the App is not told of check_suite",
    );
    // One from before queues were answered: nothing else is wrong with it.
    assert_found(
        &with(|app| {
            app.permissions.retain(|(name, _)| name != "merge_queues");
            app.events.retain(|event| event != "merge_group");
        }),
        "permissions warn: the App lacks merge_queues: read, so that it hears of no merge queue",
    );
}

#[test]
fn plain_tokens_are_looked_at_one_by_one() {
    let host = || {
        let host = Host::new();
        let github = host.world.sim.github();
        let read = [("contents", "read"), ("pull_requests", "read")];
        let read = github.create_pat("dana", &read, None).unwrap();
        let write = github
            .create_pat("dana", &[("pull_requests", "write")], None)
            .unwrap();
        host.set("MIRILLA_GITHUB_APP_KEY_FILE", "")
            .set("MIRILLA_GITHUB_READ_TOKEN", &read)
            .set("MIRILLA_GITHUB_WRITE_TOKEN", &write)
    };
    let fine = host();
    let mut trouble = fine.trouble();
    trouble.retain(|one| !one.starts_with("webhook warn"));
    assert_eq!(trouble, Vec::<String>::new());
    assert_found(
        &host().set("MIRILLA_GITHUB_WRITE_TOKEN", "ghp_made_up"),
        "write-token fail: GitHub does not know MIRILLA_GITHUB_WRITE_TOKEN",
    );
    let same = host();
    let (_, read) = same
        .environment
        .iter()
        .find(|(name, _)| name == "MIRILLA_GITHUB_READ_TOKEN")
        .unwrap()
        .clone();
    assert_found(
        &same.set("MIRILLA_GITHUB_WRITE_TOKEN", &read),
        "tokens warn: both tokens are the same",
    );
}
