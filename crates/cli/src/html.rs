//! A self-contained page: a change with its findings inline, what was dropped and why, what it cost.
//!
//! Everything that comes from a repository or a model passes [`escape`] or a Markdown renderer that
//! leaves raw HTML out.
//!
//! **Invariant:** the page has no script and its content security policy allows none; it loads nothing.

use std::fmt::Write as _;

use comrak::{Options, markdown_to_html};

/// What a page shows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Page {
    /// The pull request's title, or what was reviewed.
    pub(crate) title: String,
    /// One line below it: repository, number, commits.
    pub(crate) subtitle: String,
    /// Figures in a row: name and value.
    pub(crate) figures: Vec<(String, String)>,
    /// What was posted or is reported as a whole, in Markdown.
    pub(crate) body: String,
    /// The changed files.
    pub(crate) files: Vec<FileView>,
    /// What was found and not shown on a line: title, place, reason.
    pub(crate) dropped: Vec<(String, String, String)>,
    /// What became of each file: path, fate, reason.
    pub(crate) coverage: Vec<(String, String, String)>,
    /// Lines of the workers.
    pub(crate) log: Vec<String>,
}

/// One changed file.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileView {
    /// Its name; `old → new` if it was renamed.
    pub(crate) path: String,
    /// A word beside it, such as `added` or `binary`.
    pub(crate) note: String,
    /// Its lines; hunks are apart by a [`Row::Gap`].
    pub(crate) rows: Vec<Row>,
}

/// One row of a file.
#[derive(Debug, Clone)]
pub(crate) enum Row {
    /// Lines that are not shown.
    Gap(String),
    /// A line of the diff.
    Line {
        /// Number in the old file.
        old: Option<u32>,
        /// Number in the new file.
        new: Option<u32>,
        /// `+`, `-` or a space.
        sign: char,
        /// Its text.
        text: String,
    },
    /// A comment below the line before it, in Markdown.
    Comment {
        /// Who says it.
        author: String,
        /// `critical`, `high`, `medium` or `low`; empty for people.
        severity: String,
        /// What it says.
        body: String,
    },
}

/// Renders the page.
pub(crate) fn render(page: &Page) -> String {
    let mut out = String::with_capacity(64 * 1024);
    write(&mut out, page);
    out
}

/// Writing to a string cannot fail.
#[expect(
    clippy::let_underscore_must_use,
    reason = "writing to a string cannot fail"
)]
fn write(out: &mut String, page: &Page) {
    let title = escape(&page.title);
    let _ = write!(
        out,
        "{HEAD}<title>{title} · Mirilla</title><style>{STYLE}</style></head><body><main>"
    );
    let _ = write!(
        out,
        "<header><p class=mark>mirilla</p><h1>{title}</h1><p class=sub>{}</p></header>",
        escape(&page.subtitle)
    );
    if !page.figures.is_empty() {
        out.push_str("<dl class=figures>");
        for (name, value) in &page.figures {
            let _ = write!(
                out,
                "<div><dt>{}</dt><dd>{}</dd></div>",
                escape(name),
                escape(value)
            );
        }
        out.push_str("</dl>");
    }
    if !page.body.is_empty() {
        let _ = write!(
            out,
            "<section class=review>{}</section>",
            markdown(&page.body)
        );
    }
    for file in &page.files {
        write_file(out, file);
    }
    if !page.dropped.is_empty() {
        out.push_str("<section><h2>Found and not posted on a line</h2><table class=plain><tr><th>finding<th>place<th>why</tr>");
        for (what, place, why) in &page.dropped {
            let _ = write!(
                out,
                "<tr><td>{}<td><code>{}</code><td>{}</tr>",
                escape(what),
                escape(place),
                escape(why)
            );
        }
        out.push_str("</table></section>");
    }
    if !page.coverage.is_empty() {
        out.push_str(
            "<section><h2>What was read</h2><table class=plain><tr><th>file<th>fate<th>why</tr>",
        );
        for (path, fate, why) in &page.coverage {
            let _ = write!(
                out,
                "<tr><td><code>{}</code><td>{}<td>{}</tr>",
                escape(path),
                escape(fate),
                escape(why)
            );
        }
        out.push_str("</table></section>");
    }
    if !page.log.is_empty() {
        let _ = write!(
            out,
            "<section><h2>What the workers said</h2><pre class=log>{}</pre></section>",
            escape(&page.log.join("\n"))
        );
    }
    out.push_str("</main></body></html>\n");
}

#[expect(
    clippy::let_underscore_must_use,
    reason = "writing to a string cannot fail"
)]
fn write_file(out: &mut String, file: &FileView) {
    let _ = write!(
        out,
        "<section class=file><h2><code>{}</code> <small>{}</small></h2><table class=diff><col class=n><col class=n><col>",
        escape(&file.path),
        escape(&file.note)
    );
    for row in &file.rows {
        match row {
            Row::Gap(text) => {
                let _ = write!(out, "<tr class=gap><td colspan=3>{}</tr>", escape(text));
            }
            Row::Line {
                old,
                new,
                sign,
                text,
            } => {
                let class = match sign {
                    '+' => "add",
                    '-' => "del",
                    _ => "ctx",
                };
                let number = |n: &Option<u32>| n.map(|n| n.to_string()).unwrap_or_default();
                let _ = write!(
                    out,
                    "<tr class={class}><td class=n>{}<td class=n>{}<td class=t>{}{}</tr>",
                    number(old),
                    number(new),
                    escape(&sign.to_string()),
                    escape(text)
                );
            }
            Row::Comment {
                author,
                severity,
                body,
            } => {
                let _ = write!(
                    out,
                    "<tr class=note><td colspan=3><div class=\"comment {}\"><p class=by>{}</p>{}</div></tr>",
                    escape(severity),
                    escape(author),
                    markdown(body)
                );
            }
        }
    }
    out.push_str("</table></section>");
}

/// Escapes text for HTML content and quoted attributes; invisible characters are shown.
pub(crate) fn escape(text: &str) -> String {
    let shown = mirilla_domain::escape::visible(text);
    let mut out = String::with_capacity(shown.len());
    for character in shown.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// Renders Markdown as GitHub would; raw HTML is left out, but for our own folded sections.
fn markdown(text: &str) -> String {
    let mut out = String::new();
    let mut part = String::new();
    for line in text.lines() {
        let trimmed = line.trim();
        let summary = trimmed
            .strip_prefix("<details><summary>")
            .or_else(|| trimmed.strip_prefix("<summary>"))
            .and_then(|rest| rest.strip_suffix("</summary>"));
        if let Some(summary) = summary {
            out.push_str(&rendered(&std::mem::take(&mut part)));
            if trimmed.starts_with("<details>") {
                out.push_str("<details>");
            }
            out.push_str("<summary>");
            out.push_str(&escape(summary));
            out.push_str("</summary>");
        } else if trimmed == "<details>" || trimmed == "</details>" {
            out.push_str(&rendered(&std::mem::take(&mut part)));
            out.push_str(trimmed);
        } else {
            part.push_str(line);
            part.push('\n');
        }
    }
    out.push_str(&rendered(&part));
    out
}

fn rendered(text: &str) -> String {
    let mut options = Options::default();
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.autolink = true;
    markdown_to_html(text, &options)
}

const HEAD: &str = "<!doctype html><html lang=en><head><meta charset=utf-8>\
<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\
<meta name=referrer content=no-referrer><meta name=viewport content=\"width=device-width, initial-scale=1\">";

const STYLE: &str = include_str!("html/page.css");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_change_becomes_markup() {
        let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>";
        let page = Page {
            title: hostile.to_owned(),
            subtitle: hostile.to_owned(),
            figures: vec![(hostile.to_owned(), hostile.to_owned())],
            body: format!(
                "{hostile}\n\n<details><summary>{hostile}</summary>\n\n![x](https://evil.example/a.png)\n</details>"
            ),
            files: vec![FileView {
                path: hostile.to_owned(),
                note: hostile.to_owned(),
                rows: vec![
                    Row::Gap(hostile.to_owned()),
                    Row::Line {
                        old: None,
                        new: Some(1),
                        sign: '+',
                        text: hostile.to_owned(),
                    },
                    Row::Comment {
                        author: hostile.to_owned(),
                        severity: "\" onclick=x".to_owned(),
                        body: hostile.to_owned(),
                    },
                ],
            }],
            dropped: vec![(hostile.to_owned(), hostile.to_owned(), hostile.to_owned())],
            coverage: vec![(hostile.to_owned(), hostile.to_owned(), hostile.to_owned())],
            log: vec![hostile.to_owned()],
        };
        let html = render(&page);
        for live in ["<script", "<img src=x", "\" onclick"] {
            assert!(!html.contains(live), "{live} is live in the page");
        }
        assert!(html.contains("default-src 'none'"));
    }
}
