//! The deployment's templates: that `CloudFormation` takes them, and that the dashboard in one of them is
//! the one in `infra/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use mirilla_localaws::{Tools, Venv};
use serde_json::Value;

use crate::say;

/// The template that is deployed.
const TEMPLATE: &str = "template.yaml";
/// The dashboard's only home.
const DASHBOARD: &str = "infra/dashboard.json";
/// Where the dashboard stands in the template.
const PLACE: &str = "      DashboardBody: !Sub |\n";
/// How far its lines are in.
const INDENT: &str = "        ";

/// Runs cfn-lint and checkov over all templates and SAM's validation over the one that is deployed; returns
/// whether none found anything.
///
/// What checkov finds and is meant to stay is excused in the template, beside the resource, with a reason.
pub(crate) fn lint(root: &Path) -> Result<bool> {
    let mut templates = vec![PathBuf::from(TEMPLATE)];
    for entry in fs::read_dir(root.join("infra")).context("infra cannot be listed")? {
        let path = Path::new("infra").join(entry?.file_name());
        if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            templates.push(path);
        }
    }
    templates.sort();
    let mut fine = true;
    for (tools, program) in [
        (Tools::LocalAws, "cfn-lint"),
        (Tools::Sam, "sam"),
        (Tools::Checkov, "checkov"),
    ] {
        let venv = Venv::of(tools).with_context(|| format!("{program} cannot be had"))?;
        let mut command = Command::new(venv.program(program));
        match tools {
            Tools::LocalAws => command.args(&templates),
            Tools::Sam => command
                .args(["validate", "--lint", "--region", "us-east-1"])
                .args(["--template", TEMPLATE])
                .env("SAM_CLI_TELEMETRY", "0")
                .env("__SAM_CLI_APP_DIR", root.join(".cache/local-aws/sam")),
            Tools::Checkov => command
                .args(["--framework", "cloudformation", "--compact", "--quiet"])
                .args(["--skip-download", "--file"])
                .args(&templates),
        };
        let status = command.current_dir(root).status();
        fine &= status
            .with_context(|| format!("{program} cannot be run"))?
            .success();
    }
    Ok(fine)
}

/// Writes the dashboard into the template.
pub(crate) fn generate(root: &Path) -> Result<bool> {
    let (template, dashboard) = read(root)?;
    let written = embed(&template, &dashboard)?;
    if written == template {
        say("template.yaml is up to date");
    } else {
        fs::write(root.join(TEMPLATE), written).context("template.yaml cannot be written")?;
        say("template.yaml has the dashboard of infra/dashboard.json");
    }
    Ok(true)
}

/// Notes a dashboard that differs from the template's.
pub(crate) fn check(root: &Path, problems: &mut Vec<String>) -> Result<()> {
    let (template, dashboard) = read(root)?;
    if embed(&template, &dashboard)? != template {
        problems.push(format!(
            "{TEMPLATE} has another dashboard than {DASHBOARD}: run `cargo xtask generate`"
        ));
    }
    Ok(())
}

fn read(root: &Path) -> Result<(String, String)> {
    let read = |name: &str| {
        fs::read_to_string(root.join(name)).with_context(|| format!("{name} cannot be read"))
    };
    Ok((read(TEMPLATE)?, read(DASHBOARD)?))
}

/// Returns the template with the dashboard in its place, a widget a line.
fn embed(template: &str, dashboard: &str) -> Result<String> {
    let (before, rest) = template.split_once(PLACE).with_context(|| {
        format!(
            "{TEMPLATE} has no place for a dashboard: `{}`",
            PLACE.trim()
        )
    })?;
    let after: Vec<&str> = rest
        .split_inclusive('\n')
        .skip_while(|line| line.starts_with(INDENT))
        .collect();
    let mut dashboard: Value = serde_json::from_str(dashboard)
        .with_context(|| format!("{DASHBOARD} is not valid JSON"))?;
    let widgets = dashboard
        .get_mut("widgets")
        .map(Value::take)
        .and_then(|widgets| widgets.as_array().cloned())
        .with_context(|| format!("{DASHBOARD} has no widgets"))?;
    let widgets: Vec<String> = widgets
        .iter()
        .map(|widget| format!("{INDENT} {widget}"))
        .collect();
    let start = dashboard.get("start").cloned().unwrap_or_default();
    Ok(format!(
        "{before}{PLACE}{INDENT}{{\"start\":{start},\"widgets\":[\n{}]}}\n{}",
        widgets.join(",\n"),
        after.concat()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashboard_replaces_what_stood_there_and_nothing_else() {
        let template = format!("a:\n{PLACE}{INDENT}old\n{INDENT} old\n\n  Next:\n    b\n");
        let dashboard = r#"{"start": "-P1D", "widgets": [{"x": 1}, {"x": 2}]}"#;
        let once = embed(&template, dashboard).unwrap();
        assert_eq!(
            once,
            format!(
                "a:\n{PLACE}{INDENT}{{\"start\":\"-P1D\",\"widgets\":[\n{INDENT} {{\"x\":1}},\n{INDENT} {{\"x\":2}}]}}\n\n  Next:\n    b\n"
            )
        );
        assert_eq!(embed(&once, dashboard).unwrap(), once);
    }

    #[test]
    fn template_without_a_place_is_refused() {
        let error = embed("a: b\n", "{}").unwrap_err().to_string();
        assert!(error.contains("DashboardBody"), "{error}");
    }
}
