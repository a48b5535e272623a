//! A stack serves one forge, all of its functions the same, and on GitLab there is no App.

use serde_json::{Value, json};

use crate::template::Template;

/// When there is an App.
const OF_APP: [&str; 2] = ["UsesApp", "ResolvesWithApp"];

/// Who believes webhooks, who reads and who writes are told of one forge, and of the same one; nobody else is told of
/// GitLab at all.
pub(crate) fn stages_are_told_the_same_forge(template: &Template) -> Vec<String> {
    const STAGES: [&str; 3] = ["Intake", "Collector", "Poster"];
    let nothing = json!({"Ref": "AWS::NoValue"});
    let wanted = [
        (
            "MIRILLA_GITLAB_URL",
            json!({"Fn::If": ["UsesGitlab", {"Ref": "GitLabUrl"}, nothing]}),
        ),
        (
            "MIRILLA_GITHUB_API_URL",
            json!({"Fn::If": ["UsesGithub", {"Ref": "GitHubApiUrl"}, nothing]}),
        ),
    ];
    let told = |function: &str, name: &str| -> Value {
        template.properties(function)["Environment"]["Variables"][name].clone()
    };
    let mut found = Vec::new();
    for stage in STAGES {
        for (name, value) in &wanted {
            let told = told(stage, name);
            if told != *value {
                found.push(format!("{stage} is told {name} {told}"));
            }
        }
    }
    for (function, _) in template.of_type("AWS::Lambda::Function") {
        let gitlab = told(function, wanted[0].0);
        if !STAGES.contains(&function) && !gitlab.is_null() {
            found.push(format!("{function} is told of GitLab"));
        }
    }
    let authority = told("Collector", "MIRILLA_FORGE_CA_PEM");
    if authority.is_null() || authority != told("Poster", "MIRILLA_FORGE_CA_PEM") {
        found.push("collector and poster believe other authorities".to_owned());
    }
    found
}

/// Where GitLab is served nothing of an App is deployed: no key, no minter, no right to either.
pub(crate) fn gitlab_has_no_app(template: &Template) -> Vec<String> {
    let conditions = &template.whole()["Conditions"];
    let mut found = Vec::new();
    for (name, wanted) in [
        (
            "UsesGithub",
            json!({"Fn::Equals": [{"Ref": "GitLabUrl"}, ""]}),
        ),
        (
            "UsesGitlab",
            json!({"Fn::Not": [{"Condition": "UsesGithub"}]}),
        ),
    ] {
        if conditions[name] != wanted {
            found.push(format!("{name} is {}", conditions[name]));
        }
    }
    for (name, needs) in [
        ("UsesApp", "UsesGithub"),
        ("ResolvesWithApp", "UsesApp"),
        ("ResolvesWithToken", "UsesGithub"),
    ] {
        let all = conditions[name]["Fn::And"].as_array();
        let needed = json!({"Condition": needs});
        if !all.is_some_and(|all| all.contains(&needed)) {
            found.push(format!(
                "{name} does not need {needs}: {}",
                conditions[name]
            ));
        }
    }
    let mut seen = 0;
    for (name, resource) in template.resources() {
        if name.starts_with("App") || name.starts_with("Minter") {
            seen += 1;
            let when = resource["Condition"].as_str().unwrap_or("always");
            if !OF_APP.contains(&when) {
                found.push(format!("{name} is deployed {when}"));
            }
        }
    }
    if seen < 20 {
        found.push(format!("control: only {seen} resources are an App's"));
    }
    found
}
