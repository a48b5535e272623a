//! The same commands over merge requests, on every version that is simulated.

use std::path::PathBuf;

use mirilla_sim::{Access, Commit, GitlabVersion, Scope};

use super::Said;
use super::table::Row;
use crate::support::MODEL_KEY_NAME;
use crate::support::gitlab::{From, GitlabWorld, PROJECT};

/// A merge request, the tokens of its jobs and the folders of one run over it.
struct Jobs {
    world: GitlabWorld,
    read: String,
    write: String,
    run: usize,
}

impl Jobs {
    fn on(world: GitlabWorld) -> Self {
        Self {
            read: world.token(Access::Reporter, Scope::ReadApi),
            // The same bot where it is a person's: what it may do last counts.
            write: world.token(Access::Developer, Scope::Api),
            world,
            run: 0,
        }
    }

    fn of(version: GitlabVersion) -> Self {
        Self::on(GitlabWorld::of(version, From::Branch))
    }

    fn gated(version: GitlabVersion) -> Self {
        let settings = [(".mirilla.toml", "gate = \"high\"\n")];
        Self::on(GitlabWorld::with(version, From::Branch, &settings))
    }

    fn path(&self, name: &str) -> String {
        let path: PathBuf = self.world.dir.path().join(format!("{name}-{}", self.run));
        path.to_str().unwrap().to_owned()
    }

    fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Said {
        let (url, model) = (
            self.world.sim.gitlab().url(),
            self.world.sim.messages().url(),
        );
        let told = self.world.variables();
        let mut all: Vec<(&str, &str)> = told
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        all.extend([
            ("GITLAB_CI", "true"),
            ("CI_SERVER_URL", &url),
            ("MIRILLA_MODEL_URL", &model),
            ("MIRILLA_WRITE_GRACE_SECONDS", "1"),
        ]);
        all.extend_from_slice(environment);
        Said::by(arguments, &all)
    }

    /// Collects and reviews anew, into folders of their own.
    fn read(&mut self) {
        self.run += 1;
        let (snapshot, findings) = (self.path("snapshot"), self.path("findings"));
        let token = [("MIRILLA_GITLAB_READ_TOKEN", self.read.as_str())];
        self.run(&["collect", "--out", &snapshot], &token).fine();
        let key = [(MODEL_KEY_NAME, self.world.sim.messages().api_key())];
        self.run(
            &["review", "--snapshot", &snapshot, "--out", &findings],
            &key,
        )
        .fine();
    }

    fn post(&self, more: &[&str]) -> Said {
        let (snapshot, findings) = (self.path("snapshot"), self.path("findings"));
        let arguments = ["post", "--snapshot", &snapshot, "--findings", &findings];
        let token = [("MIRILLA_GITLAB_WRITE_TOKEN", self.write.as_str())];
        self.run(&[&arguments, more].concat(), &token)
    }
}

#[test]
fn three_jobs_make_one_review_and_three_more_change_nothing() {
    for version in GitlabVersion::PLAYED {
        let mut jobs = Jobs::of(version);
        jobs.read();
        jobs.post(&[])
            .fine()
            .says("review posted: 1 comment (HIGH)");
        let notes = jobs.world.notes();
        assert_eq!((notes.0.len(), notes.1.len()), (1, 1), "{version}");
        jobs.post(&[]).fine().says("already posted");
        jobs.read();
        jobs.post(&[]).fine().says("already posted");
        assert_eq!(jobs.world.notes().0, notes.0, "{version}");
        assert_eq!(jobs.world.notes().1.len(), 1, "{version}");
        jobs.world.sim.finish().unwrap();
    }
}

#[test]
fn dry_run_shows_the_plan_with_a_token_that_reads() {
    let mut jobs = Jobs::of(GitlabVersion::CURRENT);
    jobs.read();
    let (snapshot, findings) = (jobs.path("snapshot"), jobs.path("findings"));
    let said = jobs.run(
        &[
            "post",
            "--dry-run",
            "--snapshot",
            &snapshot,
            "--findings",
            &findings,
        ],
        &[("MIRILLA_GITLAB_READ_TOKEN", &jobs.read)],
    );
    let said = said.fine();
    said.says("would post a review with 1 comment");
    said.says("nothing was written");
    assert_eq!(jobs.world.notes(), (Vec::new(), Vec::new()));
}

#[test]
fn gate_is_the_exit_code_and_a_dismissal_opens_it() {
    for version in [GitlabVersion::V12_10, GitlabVersion::CURRENT] {
        let mut jobs = Jobs::gated(version);
        jobs.read();
        let stopped = jobs.post(&["--gate"]);
        assert_eq!(stopped.code, 10, "{version}: {stopped:?}");
        stopped.says("gate: fail -> failure");
        let gitlab = jobs.world.sim.gitlab();
        let page = gitlab.merge_request_page(PROJECT, jobs.world.iid).unwrap();
        let thread = page.discussions.iter().find(|one| one.resolvable).unwrap();
        let reason = "/mirilla dismiss the caller logs it";
        gitlab
            .reply(PROJECT, jobs.world.iid, thread.notes[0].id, "alice", reason)
            .unwrap();
        jobs.read();
        jobs.post(&["--gate"]).fine().says("gate: pass -> success");
    }
}

#[test]
fn thread_whose_finding_is_gone_is_resolved_with_the_token_that_writes() {
    for version in GitlabVersion::PLAYED {
        let mut jobs = Jobs::of(version);
        jobs.read();
        jobs.post(&[]).fine();
        let mended = "class Step0 {\n  void run() {\n    work0();\n  }\n}\n";
        let commit = Commit::by("bob", "mend").write("change/Step0.java", mended);
        let gitlab = jobs.world.sim.gitlab();
        gitlab.commit(PROJECT, "change", &commit).unwrap();
        jobs.read();
        let said = jobs.post(&[]).fine();
        let page = jobs.world.sim.gitlab();
        let page = page.merge_request_page(PROJECT, jobs.world.iid).unwrap();
        let thread = page.discussions.iter().find(|one| one.resolvable).unwrap();
        assert!(thread.resolved, "{version}: {said:?}");
    }
}

#[test]
fn draft_is_skipped_and_later_jobs_are_told() {
    let jobs = Jobs::of(GitlabVersion::V13_12);
    let gitlab = jobs.world.sim.gitlab();
    gitlab
        .set_draft(PROJECT, jobs.world.iid, true, "bob")
        .unwrap();
    let (out, told) = (jobs.path("snapshot"), jobs.path("told"));
    let said = jobs.run(
        &["collect", "--out", &out, "--report", &told],
        &[("MIRILLA_GITLAB_READ_TOKEN", &jobs.read)],
    );
    said.fine().says("skipped");
    assert_eq!(std::fs::read_to_string(told).unwrap(), "collected=false\n");
}

const COLLECT: &[&str] = &["collect", "--out", "{new}"];
const POST: &[&str] = &[
    "post",
    "--snapshot",
    "{snapshot}",
    "--findings",
    "{findings}",
];
const TO_READ: (&str, &str) = ("MIRILLA_GITLAB_READ_TOKEN", "{read}");
const TO_WRITE: (&str, &str) = ("MIRILLA_GITLAB_WRITE_TOKEN", "{write}");

const DEFECTS: &[Row] = &[
    Row {
        what: "a pipeline of a branch",
        arguments: COLLECT,
        environment: &[TO_READ, ("CI_MERGE_REQUEST_IID", "")],
        code: 2,
        says: &[
            "CI_MERGE_REQUEST_IID is not set",
            "--pull group/project!12",
            "merge_request_event",
        ],
    },
    Row {
        what: "no token to read with",
        arguments: COLLECT,
        environment: &[],
        code: 2,
        says: &[
            "MIRILLA_GITLAB_READ_TOKEN is missing",
            "`read_api`",
            "not protected",
        ],
    },
    Row {
        what: "an address that is none",
        arguments: COLLECT,
        environment: &[TO_READ, ("MIRILLA_GITLAB_URL", "gitlab")],
        code: 1,
        says: &["MIRILLA_GITLAB_URL"],
    },
    Row {
        what: "a token that is none",
        arguments: COLLECT,
        environment: &[("MIRILLA_GITLAB_READ_TOKEN", "made-up")],
        code: 1,
        says: &["cannot be read", "the token is wrong, or it has expired"],
    },
    Row {
        what: "a merge request that is not there",
        arguments: &["collect", "--out", "{new}", "--pull", "acme/web/shop!999"],
        environment: &[TO_READ],
        code: 1,
        says: &[
            "cannot be read",
            "`read_api`",
            "Reporter",
            "MIRILLA_GITLAB_READ_TOKEN",
        ],
    },
    Row {
        what: "another project behind the name",
        arguments: COLLECT,
        environment: &[TO_READ, ("CI_MERGE_REQUEST_PROJECT_ID", "1")],
        code: 1,
        says: &["cannot be read"],
    },
    Row {
        what: "no token to write with",
        arguments: POST,
        environment: &[TO_READ],
        code: 2,
        says: &["MIRILLA_GITLAB_WRITE_TOKEN is missing", "`api`"],
    },
    Row {
        what: "a token that cannot write",
        arguments: POST,
        environment: &[("MIRILLA_GITLAB_WRITE_TOKEN", "{read}")],
        code: 1,
        says: &[
            "the review was not posted",
            "the scope `api`",
            "Developer",
            "MIRILLA_GITLAB_WRITE_TOKEN",
        ],
    },
    Row {
        what: "the artifact of another head than the pipeline's",
        arguments: POST,
        environment: &[
            TO_WRITE,
            ("CI_COMMIT_SHA", "1111111111111111111111111111111111111111"),
        ],
        code: 0,
        says: &["superseded"],
    },
    Row {
        what: "a gate that is off",
        arguments: &[
            "post",
            "--gate",
            "--snapshot",
            "{snapshot}",
            "--findings",
            "{findings}",
        ],
        environment: &[TO_WRITE],
        code: 2,
        says: &["the gate is off"],
    },
    Row {
        what: "a review beside the job's own token",
        arguments: &["review", "--snapshot", "{snapshot}", "--out", "{new}"],
        environment: &[
            (MODEL_KEY_NAME, "made-up"),
            ("CI_JOB_TOKEN", "madeUpTwentyLetters0"),
        ],
        code: 1,
        says: &[
            "does not run beside a forge's credential",
            "CI_JOB_TOKEN",
            "unset",
        ],
    },
];

#[test]
fn each_defect_is_named_with_variable_scope_and_role_and_nothing_is_posted() {
    let mut jobs = Jobs::of(GitlabVersion::CURRENT);
    jobs.read();
    let (snapshot, findings) = (jobs.path("snapshot"), jobs.path("findings"));
    for (at, row) in DEFECTS.iter().enumerate() {
        let fill = |text: &str| {
            text.replace("{new}", &jobs.path(&format!("new-{at}")))
                .replace("{snapshot}", &snapshot)
                .replace("{findings}", &findings)
                .replace("{read}", &jobs.read)
                .replace("{write}", &jobs.write)
        };
        row.hold(
            fill,
            &[&jobs.read, &jobs.write],
            |arguments, environment| jobs.run(arguments, environment),
        );
    }
    assert_eq!(jobs.world.notes(), (Vec::new(), Vec::new()));
}
