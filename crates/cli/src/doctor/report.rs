//! What was found, one line per check.

use mirilla_domain::escape;
use mirilla_domain::ids::RepoName;
use serde_json::{Value, json};

use crate::output;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// It works.
    Ok,
    /// It works, or could not be looked at; somebody should know.
    Warn,
    /// It does not work.
    Fail,
}

impl Level {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "FAIL",
        }
    }
}

#[derive(Debug)]
struct Check {
    name: &'static str,
    level: Level,
    what: String,
    fix: Option<String>,
}

/// Everything that was found, in order.
#[derive(Debug)]
pub(super) struct Report {
    checks: Vec<Check>,
    /// Whether lines are printed as they come.
    live: bool,
}

impl Report {
    /// Begins; with `live`, each line is printed as it is found.
    pub(super) const fn new(live: bool) -> Self {
        Self {
            checks: Vec::new(),
            live,
        }
    }

    /// Something works.
    pub(super) fn ok(&mut self, name: &'static str, what: impl Into<String>) {
        self.add(name, Level::Ok, what.into(), None);
    }

    /// Somebody should know about this.
    pub(super) fn warn(
        &mut self,
        name: &'static str,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.add(name, Level::Warn, what.into(), Some(fix.into()));
    }

    /// Something does not work.
    pub(super) fn fail(
        &mut self,
        name: &'static str,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.add(name, Level::Fail, what.into(), Some(fix.into()));
    }

    /// AWS could not be asked: a warning if this person may not know, a failure otherwise.
    pub(super) fn unseen(&mut self, name: &'static str, error: &mirilla_stack::StackError) {
        let what = mirilla_telemetry::chain(error);
        if error.is_denied() {
            self.warn(name, format!("not checked: {what}"), error.hint());
        } else {
            self.fail(name, what, error.hint());
        }
    }

    /// Says that a project is looked at on GitLab only, if one was named.
    pub(super) fn no_project(&mut self, project: Option<&RepoName>) {
        if project.is_some() {
            self.warn(
                "project",
                "it is not looked at: GitHub is served here",
                "leave --project out",
            );
        }
    }

    fn add(&mut self, name: &'static str, level: Level, what: String, fix: Option<String>) {
        let check = Check {
            name,
            level,
            what,
            fix,
        };
        if self.live {
            output::data_line(&check.line());
        }
        self.checks.push(check);
    }

    /// Returns whether something does not work.
    pub(super) fn has_failed(&self) -> bool {
        self.count(Level::Fail) > 0
    }

    fn count(&self, level: Level) -> usize {
        let checks = self.checks.iter();
        checks.filter(|check| check.level == level).count()
    }

    /// Returns the counts in a sentence.
    pub(super) fn summary(&self) -> String {
        let checks = self.checks.len();
        format!(
            "{checks} {}: {} failed, {} with warnings",
            if checks == 1 { "check" } else { "checks" },
            self.count(Level::Fail),
            self.count(Level::Warn)
        )
    }

    /// Returns everything for machines.
    pub(super) fn json(&self) -> Value {
        let checks: Vec<Value> = self
            .checks
            .iter()
            .map(|check| {
                json!({
                    "check": check.name,
                    "level": check.level.as_str().to_lowercase(),
                    "what": check.what,
                    "fix": check.fix,
                })
            })
            .collect();
        json!({ "ok": !self.has_failed(), "checks": checks })
    }
}

impl Check {
    fn line(&self) -> String {
        let mut line = format!(
            "{:4}  {:<14}  {}",
            self.level.as_str(),
            self.name,
            self.what
        );
        if let Some(fix) = &self.fix {
            line.push_str(" -> ");
            line.push_str(fix);
        }
        escape::terminal(&line).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_check_is_one_line_whatever_was_found() {
        let mut report = Report::new(false);
        report.ok("stack", "fine");
        report.fail("model", "bad\n\u{1b}[2J", "do this");
        report.warn("alarms", "nobody", "set it");
        for check in &report.checks {
            let line = check.line();
            assert!(!line.contains('\n') && !line.contains('\u{1b}'), "{line}");
        }
        assert_eq!(report.summary(), "3 checks: 1 failed, 1 with warnings");
        let json = report.json();
        assert_eq!(json["ok"], false);
        assert_eq!(json["checks"][1]["level"], "fail");
        assert_eq!(json["checks"][0]["fix"], Value::Null);
    }
}
