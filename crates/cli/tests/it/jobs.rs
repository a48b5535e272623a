//! The commands of a pipeline against the simulated forge: what crosses, what is refused, what is said.

mod gitlab;
mod hostile;
mod memory;
mod refusals;
mod table;

use std::path::PathBuf;

use mirilla_sim::{Commit, PullRequestPage};

use crate::support::{MODEL_KEY_NAME, REPO, World, mirilla};

/// Made up.
const MARKER_KEY: &str = "made-up-marker-key-9fq2Lr7XvT0b";
const READ: [(&str, &str); 2] = [("contents", "read"), ("pull_requests", "read")];
const WRITE: [(&str, &str); 2] = [("contents", "read"), ("pull_requests", "write")];

/// One pull request and the folders of one run over it.
struct Ci {
    world: World,
    pull: u64,
    run: usize,
}

/// What a command said.
#[derive(Debug)]
struct Said {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Ci {
    fn new() -> Self {
        Self::on(World::new())
    }

    /// A repository whose own settings turn the gate on.
    fn gated() -> Self {
        let world = World::new();
        let settings = Commit::by("dana", "settings").write(".mirilla.toml", "gate = \"high\"\n");
        world.sim.github().commit(REPO, "main", &settings).unwrap();
        Self::on(world)
    }

    fn on(world: World) -> Self {
        let pull = world.open_pull("change");
        Self {
            world,
            pull,
            run: 0,
        }
    }

    fn folder(&self, name: &str) -> String {
        let path = self.world.dir.path().join(format!("{name}-{}", self.run));
        path.to_str().unwrap().to_owned()
    }

    fn name(&self) -> String {
        format!("{REPO}#{}", self.pull)
    }

    fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Said {
        let api = self.world.sim.github_api_url();
        let model = self.world.sim.messages().url();
        let hosts = self.world.archive_host();
        let mut all = vec![
            ("MIRILLA_GITHUB_API_URL", api.as_str()),
            ("MIRILLA_GITHUB_ARCHIVE_HOSTS", &hosts),
            ("MIRILLA_MODEL_URL", &model),
            ("MIRILLA_WRITE_GRACE_SECONDS", "1"),
        ];
        all.extend_from_slice(environment);
        Said::by(arguments, &all)
    }

    fn collect(&self) -> Said {
        let token = self.world.token(&READ);
        self.run(
            &[
                "collect",
                "--out",
                &self.folder("snapshot"),
                "--pull",
                &self.name(),
            ],
            &[("MIRILLA_GITHUB_READ_TOKEN", &token)],
        )
    }

    fn review(&self) -> Said {
        let key = self.world.sim.messages().api_key().to_owned();
        let (snapshot, findings) = (self.folder("snapshot"), self.folder("findings"));
        self.run(
            &["review", "--snapshot", &snapshot, "--out", &findings],
            &[(MODEL_KEY_NAME, &key)],
        )
    }

    fn post(&self, more: &[&str]) -> Said {
        let token = self.world.token(&WRITE);
        self.post_with(
            more,
            &[
                ("MIRILLA_GITHUB_WRITE_TOKEN", &token),
                ("MIRILLA_MARKER_KEY", MARKER_KEY),
            ],
        )
    }

    fn post_with(&self, more: &[&str], environment: &[(&str, &str)]) -> Said {
        let (snapshot, findings, name) = (
            self.folder("snapshot"),
            self.folder("findings"),
            self.name(),
        );
        let mut arguments = vec!["post", "--snapshot", &snapshot, "--findings", &findings];
        arguments.extend_from_slice(&["--pull", &name]);
        arguments.extend_from_slice(more);
        self.run(&arguments, environment)
    }

    /// Collects and reviews anew, into folders of their own.
    fn read(&mut self) {
        self.run += 1;
        self.collect().fine();
        self.review().fine();
    }

    /// The findings file of the present run.
    fn findings_file(&self) -> PathBuf {
        let jobs = std::fs::read_dir(format!("{}/findings", self.folder("findings"))).unwrap();
        let job = jobs.map(|entry| entry.unwrap().path()).next().unwrap();
        job.join("1.json")
    }

    fn page(&self) -> PullRequestPage {
        let github = self.world.sim.github();
        github.pull_request_page(REPO, self.pull).unwrap()
    }

    /// Comments on lines, over all reviews.
    fn comments(&self) -> usize {
        self.page()
            .reviews
            .iter()
            .map(|review| review.comments.len())
            .sum()
    }

    /// How often something was written to the forge, or tried to be.
    fn writes(&self) -> usize {
        let calls = self.world.sim.github().calls();
        let writes = calls
            .iter()
            .filter(|call| call.method != "GET" && !call.route.contains("graphql"));
        writes.count()
    }
}

impl Said {
    fn by(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let (code, stdout, stderr) = mirilla(arguments, b"", environment);
        Self {
            code,
            stdout,
            stderr,
        }
    }

    fn fine(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    fn says(&self, wanted: &str) {
        let all = format!("{}{}", self.stdout, self.stderr);
        assert!(all.contains(wanted), "no {wanted:?} in {all}");
    }
}

#[test]
fn three_jobs_make_one_review_and_three_more_change_nothing() {
    let mut ci = Ci::new();
    ci.read();
    ci.post(&[]).fine().says("review posted: 1 comment (HIGH)");
    let page = ci.page();
    assert_eq!(page.reviews.len(), 1);
    assert_eq!(page.reviews[0].state, "COMMENTED");
    assert_eq!(page.reviews[0].comments.len(), 1);
    let written = ci.writes();
    ci.post(&[]).fine().says("already posted");
    assert_eq!(
        ci.writes(),
        written,
        "the second time something was written"
    );
    assert_eq!(ci.page(), page);
    // Read once more, it may have cost something else: that is edited in place, and nobody is notified.
    ci.read();
    ci.post(&[]).fine().says("already posted");
    assert_eq!(ci.page().reviews.len(), 1);
    assert_eq!(ci.page().reviews[0].comments, page.reviews[0].comments);
    ci.world.sim.finish().unwrap();
}

#[test]
fn dry_run_shows_the_plan_and_writes_nothing() {
    let mut ci = Ci::new();
    ci.read();
    let token = ci.world.token(&READ);
    let look = |more: &[&str]| {
        let environment = [
            ("MIRILLA_GITHUB_READ_TOKEN", token.as_str()),
            ("MIRILLA_MARKER_KEY", MARKER_KEY),
        ];
        ci.post_with(&[&["--dry-run"], more].concat(), &environment)
            .fine()
    };
    let text = look(&[]);
    text.says("would post a review with 1 comment");
    text.says("change/Step0.java:");
    text.says("-> a new comment on line");
    text.says("nothing was written");
    let json: serde_json::Value = serde_json::from_str(&look(&["--json"]).stdout).unwrap();
    assert_eq!(json["tally"]["posted"], 1, "{json}");
    assert_eq!(ci.writes(), 0);
    assert!(ci.page().reviews.is_empty());

    ci.post(&[]).fine();
    let again = look(&[]);
    again.says("would write nothing: review");
    again.says("it was posted before");
}

#[test]
fn dry_run_of_a_stored_run_is_its_replay() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("run");
    let folder = folder.to_str().unwrap();
    let patch = b"diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,4 @@\n a\n+<<<<<<< HEAD\n+=======\n+>>>>>>> other\n";
    assert_eq!(
        mirilla(&["review", "--patch", "-", "--keep", folder], patch, &[]).0,
        0
    );
    let replayed = mirilla(&["replay", folder], b"", &[]);
    let shown = mirilla(&["post", "--dry-run", "--json", folder], b"", &[]);
    assert_eq!(replayed.0, 0, "{}", replayed.2);
    assert_eq!(shown, replayed);
    let (code, text, stderr) = mirilla(&["post", "--dry-run", folder], b"", &[]);
    assert_eq!(code, 0, "{stderr}");
    assert!(
        text.starts_with("would post a review with 1 comment"),
        "{text}"
    );
    let plan = dir.path().join("run/plan.json");
    let milder = std::fs::read_to_string(&plan)
        .unwrap()
        .replacen("high", "low", 1);
    std::fs::write(&plan, milder).unwrap();
    let (code, _, stderr) = mirilla(&["post", "--dry-run", folder], b"", &[]);
    assert_eq!(code, 1);
    assert!(stderr.contains("plan.json was changed"), "{stderr}");
}
