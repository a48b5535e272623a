//! The tools as the model is told of them, and their arguments. Changing a word here empties every
//! provider's cache once.

use mirilla_ports::ToolSpec;
use serde::Deserialize;
use serde_json::json;

pub(super) const READ_FILE: &str = "read_file";
pub(super) const LIST_FILES: &str = "list_files";
pub(super) const SEARCH: &str = "search";

/// Arguments of [`READ_FILE`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadFile {
    pub(super) path: String,
    #[serde(default)]
    pub(super) start_line: Option<u32>,
    #[serde(default)]
    pub(super) end_line: Option<u32>,
}

/// Arguments of [`LIST_FILES`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListFiles {
    #[serde(default)]
    pub(super) glob: Option<String>,
    #[serde(default)]
    pub(super) after: Option<String>,
}

/// Arguments of [`SEARCH`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    pub(super) pattern: String,
    #[serde(default)]
    pub(super) glob: Option<String>,
    #[serde(default)]
    pub(super) after: Option<String>,
}

/// Returns the tools.
pub(super) fn specs() -> Vec<ToolSpec> {
    let path = "A path in the repository, as in the diff: `src/pay/card.rs`.";
    let glob = "Which paths, in gitignore notation: `*.rs` in any folder, `/src/pay/` everything below it, `src/**/test_*.py`. Left out: all.";
    vec![
        ToolSpec {
            name: READ_FILE,
            description: "Reads a text file of the repository as it is with the change applied. Answers with numbered lines; `+` marks lines that the change added. Use it when a finding hangs on code that the diff does not show: a caller, a definition, a type, a test. Without start_line it begins at line 1; at most 400 lines come at once, and a cut answer says how to get the rest.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": path},
                    "start_line": {"type": "integer", "description": "The first line, from 1."},
                    "end_line": {"type": "integer", "description": "The last line."},
                },
                "required": ["path"],
                "additionalProperties": false,
            }),
        },
        ToolSpec {
            name: LIST_FILES,
            description: "Lists paths of the repository with their sizes in bytes, sorted. Use it to find where something is. At most 300 come at once, and a cut answer says how to get the rest.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "glob": {"type": "string", "description": glob},
                    "after": {"type": "string", "description": "Only paths after this one, to go on with a cut answer."},
                },
                "required": [],
                "additionalProperties": false,
            }),
        },
        ToolSpec {
            name: SEARCH,
            description: "Finds lines by a regular expression (RE2 syntax: no look-around, no back-references; `(?i)` ignores case), each line by itself, in files nearest to the change first. Use it to find callers and definitions by name. Answers with numbered lines by file. A search stops after 32 MiB or 100 lines, and then says how to go on.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "The expression."},
                    "glob": {"type": "string", "description": glob},
                    "after": {"type": "string", "description": "The path at which an earlier search of the same pattern and glob stopped, to go on from there."},
                },
                "required": ["pattern"],
                "additionalProperties": false,
            }),
        },
    ]
}
