//! Reads `.mirilla.toml` and says where each problem is.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::review::Severity;
use crate::settings::problem::{Level, Problem};
use crate::settings::values::{Gate, InlineRule, OnInconclusive, PrDescription, RepoSettings};
use crate::settings::{SETTINGS_FILE, check_pattern, usd};

/// Largest settings file that is read.
pub const MAX_SETTINGS_BYTES: usize = 64 * 1024;
/// Most ignore patterns, and most globs of one rule.
const MAX_PATTERNS: usize = 500;
/// Longest pattern.
const MAX_PATTERN_BYTES: usize = 500;
/// Most rules in the file.
const MAX_RULES: usize = 50;
/// Longest rule text.
const MAX_RULE_CHARS: usize = 2_000;
/// Longest name of a language.
const MAX_LANGUAGE_CHARS: usize = 40;
/// Most problems that are listed.
const MAX_PROBLEMS: usize = 50;

/// The keys a repository may set, in the order of the documentation.
pub(super) const KEYS: &[&str] = &[
    "ignore",
    "rules",
    "thresholds",
    "max-comments",
    "max-usd",
    "pr-description",
    "gate",
    "on-inconclusive",
    "language",
];

/// Keys that belong to the operator, in the spelling of [`same_key`].
///
/// They are refused by name, because a person who writes one believes that it works.
const OPERATOR_KEYS: &[&str] = &[
    "account-month-usd",
    "allowed-accounts",
    "api-key",
    "api-url",
    "base-url",
    "budget",
    "budget-daily",
    "chunk-tokens",
    "debounce",
    "endpoint",
    "link-host",
    "link-hosts",
    "max-tokens",
    "max-turns",
    "model",
    "models",
    "monthly-usd",
    "operator",
    "outsider-percent",
    "price",
    "prices",
    "provider",
    "providers",
    "purse",
    "purses",
    "region",
    "repository-day-usd",
    "secret",
    "secrets",
    "self-dismiss",
    "temperature",
    "token",
    "tokens",
    "trusted-base",
    "trusted-bases",
    "verify",
    "webhook-secret",
];

/// Reads a repository's settings file.
///
/// Never fails: what is valid is returned, what is not is listed with its line and column.
/// [`RepoSettings::broken`] and [`RepoSettings::ignore_unknown`] say what the problems mean.
pub fn parse(text: &str) -> (RepoSettings, Vec<Problem>) {
    let mut reader = Reader::new(text);
    if text.len() > MAX_SETTINGS_BYTES {
        reader.error(
            0..0,
            format!(
                "the file has {} bytes; at most {MAX_SETTINGS_BYTES} are read",
                text.len()
            ),
        );
        reader.settings.ignore_unknown = true;
        return reader.finish();
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let span = error.span().unwrap_or(0..0);
        reader.error(span, format!("not valid TOML: {}", error.message()));
    }
    // After a syntax error nobody knows which rules the writer meant; without the word there are none.
    reader.settings.ignore_unknown = !errors.is_empty() && text.contains("ignore");
    for (key, value) in table.get_ref() {
        reader.top_level(key.get_ref(), key.span(), value);
    }
    reader.finish()
}

/// Returns a key as people may have meant it: lower case, `_` and blanks as `-`.
fn same_key(key: &str) -> String {
    key.trim().to_ascii_lowercase().replace(['_', ' '], "-")
}

struct Reader<'t> {
    text: &'t str,
    settings: RepoSettings,
    problems: Vec<Problem>,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            settings: RepoSettings::default(),
            problems: Vec::new(),
        }
    }

    fn finish(mut self) -> (RepoSettings, Vec<Problem>) {
        self.settings.broken = self.problems.iter().any(Problem::is_error);
        self.problems.sort_by_key(|p| (p.line, p.column));
        self.problems.truncate(MAX_PROBLEMS);
        (self.settings, self.problems)
    }

    fn problem(&mut self, span: Range<usize>, level: Level, message: String) {
        let problem = Problem::at(SETTINGS_FILE, self.text, span.start, level, message);
        self.problems.push(problem);
    }

    fn error(&mut self, span: Range<usize>, message: String) {
        self.problem(span, Level::Error, message);
    }

    fn top_level(&mut self, key: &str, at: Range<usize>, value: &Spanned<DeValue<'_>>) {
        match key {
            "ignore" => {
                let (patterns, complete) = self.patterns("ignore", value);
                self.settings.ignore = patterns;
                self.settings.ignore_unknown |= !complete;
            }
            "rules" => self.settings.rules = self.rules(value),
            "thresholds" => self.thresholds(value),
            "max-comments" => {
                self.settings.max_comments = self.whole(key, value, 0..=1_000);
            }
            "max-usd" => self.settings.max_usd = self.dollars(key, value),
            "pr-description" => {
                self.settings.pr_description = self.choice(
                    key,
                    value,
                    &[
                        ("with", PrDescription::With),
                        ("after", PrDescription::After),
                        ("never", PrDescription::Never),
                    ],
                );
            }
            "gate" => {
                self.settings.gate = self.choice(
                    key,
                    value,
                    &[
                        ("off", Gate::Off),
                        ("high", Gate::High),
                        ("medium", Gate::Medium),
                        ("low", Gate::Low),
                    ],
                );
            }
            "on-inconclusive" => {
                self.settings.on_inconclusive = self.choice(
                    key,
                    value,
                    &[
                        ("block", OnInconclusive::Block),
                        ("allow", OnInconclusive::Allow),
                    ],
                );
            }
            "language" => self.settings.language = self.language(value),
            _ => self.foreign(key, at),
        }
    }

    /// Reports a key that the file may not have.
    fn foreign(&mut self, key: &str, at: Range<usize>) {
        let plain = same_key(key);
        let message = if let Some(known) = KEYS.iter().find(|known| **known == plain) {
            // A misspelt `ignore` would otherwise be an exclusion that protects nothing.
            self.settings.ignore_unknown |= *known == "ignore";
            format!("unknown key `{key}`; write `{known}`")
        } else if OPERATOR_KEYS.contains(&plain.as_str()) {
            format!(
                "`{key}` is the operator's setting and cannot be set in a repository; ask whoever runs Mirilla here, and remove it"
            )
        } else if plain.starts_with("min-") {
            format!(
                "unknown key `{key}`; `min-severity` and `min-confidence` stand under `[thresholds]`"
            )
        } else {
            // A key such as `exclude` may be an exclusion under another name.
            self.settings.ignore_unknown |= ["ignore", "exclude", "skip", "files", "paths"]
                .iter()
                .any(|word| plain.contains(word));
            format!("unknown key `{key}`; a repository may set {}", listed(KEYS))
        };
        self.error(at, message);
    }

    fn wrong_type(&mut self, key: &str, value: &Spanned<DeValue<'_>>, expected: &str) {
        let found = value.get_ref().type_str();
        self.error(
            value.span(),
            format!("`{key}` must be {expected}, not {found}"),
        );
    }

    /// Reads a list of patterns, or one pattern; says whether every one could be read.
    fn patterns(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> (Vec<String>, bool) {
        let items = match value.get_ref() {
            DeValue::Array(items) => items.iter().collect(),
            DeValue::String(_) => vec![value],
            _ => {
                self.wrong_type(key, value, "a list of gitignore patterns");
                return (Vec::new(), false);
            }
        };
        if items.len() > MAX_PATTERNS {
            self.error(
                value.span(),
                format!(
                    "`{key}` has {} patterns; at most {MAX_PATTERNS} are read",
                    items.len()
                ),
            );
            return (Vec::new(), false);
        }
        let mut complete = true;
        let mut patterns = Vec::with_capacity(items.len());
        for item in items {
            let Some(pattern) = item.get_ref().as_str() else {
                self.wrong_type(key, item, "a list of strings");
                complete = false;
                continue;
            };
            if pattern.len() > MAX_PATTERN_BYTES {
                let message =
                    format!("a pattern of `{key}` is longer than {MAX_PATTERN_BYTES} bytes");
                self.error(item.span(), message);
                complete = false;
                continue;
            }
            match check_pattern(pattern) {
                Ok(warning) => {
                    if let Some(warning) = warning {
                        self.problem(item.span(), Level::Warning, warning);
                    }
                    patterns.push(pattern.to_owned());
                }
                Err(bad) => {
                    self.error(item.span(), bad.to_string());
                    complete = false;
                }
            }
        }
        (patterns, complete)
    }

    fn rules(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<InlineRule> {
        let items = match value.get_ref() {
            DeValue::Array(items) => items.iter().collect(),
            DeValue::String(_) | DeValue::Table(_) => vec![value],
            _ => {
                self.wrong_type(
                    "rules",
                    value,
                    "a list of texts or of tables with `text` and `globs`",
                );
                return Vec::new();
            }
        };
        if items.len() > MAX_RULES {
            self.error(
                value.span(),
                format!(
                    "`rules` has {} entries; at most {MAX_RULES} are read",
                    items.len()
                ),
            );
            return Vec::new();
        }
        items
            .into_iter()
            .filter_map(|item| self.rule(item))
            .collect()
    }

    fn rule(&mut self, item: &Spanned<DeValue<'_>>) -> Option<InlineRule> {
        let (text, globs) = match item.get_ref() {
            DeValue::String(text) => (text.to_string(), Vec::new()),
            DeValue::Table(table) => {
                let (mut text, mut globs) = (None, Vec::new());
                for (key, value) in table {
                    match key.get_ref().as_ref() {
                        "text" => match value.get_ref().as_str() {
                            Some(found) => text = Some(found.to_owned()),
                            None => self.wrong_type("text", value, "a string"),
                        },
                        "globs" => globs = self.patterns("globs", value).0,
                        other => self.error(
                            key.span(),
                            format!("unknown key `{other}`; a rule has `text` and `globs`"),
                        ),
                    }
                }
                if text.is_none() {
                    self.error(item.span(), "a rule needs a `text`".to_owned());
                }
                (text?, globs)
            }
            _ => {
                self.wrong_type(
                    "rules",
                    item,
                    "a list of texts or of tables with `text` and `globs`",
                );
                return None;
            }
        };
        let text = text.trim().to_owned();
        if text.is_empty() || text.chars().count() > MAX_RULE_CHARS {
            self.error(
                item.span(),
                format!("the text of a rule has 1 to {MAX_RULE_CHARS} characters"),
            );
            return None;
        }
        Some(InlineRule { text, globs })
    }

    fn thresholds(&mut self, value: &Spanned<DeValue<'_>>) {
        let DeValue::Table(table) = value.get_ref() else {
            self.wrong_type(
                "thresholds",
                value,
                "a table with `min-severity` and `min-confidence`",
            );
            return;
        };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                name @ "min-severity" => {
                    let choices = Severity::ALL.map(|severity| (severity.as_str(), severity));
                    self.settings.min_severity = self.choice(name, value, &choices);
                }
                name @ "min-confidence" => {
                    let percent: Option<u32> = self.whole(name, value, 0..=100);
                    self.settings.min_confidence = percent.and_then(|p| u8::try_from(p).ok());
                }
                other => self.error(
                    key.span(),
                    format!("unknown key `{other}`; `[thresholds]` has `min-severity` and `min-confidence`"),
                ),
            }
        }
    }

    fn whole(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        bounds: std::ops::RangeInclusive<u32>,
    ) -> Option<u32> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok(),
            DeValue::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let number = number
            .and_then(|number| u32::try_from(number).ok())
            .filter(|number| bounds.contains(number));
        if number.is_none() {
            let (low, high) = (bounds.start(), bounds.end());
            self.error(
                value.span(),
                format!("`{key}` must be a whole number from {low} to {high}"),
            );
        }
        number
    }

    fn dollars(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<crate::money::PicoUsd> {
        let amount = match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => usd::parse(number.as_str()),
            DeValue::Float(number) => usd::parse(number.as_str()),
            DeValue::String(text) => usd::parse(text),
            _ => None,
        };
        let amount = amount.filter(|amount| amount.get() > 0);
        if amount.is_none() {
            self.error(
                value.span(),
                format!("`{key}` must be an amount of dollars above zero, such as 0.40"),
            );
        }
        amount
    }

    fn choice<T: Copy>(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        choices: &[(&str, T)],
    ) -> Option<T> {
        let found = value.get_ref().as_str().and_then(|text| {
            let text = text.trim().to_ascii_lowercase();
            choices.iter().find(|(name, _)| *name == text)
        });
        if found.is_none() {
            let names: Vec<String> = choices
                .iter()
                .map(|(name, _)| format!("\"{name}\""))
                .collect();
            self.error(
                value.span(),
                format!("`{key}` must be one of {}", names.join(", ")),
            );
        }
        found.map(|(_, choice)| *choice)
    }

    fn language(&mut self, value: &Spanned<DeValue<'_>>) -> Option<String> {
        let language = value.get_ref().as_str().map(str::trim).filter(|text| {
            (1..=MAX_LANGUAGE_CHARS).contains(&text.chars().count())
                && text
                    .chars()
                    .all(|c| c.is_alphabetic() || matches!(c, ' ' | '-' | '(' | ')'))
        });
        if language.is_none() {
            self.error(
                value.span(),
                "`language` must be the name or tag of a language, such as \"German\" or \"pt-BR\""
                    .to_owned(),
            );
        }
        language.map(str::to_owned)
    }
}

fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
