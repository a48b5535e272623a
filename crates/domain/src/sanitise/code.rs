//! Writes code blocks: a fence longer than any inside, a language that only colours.

use std::borrow::Cow;

use super::emit::longest_run;
use super::{bots, neutral};
use crate::escape::visible;

/// Languages whose fences are only coloured. A fence of any other name may be drawn (`mermaid`,
/// `math`, `geojson`), sent to a server (`plantuml`), run as a query (`glql`) or offered as a commit
/// (`suggestion`), so it loses its name.
const LANGUAGES: &str = "\
    ada asm assembly awk bash bat batch bazel c c# c++ cc clj clojure cmake cmd console cpp cs \
    csharp css csv cuda cxx d dart diff docker dockerfile dotenv elixir elm erb erlang ex f# \
    fish fortran fsharp gherkin glsl go golang gradle graphql groovy h haskell hcl hpp hs html \
    http ini java javascript jinja js json json5 jsonc jsonl jsx julia kotlin kt less lisp log \
    lua make makefile markdown md ndjson nginx nim nix objc objective-c ocaml patch perl php \
    plaintext powershell properties proto protobuf ps1 py python python3 r rb rs rst ruby rust \
    sass scala scss sh shell solidity sql svelte swift terraform text tf toml ts tsx txt \
    typescript vb vue wasm wat xml yaml yml zig zsh";
/// Shortest fence.
const MIN_FENCE: usize = 3;

/// The language to write for a fence's info string; empty if it would do more than colour.
pub(super) fn language(info: &str) -> &'static str {
    let info = info.to_ascii_lowercase();
    // GitLab draws a table for `json:table`; elsewhere a path may follow the colon.
    if info.starts_with("json:") {
        return "";
    }
    let word = info
        .split([' ', ',', '{', ':', '\t'])
        .next()
        .unwrap_or_default();
    LANGUAGES
        .split_whitespace()
        .find(|known| *known == word)
        .unwrap_or_default()
}

/// Writes lines of code in a fence, each line inert.
pub(super) fn fenced(language: &str, lines: &[String]) -> Vec<String> {
    let safe: Vec<String> = lines
        .iter()
        .map(|line| safe_line(line).into_owned())
        .collect();
    fence(language, &safe)
}

/// Puts a fence around lines as they are.
pub(super) fn fence(language: &str, lines: &[String]) -> Vec<String> {
    let longest = lines
        .iter()
        .map(|line| longest_run(line, '`'))
        .max()
        .unwrap_or(0);
    let ticks = "`".repeat(longest.saturating_add(1).max(MIN_FENCE));
    let mut out = Vec::with_capacity(lines.len().saturating_add(2));
    out.push(format!("{ticks}{language}"));
    out.extend(lines.iter().cloned());
    out.push(ticks);
    out
}

/// A line of code in which nothing is invisible and from which no bot takes a command; borrowed if it
/// was so already.
pub(super) fn safe_line(line: &str) -> Cow<'_, str> {
    let mut out = visible(line);
    if let Some(broken) = neutral::break_markers(&out) {
        out = Cow::Owned(broken);
    }
    if let Some(disarmed) = bots::disarm(&out) {
        out = Cow::Owned(disarmed);
    }
    out
}
