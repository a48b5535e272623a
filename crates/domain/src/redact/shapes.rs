//! Finds credentials by their shape.
//!
//! Two tiers keep it fast: a pattern of short literals finds the few lines worth looking at, and only those
//! meet the full patterns. Matches are ASCII, so the offsets are valid in UTF-8 text too.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexSet};

use super::{pem, value};

/// A credential found in text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Where the secret part stands, in bytes.
    pub(crate) range: Range<usize>,
    /// What it is, in kebab-case and without digits.
    pub(crate) kind: &'static str,
    /// The form alone is proof; otherwise the name beside it is what gave it away.
    pub(crate) by_form: bool,
    /// It looks like an example: a documented sample, a filler, a template.
    pub(crate) placeholder: bool,
}

/// Kinds and patterns of credentials that are recognisable alone. Group 1, if any, is the secret part.
pub(crate) const FORMS: [(&str, &str); 65] = [
    ("aws-access-key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    ("aws-bedrock-key", r"ABSK[A-Za-z0-9+/]{60,}={0,2}"),
    (
        "github-token",
        r"gh[pousr]_[A-Za-z0-9_]{20,}(?:[A-Za-z0-9_.\-]{16,})?",
    ),
    ("github-token", r"github_pat_[A-Za-z0-9_]{22,}"),
    (
        "gitlab-token",
        r"gl(?:pat|dt|rt|rtr|ptt|cbt|oas|ft|imt|agent|soat|ffct|wt)-[A-Za-z0-9_\-.=]{18,}",
    ),
    ("gitlab-token", r"GR1348941[A-Za-z0-9_\-]{20}"),
    ("slack-token", r"xox[a-z]-[A-Za-z0-9\-]{10,}"),
    ("slack-token", r"xapp-[0-9]-[A-Za-z0-9\-]{20,}"),
    (
        "slack-webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/]{20,})",
    ),
    (
        "discord-webhook",
        r"discord(?:app)?\.com/api/webhooks/([0-9]+/[A-Za-z0-9_\-]{40,})",
    ),
    (
        "stripe-key",
        r"(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,}",
    ),
    ("webhook-secret", r"whsec_[A-Za-z0-9+/=]{20,}"),
    ("google-api-key", r"AIza[A-Za-z0-9_\-]{35}"),
    ("google-oauth", r"ya29\.[A-Za-z0-9_\-]{20,}"),
    ("google-oauth", r"GOCSPX-[A-Za-z0-9_\-]{20,}"),
    ("npm-token", r"npm_[A-Za-z0-9]{36}"),
    (
        "npm-token",
        r#"(?:^|[:\s"'])_auth(?:Token)?\s*=\s*["']?([A-Za-z0-9_\-+/=]{16,})"#,
    ),
    ("pypi-token", r"pypi-[A-Za-z0-9_\-]{50,}"),
    (
        "json-web-token",
        r"eyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?",
    ),
    ("anthropic-key", r"sk-ant-[A-Za-z0-9_\-]{10,}"),
    ("openrouter-key", r"sk-or-[A-Za-z0-9_\-]{20,}"),
    (
        "openai-key",
        r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_\-]{20,}",
    ),
    ("openai-key", r"sk-[A-Za-z0-9]{32,}"),
    ("twilio-key", r"SK[0-9a-f]{32}"),
    (
        "sendgrid-key",
        r"SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}",
    ),
    ("mailgun-key", r"key-[0-9a-f]{32}"),
    ("mailchimp-key", r"[0-9a-f]{32}-us[0-9]{1,2}"),
    ("digitalocean-token", r"do[opr]_v1_[a-f0-9]{64}"),
    ("hugging-face-token", r"hf_[A-Za-z0-9]{30,}"),
    ("databricks-token", r"dapi[0-9a-f]{32}"),
    ("telegram-token", r"[0-9]{8,10}:AA[A-Za-z0-9_\-]{33}"),
    ("vault-token", r"hv[sbr]\.[A-Za-z0-9_\-]{24,}"),
    (
        "terraform-token",
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_\-=]{60,}",
    ),
    ("docker-token", r"dckr_pat_[A-Za-z0-9_\-]{20,}"),
    ("shopify-token", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    ("square-token", r"sq0[a-z]{3}-[A-Za-z0-9_\-]{22,}"),
    ("age-key", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    ("new-relic-key", r"NRAK-[A-Z0-9]{27}"),
    ("grafana-token", r"glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}"),
    ("grafana-token", r"glc_[A-Za-z0-9+/=]{32,}"),
    ("linear-key", r"lin_api_[A-Za-z0-9]{40}"),
    ("notion-token", r"ntn_[A-Za-z0-9]{40,}"),
    ("postman-key", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    (
        "doppler-token",
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.]{40,}",
    ),
    (
        "planetscale-token",
        r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_\-.=]{32,}",
    ),
    ("rubygems-key", r"rubygems_[a-f0-9]{48}"),
    ("crates-io-token", r"cio[A-Za-z0-9]{32}"),
    (
        "azure-storage-key",
        r"AccountKey=([A-Za-z0-9+/]{60,}={0,2})",
    ),
    (
        "azure-client-secret",
        r"[A-Za-z0-9_~.]{3}8Q~[A-Za-z0-9_~.\-]{34}",
    ),
    ("sentry-token", r"sntry[su]_[A-Za-z0-9+/=_]{40,}"),
    ("atlassian-token", r"AT(?:ATT3|CTT3|BB)[A-Za-z0-9_\-=]{24,}"),
    ("figma-token", r"figd_[A-Za-z0-9_\-]{40,}"),
    ("nuget-key", r"oy2[a-z0-9]{43}"),
    ("supabase-token", r"sb(?:p|_secret)_[A-Za-z0-9_]{30,}"),
    ("tailscale-key", r"tskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]+"),
    ("groq-key", r"gsk_[A-Za-z0-9]{40,}"),
    ("xai-key", r"xai-[A-Za-z0-9]{60,}"),
    ("replicate-token", r"r8_[A-Za-z0-9]{37}"),
    ("perplexity-key", r"pplx-[A-Za-z0-9]{40,}"),
    ("pulumi-token", r"pul-[a-f0-9]{40}"),
    ("heroku-key", r"HRKU-[A-Za-z0-9_\-]{36,}"),
    ("cloudflare-key", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}"),
    ("ssh-key", r"b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/=]{20,}"),
    ("git-basic-auth", r"eC1hY2Nlc3MtdG9rZW46[A-Za-z0-9+/=]{8,}"),
    (
        "url-password",
        r#"(?i)[a-z0-9+.\-]+://[^\s:@/'"`<>]*:([^\s@/'"`<>]+)@[A-Za-z0-9\[]"#,
    ),
];

/// Short literals of which one stands in every text that a pattern of [`FORMS`] matches.
const FORM_HINT: &str = r"(?-u:A[KSBC][IC]A|ABSK|gh[pousr]_|github_pat_|gl[a-z]{1,5}[-_]|GR1348941|xox[a-z]-|xapp-|hooks\.slack|webhooks/|[sr]k_(?:live|test|prod)_|whsec_|AIza|ya29\.|GOCSPX-|npm_|_auth|pypi-|eyJ|sk-|SK[0-9a-f]{4}|SG\.|key-[0-9a-f]|-us[0-9]|do[opr]_v1_|hf_|dapi[0-9a-f]|:AA|hv[sbr]\.|\.atlasv1\.|dckr_pat_|shp(?:at|ca|pa|ss)_|sq0|AGE-SECRET|NRAK-|lin_api_|ntn_|PMAK-|dp\.|pscale_|rubygems_|cio[A-Za-z0-9]{8}|AccountKey=|8Q~|sntry|ATATT3|ATCTT3|ATBB|figd_|oy2|sbp_|sb_secret_|tskey-|gsk_|xai-|r8_|pplx-|pul-|HRKU-|v1\.0-|b3BlbnNz|eC1hY2Nlc3|://[^\s]*@)";

/// Words that name a secret, beside which a value is looked at.
const NAME_HINT: &str = r"(?i-u:passw|passphrase|pwd|secret|token|api_?-?key|access_?-?key|auth_?-?key|priv|credential|encryption|signing|bearer|basic )";

/// Like [`FORMS`], but only beside a name that [`NAME_HINT`] finds.
const NAMED_FORMS: [(&str, &str); 2] = [
    (
        "aws-secret-key",
        r#"(?i)(?:aws|secret|access)[\w.\-]*["'\]]*\s*(?:=|:|,|=>)\s*["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
    ),
    (
        "aws-session-token",
        r#"(?i)session_?token["'\]]{0,2}\s*(?:=|:|,|=>)\s*["']?([A-Za-z0-9/+=]{100,})"#,
    ),
];

/// A value given to something whose name says that it is secret. Group 1 is the name, 2 the value.
const ASSIGNMENTS: [&str; 3] = [
    // name = "value", "name": "value", name => 'value', name: String = "value", name("value")
    r#"(?i-u)([\w.\-\[\]"']*(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_\-]?key|access[_\-]?key|auth[_\-]?key|private[_\-]?key|credentials?|encryption[_\-]?key|signing[_\-]?key)[\w\-\]]*)["'\]]*\s*(?::\s*[\w<>&'\[\]]+\s*=|:=|=>|=|:|,|\()\s*[bfru]{0,2}["'`]([^"'`\s]+)["'`]"#,
    // NAME=value and name: value, without quotes, to the end of the line
    r#"(?i-u)^[+\-\s]*(?:export\s+|set\s+|-\s+|ENV\s+|ARG\s+)?([\w.\-]*(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_\-]?key|access[_\-]?key|auth[_\-]?key|private[_\-]?key|credentials?|encryption[_\-]?key|signing[_\-]?key)[\w\-]*)\s*[:=]\s*([^\s"'`#,;(){}\[\]<>$]+)\s*(?:#.*)?\r?$"#,
    // Authorization: Bearer value
    r#"(?i-u)(authorization["'\]]{0,2}\s*[:=,]\s*["'`]?(?:basic|bearer|token))\s+([A-Za-z0-9+/=_\-.]+)"#,
];

/// Shortest and longest value that is looked at beside a name, in bytes. Not in the patterns: counted
/// repetitions make them large.
const MIN_VALUE: usize = 8;
const MAX_VALUE: usize = 200;

static FORM_HINTS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(FORM_HINT).ok());
static NAME_HINTS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(NAME_HINT).ok());
static FORM_SET: LazyLock<Option<RegexSet>> =
    LazyLock::new(|| RegexSet::new(FORMS.iter().map(|(_, form)| format!("(?-u){form}"))).ok());
static FORM_PATTERNS: LazyLock<Vec<(&'static str, Option<Regex>)>> = LazyLock::new(|| {
    FORMS
        .iter()
        .map(|&(kind, form)| (kind, Regex::new(&format!("(?-u){form}")).ok()))
        .collect()
});
static NAMED_PATTERNS: LazyLock<Vec<(&'static str, Option<Regex>)>> = LazyLock::new(|| {
    NAMED_FORMS
        .iter()
        .map(|&(kind, form)| (kind, Regex::new(&format!("(?-u){form}")).ok()))
        .collect()
});
static ASSIGNMENT_PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    ASSIGNMENTS
        .iter()
        .filter_map(|pattern| Regex::new(pattern).ok())
        .collect()
});

/// Finds the credentials of a text, in order, without overlaps.
pub(crate) fn find(text: &[u8]) -> Vec<Hit> {
    let mut hits = pem::find(text);
    lines_with(text, FORM_HINTS.as_ref(), |start, line| {
        forms(line, start, &mut hits);
    });
    lines_with(text, NAME_HINTS.as_ref(), |start, line| {
        assignments(line, start, &mut hits);
    });
    without_overlaps(hits)
}

/// Finds the credentials of one line; blocks of several lines are not recognised.
pub(crate) fn find_in_line(line: &[u8]) -> Vec<Hit> {
    let mut hits = Vec::new();
    if FORM_HINTS.as_ref().is_none_or(|hint| hint.is_match(line)) {
        forms(line, 0, &mut hits);
    }
    if NAME_HINTS.as_ref().is_none_or(|hint| hint.is_match(line)) {
        assignments(line, 0, &mut hits);
    }
    without_overlaps(hits)
}

/// Like [`find_in_line`], of a line that is known to hold what [`FORMS`] need, or what a name beside a value
/// needs.
pub(crate) fn find_in_hinted(line: &[u8], form: bool, name: bool) -> Vec<Hit> {
    let mut hits = Vec::new();
    if form {
        forms(line, 0, &mut hits);
    }
    if name {
        assignments(line, 0, &mut hits);
    }
    without_overlaps(hits)
}

/// Calls `look` with the start and content of every line in which `hint` matches.
fn lines_with(text: &[u8], hint: Option<&Regex>, mut look: impl FnMut(usize, &[u8])) {
    let Some(hint) = hint else { return };
    let mut from = 0_usize;
    while let Some(found) = hint.find_at(text, from) {
        let before = text.get(..found.start()).unwrap_or_default();
        let start = memchr::memrchr(b'\n', before)
            .map_or(0, |at| at.saturating_add(1))
            .max(from);
        let after = text.get(found.end()..).unwrap_or_default();
        let end =
            memchr::memchr(b'\n', after).map_or(text.len(), |at| found.end().saturating_add(at));
        look(start, text.get(start..end).unwrap_or_default());
        from = end.saturating_add(1);
        if from >= text.len() {
            break;
        }
    }
}

fn forms(line: &[u8], offset: usize, hits: &mut Vec<Hit>) {
    let Some(set) = FORM_SET.as_ref() else { return };
    for index in set.matches(line) {
        let Some((kind, Some(pattern))) = FORM_PATTERNS.get(index) else {
            continue;
        };
        by_form(line, offset, kind, pattern, hits);
    }
}

fn by_form(line: &[u8], offset: usize, kind: &'static str, pattern: &Regex, hits: &mut Vec<Hit>) {
    for captures in pattern.captures_iter(line) {
        let Some(secret) = captures.get(1).or_else(|| captures.get(0)) else {
            continue;
        };
        hits.push(Hit {
            range: offset.saturating_add(secret.start())..offset.saturating_add(secret.end()),
            kind,
            by_form: true,
            placeholder: value::is_filler(secret.as_bytes()),
        });
    }
}

fn assignments(line: &[u8], offset: usize, hits: &mut Vec<Hit>) {
    // No value without a digit is taken for a secret, and most lines that name one have none.
    if !line.iter().any(u8::is_ascii_digit) {
        return;
    }
    for (kind, pattern) in NAMED_PATTERNS.iter() {
        let Some(pattern) = pattern else { continue };
        let before = hits.len();
        by_form(line, offset, kind, pattern, hits);
        // Forty hexadecimal digits are a commit.
        let local = |hit: &Hit| {
            line.get(hit.range.start.saturating_sub(offset)..hit.range.end.saturating_sub(offset))
        };
        let added = hits.split_off(before);
        hits.extend(added.into_iter().filter(|hit| {
            local(hit).is_some_and(|secret| !secret.iter().all(u8::is_ascii_hexdigit))
        }));
    }
    for pattern in ASSIGNMENT_PATTERNS.iter() {
        for captures in pattern.captures_iter(line) {
            let (Some(name), Some(secret)) = (captures.get(1), captures.get(2)) else {
                continue;
            };
            let fits = (MIN_VALUE..=MAX_VALUE).contains(&secret.len());
            if !fits || !value::is_random(secret.as_bytes()) {
                continue;
            }
            hits.push(Hit {
                range: offset.saturating_add(secret.start())..offset.saturating_add(secret.end()),
                kind: kind_of_name(name.as_bytes()),
                by_form: false,
                placeholder: value::is_filler(secret.as_bytes()),
            });
        }
    }
}

/// The kind that a name gives to its value.
fn kind_of_name(name: &[u8]) -> &'static str {
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    if name.contains("passw") || name.contains("pwd") || name.contains("passphrase") {
        "password"
    } else if name.contains("token") || name.contains("bearer") || name.contains("basic") {
        "token"
    } else if name.contains("key") {
        "key"
    } else {
        "secret"
    }
}

/// Sorts and, where hits overlap, keeps the one that starts first, or the longer of two.
fn without_overlaps(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_by_key(|hit| (hit.range.start, std::cmp::Reverse(hit.range.end)));
    let mut out: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match out.last_mut() {
            Some(last) if hit.range.start < last.range.end => {
                last.range.end = last.range.end.max(hit.range.end);
                last.placeholder &= hit.placeholder;
            }
            _ => out.push(hit),
        }
    }
    out
}
