//! Every alarm has a section in docs/OPERATIONS.md, and every section about alarms has an alarm.
//!
//! An alarm names its section in its description; that each does, and that the name is its own, is a test of
//! the template's.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};

const GUIDE: &str = "docs/OPERATIONS.md";
/// What stands before the name of a section in a description.
const REFERENCE: &str = "docs/OPERATIONS.md#";
/// How an alarm's logical id ends in the template.
const ALARM: &str = "Alarm:";

/// Adds what is missing on either side.
pub(crate) fn check(root: &Path, problems: &mut Vec<String>) -> Result<()> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))
    };
    let mut templates = vec![read(&root.join("template.yaml"))?];
    for entry in std::fs::read_dir(root.join("infra"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "yaml") {
            templates.push(read(&path)?);
        }
    }
    problems.extend(compare(&read(&root.join(GUIDE))?, &templates));
    Ok(())
}

fn compare(guide: &str, templates: &[String]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut named = BTreeSet::new();
    for template in templates {
        named.extend(references(template));
        problems.extend(
            silent_alarms(template)
                .into_iter()
                .map(|alarm| format!("{alarm} names no section: write `See {REFERENCE}…`")),
        );
    }
    let (all, of_alarms) = sections(guide);
    problems.extend(
        named
            .iter()
            .filter(|name| !all.contains(*name))
            .map(|name| {
                format!("{GUIDE} has no section `{name}`, where an alarm sends its reader")
            }),
    );
    problems.extend(
        of_alarms.difference(&named).map(|name| {
            format!("{GUIDE} has a section `{name}`, and no alarm of that name is left")
        }),
    );
    problems
}

/// Returns the sections that a template sends its readers to.
fn references(template: &str) -> BTreeSet<String> {
    // A mail names several: `#refused-call, #app-key-used and #secret-read`.
    template
        .lines()
        .filter(|line| line.contains(REFERENCE))
        .flat_map(|line| line.split('#').skip(1))
        .map(|rest| {
            rest.chars()
                .take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-')
                .collect::<String>()
        })
        .filter(|name| !name.is_empty())
        .collect()
}

/// Returns the alarms, by logical id, that name no section before the next resource begins.
fn silent_alarms(template: &str) -> Vec<String> {
    let mut silent = Vec::new();
    let mut open: Option<String> = None;
    for line in template.lines() {
        let is_resource = line.starts_with("  ") && !line.starts_with("   ") && line.ends_with(':');
        if is_resource {
            silent.extend(open.take());
            let id = line.trim();
            if id.ends_with(ALARM) {
                open = Some(id.trim_end_matches(':').to_owned());
            }
        } else if line.contains(REFERENCE) {
            open = None;
        }
    }
    silent.extend(open);
    silent
}

/// Returns all sections of the guide as links name them, and those under a heading about alarms.
fn sections(guide: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut all, mut of_alarms) = (BTreeSet::new(), BTreeSet::new());
    let mut about_alarms = false;
    for line in guide.lines().filter(|line| line.starts_with('#')) {
        let (level, title) = line.split_once(' ').unwrap_or((line, ""));
        let link = title.to_lowercase().replace(' ', "-");
        if level == "##" {
            about_alarms = title.starts_with("Alarms");
        } else if level == "###" && about_alarms {
            of_alarms.insert(link.clone());
        }
        all.insert(link);
    }
    (all, of_alarms)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUIDE: &str = "# Guide\n## Alarms\n### one\n### two\n## Cost\n### three four\n";

    fn template(sections: &str) -> Vec<String> {
        vec![format!(
            "Resources:\n  OneAlarm:\n    Properties:\n      AlarmDescription: \"It broke. {sections}\"\n"
        )]
    }

    #[test]
    fn each_side_is_missed_on_the_other() {
        let both = "See docs/OPERATIONS.md#one and #two";
        assert_eq!(compare(GUIDE, &template(both)), [""; 0]);
        let more = compare(
            GUIDE,
            &template("See docs/OPERATIONS.md#one, #two and #five"),
        );
        assert!(
            more.len() == 1 && more[0].contains("no section `five`"),
            "{more:?}"
        );
        let fewer = compare(GUIDE, &template("See docs/OPERATIONS.md#one"));
        assert!(fewer.len() == 1 && fewer[0].contains("`two`"), "{fewer:?}");
        let elsewhere = "See docs/OPERATIONS.md#one, #two and #three-four";
        assert_eq!(compare(GUIDE, &template(elsewhere)), [""; 0]);
    }

    #[test]
    fn alarm_that_sends_nobody_anywhere_is_named() {
        let silent = "Resources:\n  MuteAlarm:\n    Properties:\n      Threshold: 1\n  Topic:\n    See: docs/OPERATIONS.md#one\n";
        assert_eq!(silent_alarms(silent), ["MuteAlarm"]);
        assert_eq!(
            silent_alarms(&template("See docs/OPERATIONS.md#one")[0]),
            [""; 0]
        );
    }

    #[test]
    fn guide_and_template_of_this_repository_agree() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .unwrap();
        let mut problems = Vec::new();
        check(root, &mut problems).unwrap();
        assert_eq!(problems, [""; 0]);
    }
}
