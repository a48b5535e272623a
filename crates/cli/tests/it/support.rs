//! `mirilla serve` as a process of its own, with the simulators in the test.

pub(crate) mod gitlab;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mirilla_domain::ids::*;
use mirilla_domain::job::{Job, JobKey};
use mirilla_local::{DataDir, LocalLedger};
use mirilla_ports::Ledger as _;
use mirilla_sim::{
    AccountKind, AppOptions, Commit, InstallOptions, OpenPull, Otherwise, RepoOptions, Sim,
    SimOptions, WebhookDelivery,
};

pub(crate) const REPO: &str = "acme/shop";
pub(crate) const MODEL_KEY_NAME: &str = "ANTHROPIC_API_KEY";

/// Runs the program and returns status, standard output and standard error.
pub(crate) fn mirilla(
    arguments: &[&str],
    stdin: &[u8],
    environment: &[(&str, &str)],
) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mirilla"));
    command
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap());
    command.envs(environment.iter().copied());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = stdin.to_vec();
    let writer = std::thread::spawn(move || drop(input.write_all(&bytes)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap_or(-1),
        text(output.stdout),
        text(output.stderr),
    )
}

/// The simulated world that outlives the host.
pub(crate) struct World {
    pub(crate) sim: Sim,
    pub(crate) dir: tempfile::TempDir,
    pub(crate) key_file: PathBuf,
    /// The App's installation on the account.
    pub(crate) installation: u64,
}

impl World {
    pub(crate) fn new() -> Self {
        let sim = Sim::start(SimOptions::default()).unwrap();
        sim.messages().otherwise(Otherwise::Reviewer);
        let github = sim.github();
        github.add_account("acme", AccountKind::Organization);
        github.create_repo(REPO, &RepoOptions::default()).unwrap();
        let installation = github.install("acme", InstallOptions::default()).unwrap();
        github
            .commit(
                REPO,
                "main",
                &Commit::by("dana", "before").write("README.md", "A shop.\n"),
            )
            .unwrap();
        let dir = tempfile::tempdir().unwrap();
        let key_file = dir.path().join("app.pem");
        std::fs::write(&key_file, mirilla_sim::TEST_APP_KEY).unwrap();
        drop(github.take_deliveries());
        Self {
            sim,
            dir,
            key_file,
            installation,
        }
    }

    /// Opens a pull request that swallows a failure in a file of its own.
    pub(crate) fn open_pull(&self, branch: &str) -> u64 {
        self.push(branch, 0);
        drop(self.sim.github().take_deliveries());
        self.sim
            .github()
            .open_pull(REPO, OpenPull::new("dana", branch, branch))
            .unwrap()
    }

    /// Mints a token for the repository with these rights and no others.
    pub(crate) fn token(&self, permissions: &[(&str, &str)]) -> String {
        let github = self.sim.github();
        github
            .mint_token(self.installation, Some(permissions), Some(&[REPO]))
            .unwrap()
    }

    /// The archive's host, which is not the API's.
    pub(crate) fn archive_host(&self) -> String {
        let url = self.sim.github().archive_url();
        url.trim_start_matches("http://").to_owned()
    }

    /// Pushes a commit with one more swallowed failure to a branch.
    pub(crate) fn push(&self, branch: &str, step: usize) {
        let file = format!("{branch}/Step{step}.java");
        let code = format!(
            "class Step{step} {{\n  void run() {{\n    try {{\n      work{step}();\n    }} catch (Exception e) {{\n    }}\n  }}\n}}\n"
        );
        self.sim
            .github()
            .commit(REPO, branch, &Commit::by("dana", "step").write(file, code))
            .unwrap();
    }

    /// Pushes a commit that mends the failure of a step.
    pub(crate) fn mend(&self, branch: &str, step: usize) {
        let file = format!("{branch}/Step{step}.java");
        let code = format!("class Step{step} {{\n  void run() {{\n    work{step}();\n  }}\n}}\n");
        let commit = Commit::by("dana", "mend").write(file, code);
        self.sim.github().commit(REPO, branch, &commit).unwrap();
    }

    pub(crate) fn deliveries(&self) -> Vec<WebhookDelivery> {
        let deliveries = self.sim.github().take_deliveries();
        deliveries
            .into_iter()
            .filter(|delivery| delivery.event == "pull_request")
            .collect()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// The job of a branch's present tip.
    pub(crate) fn job(&self, branch: &str, pr: u64) -> Option<Job> {
        let head = self.sim.github().tip(REPO, branch).unwrap();
        let key = JobKey {
            forge: Forge::Github,
            repo: RepoId::new(self.sim.github().repo_id(REPO).unwrap()),
            pr: PrNumber::new(pr),
            head: CommitSha::parse(&head).unwrap(),
            base_ref: BranchName::parse("main").unwrap(),
            generation: Generation::new(0),
        };
        let ledger = LocalLedger::open(&DataDir::at(&self.data()).ledger()).unwrap();
        block_on(ledger.job(&key.id())).unwrap()
    }

    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    /// The same with more variables.
    pub(crate) fn serve_with(&self, more: &[(&str, &str)]) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mirilla"));
        command
            .arg("serve")
            .env_clear()
            .env("MIRILLA_DATA_DIR", self.data())
            .env("MIRILLA_LISTEN", "127.0.0.1:0")
            .env("MIRILLA_ALLOWED_ACCOUNTS", "acme")
            .env("MIRILLA_WEBHOOK_SECRET", AppOptions::default().hook_secret)
            .env("MIRILLA_GITHUB_API_URL", self.sim.github_api_url())
            .env("MIRILLA_GITHUB_ARCHIVE_HOSTS", self.archive_host())
            .env("MIRILLA_GITHUB_APP_ID", "4242")
            .env("MIRILLA_GITHUB_APP_SLUG", "mirilla")
            .env("MIRILLA_GITHUB_APP_KEY_FILE", &self.key_file)
            .env(MODEL_KEY_NAME, self.sim.messages().api_key())
            .env("MIRILLA_MODEL_URL", self.sim.messages().url())
            .env("MIRILLA_DEBOUNCE_SECONDS", "0")
            .env("MIRILLA_WRITE_GRACE_SECONDS", "1")
            .env("MIRILLA_SWEEP_SECONDS", "1")
            .envs(more.iter().copied());
        Server::start(command)
    }
}

/// A running host.
pub(crate) struct Server {
    pub(crate) process: Child,
    pub(crate) address: SocketAddr,
    log: Option<std::thread::JoinHandle<String>>,
}

impl Server {
    /// Starts a host and waits until it listens.
    pub(crate) fn start(mut command: Command) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap());
        let mut said = String::new();
        let address = loop {
            let mut line = String::new();
            assert!(
                lines.read_line(&mut line).unwrap() > 0,
                "serve ended at once: {said}"
            );
            said.push_str(&line);
            if let Some((_, rest)) = line.split_once("listens on http://") {
                break rest.split('/').next().unwrap().parse().unwrap();
            }
        };
        let log = std::thread::spawn(move || {
            let mut rest = String::new();
            drop(lines.read_to_string(&mut rest));
            said + &rest
        });
        Self {
            process,
            address,
            log: Some(log),
        }
    }

    /// Kills the supervisor as the kernel would, and returns what was said.
    pub(crate) fn kill(mut self) -> String {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.log.take().unwrap().join().unwrap()
    }

    /// Posts a webhook; `None` if the host is gone before it answers.
    pub(crate) fn deliver(&self, delivery: &WebhookDelivery) -> Option<u16> {
        self.post("/webhooks/github", &delivery.headers, &delivery.body)
    }

    /// The same at any path.
    pub(crate) fn post(
        &self,
        path: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Option<u16> {
        let mut stream = TcpStream::connect_timeout(&self.address, Duration::from_secs(5)).ok()?;
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .ok()?;
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n",
            self.address,
            body.len()
        );
        for (name, value) in headers {
            if !name.eq_ignore_ascii_case("content-length") && !name.eq_ignore_ascii_case("host") {
                head.push_str(&[name, ": ", value, "\r\n"].concat());
            }
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(body).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.split(' ').nth(1)?.parse().ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// Waits for a condition; panics with what was seen if it does not come true.
pub(crate) fn wait_for(what: &str, limit: Duration, mut holds: impl FnMut() -> Result<(), String>) {
    let until = Instant::now() + limit;
    loop {
        match holds() {
            Ok(()) => return,
            Err(seen) if Instant::now() > until => {
                panic!("{what}: not within {limit:?}; seen: {seen}")
            }
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// The repository's root.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
}
