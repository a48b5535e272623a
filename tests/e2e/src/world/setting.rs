//! How a world is deployed, and the values in it that must stay where they belong.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mirilla_localaws::{Emulator, Options, Stack, StackRequest, project_root};
use mirilla_sim::{
    AccountKind, AppOptions, Commit, GithubOptions, GitlabOptions, GitlabVersion, InstallOptions,
    MessagesOptions, Otherwise, RepoOptions, Sim, SimOptions,
};

use super::{REPO, World, gitlab};
use crate::{Sentinels, Services};

/// The webhook's secret. Made up, as are the others; every piece of them is found nowhere else.
pub(super) const HOOK_SECRET: &str = "hV3kQ9xZ2mW7pT4cR8nB5jL6yD1fG0sA";
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
    /// Which forge is served, and as whom.
    pub served: Served,
}

/// The forge of a world, and what Mirilla is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Served {
    /// GitHub, with two plain tokens.
    #[default]
    GithubTokens,
    /// GitHub, as an App with its key in KMS.
    GithubApp,
    /// A GitLab, with two plain tokens.
    Gitlab(GitlabVersion),
}

impl World {
    /// Deploys the template with the functions as they were built, and fills its secrets.
    pub async fn deploy_as(setting: Setting) -> Self {
        let served = setting.served;
        let sim = simulators(served);
        let emulator = Emulator::start(&Options {
            auth: setting.roles,
            ..Options::default()
        })
        .unwrap();
        let mut request = StackRequest::new("mirilla")
            .bootstraps(built)
            .parameter("AllowedAccounts", "acme")
            .parameter("ModelUrl", sim.messages().url())
            .parameter("DebounceSeconds", "0")
            .parameter("Architecture", "x86_64");
        for (name, value) in forge_parameters(&sim, served) {
            request = request.parameter(name, value);
        }
        let app = AppOptions::default();
        let stack = Stack::deploy(&emulator.endpoint(), &request).unwrap();
        let mut world = Self {
            aws: Services::new(&emulator.endpoint()),
            sim,
            stack,
            emulator,
            sentinels: Sentinels::default(),
            served,
            finished: false,
        };
        world.sentinels.add("source", SOURCE);
        world.sentinels.add("title", TITLE);
        let marker_key = world.aws.secret(world.output("MarkerKeyArn")).await;
        world.sentinels.add("marker key", &marker_key);
        world.keep("WebhookSecretArn", HOOK_SECRET).await;
        world.keep("ModelKeyArn", MODEL_KEY).await;
        match served {
            Served::GithubTokens => world.fill_tokens().await,
            Served::GithubApp => {
                world.watch_key(&app.private_key);
                world.aws.connect_app(world.stack.name(), &app).await;
            }
            Served::Gitlab(_) => world.fill_gitlab().await,
        }
        world
    }

    /// Fills a secret, which must then turn up nowhere else.
    pub(super) async fn keep(&mut self, output: &str, value: &str) {
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

/// Returns what the template is told about a forge.
fn forge_parameters(sim: &Sim, served: Served) -> Vec<(&'static str, String)> {
    let auth = match served {
        Served::Gitlab(_) => return vec![("GitLabUrl", sim.gitlab().url())],
        Served::GithubTokens => "token",
        Served::GithubApp => "app",
    };
    let archives = sim.github().archive_url();
    let archives = archives.trim_start_matches("http://");
    vec![
        ("GitHubApiUrl", sim.github_api_url()),
        ("GitHubArchiveHosts", archives.to_owned()),
        ("GitHubAuth", auth.to_owned()),
    ]
}

fn simulators(served: Served) -> Sim {
    let app = AppOptions {
        hook_secret: HOOK_SECRET.to_owned(),
        ..AppOptions::default()
    };
    let options = SimOptions {
        github: GithubOptions {
            app,
            ..GithubOptions::default()
        },
        gitlab: match served {
            Served::Gitlab(version) => GitlabOptions::of(version),
            Served::GithubTokens | Served::GithubApp => GitlabOptions::default(),
        },
        messages: MessagesOptions {
            api_key: MODEL_KEY.to_owned(),
            ..MessagesOptions::default()
        },
        ..SimOptions::default()
    };
    let sim = Sim::start(options).unwrap();
    sim.messages().otherwise(Otherwise::Reviewer);
    if let Served::Gitlab(_) = served {
        gitlab::set_up(sim.gitlab());
        return sim;
    }
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
