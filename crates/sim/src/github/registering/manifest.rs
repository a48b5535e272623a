//! A manifest, read as strictly as GitHub reads it.
//!
//! Sentences are those that people quote in public issue threads.

use serde_json::{Map, Value};
use url::{Host, Url};

/// Longest name of an App.
const MAX_NAME_CHARS: usize = 34;

/// Every field there is; GitHub would drop another one silently.
const FIELDS: &[&str] = &[
    "name",
    "url",
    "hook_attributes",
    "redirect_url",
    "callback_urls",
    "setup_url",
    "description",
    "public",
    "default_events",
    "default_permissions",
    "request_oauth_on_install",
    "setup_on_update",
];

/// Which permission each event needs, among those that the simulator has.
const EVENTS: &[(&str, &str)] = &[
    ("pull_request", "pull_requests"),
    ("pull_request_review", "pull_requests"),
    ("pull_request_review_comment", "pull_requests"),
    ("pull_request_review_thread", "pull_requests"),
    ("check_run", "checks"),
    ("check_suite", "checks"),
    // Also for comments on pull requests: the validator knows issues only.
    ("issue_comment", "issues"),
    ("issues", "issues"),
    ("merge_group", "merge_queues"),
    ("push", "contents"),
    ("status", "statuses"),
    ("repository", "metadata"),
];

/// Permissions, and whether they can be had for writing.
const PERMISSIONS: &[(&str, bool)] = &[
    ("metadata", false),
    ("contents", true),
    ("pull_requests", true),
    ("checks", true),
    ("issues", true),
    ("statuses", true),
    ("merge_queues", true),
    ("administration", true),
    ("actions", true),
    ("workflows", true),
];

/// What a manifest asks for.
#[derive(Debug, Clone)]
pub(super) struct Manifest {
    pub(super) name: Option<String>,
    pub(super) hook_url: Option<String>,
    pub(super) redirect_url: Url,
    pub(super) permissions: Vec<(String, String)>,
    pub(super) events: Vec<String>,
}

/// Checks the name a person chose.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("Name can't be blank".to_owned());
    }
    if name.chars().count() > MAX_NAME_CHARS {
        return Err(format!(
            "Name is too long (maximum is {MAX_NAME_CHARS} characters)"
        ));
    }
    Ok(())
}

impl Manifest {
    /// Reads a manifest; all errors together.
    pub(super) fn parse(text: &str) -> Result<Self, Vec<String>> {
        let Ok(Value::Object(fields)) = serde_json::from_str(text) else {
            return Err(vec!["Manifest is not valid JSON".to_owned()]);
        };
        let mut reader = Reader {
            fields,
            errors: Vec::new(),
        };
        let manifest = reader.manifest();
        match manifest {
            Some(manifest) if reader.errors.is_empty() => Ok(manifest),
            _ => Err(reader.errors),
        }
    }
}

struct Reader {
    fields: Map<String, Value>,
    errors: Vec<String>,
}

impl Reader {
    fn manifest(&mut self) -> Option<Manifest> {
        let unknown: Vec<String> = self
            .fields
            .keys()
            .filter(|name| !FIELDS.contains(&name.as_str()))
            .map(|name| format!("\"{name}\" is not a field of a manifest"))
            .collect();
        self.errors.extend(unknown);
        let name = self.text("name");
        if let Some(Err(error)) = name.as_deref().map(check_name) {
            self.errors.push(error);
        }
        self.address("url", self.fields.get("url").cloned());
        let redirect_url = self.address("redirect_url", self.fields.get("redirect_url").cloned());
        let hook_url = self.hook();
        if let Some(public) = self.fields.get("public")
            && !public.is_boolean()
        {
            self.errors
                .push("For 'properties/public', it is not a boolean".to_owned());
        }
        let permissions = self.permissions();
        let events = self.events(&permissions);
        Some(Manifest {
            name,
            hook_url,
            redirect_url: redirect_url?,
            permissions,
            events,
        })
    }

    fn text(&mut self, name: &str) -> Option<String> {
        let value = self.fields.get(name)?;
        let text = value.as_str().map(str::to_owned);
        if text.is_none() {
            self.errors
                .push(format!("For 'properties/{name}', {value} is not a string"));
        }
        text
    }

    fn address(&mut self, name: &str, value: Option<Value>) -> Option<Url> {
        let Some(value) = value else {
            self.errors.push(format!("\"{name}\" wasn't supplied."));
            return None;
        };
        let url = value.as_str().and_then(|text| Url::parse(text).ok());
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if url.is_none() {
            self.errors.push(format!("{name} must be a valid URL"));
        }
        url
    }

    /// A webhook's settings must have an address, even those of one that is switched off.
    fn hook(&mut self) -> Option<String> {
        let hook = self.fields.get("hook_attributes")?.clone();
        let url = self.address("url", hook.get("url").cloned())?;
        let local = match url.host() {
            Some(Host::Ipv4(ip)) => ip.is_loopback() || ip.is_private(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => true,
        };
        if local {
            self.errors.push(format!(
                "Hook url is not supported because it isn't reachable over the public Internet ({})",
                url.host_str().unwrap_or_default()
            ));
        }
        Some(url.into())
    }

    fn permissions(&mut self) -> Vec<(String, String)> {
        let mut wanted = Vec::new();
        let given = self.fields.get("default_permissions").cloned();
        for (name, level) in given
            .as_ref()
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let level = level.as_str().unwrap_or_default();
            let known = PERMISSIONS.iter().find(|(known, _)| known == name);
            match known {
                None => self
                    .errors
                    .push("Default permission records resource is not included in the list".into()),
                Some((_, may_write)) if level == "read" || (level == "write" && *may_write) => {
                    wanted.push((name.clone(), level.to_owned()));
                }
                Some(_) => self
                    .errors
                    .push("Default permission records action is not included in the list".into()),
            }
        }
        // Every App may read metadata.
        if !wanted.iter().any(|(name, _)| name == "metadata") {
            wanted.push(("metadata".to_owned(), "read".to_owned()));
        }
        wanted
    }

    fn events(&mut self, permissions: &[(String, String)]) -> Vec<String> {
        let given = self.fields.get("default_events").cloned();
        let wanted: Vec<String> = given
            .as_ref()
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|event| event.as_str().unwrap_or_default().to_owned())
            .collect();
        let needs = |event: &String| EVENTS.iter().find(|(known, _)| known == event);
        let unsupported: Vec<&str> = wanted
            .iter()
            .filter(|event| needs(event).is_none())
            .map(String::as_str)
            .collect();
        if !unsupported.is_empty() {
            self.errors.push(format!(
                "Default events unsupported: {}",
                sentence(&unsupported)
            ));
        }
        let without: Vec<&str> = wanted
            .iter()
            .filter(|event| {
                needs(event).is_none_or(|(_, need)| !permissions.iter().any(|(p, _)| p == need))
            })
            .map(String::as_str)
            .collect();
        if !without.is_empty() {
            self.errors.push(format!(
                "Default events are not supported by permissions: {}",
                sentence(&without)
            ));
        }
        wanted
    }
}

/// Joins words as GitHub does: `a`, `a and b`, `a, b, and c`.
fn sentence(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [one, two] => format!("{one} and {two}"),
        [first @ .., last] => format!("{}, and {last}", first.join(", ")),
    }
}
