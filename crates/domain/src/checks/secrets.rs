//! Credentials that a change adds.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use mirilla_diff::LineKind;

use super::hints::Hints;
use super::path::{self, Context};
use super::source::{Seen, Source};
use super::{Check, Found, bounded};
use crate::plan::FloorHit;
use crate::redact::shapes::{self, Hit};
use crate::redact::{pem, value};
use crate::review::Severity;

/// Kinds whose form is short enough to turn up in generated text by chance.
const WEAK_FORMS: [&str; 6] = [
    "mailchimp-key",
    "mailgun-key",
    "crates-io-token",
    "nuget-key",
    "twilio-key",
    "telegram-token",
];
/// Kinds that tests are full of, made up for the purpose.
const TEST_KINDS: [&str; 6] = [
    "json-web-token",
    "private-key",
    "url-password",
    "ssh-key",
    "webhook-secret",
    "git-basic-auth",
];
/// Fewer base64 characters than this are no private key.
const MIN_KEY_BODY: usize = 100;

/// The credentials of a diff.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    /// Hits and the hash of what was found; the value itself is not kept.
    added: Vec<(FloorHit, u64)>,
    /// Hashes of what stood in deleted lines: what only moved was not added.
    deleted: HashSet<u64>,
}

impl Secrets {
    /// Looks through one file.
    pub(super) fn file(&mut self, source: &Source<'_>) {
        let context = &source.context;
        if matches!(
            path::extension(&context.path),
            "svg" | "map" | "ipynb" | "pem" | "crt"
        ) && context.is_test
        {
            return;
        }
        let mut found: Vec<(Found, u64)> = Vec::new();
        let mut key: Option<Key> = None;
        for Seen { line, hints } in source.seen() {
            let (form, name) = (hints.has(Hints::FORM), hints.has(Hints::NAME));
            match line.kind {
                LineKind::Context => key = None,
                _ if !form && !name && key.is_none() => {}
                LineKind::Deleted => {
                    self.deleted.extend(
                        shapes::find_in_hinted(line.text, form, name)
                            .iter()
                            .map(|hit| hash(secret(line.text, hit))),
                    );
                    if pem::opens(line.text).is_some() {
                        self.deleted.insert(hash(b"private-key"));
                    }
                }
                LineKind::Added => {
                    let number = line.new.unwrap_or(0);
                    if let Some(done) = Key::step(&mut key, line.text, number)
                        && done.body >= MIN_KEY_BODY
                        && !context.is_test
                    {
                        let mut hit = found_at(done.first, "private-key", Severity::Critical);
                        hit.end_line = Some(number);
                        found.push((hit, hash(b"private-key")));
                    }
                    // What is in the armour but no part of a key is looked at like any line.
                    if key.is_some() && pem::is_body(line.text) {
                        continue;
                    }
                    for hit in shapes::find_in_hinted(line.text, form, name) {
                        if let Some(severity) = severity(&hit, line.text, context) {
                            found.push((
                                found_at(number, hit.kind, severity),
                                hash(secret(line.text, &hit)),
                            ));
                        }
                    }
                }
            }
        }
        self.added.extend(
            found
                .into_iter()
                .map(|(found, hash)| (found.into_hit(&context.path), hash)),
        );
    }

    /// Returns the hits for what was not there before.
    pub(super) fn finish(self) -> Vec<FloorHit> {
        let deleted = self.deleted;
        let mut by_path: Vec<(String, Vec<FloorHit>)> = Vec::new();
        for (hit, _) in self
            .added
            .into_iter()
            .filter(|(_, hash)| !deleted.contains(hash))
        {
            match by_path.last_mut() {
                Some((path, hits)) if *path == hit.path => hits.push(hit),
                _ => by_path.push((hit.path.clone(), vec![hit])),
            }
        }
        by_path
            .into_iter()
            .flat_map(|(_, hits)| bounded(&hits))
            .collect()
    }
}

/// A private key that is being read.
struct Key {
    first: u32,
    body: usize,
}

impl Key {
    /// Takes one added line; returns the key if this line ends it.
    fn step(state: &mut Option<Self>, line: &[u8], number: u32) -> Option<Self> {
        if let Some(start) = pem::opens(line) {
            let ended = pem::closes(line).is_some();
            // A key on one line has its line feeds spelled out; the armour itself is about 60 bytes.
            let body = if ended {
                line.len().saturating_sub(start).saturating_sub(60)
            } else {
                0
            };
            *state = Some(Self {
                first: number,
                body,
            });
            return if ended { state.take() } else { None };
        }
        let key = state.as_mut()?;
        if pem::closes(line).is_some() {
            return state.take();
        }
        if pem::is_body(line) {
            key.body = key.body.saturating_add(line.trim_ascii().len());
        } else if !line.trim_ascii().is_empty() && line.len() > 80 {
            *state = None;
        }
        None
    }
}

/// How bad a hit is in this place; `None` if it is no credential here.
fn severity(hit: &Hit, line: &[u8], context: &Context) -> Option<Severity> {
    if hit.placeholder || hit.kind == pem::KIND || !stands_alone(hit, line) {
        return None;
    }
    let secret = secret(line, hit);
    if !hit.by_form {
        // A name called it secret: only in code and settings, and only if it looks generated.
        let long = secret.len() >= 10;
        return (long && !context.is_test && !context.is_prose && !context.is_lockfile)
            .then_some(Severity::High);
    }
    let weak = WEAK_FORMS.contains(&hit.kind);
    if (context.is_lockfile || context.is_test) && (weak || TEST_KINDS.contains(&hit.kind)) {
        return None;
    }
    match hit.kind {
        "url-password" => {
            let local = [
                b"@localhost".as_slice(),
                b"@127.",
                b"@0.0.0.0",
                b"@example",
                b"@host",
                b"@[::1]",
            ];
            let rest = line.get(hit.range.end..).unwrap_or_default();
            (value::is_random(secret) && !local.iter().any(|host| rest.starts_with(host)))
                .then_some(Severity::High)
        }
        "json-web-token" => (!context.is_prose).then_some(Severity::High),
        "stripe-key"
            if secret
                .get(3..)
                .is_some_and(|rest| rest.starts_with(b"test")) =>
        {
            (!context.is_test).then_some(Severity::Medium)
        }
        _ if weak => Some(Severity::High),
        _ if context.is_test || context.is_prose => Some(Severity::High),
        _ => Some(Severity::Critical),
    }
}

/// Says whether what was found is not merely part of a longer run, such as a hash or an image.
fn stands_alone(hit: &Hit, line: &[u8]) -> bool {
    let inside = |c: Option<&u8>| c.is_some_and(|c| c.is_ascii_alphanumeric() || *c == b'_');
    let before = hit.range.start.checked_sub(1).and_then(|at| line.get(at));
    !inside(before) && !inside(line.get(hit.range.end))
}

fn secret<'a>(line: &'a [u8], hit: &Hit) -> &'a [u8] {
    line.get(hit.range.clone()).unwrap_or_default()
}

fn hash(value: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn found_at(line: u32, kind: &str, severity: Severity) -> Found {
    let what = label(kind);
    Found::at(
        Check::AddedSecret,
        line,
        severity,
        format!("Credential in the code: {what}"),
        "Everyone who can read the repository, now or later, can use it, and deleting the line leaves it in the history. Revoke it, then read it from a secret store or the environment.",
    )
}

/// A kind as people write it.
fn label(kind: &str) -> String {
    const UPPER: [&str; 4] = ["aws", "api", "ssh", "json"];
    const PROPER: [(&str, &str); 8] = [
        ("github", "GitHub"),
        ("gitlab", "GitLab"),
        ("openai", "OpenAI"),
        ("pypi", "PyPI"),
        ("google", "Google"),
        ("slack", "Slack"),
        ("stripe", "Stripe"),
        ("anthropic", "Anthropic"),
    ];
    let words: Vec<String> = kind
        .split('-')
        .map(|word| match PROPER.iter().find(|(name, _)| *name == word) {
            Some((_, proper)) => (*proper).to_owned(),
            None if UPPER.contains(&word) => word.to_ascii_uppercase(),
            None => word.to_owned(),
        })
        .collect();
    words.join(" ")
}
