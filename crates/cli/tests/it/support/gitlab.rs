//! A simulated GitLab of some version with one merge request that swallows a failure.

use std::process::Command;

use mirilla_sim::{
    Access, Commit, GitlabFeature, GitlabOptions, GitlabVersion, HookOptions, OpenMerge, Otherwise,
    ProjectOptions, Scope, Sim, SimOptions,
};

use super::{MODEL_KEY_NAME, Server};

pub(crate) const PROJECT: &str = "acme/web/shop";

/// Where the source branch of the merge request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    Branch,
    Fork,
}

/// The world outside the program.
pub(crate) struct GitlabWorld {
    pub(crate) sim: Sim,
    pub(crate) dir: tempfile::TempDir,
    pub(crate) iid: u64,
    source: String,
}

impl GitlabWorld {
    pub(crate) fn of(version: GitlabVersion, from: From) -> Self {
        Self::with(version, from, &[])
    }

    /// The same with more files on the default branch.
    pub(crate) fn with(version: GitlabVersion, from: From, files: &[(&str, &str)]) -> Self {
        let sim = Sim::start(SimOptions {
            gitlab: GitlabOptions::of(version),
            ..SimOptions::default()
        })
        .unwrap();
        sim.messages().otherwise(Otherwise::Reviewer);
        let gitlab = sim.gitlab();
        gitlab
            .create_project(PROJECT, &ProjectOptions::default())
            .unwrap();
        for (who, access) in [("alice", Access::Maintainer), ("bob", Access::Developer)] {
            gitlab.add_member(PROJECT, who, access).unwrap();
        }
        let mut before = Commit::by("alice", "before").write("README.md", "A shop.\n");
        for (path, text) in files {
            before = before.write(*path, *text);
        }
        gitlab.commit(PROJECT, "main", &before).unwrap();
        let source = match from {
            From::Branch => PROJECT.to_owned(),
            From::Fork => gitlab.fork(PROJECT, "mallory").unwrap(),
        };
        let mut world = Self {
            sim,
            dir: tempfile::tempdir().unwrap(),
            iid: 0,
            source,
        };
        world.push(0);
        let mut open = OpenMerge::new("bob", "change", "a title $(touch owned) `touch owned`");
        if from == From::Fork {
            "mallory".clone_into(&mut open.author);
            open.from = Some(world.source.clone());
        }
        world.iid = world.sim.gitlab().open_merge(PROJECT, open).unwrap();
        world
    }

    /// Pushes a commit with one more swallowed failure.
    pub(crate) fn push(&self, step: usize) {
        let code = format!(
            "class Step{step} {{\n  void run() {{\n    try {{\n      work{step}();\n    }} catch (Exception e) {{\n    }}\n  }}\n}}\n"
        );
        let commit = Commit::by("bob", "step").write(format!("change/Step{step}.java"), code);
        let gitlab = self.sim.gitlab();
        gitlab.commit(&self.source, "change", &commit).unwrap();
    }

    /// Runs a host that serves this GitLab, with two tokens and this secret of its webhook.
    pub(crate) fn serve(&self, hook_token: &str) -> (Server, [String; 2]) {
        let read = self.token(Access::Reporter, Scope::ReadApi);
        let write = self.token(Access::Developer, Scope::Api);
        let hook = HookOptions {
            token: Some(hook_token.to_owned()),
            signing_token: None,
        };
        self.sim.gitlab().set_hook(PROJECT, hook).unwrap();
        let messages = self.sim.messages();
        let mut command = Command::new(env!("CARGO_BIN_EXE_mirilla"));
        command
            .arg("serve")
            .env_clear()
            .env("MIRILLA_DATA_DIR", self.dir.path().join("data"))
            .env("MIRILLA_LISTEN", "127.0.0.1:0")
            .env("MIRILLA_ALLOWED_ACCOUNTS", "acme")
            .env("MIRILLA_WEBHOOK_SECRET", hook_token)
            .env("MIRILLA_GITLAB_URL", self.sim.gitlab().url())
            .env("MIRILLA_GITLAB_READ_TOKEN", &read)
            .env("MIRILLA_GITLAB_WRITE_TOKEN", &write)
            .env(MODEL_KEY_NAME, messages.api_key())
            .env("MIRILLA_MODEL_URL", messages.url())
            .env("MIRILLA_DEBOUNCE_SECONDS", "0")
            .env("MIRILLA_SWEEP_SECONDS", "1");
        (Server::start(command), [read, write])
    }

    pub(crate) fn head(&self) -> String {
        self.sim.gitlab().tip(&self.source, "change").unwrap()
    }

    /// The token of a bot of its own: the project's where the version has such, else a person's.
    pub(crate) fn token(&self, access: Access, scope: Scope) -> String {
        let gitlab = self.sim.gitlab();
        if gitlab.has(GitlabFeature::ProjectTokens) {
            return gitlab
                .create_project_token(PROJECT, "mirilla", access, scope)
                .unwrap();
        }
        gitlab.add_member(PROJECT, "mirilla", access).unwrap();
        gitlab.create_token("mirilla", scope)
    }

    /// What a pipeline for the merge request is told, as GitLab says it.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let project = self.sim.gitlab().project_id(PROJECT).unwrap().to_string();
        vec![
            ("CI_PIPELINE_SOURCE", "merge_request_event".to_owned()),
            ("CI_PROJECT_ID", project.clone()),
            ("CI_PROJECT_PATH", PROJECT.to_owned()),
            ("CI_COMMIT_SHA", self.head()),
            ("CI_MERGE_REQUEST_EVENT_TYPE", "detached".to_owned()),
            ("CI_MERGE_REQUEST_IID", self.iid.to_string()),
            ("CI_MERGE_REQUEST_PROJECT_ID", project),
            ("CI_MERGE_REQUEST_PROJECT_PATH", PROJECT.to_owned()),
        ]
    }

    /// The notes of ours: on lines, and on the merge request as a whole.
    pub(crate) fn notes(&self) -> (Vec<String>, Vec<String>) {
        let gitlab = self.sim.gitlab();
        let page = gitlab.merge_request_page(PROJECT, self.iid).unwrap();
        assert_eq!(page.drafts, Vec::new(), "drafts that nobody published");
        let notes = page.discussions.into_iter().flat_map(|one| one.notes);
        let (placed, whole): (Vec<_>, Vec<_>) = notes
            .filter(|note| !note.system)
            .partition(|note| note.place.is_some());
        let bodies = |notes: Vec<mirilla_sim::NoteView>| notes.into_iter().map(|note| note.body);
        (bodies(placed).collect(), bodies(whole).collect())
    }
}
