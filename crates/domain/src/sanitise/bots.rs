//! Commands of other bots, which read the raw body of a comment and know nothing of Markdown.
//!
//! They look at the start of a line, whether it is in a fence or not, so the sanitiser's promise is
//! about raw lines: none begins with a slash command or a known bot's name.

use std::sync::LazyLock;

use regex::Regex;

/// Bots and agents that act when their name is mentioned. Not complete and need not be: outside code
/// every mention is taken out, and at a line's start every slash command.
const BOTS: &str = "\
    aider all-contributors allcontributors amazon-q asfbot augment autofix-ci azure-pipelines \
    bors bugbot changeset-bot chatgpt-codex-connector claude codecov codecov-commenter codeium \
    coderabbit coderabbitai codex copilot cursor cursoragent dependabot dependabot-preview devin \
    devin-ai-integration dosubot ellipsis ellipsis-dev facebook-github-bot gemini-cli \
    gemini-code-assist github-actions googlebot grafanabot graphite-app greptile greptileai \
    highfive homu jenkins jules k8s-ci-robot korbit-ai mergify mergifyio miri openhands \
    openhands-agent openshift-ci pytorchbot pytorchmergebot qodo qodo-merge-pro renovate \
    renovatebot rust-highfive rust-timer rustbot sourcery-ai sweep-ai swift-ci \
    tensorflow-jenkins triagebot";

/// What ends a word. An underscore does too: it is written with a backslash in front.
const END: &str = "(?:[^a-z0-9]|$)";

/// Slash commands that are also plausible first segments of a path, for lines such as `/merge/now`.
const COMMAND_SEGMENTS: &str = "approve|assign|close|cherry-?pick|deploy|gemini|hold|lgtm|label|merge|ok-to-test|override|rebase|reopen|retest|revert|ship|shipit|spend|unassign|unlabel";

/// A raw line that a bot may obey: quoting and white space at its start do not count.
static COMMAND: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let bots = bots();
    let pattern = format!(
        r"(?xi)^[\s>]*(?:
            /(?:{COMMAND_SEGMENTS}){END}
          | /[a-z][a-z0-9_-]*(?:[^a-z0-9_/-]|$)
          | @(?:{bots}){END}
          | (?:bors|homu){END}
          | (?:rustbot|triagebot|mergify|mergifyio|dependabot|renovate)(?:\s|$)
          | (?:codex|copilot|claude|gemini|cursor|bugbot|greptile|coderabbit|sweep)(?:\s*:|\s+(?:review|run|fix|help|resolve|approve|merge|rebase|summary|pause|resume|stop){END})
          | r\?\s*@ | r[+=-](?:\s|$|\w) | \+r{END}
          | !(?:merge|approve|rebase|retry|retest|test|deploy|lgtm|build|close|reopen|try){END}
          | (?:jenkins|buildbot|robot)[,:]?\s+\w
          | (?:re)?(?:test|build|check|run)\s+(?:this|it){END}
          | (?:ok|add)\s+to\s+(?:test|whitelist|allowlist){END}
          | (?:re-?)?(?:check|test|build|run|trigger)(?:\s+(?:please|pls|ci|experimental|tests?|all))?\s*$
          | (?:lgtm|approved?|ship\s?it|merge|squash|rebase|autosquash)[.!]*\s*$
          | test\s+please{END}
        )"
    );
    Regex::new(&pattern).ok()
});

/// A mention of a known bot anywhere, for code: some agents look for their name in the whole body.
static MENTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let bots = bots();
    Regex::new(&format!(r"(?i)@(?:{bots})\b")).ok()
});

/// The known names as alternatives of a pattern.
fn bots() -> String {
    BOTS.split_whitespace().collect::<Vec<_>>().join("|")
}

/// Says whether a raw line begins with something a bot would obey.
pub(super) fn is_command(line: &str) -> bool {
    // A pattern that does not compile would disarm the check; then every line counts.
    COMMAND
        .as_ref()
        .is_none_or(|command| command.is_match(line))
}

/// Returns a line of code that no bot obeys: a backslash goes before the command, and a known bot's
/// mention gets a space after its `@`. Returns `None` if the line is inert as it is.
pub(super) fn disarm(line: &str) -> Option<String> {
    let broken = break_mentions(line);
    let current = broken.as_deref().unwrap_or(line);
    if !is_command(current) {
        return broken;
    }
    let start = current
        .find(|c: char| !c.is_whitespace() && c != '>')
        .unwrap_or(0);
    let (indent, rest) = current.split_at_checked(start).unwrap_or(("", current));
    Some(format!("{indent}\\{rest}"))
}

/// Breaks mentions of known bots; `None` if there is none.
pub(super) fn break_mentions(text: &str) -> Option<String> {
    if !text.contains('@') {
        return None;
    }
    let mention = MENTION.as_ref()?;
    if !mention.is_match(text) {
        return None;
    }
    let broken = mention.replace_all(text, |found: &regex::Captures<'_>| {
        let whole = found.get(0).map_or("", |m| m.as_str());
        format!("@ {}", whole.trim_start_matches('@'))
    });
    Some(broken.into_owned())
}
