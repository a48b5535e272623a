//! What the App asks GitHub for: `infra/app-manifest.json`, completed for one stack.
//!
//! **Invariant:** permissions and events stand in that file and nowhere else, and an App that asks for
//! more is not connected.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::failure::Failure;

/// The one home of permissions and events.
const MANIFEST: &str = include_str!("../../../../infra/app-manifest.json");
/// What the event of merge queues needs, and nothing else does.
/// <https://docs.github.com/webhooks/webhook-events-and-payloads#merge_group>
pub(crate) const MERGE_QUEUES: (&str, &str) = ("merge_queues", "read");
/// Longest name GitHub takes.
const MAX_NAME_CHARS: usize = 34;

/// The part of a manifest that is the same for everybody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixed {
    description: String,
    public: bool,
    default_permissions: BTreeMap<String, String>,
    default_events: Vec<String>,
}

fn fixed() -> Result<Fixed> {
    serde_json::from_str(MANIFEST).context("infra/app-manifest.json cannot be read")
}

/// A manifest for one stack; only the page that GitHub sends people back to is missing.
#[derive(Debug, Clone)]
pub(crate) struct Manifest {
    fixed: Fixed,
    name: String,
    webhook: String,
}

impl Manifest {
    /// Completes the manifest; without a name, one is made of what the App is for.
    pub(crate) fn new(name: Option<&str>, of: &str, webhook: &str) -> Result<Self> {
        let name = match name {
            Some(name) if name.trim().is_empty() || name.chars().count() > MAX_NAME_CHARS => {
                return Err(Failure::usage(format!(
                    "the App's name has between 1 and {MAX_NAME_CHARS} characters"
                ))
                .into());
            }
            Some(name) => name.to_owned(),
            None => format!("Mirilla {of}")
                .chars()
                .take(MAX_NAME_CHARS)
                .collect(),
        };
        Ok(Self {
            fixed: fixed()?,
            name: name.trim().to_owned(),
            webhook: webhook.to_owned(),
        })
    }

    /// Returns the JSON that GitHub is posted.
    /// <https://docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest>
    pub(crate) fn json(&self, redirect_url: &str) -> Value {
        json!({
            "name": self.name,
            "url": env!("CARGO_PKG_REPOSITORY"),
            "description": self.fixed.description,
            "hook_attributes": { "url": self.webhook, "active": true },
            "redirect_url": redirect_url,
            "public": self.fixed.public,
            "default_permissions": self.fixed.default_permissions,
            "default_events": self.fixed.default_events,
        })
    }
}

/// Returns the permissions of an App that are not in the manifest, as `name: level`.
pub(crate) fn wider(granted: &BTreeMap<String, String>) -> Vec<String> {
    compare(granted).0
}

/// Returns the permissions of the manifest that an App lacks, as `name: level`.
pub(crate) fn missing(granted: &BTreeMap<String, String>) -> Vec<String> {
    compare(granted).1
}

/// Returns the events of the manifest that an App is not told of.
pub(crate) fn missing_events(told: &[String]) -> Vec<String> {
    let wanted = fixed()
        .map(|fixed| fixed.default_events)
        .unwrap_or_default();
    wanted
        .into_iter()
        .filter(|event| !told.contains(event))
        .collect()
}

fn compare(granted: &BTreeMap<String, String>) -> (Vec<String>, Vec<String>) {
    let wanted = fixed()
        .map(|fixed| fixed.default_permissions)
        .unwrap_or_default();
    let covers = |have: &BTreeMap<String, String>, name: &str, level: &str| {
        have.get(name)
            .is_some_and(|l| l == level || level == "read")
    };
    let said = |(name, level): (&String, &String)| format!("{name}: {level}");
    let beyond = granted
        .iter()
        .filter(|(name, level)| !covers(&wanted, name, level))
        .map(said)
        .collect();
    let lacking = wanted
        .iter()
        .filter(|(name, level)| !covers(granted, name, level))
        .map(said)
        .collect();
    (beyond, lacking)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mirilla_domain::webhook::{GithubHeaders, Parsed, parse_github};
    use mirilla_forge::github::Permissions;

    #[test]
    fn permissions_are_what_the_minters_ask_for_and_nothing_else() {
        let mut minted: BTreeMap<String, String> = BTreeMap::new();
        for (name, level) in [Permissions::Read, Permissions::Write]
            .into_iter()
            .flat_map(Permissions::as_pairs)
        {
            let kept = minted.entry((*name).to_owned()).or_default();
            if kept != "write" {
                *kept = (*level).to_owned();
            }
        }
        // GitHub ties the event to it, and no token has it.
        minted.insert(MERGE_QUEUES.0.to_owned(), MERGE_QUEUES.1.to_owned());
        let fixed = fixed().unwrap();
        assert_eq!(fixed.default_permissions, minted);
        assert!(!fixed.public);
    }

    #[test]
    fn every_event_is_one_that_intake_makes_a_request_of() {
        // The action with which GitHub means us, and what else the event's body must have.
        let body = |event: &str| {
            let repository = json!({"id": 5, "full_name": "acme/shop"});
            let sha = "0123456789012345678901234567890123456789";
            match event {
                "pull_request" => json!({"action": "opened", "number": 1, "repository": repository,
                    "pull_request": {"head": {"sha": sha}, "base": {"ref": "main"}}}),
                "pull_request_review_comment" => json!({"action": "created",
                    "repository": repository, "pull_request": {"number": 1},
                    "comment": {"id": 2, "body": "/mirilla review"}}),
                "check_run" => json!({"action": "rerequested", "repository": repository,
                    "check_run": {"head_sha": sha}}),
                "check_suite" => json!({"action": "rerequested", "repository": repository,
                    "check_suite": {"head_sha": sha}}),
                "merge_group" => json!({"action": "checks_requested", "repository": repository,
                    "merge_group": {"head_sha": sha, "base_ref": "refs/heads/main",
                    "head_ref": format!("refs/heads/gh-readonly-queue/main/pr-1-{sha}")}}),
                other => panic!("say how {other} looks"),
            }
        };
        for event in fixed().unwrap().default_events {
            let headers = GithubHeaders {
                event: Some(&event),
                delivery: Some("00000000-0000-0000-0000-000000000001"),
                content_type: Some("application/json"),
            };
            let parsed = parse_github(headers, body(&event).to_string().as_bytes());
            assert!(
                matches!(parsed, Ok(Parsed::Delivery(_))),
                "{event}: {parsed:?}"
            );
        }
    }

    #[test]
    fn name_is_made_to_fit_and_a_wrong_one_is_refused() {
        let long = "x".repeat(60);
        let manifest = Manifest::new(None, &long, "https://h.test/").unwrap();
        let name = manifest.json("http://127.0.0.1:1/")["name"].to_string();
        assert!(name.trim_matches('"').chars().count() <= MAX_NAME_CHARS);
        assert!(Manifest::new(Some(&long), "", "https://h.test/").is_err());
        assert!(Manifest::new(Some(" "), "", "https://h.test/").is_err());
    }

    #[test]
    fn more_and_less_than_the_manifest_are_told_apart() {
        let mut granted = fixed().unwrap().default_permissions;
        assert_eq!(
            (wider(&granted), missing(&granted)),
            (Vec::new(), Vec::new())
        );
        granted.insert("contents".to_owned(), "write".to_owned());
        granted.insert("administration".to_owned(), "read".to_owned());
        granted.insert("checks".to_owned(), "read".to_owned());
        assert_eq!(wider(&granted), ["administration: read", "contents: write"]);
        assert_eq!(missing(&granted), ["checks: write"]);
        assert_eq!(missing_events(&["pull_request".to_owned()]).len(), 4);
    }
}
