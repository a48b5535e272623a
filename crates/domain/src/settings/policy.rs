//! The operator's settings made stricter by a repository's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::money::PicoUsd;
use crate::review::Severity;
use crate::settings::{
    Gate, Ignore, InlineRule, OnInconclusive, OperatorPolicy, PrDescription, RepoSettings, usd,
};

/// What a broken settings file means for a review.
///
/// The check is inconclusive and one message says why. Values that could be read still apply, because
/// they can only make things stricter; the rest is the operator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BrokenSettings {
    /// Every ignore rule could be read, so the change is read without the files they name.
    IgnoreKnown,
    /// An ignore rule may be lost, and it might cover any file: nothing is sent.
    IgnoreUnknown,
}

/// A value of the repository's that is laxer than the operator's and has no effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overruled {
    /// The key in `.mirilla.toml`.
    pub key: String,
    /// What the repository asks for.
    pub wanted: String,
    /// What applies.
    pub applies: String,
}

/// What holds for one review: made by [`OperatorPolicy::with`], and stored with the run.
///
/// Reading tolerates missing fields, which are the operator's defaults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// The model, as priced.
    pub model: String,
    /// The most tokens one answer may have.
    pub max_tokens: u32,
    /// Estimated tokens of changed code per question.
    pub chunk_tokens: u32,
    /// The most calls about one chunk, the one that answers included.
    pub max_turns: u32,
    /// The most this review may cost.
    #[serde(with = "usd")]
    pub max_usd: PicoUsd,
    /// The most its repository may cost today.
    #[serde(with = "usd")]
    pub repository_day_usd: PicoUsd,
    /// The most its account may cost this month.
    #[serde(with = "usd")]
    pub account_month_usd: PicoUsd,
    /// What outsiders share of each purse, in percent.
    pub outsider_percent: u8,
    /// Files not sent to the model: the operator's patterns, then the repository's.
    pub ignore: Vec<String>,
    /// How many of `ignore` are the operator's; a repository's `!` cannot take back what they name.
    pub operator_ignore: usize,
    /// Rules written in the settings file.
    pub rules: Vec<InlineRule>,
    /// Findings below it are not posted.
    pub min_severity: Severity,
    /// Findings below it are not posted; percent.
    pub min_confidence: u8,
    /// The most comments on lines.
    pub max_comments: u32,
    /// What the model sees of title and description.
    pub pr_description: PrDescription,
    /// Whether the findings are looked at once more.
    pub verify: bool,
    /// When the check fails.
    pub gate: Gate,
    /// What the check says about what was not read.
    pub on_inconclusive: OnInconclusive,
    /// The language of findings.
    pub language: Option<String>,
    /// Hosts that posted links may lead to.
    pub link_hosts: Vec<String>,
    /// Base branches whose own settings count.
    pub trusted_bases: Vec<String>,
    /// Whether authors may dismiss findings on their own pull requests.
    pub self_dismiss: bool,
    /// Set if the repository's file is broken.
    pub broken_settings: Option<BrokenSettings>,
    /// What the repository asks for in vain.
    pub overruled: Vec<Overruled>,
}

impl Default for Policy {
    fn default() -> Self {
        OperatorPolicy::default().with(&RepoSettings::default())
    }
}

impl OperatorPolicy {
    /// Returns what holds for a repository: the stricter of both wherever strictness means something.
    pub fn with(&self, repo: &RepoSettings) -> Policy {
        let mut overruled = Overrules(Vec::new());
        let mut ignore = self.ignore.clone();
        ignore.extend(repo.ignore.iter().cloned());
        Policy {
            model: self.model.clone(),
            max_tokens: self.max_tokens,
            chunk_tokens: self.chunk_tokens,
            max_turns: self.max_turns,
            max_usd: overruled.keep("max-usd", self.max_usd, repo.max_usd, Ord::min, |v| {
                v.exact()
            }),
            repository_day_usd: self.repository_day_usd,
            account_month_usd: self.account_month_usd,
            outsider_percent: self.outsider_percent,
            ignore,
            operator_ignore: self.ignore.len(),
            rules: repo.rules.clone(),
            min_severity: overruled.keep(
                "thresholds.min-severity",
                self.min_severity,
                repo.min_severity,
                Ord::max,
                |v| v.as_str().to_owned(),
            ),
            min_confidence: overruled.keep(
                "thresholds.min-confidence",
                self.min_confidence,
                repo.min_confidence,
                Ord::max,
                ToString::to_string,
            ),
            max_comments: overruled.keep(
                "max-comments",
                self.max_comments,
                repo.max_comments,
                Ord::min,
                ToString::to_string,
            ),
            pr_description: repo.pr_description.unwrap_or(self.pr_description),
            verify: self.verify,
            gate: overruled.keep("gate", self.gate, repo.gate, Ord::max, name),
            on_inconclusive: overruled.keep(
                "on-inconclusive",
                self.on_inconclusive,
                repo.on_inconclusive,
                Ord::max,
                name,
            ),
            language: repo.language.clone().or_else(|| self.language.clone()),
            link_hosts: self.link_hosts.clone(),
            trusted_bases: self.trusted_bases.clone(),
            self_dismiss: self.self_dismiss,
            broken_settings: match (repo.broken, repo.ignore_unknown) {
                (_, true) => Some(BrokenSettings::IgnoreUnknown),
                (true, false) => Some(BrokenSettings::IgnoreKnown),
                (false, false) => None,
            },
            overruled: overruled.0,
        }
    }
}

impl Policy {
    /// Returns the compiled ignore rules: a file is ignored if the operator's or the repository's
    /// patterns say so. A pattern that cannot be compiled makes every file count as ignored.
    pub fn ignored(&self) -> IgnoreRules {
        IgnoreRules::new(&self.ignore, self.operator_ignore)
    }

    /// Returns whether nothing may be sent because an ignore rule may be lost.
    pub fn sends_nothing(&self) -> bool {
        self.broken_settings == Some(BrokenSettings::IgnoreUnknown)
    }
}

/// The compiled ignore rules of a policy.
#[derive(Debug)]
pub struct IgnoreRules {
    lists: [Option<Ignore>; 2],
}

impl IgnoreRules {
    /// Compiles patterns, of which the first `operators` are the operator's.
    pub(crate) fn new(patterns: &[String], operators: usize) -> Self {
        let (operator, repository) = patterns
            .split_at_checked(operators)
            .unwrap_or((patterns, &[]));
        let compile = |patterns: &[String]| Ignore::new(patterns.iter().map(String::as_str)).ok();
        Self {
            lists: [compile(operator), compile(repository)],
        }
    }

    /// Returns whether every pattern could be compiled.
    pub(crate) fn is_sound(&self) -> bool {
        self.lists.iter().all(Option::is_some)
    }

    /// Returns whether `path` must not be sent.
    pub fn matches(&self, path: &str) -> bool {
        self.lists
            .iter()
            .any(|list| list.as_ref().is_none_or(|list| list.matches(path)))
    }
}

fn name<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}

struct Overrules(Vec<Overruled>);

impl Overrules {
    /// Returns the stricter of both; notes when that is not what the repository asks for.
    fn keep<T: Copy + PartialEq>(
        &mut self,
        key: &str,
        operator: T,
        repo: Option<T>,
        stricter: impl Fn(T, T) -> T,
        show: impl Fn(&T) -> String,
    ) -> T {
        let Some(wanted) = repo else {
            return operator;
        };
        let applies = stricter(operator, wanted);
        if applies != wanted {
            self.0.push(Overruled {
                key: key.to_owned(),
                wanted: show(&wanted),
                applies: show(&applies),
            });
        }
        applies
    }
}
