//! The pages that `mirilla app create` shows on this machine.
//!
//! **Invariant:** no script, nothing loaded, no secret; whatever is put in passes [`escape`].

use serde_json::Value;

use crate::html::escape;

/// A page with a title and parts that are HTML already.
fn page(title: &str, parts: &[String]) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\
         <style>body{{font:16px/1.5 system-ui,sans-serif;max-width:42em;margin:3em auto;padding:0 1em}}\
         button{{font:inherit;padding:.4em 1em}}pre{{white-space:pre-wrap;background:#8882;padding:1em}}</style>\
         <h1>{title}</h1>{parts}</html>",
        title = escape(title),
        parts = parts.concat()
    )
}

fn paragraph(text: &str) -> String {
    format!("<p>{}</p>", escape(text))
}

/// The first page: what will happen, and the button that takes the manifest to GitHub.
pub(super) fn start(action: &str, manifest: &Value, stack: &str) -> String {
    let shown = serde_json::to_string_pretty(manifest).unwrap_or_default();
    page(
        "A GitHub App for Mirilla",
        &[
            paragraph(&format!(
                "GitHub will ask whether to create this App for the stack {stack}, and then send you back here."
            )),
            format!(
                "<form method=\"post\" action=\"{}\"><input type=\"hidden\" name=\"manifest\" value=\"{}\">\
                 <button>Create the App on GitHub</button></form>",
                escape(action),
                escape(&manifest.to_string())
            ),
            paragraph("This is what it asks for:"),
            format!("<pre>{}</pre>", escape(&shown)),
        ],
    )
}

/// The last page: the App is connected.
pub(super) fn done(slug: &str, install: &str) -> String {
    page(
        "Connected",
        &[
            paragraph(&format!("The App {slug} is connected to the stack.")),
            format!(
                "<p><a href=\"{}\">Install it</a> on the repositories that shall be reviewed. \
                 This page can be closed.</p>",
                escape(install)
            ),
        ],
    )
}

/// Something is left to do, and can be tried again from here.
pub(super) fn again(lines: &[String], state: &str, otherwise: &str) -> String {
    page(
        "Not done yet",
        &[
            format!("<pre>{}</pre>", escape(&lines.join("\n"))),
            format!(
                "<form method=\"post\" action=\"/again\"><input type=\"hidden\" name=\"state\" value=\"{}\">\
                 <button>Try what is left again</button></form>",
                escape(state)
            ),
            paragraph(&format!("Later: {otherwise}")),
        ],
    )
}

/// Nothing more can be done from here.
pub(super) fn failed(why: &str) -> String {
    page("This did not work", &[paragraph(why)])
}
