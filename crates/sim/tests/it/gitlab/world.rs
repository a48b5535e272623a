//! The world that the tests start from: a project in a subgroup with one merge request.

use std::path::PathBuf;

use mirilla_sim::{
    Access, Commit, Gitlab, GitlabOptions, GitlabVersion, HookOptions, OpenMerge, ProjectOptions,
    Scope, Sim, SimOptions,
};
use serde_json::{Value, json};

use crate::client::{Answer, send};
use crate::material::lacking;
use crate::world::START;

pub(crate) const PROJECT: &str = "acme/platform/shop";

/// A running simulator with the usual world.
pub(crate) struct Lab {
    pub(crate) sim: Sim,
    pub(crate) iid: u64,
    /// A reviewer's token that may write.
    pub(crate) token: String,
    /// A reviewer's token that may only read.
    pub(crate) reader: String,
}

/// Lines `line 1` to `line 30`, some of them replaced or left out.
pub(crate) fn lines(changed: &[(usize, &str)]) -> String {
    (1..=30)
        .map(|n| {
            let text = changed.iter().find(|(at, _)| *at == n);
            text.map_or_else(|| format!("line {n}\n"), |(_, text)| (*text).to_owned())
        })
        .collect()
}

impl Lab {
    pub(crate) fn of(version: GitlabVersion) -> Self {
        Self::with(GitlabOptions::of(version))
    }

    pub(crate) fn with(options: GitlabOptions) -> Self {
        let sim = Sim::start(SimOptions {
            start_at: Some(START.parse().unwrap()),
            gitlab: options,
            ..SimOptions::default()
        })
        .unwrap();
        let gl = sim.gitlab();
        gl.create_project(PROJECT, &ProjectOptions::default())
            .unwrap();
        for (who, access) in [
            ("alice", Access::Maintainer),
            ("bob", Access::Developer),
            ("mirilla", Access::Developer),
        ] {
            gl.add_member(PROJECT, who, access).unwrap();
        }
        let start = Commit::by("alice", "Start").write("pkg/old_name.go", lines(&[]));
        gl.commit(PROJECT, "main", &start).unwrap();
        let change = Commit::by("bob", "Change")
            .rename("pkg/old_name.go", "pkg/new_name.go")
            .write(
                "pkg/new_name.go",
                lines(&[(10, "line 10 changed\nbrand new\n"), (30, "")]),
            )
            .write("fresh.go", "one\ntwo\n");
        gl.commit(PROJECT, "feature", &change).unwrap();
        let hook = HookOptions {
            token: Some("made-up-hook-token".to_owned()),
            signing_token: None,
        };
        gl.set_hook(PROJECT, hook).unwrap();
        let open = OpenMerge::new("bob", "feature", "Pay faster");
        let iid = gl.open_merge(PROJECT, open).unwrap();
        let token = gl.create_token("mirilla", Scope::Api);
        let reader = gl.create_token("mirilla", Scope::ReadApi);
        Self {
            sim,
            iid,
            token,
            reader,
        }
    }

    pub(crate) fn gl(&self) -> &Gitlab {
        self.sim.gitlab()
    }

    /// Returns the path of the merge request in the API, with something behind it.
    pub(crate) fn at(&self, rest: &str) -> String {
        let project = self.gl().project_id(PROJECT).unwrap();
        format!("/projects/{project}/merge_requests/{}{rest}", self.iid)
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.call_as(&self.token, method, path, body)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.call_as(&self.reader, "GET", path, None)
    }

    pub(crate) fn post(&self, rest: &str, body: Value) -> Answer {
        self.call("POST", &self.at(rest), Some(body))
    }

    pub(crate) fn call_as(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Answer {
        let url = if path.starts_with("http://") {
            path.to_owned()
        } else {
            format!("{}{path}", self.sim.gitlab_api_url())
        };
        let mut headers = vec![("private-token", token)];
        if body.is_some() {
            headers.push(("content-type", "application/json"));
        }
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        send(method, &url, &headers, body.as_bytes()).expect("an answer")
    }

    pub(crate) fn head(&self) -> String {
        self.gl().tip(PROJECT, "feature").unwrap()
    }

    /// Returns a text position in the newest version, as `/versions` tells it.
    pub(crate) fn position(
        &self,
        paths: (&str, &str),
        old: Option<u64>,
        new: Option<u64>,
    ) -> Value {
        let versions = self.get(&self.at("/versions")).json();
        json!({
            "position_type": "text",
            "base_sha": versions[0]["base_commit_sha"],
            "start_sha": versions[0]["start_commit_sha"],
            "head_sha": versions[0]["head_commit_sha"],
            "old_path": paths.0,
            "new_path": paths.1,
            "old_line": old,
            "new_line": new,
        })
    }

    /// Starts a thread on the added line 2 of `fresh.go` and returns its answer.
    pub(crate) fn thread(&self, body: &str) -> Value {
        let position = self.position(("fresh.go", "fresh.go"), None, Some(2));
        let made = self.post(
            "/discussions",
            json!({ "body": body, "position": position }),
        );
        assert_eq!(made.status, 201, "{}", made.text());
        made.json()
    }
}

/// Returns the path of something of the project's repository in the API.
pub(crate) fn repo(rest: &str) -> String {
    format!("/projects/acme%2Fplatform%2Fshop/repository{rest}")
}

/// Reads a file of the repository's fixtures.
pub(crate) fn fixture(name: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures")
        .join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
    serde_json::from_str(&text).unwrap()
}

/// Reads one of GitLab's shapes.
pub(crate) fn material(name: &str) -> Value {
    fixture(&format!("material/gitlab/{name}"))
}

/// Fails unless an answer has what a sample has.
pub(crate) fn like(ours: &Value, sample: &str) {
    let mut found = Vec::new();
    lacking(&material(sample), ours, "", &[], &mut found);
    assert!(found.is_empty(), "{sample}: {found:#?}");
}
