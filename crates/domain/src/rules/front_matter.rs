//! The few lines of front matter that say which files a rule is about.
//!
//! Not a YAML parser: `globs`, `applyTo` and `paths` are read as one text (comma-separated), as an
//! inline list, or as a list of `- ` lines. Other keys are passed over.

use crate::settings::check_pattern;

/// Most globs of one rule after braces are expanded.
const MAX_GLOBS: usize = 100;

/// A rule file, taken apart.
pub(super) struct Read<'t> {
    pub(super) globs: Vec<String>,
    pub(super) body: &'t str,
    /// Byte offset and message.
    pub(super) problems: Vec<(usize, String)>,
}

/// Reads the front matter of a rule file; a file without one is all body.
pub(super) fn read(text: &str) -> Read<'_> {
    let mut read = Read {
        globs: Vec::new(),
        body: text,
        problems: Vec::new(),
    };
    let unmarked = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = after_fence(unmarked) else {
        return read;
    };
    let start = text.len().saturating_sub(rest.len());
    let mut at = start;
    let mut listing = false;
    let mut raw: Vec<(usize, String)> = Vec::new();
    for line in rest.split_inclusive('\n') {
        let offset = at;
        at = at.saturating_add(line.len());
        if line.trim_end() == "---" {
            read.body = text.get(at..).unwrap_or_default();
            finish(&mut read, raw);
            return read;
        }
        let bare = line.trim();
        if let Some(item) = bare.strip_prefix("- ").filter(|_| listing) {
            raw.push((offset, unquoted(item).to_owned()));
            continue;
        }
        if bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        let Some((key, value)) = bare.split_once(':') else {
            continue;
        };
        listing = false;
        if !matches!(key.trim(), "globs" | "applyTo" | "paths") {
            continue;
        }
        let value = value.trim();
        if value.is_empty() {
            listing = true;
        } else if let Some(list) = value.strip_prefix('[').and_then(|v| v.strip_suffix(']')) {
            raw.extend(
                split(list)
                    .into_iter()
                    .map(|glob| (offset, unquoted(glob).to_owned())),
            );
        } else {
            raw.extend(
                split(unquoted(value))
                    .into_iter()
                    .map(|glob| (offset, glob.trim().to_owned())),
            );
        }
    }
    // The fence never closes: a Markdown rule, not front matter.
    read
}

fn after_fence(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("---")?;
    rest.strip_prefix('\n')
        .or_else(|| rest.strip_prefix("\r\n"))
}

fn finish(read: &mut Read<'_>, raw: Vec<(usize, String)>) {
    for (offset, glob) in raw {
        let glob = glob.trim().trim_start_matches("./");
        // "Everything" in the notation of editors.
        if matches!(glob, "" | "**" | "*" | "**/*") {
            if !glob.is_empty() {
                read.globs = Vec::new();
                return;
            }
            continue;
        }
        for pattern in expand(glob) {
            match check_pattern(&pattern) {
                Ok(_) if read.globs.len() < MAX_GLOBS => read.globs.push(pattern),
                Ok(_) => {}
                Err(bad) => {
                    read.problems
                        .push((offset, format!("{bad}; the rule applies to all files")));
                    read.globs = Vec::new();
                    return;
                }
            }
        }
    }
}

fn unquoted(value: &str) -> &str {
    let value = value.trim();
    ['"', '\'']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))
        .unwrap_or(value)
}

/// Splits at commas outside braces.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    text.split(move |c: char| {
        match c {
            '{' => depth = depth.saturating_add(1),
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

/// Writes out one level of braces after the other: `*.{ts,tsx}` is two patterns in git's notation.
fn expand(glob: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut open = vec![glob.to_owned()];
    while let Some(next) = open.pop() {
        let alternatives = next.find('{').and_then(|start| {
            let (before, rest) = next.split_at_checked(start)?;
            let end = rest.find('}')?;
            let inner = rest.get(1..end)?;
            let after = rest.get(end.saturating_add(1)..)?;
            (!inner.contains('{')).then(|| {
                let variants = inner
                    .split(',')
                    .map(|part| format!("{before}{}{after}", part.trim()));
                variants.collect::<Vec<String>>()
            })
        });
        match alternatives {
            Some(variants) if done.len().saturating_add(open.len()) < MAX_GLOBS => {
                open.extend(variants.into_iter().rev());
            }
            _ => done.push(next),
        }
    }
    done
}
