//! What a workflow may not do that runs beside secrets and strangers' text.

use yaml_rust2::Yaml;

/// Who may see which secret.
const SECRETS: [(&str, &str); 2] = [
    ("review", "ANTHROPIC_API_KEY"),
    ("post", "MIRILLA_MARKER_KEY"),
];
/// What each job's token may do.
const RIGHTS: [(&str, &[(&str, &str)]); 4] = [
    ("program", &[]),
    (
        "collect",
        &[("contents", "read"), ("pull-requests", "read")],
    ),
    ("review", &[]),
    ("post", &[("contents", "read"), ("pull-requests", "write")]),
];
/// The actions that are used: they move artifacts of the same run.
const ACTIONS: [&str; 2] = ["actions/upload-artifact", "actions/download-artifact"];

/// Returns the pairs of a mapping.
pub(super) fn pairs(yaml: &Yaml) -> Vec<(String, &Yaml)> {
    let Some(map) = yaml.as_hash() else {
        return Vec::new();
    };
    map.iter()
        .map(|(key, value)| (key.as_str().unwrap().to_owned(), value))
        .collect()
}

/// Returns the text of a scalar, whatever its type.
pub(super) fn scalar(yaml: &Yaml) -> String {
    match yaml {
        Yaml::String(text) | Yaml::Real(text) => text.clone(),
        Yaml::Integer(number) => number.to_string(),
        Yaml::Boolean(value) => value.to_string(),
        other => panic!("no scalar: {other:?}"),
    }
}

/// Returns every scalar below a node.
pub(super) fn texts(yaml: &Yaml, found: &mut Vec<String>) {
    match yaml {
        Yaml::Hash(map) => map.values().for_each(|value| texts(value, found)),
        Yaml::Array(items) => items.iter().for_each(|value| texts(value, found)),
        Yaml::Null | Yaml::BadValue => {}
        scalar_ => found.push(scalar(scalar_)),
    }
}

/// Returns what is wrong with a workflow.
pub(super) fn problems(recipe: &Yaml) -> Vec<String> {
    let mut problems = Vec::new();
    let mut check = |holds: bool, what: String| {
        if !holds {
            problems.push(what);
        }
    };
    let events: Vec<String> = pairs(&recipe["on"])
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    check(
        events == ["pull_request_target"],
        format!("runs on {events:?}"),
    );
    let mut types = Vec::new();
    texts(&recipe["on"]["pull_request_target"]["types"], &mut types);
    for event in ["opened", "synchronize", "ready_for_review", "edited"] {
        let is_there = types.iter().any(|one| one == event);
        check(
            is_there,
            format!("does not run when a pull request is {event}"),
        );
    }
    let last = recipe["jobs"]["post"]["if"].as_str().unwrap_or_default();
    check(
        last.contains("!cancelled()") && last.contains("!= 'false'"),
        "the last job counts as passed when one before it failed".to_owned(),
    );
    let default = &recipe["permissions"];
    let nothing = default.as_hash().is_some() && pairs(default).is_empty();
    check(nothing, "rights by default".to_owned());
    let jobs = pairs(&recipe["jobs"]);
    let names: Vec<&str> = jobs.iter().map(|(name, _)| name.as_str()).collect();
    check(
        names == RIGHTS.map(|(name, _)| name),
        format!("jobs {names:?}"),
    );
    for (name, job) in &jobs {
        let rights = pairs(&job["permissions"]);
        let rights: Vec<(&str, String)> = rights
            .iter()
            .map(|(right, level)| (right.as_str(), scalar(level)))
            .collect();
        let rights: Vec<(&str, &str)> = rights
            .iter()
            .map(|(right, level)| (*right, level.as_str()))
            .collect();
        let may = RIGHTS
            .iter()
            .find(|(job, _)| job == name)
            .map(|(_, may)| *may);
        let said = job["permissions"].as_hash().is_some();
        check(
            said && may == Some(rights.as_slice()),
            format!("{name} may {rights:?}"),
        );
        let mut all = Vec::new();
        texts(job, &mut all);
        for text in &all {
            for part in text.split("secrets.").skip(1) {
                let secret: String = part
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect();
                let may = SECRETS.contains(&(name.as_str(), secret.as_str()));
                check(may, format!("{name} sees the secret {secret}"));
            }
            let token = text.contains("github.token") || text.contains("GITHUB_TOKEN");
            check(
                !token || ["collect", "post"].contains(&name.as_str()),
                format!("{name} sees a token"),
            );
        }
        let mut checked = *name == "program";
        for step in job["steps"].as_vec().unwrap() {
            if let Some(action) = step["uses"].as_str() {
                let (action, version) = action.split_once('@').unwrap_or((action, ""));
                check(ACTIONS.contains(&action), format!("{name} uses {action}"));
                let pinned =
                    version.len() == 40 && version.bytes().all(|byte| byte.is_ascii_hexdigit());
                check(pinned, format!("{name} uses {action} at {version}"));
                let given: Vec<String> = pairs(&step["with"])
                    .into_iter()
                    .map(|(key, _)| key)
                    .collect();
                let foreign = ["run-id", "repository", "github-token"];
                let own = !given.iter().any(|key| foreign.contains(&key.as_str()));
                check(own, format!("{name} takes an artifact of another run"));
            }
            let Some(run) = step["run"].as_str() else {
                continue;
            };
            check(
                !run.contains("${{"),
                format!("{name} puts text into a shell: {run}"),
            );
            checked |= run.contains("sha256sum --check");
            check(
                checked || !run.contains("bin/mirilla "),
                format!("{name} runs what nobody checked"),
            );
        }
    }
    problems
}
