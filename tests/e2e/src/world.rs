//! One deployment with one repository, and what a test asks of it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use mirilla_localaws::{Emulator, Options, Stack, StackRequest, project_root};
use mirilla_sim::{
    AccountKind, AppOptions, Commit, Fault, InstallOptions, OpenPull, Otherwise, RepoOptions, Sim,
    SimOptions, WebhookDelivery,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use url::Url;

use crate::Services;

/// The repository.
pub const REPO: &str = "acme/shop";
/// The model's only route.
const MESSAGES: &str = "POST /v1/messages";
/// How often a wait looks.
const PAUSE: Duration = Duration::from_millis(200);

/// What the front door answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub text: String,
}

/// A deployment. Dropped, everything it started ends.
#[derive(Debug)]
pub struct World {
    /// GitHub and the model's provider.
    pub sim: Sim,
    /// AWS, as an operator sees it.
    pub aws: Services,
    /// The deployed template.
    pub stack: Stack,
    emulator: Emulator,
}

impl World {
    /// Deploys the template with the functions as they were built, and fills its secrets.
    pub async fn deploy() -> Self {
        Self::deploy_with(&Options::default()).await
    }

    /// Does the same where each function may do only what its role allows.
    pub async fn deploy_with_roles() -> Self {
        let options = Options {
            auth: true,
            ..Options::default()
        };
        Self::deploy_with(&options).await
    }

    async fn deploy_with(options: &Options) -> Self {
        let sim = Sim::start(SimOptions::default()).unwrap();
        sim.messages().otherwise(Otherwise::Reviewer);
        let github = sim.github();
        github.add_account("acme", AccountKind::Organization);
        github.create_repo(REPO, &RepoOptions::default()).unwrap();
        github.install("acme", InstallOptions::default()).unwrap();
        let first = Commit::by("dana", "before").write("README.md", "A shop.\n");
        github.commit(REPO, "main", &first).unwrap();
        drop(github.take_deliveries());

        let emulator = Emulator::start(options).unwrap();
        let archive_url = github.archive_url();
        let request = StackRequest::new("mirilla")
            .bootstraps(built)
            .parameter("AllowedAccounts", "acme")
            .parameter("GitHubApiUrl", sim.github_api_url())
            .parameter(
                "GitHubArchiveHosts",
                archive_url.trim_start_matches("http://"),
            )
            .parameter("GitHubAuth", "token")
            .parameter("ModelUrl", sim.messages().url())
            .parameter("DebounceSeconds", "0")
            .parameter("Architecture", "x86_64");
        let stack = Stack::deploy(&emulator.endpoint(), &request).unwrap();
        let world = Self {
            aws: Services::new(&emulator.endpoint()),
            sim,
            stack,
            emulator,
        };
        world.fill().await;
        world
    }

    async fn fill(&self) {
        let secret = |name: &str| self.stack.output(name).unwrap().to_owned();
        let github = self.sim.github();
        let read = [("contents", "read"), ("pull_requests", "read")];
        let write = [("contents", "read"), ("pull_requests", "write")];
        let token = |permissions: &[(&str, &str)]| {
            github
                .create_pat("mirilla-bot", permissions, Some(&[REPO]))
                .unwrap()
        };
        let fill = [
            ("WebhookSecretArn", AppOptions::default().hook_secret),
            ("ModelKeyArn", self.sim.messages().api_key().to_owned()),
            ("ReadTokenArn", token(&read)),
            ("WriteTokenArn", token(&write)),
        ];
        for (output, value) in fill {
            self.aws.fill_secret(&secret(output), &value).await;
        }
    }

    /// Returns the address of every emulated service.
    pub fn endpoint(&self) -> String {
        self.emulator.endpoint()
    }

    /// Pushes a commit with one more swallowed failure to a branch.
    pub fn push(&self, branch: &str, step: usize) {
        let file = format!("{branch}/Step{step}.java");
        let code = format!(
            "class Step{step} {{\n  void run() {{\n    try {{\n      work{step}();\n    }} catch (Exception e) {{\n    }}\n  }}\n}}\n"
        );
        let commit = Commit::by("dana", "step").write(file, code);
        self.sim.github().commit(REPO, branch, &commit).unwrap();
    }

    /// Opens a pull request that swallows a failure in a file of its own.
    pub fn open_pull(&self, branch: &str) -> u64 {
        self.push(branch, 0);
        drop(self.sim.github().take_deliveries());
        let open = OpenPull::new("dana", branch, branch);
        self.sim.github().open_pull(REPO, open).unwrap()
    }

    /// Returns the webhooks that GitHub would send now.
    pub fn deliveries(&self) -> Vec<WebhookDelivery> {
        let deliveries = self.sim.github().take_deliveries();
        deliveries
            .into_iter()
            .filter(|delivery| delivery.event == "pull_request")
            .collect()
    }

    /// Posts a webhook through the function URL.
    pub fn deliver(&self, delivery: &WebhookDelivery) -> Answer {
        let url = Url::parse(self.stack.output("WebhookUrl").unwrap()).unwrap();
        let mut head = format!(
            "POST /webhooks/github HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n",
            url.host_str().unwrap(),
            delivery.body.len()
        );
        for (name, value) in &delivery.headers {
            if !name.eq_ignore_ascii_case("content-length") && !name.eq_ignore_ascii_case("host") {
                head.push_str(&[name.as_str(), ": ", value.as_str(), "\r\n"].concat());
            }
        }
        head.push_str("\r\n");
        let mut stream = TcpStream::connect(("127.0.0.1", self.emulator.port())).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&delivery.body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let text = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        Answer {
            status: status.unwrap_or_else(|| panic!("not HTTP: {answer}")),
            text: text.to_owned(),
        }
    }

    /// Returns how many reviews a pull request has, and the places of their comments, sorted.
    pub fn said(&self, pr: u64) -> (usize, Vec<String>) {
        let reviews = self.sim.github().reviews(REPO, pr).unwrap();
        let mut places: Vec<String> = reviews
            .iter()
            .flat_map(|review| &review.comments)
            .map(|comment| format!("{}:{:?}", comment.path, comment.original_line))
            .collect();
        places.sort();
        (reviews.len(), places)
    }

    /// Makes the model take so long for its next answer.
    pub fn slow_model(&self, pause: Duration) {
        let faults = self.sim.messages().faults();
        faults.on_next(MESSAGES, Fault::stall(pause));
    }

    /// Makes the model refuse the next calls: it is overloaded.
    pub fn overload_model(&self, calls: u32) {
        let body = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        for nth in 1..=calls {
            let fault = Fault::status(529, body.to_string());
            self.sim.messages().faults().on(MESSAGES, nth, fault);
        }
    }

    /// Kills a function's processes, as a crash or the end of its time would.
    pub fn kill(&self, function: &str) {
        let name = format!("AWS_LAMBDA_FUNCTION_NAME={}-{function}", self.stack.name());
        let mut killed = 0;
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|pid| pid.parse().ok()) else {
                continue;
            };
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let ours = environment
                .split(|byte| *byte == 0)
                .any(|it| it == name.as_bytes());
            if ours && group(pid) == Some(self.emulator.pid()) {
                let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
                kill_process(pid, Signal::KILL).unwrap();
                killed += 1;
            }
        }
        assert!(killed > 0, "no process of {function} runs");
    }

    /// Waits until the model was asked so often.
    pub async fn wait_for_model_calls(&self, calls: u32) {
        self.wait("a call to the model", Duration::from_secs(60), async || {
            let count = self.sim.messages().faults().count(MESSAGES);
            if count >= calls {
                Ok(())
            } else {
                Err(format!("{count} calls"))
            }
        })
        .await;
    }

    /// Waits until a queue is empty and stays so for a while.
    pub async fn wait_until_quiet(&self, queue_url: &str) {
        self.wait("an empty queue", Duration::from_secs(60), async || {
            for _ in 0..5 {
                let depth = self.aws.depth(queue_url).await;
                if depth > 0 {
                    return Err(format!("{depth} messages"));
                }
                tokio::time::sleep(PAUSE).await;
            }
            Ok(())
        })
        .await;
    }

    /// Runs the sweeper once, as its schedule does.
    pub async fn sweep(&self) {
        let sweeper = self.stack.output("SweeperFunction").unwrap();
        self.aws.invoke(sweeper, &json!({})).await;
    }

    /// Waits until something holds; panics with what was seen and the functions' log if it does not.
    pub async fn wait(
        &self,
        what: &str,
        limit: Duration,
        holds: impl AsyncFn() -> Result<(), String>,
    ) {
        let tries = limit.as_millis() / PAUSE.as_millis();
        let mut seen = String::new();
        for _ in 0..tries {
            match holds().await {
                Ok(()) => return,
                Err(now) => seen = now,
            }
            tokio::time::sleep(PAUSE).await;
        }
        panic!("{what}: not within {limit:?}; seen: {seen}");
    }

    /// Waits until a pull request has been reviewed once with exactly so many comments.
    pub async fn wait_for_review(&self, pr: u64, comments: usize) {
        self.wait("one review", Duration::from_secs(60), async || {
            let (reviews, places) = self.said(pr);
            if reviews == 1 && places.len() == comments {
                Ok(())
            } else {
                Err(format!("{reviews} reviews, comments at {places:?}"))
            }
        })
        .await;
    }
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

/// Returns a process's group.
fn group(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name, which may hold blanks: state, parent, group.
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(2)?
        .parse()
        .ok()
}
