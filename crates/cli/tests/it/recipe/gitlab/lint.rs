//! What a pipeline may not do that runs beside secrets and strangers' text, and since when GitLab understands it.

use mirilla_sim::GitlabVersion;
use yaml_rust2::Yaml;

use crate::recipe::lint::{pairs, scalar, texts};

/// The jobs in their order, each with its environment: which variables GitLab hands it.
pub(super) const JOBS: [(&str, Option<&str>); 4] = [
    ("mirilla-program", None),
    ("mirilla-collect", Some("mirilla/forge/read")),
    ("mirilla-review", Some("mirilla/model")),
    ("mirilla-post", Some("mirilla/forge/write")),
];
/// What each job leaves.
const LEAVES: [(&str, &[&str]); 4] = [
    (
        "mirilla-program",
        &[
            "mirilla-$CI_PIPELINE_ID/bin/mirilla",
            "mirilla-$CI_PIPELINE_ID/program.sha256",
        ],
    ),
    (
        "mirilla-collect",
        &[
            "mirilla-$CI_PIPELINE_ID/snapshot",
            "mirilla-$CI_PIPELINE_ID/collected.txt",
        ],
    ),
    ("mirilla-review", &["mirilla-$CI_PIPELINE_ID/findings"]),
    ("mirilla-post", &[]),
];
const RULES: [(&str, Option<&str>); 2] = [
    (
        "$CI_MERGE_REQUEST_EVENT_TYPE == \"merge_train\"",
        Some("never"),
    ),
    (
        "$CI_PIPELINE_SOURCE == \"merge_request_event\" && $CI_MERGE_REQUEST_PROJECT_ID == $CI_PROJECT_ID",
        None,
    ),
];
/// Every variable of GitLab's own that holds the token of a job or of a deployment, in any version.
pub(super) const GITLABS_OWN: [&str; 10] = [
    "CI_JOB_TOKEN",
    "CI_BUILD_TOKEN",
    "CI_REPOSITORY_URL",
    "CI_BUILD_REPO",
    "CI_REGISTRY_PASSWORD",
    "CI_DEPENDENCY_PROXY_PASSWORD",
    "CI_DEPLOY_PASSWORD",
    "CI_JOB_JWT",
    "CI_JOB_JWT_V1",
    "CI_JOB_JWT_V2",
];
/// What stands in a shell line is one of these; nothing that a stranger can choose.
const IN_A_SHELL: [&str; 4] = [
    "CI_PIPELINE_ID",
    "MIRILLA_GITLAB_TOKEN",
    "MIRILLA_GITLAB_READ_TOKEN",
    "MIRILLA_GITLAB_WRITE_TOKEN",
];
/// The keywords that are used, each with the version that first understood it.
/// <https://docs.gitlab.com/ci/yaml/>
const KEYWORDS: [(&str, (u16, u16)); 13] = [
    ("stage", (1, 0)),
    ("image", (8, 0)),
    ("script", (1, 0)),
    ("variables", (7, 14)),
    ("artifacts", (8, 2)),
    ("environment", (8, 9)),
    ("needs", (12, 2)),
    ("rules", (12, 3)),
    ("interruptible", (12, 3)),
    ("timeout", (12, 3)),
    ("resource_group", (12, 7)),
    ("inherit", (12, 9)),
    ("environment:action:prepare", (13, 2)),
];

/// Returns what a version of GitLab would not understand.
pub(super) fn unknown_to(version: GitlabVersion, recipe: &Yaml) -> Vec<String> {
    let mut used = Vec::new();
    for (_, job) in pairs(recipe)
        .into_iter()
        .filter(|(name, _)| name != "stages")
    {
        used.extend(pairs(job).into_iter().map(|(keyword, _)| keyword));
        if let Some(action) = job["environment"]["action"].as_str() {
            used.push(format!("environment:action:{action}"));
        }
    }
    used.sort();
    used.dedup();
    used.retain(|keyword| {
        let known = KEYWORDS.iter().find(|(name, _)| name == keyword);
        known.is_none_or(|(_, (major, minor))| GitlabVersion::new(*major, *minor) > version)
    });
    used
}

/// Returns the variables that a line of a script mentions.
fn variables(line: &str) -> Vec<String> {
    let names = line.split('$').skip(1).map(|rest| {
        let rest = rest.trim_start_matches('{');
        rest.chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect()
    });
    names.collect()
}

fn list(yaml: &Yaml) -> Vec<String> {
    let mut found = Vec::new();
    texts(yaml, &mut found);
    found
}

/// Returns what is wrong with a pipeline.
pub(super) fn problems(recipe: &Yaml) -> Vec<String> {
    let mut problems = Vec::new();
    let names: Vec<String> = pairs(recipe).into_iter().map(|(name, _)| name).collect();
    let wanted: Vec<&str> = std::iter::once("stages")
        .chain(JOBS.map(|(name, _)| name))
        .collect();
    if names != wanted {
        problems.push(format!("top-level keys {names:?}"));
    }
    for (name, environment) in JOBS {
        problems.extend(
            of_job(name, environment, &recipe[name])
                .into_iter()
                .map(|problem| format!("{name} {problem}")),
        );
    }
    problems
}

fn of_job(name: &str, environment: Option<&str>, job: &Yaml) -> Vec<String> {
    let mut problems = Vec::new();
    let mut check = |holds: bool, what: String| {
        if !holds {
            problems.push(what);
        }
    };
    for (keyword, _) in pairs(job) {
        let is_known = KEYWORDS.iter().any(|(known, _)| *known == keyword);
        check(is_known, format!("says `{keyword}`"));
    }
    let inherits = &job["inherit"];
    let alone = ["default", "variables"]
        .iter()
        .all(|of| inherits[*of].as_bool() == Some(false));
    check(
        alone,
        "takes over what the file it is included in says".to_owned(),
    );
    let rules: Vec<(String, Option<String>)> = job["rules"]
        .as_vec()
        .into_iter()
        .flatten()
        .map(|rule| {
            (
                scalar(&rule["if"]),
                rule["when"].as_str().map(ToOwned::to_owned),
            )
        })
        .collect();
    let wanted = RULES.map(|(when, then)| (when.to_owned(), then.map(ToOwned::to_owned)));
    check(rules == wanted, format!("runs when {rules:?}"));
    let variables_of_job: Vec<(String, String)> = pairs(&job["variables"])
        .into_iter()
        .map(|(variable, value)| (variable, scalar(value)))
        .collect();
    let no_clone = [("GIT_STRATEGY".to_owned(), "none".to_owned())];
    check(
        variables_of_job == no_clone,
        format!("has the variables {variables_of_job:?}"),
    );
    check(
        job["environment"]["name"].as_str() == environment,
        format!("has the environment {:?}", job["environment"]),
    );
    check(job["timeout"].as_str().is_some(), "has no end".to_owned());
    let image = job["image"].as_str().unwrap_or_default();
    check(
        image.contains(':') && image.contains("bullseye"),
        format!("runs in {image}"),
    );
    for need in job["needs"].as_vec().into_iter().flatten() {
        let keys: Vec<String> = pairs(need).into_iter().map(|(key, _)| key).collect();
        let known = need["job"].as_str().unwrap_or_default();
        let own = keys == ["job", "artifacts"] && JOBS.iter().any(|(job, _)| *job == known);
        check(own, format!("takes artifacts by {keys:?} of {known}"));
    }
    let leaves = list(&job["artifacts"]["paths"]);
    let may = LEAVES.iter().find(|(job, _)| *job == name).unwrap().1;
    check(leaves == may, format!("leaves {leaves:?}"));
    let ends = job["artifacts"]["expire_in"].as_str().unwrap_or("never");
    check(
        ["1 day", "30 days"].contains(&ends),
        format!("has artifacts that end {ends}"),
    );
    let posts = name == "mirilla-post";
    check(
        job["interruptible"].as_bool() == Some(!posts),
        "is cut off, or goes on, at the wrong time".to_owned(),
    );
    let group = job["resource_group"].as_str().unwrap_or_default();
    check(
        !posts || group.contains("$CI_MERGE_REQUEST_IID"),
        "may run twice at once for one merge request".to_owned(),
    );
    problems.extend(of_script(name, &list(&job["script"])));
    problems
}

fn of_script(name: &str, lines: &[String]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut checked = name == "mirilla-program";
    let mut left = GITLABS_OWN.to_vec();
    for line in lines {
        for variable in variables(line) {
            if !IN_A_SHELL.contains(&variable.as_str()) {
                problems.push(format!("puts ${variable} into a shell"));
            }
            let holds_forge = ["mirilla-collect", "mirilla-post"].contains(&name);
            if variable.contains("TOKEN") && !holds_forge {
                problems.push(format!("uses ${variable}"));
            }
        }
        if line.contains("git clone") || line.contains("git fetch") {
            problems.push("checks something out".to_owned());
        }
        if let Some(names) = line.strip_prefix("unset ") {
            left.retain(|own| !names.split(' ').any(|name| name == *own));
        }
        checked |= line == "sha256sum --check program.sha256";
        if line.contains("bin/mirilla ") {
            if !checked {
                problems.push("runs what nobody checked".to_owned());
            }
            if name == "mirilla-review" && !left.is_empty() {
                problems.push(format!("starts the review beside {left:?}"));
            }
        }
    }
    problems
}
