//! How a world is deployed, and the values in it that must stay where they belong.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mirilla_localaws::{Emulator, Options, Stack, StackRequest, project_root};
use mirilla_sim::{
    AccountKind, AppOptions, Commit, GithubOptions, InstallOptions, MessagesOptions, Otherwise,
    RepoOptions, Sim, SimOptions,
};

use super::{REPO, World};
use crate::{Sentinels, Services};

/// The webhook's secret. Made up, as are the others; every piece of them is found nowhere else.
const HOOK_SECRET: &str = "hV3kQ9xZ2mW7pT4cR8nB5jL6yD1fG0sA";
/// The model provider's key.
const MODEL_KEY: &str = "kX7zP2wN9vC4qJ6tM1rH8bY3dF5gL0uE";
/// A name that every file of a pull request calls: nobody else's source code.
pub(super) const SOURCE: &str = "qT5vX8nK2wZ7mJ4rB9cH3pL6";
/// What every pull request is called.
pub(super) const TITLE: &str = "Zw4Rk9Gv2Xq7Tn5Lb8Mj3Pd6";

/// What may differ between worlds.
#[derive(Debug, Clone, Default)]
pub struct Setting {
    /// Whether each function may do only what its role allows.
    pub roles: bool,
    /// Whether there is a GitHub App with its key in KMS, instead of plain tokens.
    pub app: bool,
}

impl World {
    /// Deploys the template with the functions as they were built, and fills its secrets.
    pub async fn deploy_as(setting: Setting) -> Self {
        let sim = simulators();
        let emulator = Emulator::start(&Options {
            auth: setting.roles,
            ..Options::default()
        })
        .unwrap();
        let archive_url = sim.github().archive_url();
        let request = StackRequest::new("mirilla")
            .bootstraps(built)
            .parameter("AllowedAccounts", "acme")
            .parameter("GitHubApiUrl", sim.github_api_url())
            .parameter(
                "GitHubArchiveHosts",
                archive_url.trim_start_matches("http://"),
            )
            .parameter("GitHubAuth", if setting.app { "app" } else { "token" })
            .parameter("ModelUrl", sim.messages().url())
            .parameter("DebounceSeconds", "0")
            .parameter("Architecture", "x86_64");
        let app = AppOptions::default();
        let stack = Stack::deploy(&emulator.endpoint(), &request).unwrap();
        let mut world = Self {
            aws: Services::new(&emulator.endpoint()),
            sim,
            stack,
            emulator,
            sentinels: Sentinels::default(),
            finished: false,
        };
        world.sentinels.add("source", SOURCE);
        world.sentinels.add("title", TITLE);
        let marker_key = world.aws.secret(world.output("MarkerKeyArn")).await;
        world.sentinels.add("marker key", &marker_key);
        world.keep("WebhookSecretArn", HOOK_SECRET).await;
        world.keep("ModelKeyArn", MODEL_KEY).await;
        if setting.app {
            world.watch_key(&app.private_key);
            world.aws.connect_app(world.stack.name(), &app).await;
        } else {
            world.fill_tokens().await;
        }
        world
    }

    /// Fills a secret, which must then turn up nowhere else.
    async fn keep(&mut self, output: &str, value: &str) {
        self.aws.fill_secret(self.output(output), value).await;
        // What all tokens begin with says nothing.
        let random = value.rsplit("madeUp").next().unwrap_or_default();
        self.sentinels.add(output, random);
        self.sim.sentinel(random);
    }

    /// Watches for an App's private key, as the file that holds it and as the number that it is.
    fn watch_key(&mut self, pem: &str) {
        let lines: Vec<&str> = pem.lines().filter(|line| !line.contains('-')).collect();
        for line in &lines {
            self.sim.sentinel(line);
        }
        let text = lines.concat();
        self.sentinels.add("app key", &text);
        let number = STANDARD.decode(&text).unwrap();
        self.sentinels.add_bytes("app key", &number);
    }

    async fn fill_tokens(&mut self) {
        let read = [("contents", "read"), ("pull_requests", "read")];
        let write = [("contents", "read"), ("pull_requests", "write")];
        for (output, rights) in [("ReadTokenArn", read), ("WriteTokenArn", write)] {
            let github = self.sim.github();
            let token = github.create_pat("mirilla-bot", &rights, Some(&[REPO]));
            self.keep(output, &token.unwrap()).await;
        }
    }
}

fn simulators() -> Sim {
    let app = AppOptions {
        hook_secret: HOOK_SECRET.to_owned(),
        ..AppOptions::default()
    };
    let options = SimOptions {
        github: GithubOptions {
            app,
            ..GithubOptions::default()
        },
        messages: MessagesOptions {
            api_key: MODEL_KEY.to_owned(),
            ..MessagesOptions::default()
        },
        ..SimOptions::default()
    };
    let sim = Sim::start(options).unwrap();
    sim.messages().otherwise(Otherwise::Reviewer);
    let github = sim.github();
    github.add_account("acme", AccountKind::Organization);
    github.add_member("acme", "dana");
    github.create_repo(REPO, &RepoOptions::default()).unwrap();
    github.install("acme", InstallOptions::default()).unwrap();
    let first = Commit::by("dana", "before").write("README.md", "A shop.\n");
    github.commit(REPO, "main", &first).unwrap();
    drop(github.take_deliveries());
    sim
}

fn built(function: &str) -> PathBuf {
    let bootstrap = project_root()
        .join("target/lambda")
        .join(function)
        .join("bootstrap");
    assert!(
        bootstrap.exists(),
        "{} is not there: run `cargo xtask functions` first",
        bootstrap.display()
    );
    bootstrap
}
