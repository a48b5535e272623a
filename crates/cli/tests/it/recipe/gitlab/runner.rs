//! Runs a pipeline's jobs one after the other, as GitLab and its runner do: a folder and an environment of its own for
//! each, artifacts as they are declared in between, and the variables of a project where their scope lets them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use mirilla_sim::{GitlabVersion, Sim};
use yaml_rust2::Yaml;

use crate::recipe::lint::{pairs, scalar, texts};

/// A variable under Settings > CI/CD.
#[derive(Debug, Clone)]
pub(super) struct Variable {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) scope: &'static str,
}

/// What became of a job.
#[derive(Debug, Default)]
pub(super) struct Ran {
    /// Its code; nothing if it was left out.
    pub(super) code: Option<i32>,
    /// Every variable that GitLab gave its shell.
    pub(super) environment: Vec<(String, String)>,
    /// What the program found in its environment.
    pub(super) seen: Vec<u8>,
    pub(super) folder: PathBuf,
    pub(super) log: String,
    /// The tokens that GitLab made for it.
    pub(super) own_tokens: Vec<String>,
}

/// A run of a pipeline.
pub(super) struct Pipeline {
    version: GitlabVersion,
    folder: PathBuf,
    predefined: BTreeMap<String, String>,
    variables: Vec<Variable>,
    pub(super) jobs: BTreeMap<String, Ran>,
}

impl Pipeline {
    /// A pipeline in a folder, with what GitLab says of it.
    pub(super) fn new(
        sim: &Sim,
        folder: PathBuf,
        predefined: &[(&str, String)],
        variables: &[Variable],
    ) -> Self {
        fs::create_dir_all(folder.join("artifacts")).unwrap();
        let url = sim.gitlab().url();
        let usual = [
            ("CI", "true".to_owned()),
            ("GITLAB_CI", "true".to_owned()),
            ("CI_SERVER_URL", url.clone()),
            ("CI_API_V4_URL", format!("{url}/api/v4")),
            ("CI_PIPELINE_ID", "4711".to_owned()),
            (
                "CI_COMMIT_MESSAGE",
                "$(touch owned) `touch owned`".to_owned(),
            ),
            ("CI_MERGE_REQUEST_TITLE", "$(touch owned)".to_owned()),
            // Where the simulators are; on the real ones the defaults stand.
            ("MIRILLA_MODEL_URL", sim.messages().url()),
            ("MIRILLA_WRITE_GRACE_SECONDS", "1".to_owned()),
        ];
        let all = usual.iter().chain(predefined);
        let pipeline = Self {
            version: sim.gitlab().version(),
            folder,
            predefined: all
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
            variables: variables.to_vec(),
            jobs: BTreeMap::new(),
        };
        pipeline.put_tools();
        pipeline
    }

    /// What would take minutes: the program is here already. It notes what it finds in its environment.
    fn put_tools(&self) {
        let tools = self.folder.join("tools");
        fs::create_dir(&tools).unwrap();
        fs::create_dir(self.folder.join("seen")).unwrap();
        let program = env!("CARGO_BIN_EXE_mirilla");
        let seen = self.folder.join("seen");
        let wrapper = format!(
            "#!/bin/sh\nenv > '{}'/\"$1\"\nexec '{program}' \"$@\"\n",
            seen.display()
        );
        fs::write(tools.join("wrapper"), wrapper).unwrap();
        let cargo = format!(
            "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = --root ] && root=$2; shift; done\nmkdir -p \"$root/bin\"\ncp '{0}' \"$root/bin/mirilla\"\nchmod 755 \"$root/bin/mirilla\"\n",
            tools.join("wrapper").display()
        );
        fs::write(tools.join("cargo"), cargo).unwrap();
        fs::set_permissions(tools.join("cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The folder of the artifacts of this pipeline.
    pub(super) fn artifacts(&self) -> PathBuf {
        self.folder.join("artifacts")
    }

    pub(super) fn run(&mut self, recipe: &Yaml) {
        for stage in recipe["stages"].as_vec().unwrap() {
            for (name, job) in pairs(recipe)
                .into_iter()
                .filter(|(name, _)| name != "stages")
            {
                if job["stage"] != *stage || !self.is_wanted(&job["rules"]) {
                    continue;
                }
                let needs = job["needs"].as_vec().cloned().unwrap_or_default();
                let needs: Vec<&str> = needs
                    .iter()
                    .map(|need| need["job"].as_str().unwrap())
                    .collect();
                let ready = needs.iter().all(|need| self.jobs[*need].code == Some(0));
                let ran = if ready {
                    self.job(&name, job, &needs)
                } else {
                    Ran::default()
                };
                self.jobs.insert(name, ran);
            }
        }
    }

    fn job(&self, name: &str, job: &Yaml, needs: &[&str]) -> Ran {
        let folder = self.folder.join(name);
        fs::create_dir(&folder).unwrap();
        for need in needs {
            copy(&self.artifacts().join(need), &folder);
        }
        let own = self.own_variables(name);
        let environment = self.environment(job, &own);
        let lines = {
            let mut lines = Vec::new();
            texts(&job["script"], &mut lines);
            lines
        };
        let script = self.folder.join(format!("{name}.sh"));
        fs::write(&script, lines.join("\n")).unwrap();
        let path = format!(
            "{}:{}",
            self.folder.join("tools").display(),
            std::env::var("PATH").unwrap()
        );
        let done = Command::new("bash")
            .args(["-e", "-o", "pipefail"])
            .arg(&script)
            .current_dir(&folder)
            .env_clear()
            .env("PATH", path)
            .env("HOME", &folder)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .output()
            .unwrap();
        let printed = format!("$ {}\n", lines.join("\n$ "));
        let verb = name.strip_prefix("mirilla-").unwrap();
        let ran = Ran {
            code: done.status.code(),
            environment,
            seen: fs::read(self.folder.join("seen").join(verb)).unwrap_or_default(),
            log: printed
                + &String::from_utf8_lossy(&done.stdout)
                + &String::from_utf8_lossy(&done.stderr),
            // The clone address holds one of them, and words that are everywhere.
            own_tokens: own
                .into_iter()
                .map(|(_, token)| token)
                .filter(|token| !token.contains("://"))
                .collect(),
            folder,
        };
        let keeps = ran.code == Some(0) || job["artifacts"]["when"].as_str() == Some("always");
        if keeps {
            self.keep(name, &job["artifacts"], &ran.folder);
        }
        ran
    }

    /// Later ones win: what GitLab says of a job, what the file says, what the project's settings say.
    fn environment(&self, job: &Yaml, own: &[(String, String)]) -> Vec<(String, String)> {
        let mut environment = self.predefined.clone();
        environment.extend(own.iter().cloned());
        for (variable, value) in pairs(&job["variables"]) {
            environment.insert(variable, self.filled(&scalar(value)));
        }
        let place = job["environment"]["name"].as_str().unwrap_or_default();
        for variable in self.variables.iter().filter(|one| covers(one.scope, place)) {
            environment.insert(variable.name.to_owned(), variable.value.clone());
        }
        environment.into_iter().collect()
    }

    /// What GitLab puts into every job and nobody can switch off.
    fn own_variables(&self, job: &str) -> Vec<(String, String)> {
        let noise = |of: &str| {
            let fields = [job.as_bytes(), of.as_bytes(), b"made up"];
            mirilla_domain::ids::hash_fields(&fields)
        };
        let old = self.version < GitlabVersion::new(15, 9);
        let token: String = noise("token").chars().take(20).collect();
        let token = if old {
            token
        } else {
            format!("glcbt-64_{token}")
        };
        let mut own = vec![
            ("CI_JOB_TOKEN".to_owned(), token.clone()),
            ("CI_REGISTRY_PASSWORD".to_owned(), token.clone()),
            (
                "CI_REPOSITORY_URL".to_owned(),
                format!("https://gitlab-ci-token:{token}@gitlab.example.com/acme/web/shop.git"),
            ),
        ];
        if self.version >= GitlabVersion::new(13, 7) {
            own.push(("CI_DEPENDENCY_PROXY_PASSWORD".to_owned(), token));
        }
        if self.version < GitlabVersion::new(17, 0) {
            let jwt = format!("{}J{}.{}J{}.x", "ey", noise("head"), "ey", noise("body"));
            own.push(("CI_JOB_JWT".to_owned(), jwt));
        }
        own
    }

    /// Keeps what is declared and nothing else; what is not there is a warning.
    fn keep(&self, job: &str, artifacts: &Yaml, folder: &Path) {
        let kept = self.artifacts().join(job);
        fs::create_dir_all(&kept).unwrap();
        let mut paths = Vec::new();
        texts(&artifacts["paths"], &mut paths);
        texts(&artifacts["reports"], &mut paths);
        for path in paths {
            let path = self.filled(&path);
            let from = folder.join(&path);
            if !from.exists() {
                continue;
            }
            let to = kept.join(&path);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            if from.is_dir() {
                copy(&from, &to);
            } else {
                fs::copy(&from, &to).unwrap();
            }
        }
    }

    fn filled(&self, text: &str) -> String {
        text.replace("$CI_PIPELINE_ID", &self.predefined["CI_PIPELINE_ID"])
    }

    /// Takes the first rule that holds.
    fn is_wanted(&self, rules: &Yaml) -> bool {
        let rule = rules.as_vec().unwrap().iter().find(|rule| {
            let condition = scalar(&rule["if"]);
            condition.split(" && ").all(|part| {
                let (left, right) = part.split_once(" == ").unwrap();
                self.value(left) == self.value(right)
            })
        });
        rule.is_some_and(|rule| rule["when"].as_str() != Some("never"))
    }

    fn value(&self, text: &str) -> String {
        match text.strip_prefix('$') {
            Some(name) => self.predefined.get(name).cloned().unwrap_or_default(),
            None => text.trim_matches('"').to_owned(),
        }
    }
}

/// Returns whether an environment lies in a scope; a star stands for anything.
fn covers(scope: &str, environment: &str) -> bool {
    match scope.split_once('*') {
        None => scope == environment,
        Some((before, after)) => environment
            .strip_prefix(before)
            .is_some_and(|rest| rest.ends_with(after)),
    }
}

/// Copies a folder's files, with their modes.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}
