//! Runs a workflow's jobs one after the other, as a runner does: an empty folder and an environment of its own for
//! each, artifacts without modes in between, a token with the job's rights and no others.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use yaml_rust2::Yaml;

use super::lint::{pairs, scalar};
use crate::support::World;

/// With this in its condition a job is not left out because one before it failed.
const WHATEVER_FAILED: &str = "!cancelled()";

/// What became of a job.
#[derive(Debug, Default)]
pub(super) struct Ran {
    /// The worst code of its steps; nothing if it was skipped.
    pub(super) code: Option<i32>,
    /// Every variable that a step of it was given.
    pub(super) environment: Vec<(String, String)>,
    /// Its folder.
    pub(super) folder: PathBuf,
    /// What its steps printed.
    pub(super) log: String,
    /// The token that was minted for it, whether a step was given it or not.
    pub(super) token: String,
    outputs: BTreeMap<String, String>,
}

/// A run of a workflow.
pub(super) struct Runner<'a> {
    world: &'a World,
    folder: PathBuf,
    values: BTreeMap<String, String>,
    pub(super) jobs: BTreeMap<String, Ran>,
}

impl<'a> Runner<'a> {
    pub(super) fn new(
        world: &'a World,
        event: &[u8],
        secrets: &[(&str, String)],
        name: &str,
    ) -> Self {
        let folder = world.dir.path().join(name);
        fs::create_dir_all(folder.join("artifacts")).unwrap();
        fs::write(folder.join("event.json"), event).unwrap();
        // What would take minutes: the program is here already.
        let tools = folder.join("tools");
        fs::create_dir(&tools).unwrap();
        let program = env!("CARGO_BIN_EXE_mirilla");
        let script = format!(
            "#!/bin/sh\nmkdir -p bin\nprintf '#!/bin/sh\\nexec {program} \"$@\"\\n' > bin/mirilla\n"
        );
        fs::write(tools.join("cargo"), script).unwrap();
        fs::set_permissions(tools.join("cargo"), fs::Permissions::from_mode(0o755)).unwrap();
        let mut values = BTreeMap::from([
            ("github.api_url".to_owned(), world.sim.github_api_url()),
            (
                "github.event.pull_request.number".to_owned(),
                "1".to_owned(),
            ),
        ]);
        for (secret, value) in secrets {
            values.insert(format!("secrets.{secret}"), value.clone());
        }
        Self {
            world,
            folder,
            values,
            jobs: BTreeMap::new(),
        }
    }

    /// The folder of the artifacts of this run.
    pub(super) fn artifacts(&self) -> PathBuf {
        self.folder.join("artifacts")
    }

    pub(super) fn run(&mut self, recipe: &Yaml) {
        for (name, job) in pairs(&recipe["jobs"]) {
            let needs = job["needs"].as_vec().cloned().unwrap_or_default();
            let ready = needs
                .iter()
                .all(|need| self.jobs[need.as_str().unwrap()].code == Some(0));
            let condition = job["if"].as_str().map(expression);
            let ready = ready || condition.is_some_and(|it| it.contains(WHATEVER_FAILED));
            let wanted = condition.is_none_or(|condition| self.holds(condition));
            let ran = if ready && wanted {
                self.job(&name, job)
            } else {
                Ran::default()
            };
            for (output, value) in &ran.outputs {
                self.values
                    .insert(format!("needs.{name}.outputs.{output}"), value.clone());
            }
            self.jobs.insert(name, ran);
        }
    }

    fn job(&mut self, name: &str, job: &Yaml) -> Ran {
        let rights: Vec<(String, String)> = pairs(&job["permissions"])
            .into_iter()
            .map(|(right, level)| (right.replace('-', "_"), scalar(level)))
            .collect();
        let rights: Vec<(&str, &str)> = rights
            .iter()
            .map(|(right, level)| (right.as_str(), level.as_str()))
            .collect();
        let mut ran = Ran {
            code: Some(0),
            folder: self.folder.join(name),
            token: self.world.token(&rights),
            ..Ran::default()
        };
        fs::create_dir(&ran.folder).unwrap();
        self.values
            .insert("github.token".to_owned(), ran.token.clone());
        self.values.retain(|value, _| !value.starts_with("steps."));
        for step in job["steps"].as_vec().unwrap() {
            let wanted = step["if"]
                .as_str()
                .is_none_or(|condition| self.holds(condition));
            if !wanted {
                continue;
            }
            if let Some(action) = step["uses"].as_str() {
                if !self.action(action, &step["with"], &ran.folder) {
                    ran.code = Some(1);
                }
            } else {
                self.step(step, &mut ran);
            }
            if ran.code != Some(0) {
                return ran;
            }
        }
        for (output, value) in pairs(&job["outputs"]) {
            ran.outputs.insert(output, self.filled(&scalar(value)));
        }
        ran
    }

    fn step(&mut self, step: &Yaml, ran: &mut Ran) {
        let told = self.folder.join("output");
        fs::write(&told, "").unwrap();
        let tools = self.folder.join("tools");
        let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let mut environment = vec![
            ("PATH".to_owned(), path),
            ("HOME".to_owned(), text(&ran.folder)),
            ("CI".to_owned(), "true".to_owned()),
            ("GITHUB_ACTIONS".to_owned(), "true".to_owned()),
            (
                "GITHUB_EVENT_NAME".to_owned(),
                "pull_request_target".to_owned(),
            ),
            (
                "GITHUB_EVENT_PATH".to_owned(),
                text(&self.folder.join("event.json")),
            ),
            ("GITHUB_OUTPUT".to_owned(), text(&told)),
            ("GITHUB_WORKSPACE".to_owned(), text(&ran.folder)),
            // Where the simulators are; on the real ones the defaults stand.
            (
                "MIRILLA_GITHUB_ARCHIVE_HOSTS".to_owned(),
                self.world.archive_host(),
            ),
            (
                "MIRILLA_MODEL_URL".to_owned(),
                self.world.sim.messages().url(),
            ),
        ];
        for (name, value) in pairs(&step["env"]) {
            environment.push((name, self.filled(&scalar(value))));
        }
        let script = self.folder.join("step.sh");
        fs::write(&script, step["run"].as_str().unwrap()).unwrap();
        let done = Command::new("bash")
            .arg("-e")
            .arg(&script)
            .current_dir(&ran.folder)
            .env_clear()
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .output()
            .unwrap();
        ran.code = done.status.code();
        ran.log.push_str(&String::from_utf8_lossy(&done.stdout));
        ran.log.push_str(&String::from_utf8_lossy(&done.stderr));
        ran.environment.extend(environment);
        if let Some(id) = step["id"].as_str() {
            for line in fs::read_to_string(&told).unwrap().lines() {
                let (output, value) = line.split_once('=').unwrap();
                self.values
                    .insert(format!("steps.{id}.outputs.{output}"), value.to_owned());
            }
        }
    }

    /// Runs an action; returns whether it succeeded.
    fn action(&self, action: &str, with: &Yaml, folder: &Path) -> bool {
        let artifact = self.artifacts().join(with["name"].as_str().unwrap());
        let path = folder.join(with["path"].as_str().unwrap());
        match action.split('@').next().unwrap() {
            "actions/upload-artifact" => {
                assert!(path.exists(), "nothing to upload at {}", path.display());
                fs::create_dir(&artifact).unwrap();
                if path.is_dir() {
                    copy(&path, &artifact);
                } else {
                    fs::write(
                        artifact.join(path.file_name().unwrap()),
                        fs::read(&path).unwrap(),
                    )
                    .unwrap();
                }
            }
            "actions/download-artifact" => {
                if !artifact.exists() {
                    return false;
                }
                fs::create_dir_all(&path).unwrap();
                copy(&artifact, &path);
            }
            other => panic!("{other} is not simulated"),
        }
        true
    }

    /// Returns whether a condition of the forms that are used holds. Nobody cancels a run here.
    fn holds(&self, condition: &str) -> bool {
        condition
            .split(" && ")
            .filter(|part| *part != WHATEVER_FAILED)
            .all(|part| {
                let equal = part
                    .split_once(" == ")
                    .map(|(value, wanted)| (value, wanted, true));
                let (value, wanted, is) = equal.unwrap_or_else(|| {
                    let (value, wanted) = part.split_once(" != ").unwrap();
                    (value, wanted, false)
                });
                let told = self
                    .values
                    .get(value)
                    .map(String::as_str)
                    .unwrap_or_default();
                (told == wanted.trim_matches('\'')) == is
            })
    }

    /// Puts values in the places of expressions; a secret that is not set is empty.
    fn filled(&self, text: &str) -> String {
        let mut parts = text.split("${{");
        let mut filled = parts.next().unwrap().to_owned();
        for part in parts {
            let (expression, rest) = part.split_once("}}").unwrap();
            let expression = expression.trim();
            let value = self.values.get(expression);
            assert!(
                value.is_some() || expression.starts_with("secrets."),
                "{expression} is not simulated"
            );
            filled.push_str(value.map(String::as_str).unwrap_or_default());
            filled.push_str(rest);
        }
        filled
    }
}

/// Copies files as an artifact does: without hidden ones, without modes.
fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            fs::create_dir_all(to.join(name)).unwrap();
            copy(&path, &to.join(name));
        } else {
            fs::write(to.join(name), fs::read(&path).unwrap()).unwrap();
        }
    }
}

/// A condition without its braces.
fn expression(text: &str) -> &str {
    let inner = text
        .strip_prefix("${{")
        .and_then(|rest| rest.strip_suffix("}}"));
    inner.unwrap_or(text).trim()
}
