//! Each defect of a pipeline, alone: what the command says, and which code it ends with.

use std::fs;

use super::{Ci, MARKER_KEY, READ, Said, WRITE};
use crate::support::REPO;

/// A run of one command; `{…}` stands for what only the run knows.
pub(super) struct Row {
    pub(super) what: &'static str,
    pub(super) arguments: &'static [&'static str],
    pub(super) environment: &'static [(&'static str, &'static str)],
    pub(super) code: i32,
    pub(super) says: &'static [&'static str],
}

impl Row {
    /// Runs it, and looks at its code and at what it says, which is no secret.
    pub(super) fn hold(
        &self,
        fill: impl Fn(&str) -> String,
        secrets: &[&str],
        run: impl Fn(&[&str], &[(&str, &str)]) -> Said,
    ) {
        let arguments: Vec<String> = self.arguments.iter().map(|text| fill(text)).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let environment: Vec<(&str, String)> = self
            .environment
            .iter()
            .map(|(name, value)| (*name, fill(value)))
            .collect();
        let environment: Vec<(&str, &str)> = environment
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let said = run(&arguments, &environment);
        assert_eq!(said.code, self.code, "{}: {said:?}", self.what);
        for wanted in self.says {
            let is_said = said.stderr.contains(wanted);
            assert!(is_said, "{}: no {wanted:?} in {}", self.what, said.stderr);
        }
        for secret in secrets {
            let is_told = said.stderr.contains(secret);
            assert!(!is_told, "{}: {}", self.what, said.stderr);
        }
    }
}

const COLLECT: &[&str] = &["collect", "--out", "{new}"];
const COLLECT_PULL: &[&str] = &["collect", "--out", "{new}", "--pull", "{pull}"];
const REVIEW: &[&str] = &["review", "--snapshot", "{snapshot}", "--out", "{new}"];
const POST: &[&str] = &[
    "post",
    "--snapshot",
    "{snapshot}",
    "--findings",
    "{findings}",
    "--pull",
    "{pull}",
];
const TO_READ: (&str, &str) = ("MIRILLA_GITHUB_READ_TOKEN", "{read}");
const TO_WRITE: (&str, &str) = ("MIRILLA_GITHUB_WRITE_TOKEN", "{write}");
const KEY: (&str, &str) = ("MIRILLA_MARKER_KEY", MARKER_KEY);
const EVENT: (&str, &str) = ("GITHUB_EVENT_PATH", "{event}");

const ROWS: &[Row] = &[
    Row {
        what: "no pull request is named",
        arguments: COLLECT,
        environment: &[TO_READ],
        code: 2,
        says: &[
            "not said which pull request",
            "--pull owner/name#12",
            "pull_request_target",
        ],
    },
    Row {
        what: "an event about something else",
        arguments: COLLECT,
        environment: &[TO_READ, EVENT, ("GITHUB_EVENT_NAME", "push")],
        code: 2,
        says: &["started by `push`", "pull_request_target"],
    },
    Row {
        what: "an event that is none",
        arguments: COLLECT,
        environment: &[TO_READ, ("GITHUB_EVENT_PATH", "{garbage}")],
        code: 1,
        says: &["is no event about a pull request"],
    },
    Row {
        what: "a pull request that is no name",
        arguments: &["collect", "--out", "{new}", "--pull", "acme/shop/12"],
        environment: &[TO_READ],
        code: 2,
        says: &["a pull request such as acme/shop#12"],
    },
    Row {
        what: "no token to read with, as in a fork's run without secrets",
        arguments: COLLECT_PULL,
        environment: &[("MIRILLA_GITHUB_READ_TOKEN", "")],
        code: 2,
        says: &[
            "MIRILLA_GITHUB_READ_TOKEN is missing",
            "Runs of forks see none under `pull_request`",
        ],
    },
    Row {
        what: "a token that is none",
        arguments: COLLECT_PULL,
        environment: &[("MIRILLA_GITHUB_READ_TOKEN", "made-up")],
        code: 1,
        says: &[
            "the pull request cannot be read",
            "the token is wrong, or it has expired",
        ],
    },
    Row {
        what: "a pull request that is not there",
        arguments: &["collect", "--out", "{new}", "--pull", "acme/shop#999"],
        environment: &[TO_READ],
        code: 1,
        says: &["not there", "`contents: read` and `pull-requests: read`"],
    },
    Row {
        what: "a folder with something in it",
        arguments: &["collect", "--out", "{snapshot}", "--pull", "{pull}"],
        environment: &[TO_READ],
        code: 2,
        says: &["is not empty", "`--out` takes a new or an empty folder"],
    },
    Row {
        what: "an event of an earlier head",
        arguments: COLLECT,
        environment: &[
            TO_READ,
            ("GITHUB_EVENT_PATH", "{earlier}"),
            ("GITHUB_EVENT_NAME", "pull_request_target"),
        ],
        code: 0,
        says: &["superseded"],
    },
    Row {
        what: "no snapshot",
        arguments: &["review", "--snapshot", "{none}", "--out", "{new}"],
        environment: &[("ANTHROPIC_API_KEY", "made-up")],
        code: 2,
        says: &["there is no snapshot in", "mirilla collect --out"],
    },
    Row {
        what: "no key of a model",
        arguments: REVIEW,
        environment: &[("ANTHROPIC_API_KEY", "")],
        code: 2,
        says: &["ANTHROPIC_API_KEY is not set", "Dependabot"],
    },
    Row {
        what: "a review beside a token, whatever the variable is called",
        arguments: REVIEW,
        environment: &[("ANTHROPIC_API_KEY", "made-up"), ("MY_BOT_PAT", "{write}")],
        code: 1,
        says: &[
            "does not run beside a forge's credential",
            "MY_BOT_PAT",
            "permissions: {}",
        ],
    },
    Row {
        what: "findings for a program that asks for text",
        arguments: &[
            "review",
            "--snapshot",
            "{snapshot}",
            "--out",
            "{new}",
            "--format",
            "json",
        ],
        environment: &[],
        code: 2,
        says: &["cannot be used with"],
    },
    Row {
        what: "no token to write with",
        arguments: POST,
        environment: &[TO_READ, KEY],
        code: 2,
        says: &["MIRILLA_GITHUB_WRITE_TOKEN is missing"],
    },
    Row {
        what: "no key for markers",
        arguments: POST,
        environment: &[TO_WRITE],
        code: 2,
        says: &["MIRILLA_MARKER_KEY is missing", "openssl rand -hex 32"],
    },
    Row {
        what: "a key that could be guessed",
        arguments: POST,
        environment: &[TO_WRITE, ("MIRILLA_MARKER_KEY", "short")],
        code: 2,
        says: &["MIRILLA_MARKER_KEY cannot be used", "at least 16"],
    },
    Row {
        what: "a token that cannot write",
        arguments: POST,
        environment: &[("MIRILLA_GITHUB_WRITE_TOKEN", "{read}"), KEY],
        code: 1,
        says: &["the review was not posted", "pull-requests: write"],
    },
    Row {
        what: "the snapshot of another pull request",
        arguments: &[
            "post",
            "--snapshot",
            "{snapshot}",
            "--findings",
            "{findings}",
            "--pull",
            "{other}",
        ],
        environment: &[TO_WRITE, KEY],
        code: 1,
        says: &["the snapshot is of acme/shop#", "artifacts of the same run"],
    },
    Row {
        what: "the artifact of another head than the event's",
        arguments: &[
            "post",
            "--snapshot",
            "{snapshot}",
            "--findings",
            "{findings}",
        ],
        environment: &[TO_WRITE, KEY, ("GITHUB_EVENT_PATH", "{earlier}")],
        code: 0,
        says: &["superseded"],
    },
    Row {
        what: "findings about nothing",
        arguments: &[
            "post",
            "--snapshot",
            "{snapshot}",
            "--findings",
            "{snapshot}",
            "--pull",
            "{pull}",
        ],
        environment: &[TO_WRITE, KEY],
        code: 1,
        says: &["holds no findings about acme/shop#", "nothing was posted"],
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
            "--pull",
            "{pull}",
        ],
        environment: &[TO_WRITE, KEY],
        code: 2,
        says: &["the gate is off", ".mirilla.toml"],
    },
];

#[test]
fn each_defect_is_named_with_its_fix_and_nothing_is_posted() {
    let mut ci = Ci::new();
    let earlier = ci.world.sim.github().tip(REPO, "change").unwrap();
    ci.world.push("change", 1);
    let other = ci.world.open_pull("other");
    ci.read();
    let head = ci.world.sim.github().tip(REPO, "change").unwrap();
    let path = |name: &str| ci.world.dir.path().join(name).to_str().unwrap().to_owned();
    let repo = ci.world.sim.github().repo_id(REPO).unwrap();
    for (name, head) in [("event", &head), ("earlier", &earlier)] {
        let event = serde_json::json!({
            "action": "synchronize", "number": ci.pull,
            "pull_request": {"number": ci.pull, "head": {"sha": head}},
            "repository": {"id": repo, "full_name": REPO},
        });
        fs::write(path(name), event.to_string()).unwrap();
    }
    fs::write(path("garbage"), "{\"zen\": \"Speak like a human.\"}").unwrap();
    let (read, write) = (ci.world.token(&READ), ci.world.token(&WRITE));
    for (at, row) in ROWS.iter().enumerate() {
        let fill = |text: &str| {
            text.replace("{new}", &path(&format!("new-{at}")))
                .replace("{none}", &path("none"))
                .replace("{pull}", &ci.name())
                .replace("{other}", &format!("{REPO}#{other}"))
                .replace("{snapshot}", &ci.folder("snapshot"))
                .replace("{findings}", &ci.folder("findings"))
                .replace("{event}", &path("event"))
                .replace("{earlier}", &path("earlier"))
                .replace("{garbage}", &path("garbage"))
                .replace("{read}", &read)
                .replace("{write}", &write)
        };
        row.hold(
            fill,
            &[&read, &write, MARKER_KEY],
            |arguments, environment| ci.run(arguments, environment),
        );
    }
    assert!(ci.page().reviews.is_empty());
}
