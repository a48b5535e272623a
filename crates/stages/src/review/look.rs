//! What a person who watches sees of a tool call.
//!
//! **Invariant:** what the model and the repository wrote is in [`Look::line`] alone, which is for a
//! terminal; [`Look::log_line`] holds names of our own and counts.

use mirilla_ports::model::LookUp;

/// Longest beginning of a tool's arguments that is shown.
const MAX_ARGUMENT_CHARS: usize = 160;

/// One tool call of the model's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    label: String,
    turn: u32,
    tool: Option<&'static str>,
    arguments: String,
    bytes: usize,
    is_error: bool,
}

impl Look {
    pub(super) fn new(label: &str, look_up: &LookUp<'_>) -> Self {
        let arguments = look_up.input.to_string();
        Self {
            label: label.to_owned(),
            turn: look_up.turn,
            tool: look_up.tool,
            arguments: arguments.chars().take(MAX_ARGUMENT_CHARS).collect(),
            bytes: look_up.output.text.len(),
            is_error: look_up.output.is_error,
        }
    }

    /// Returns a line for somebody at a terminal. Holds text of the model's: it goes through the escaper
    /// and into no log.
    pub fn line(&self) -> String {
        self.with(&format!(" {}", self.arguments))
    }

    /// Returns a line for a log: the tool, and how much it brought.
    pub fn log_line(&self) -> String {
        self.with("")
    }

    fn with(&self, arguments: &str) -> String {
        let Self { label, turn, .. } = self;
        let tool = self.tool.unwrap_or("an unknown tool");
        let brought = if self.is_error {
            "refused".to_owned()
        } else {
            format!("{} bytes", self.bytes)
        };
        format!("{label} turn {turn}: {tool}{arguments} -> {brought}")
    }
}

#[cfg(test)]
mod tests {
    use mirilla_ports::tools::ToolOutput;
    use serde_json::json;

    use super::*;

    #[test]
    fn log_line_holds_nothing_that_the_model_wrote() {
        let output = ToolOutput::answer("x".repeat(2_113));
        let input = json!({"path": format!("secret/{}", "p".repeat(500))});
        let look = Look::new(
            "chunk 1/3",
            &LookUp {
                turn: 2,
                tool: Some("read_file"),
                input: &input,
                output: &output,
            },
        );
        assert_eq!(look.log_line(), "chunk 1/3 turn 2: read_file -> 2113 bytes");
        let line = look.line();
        assert!(line.contains(r#"{"path":"secret/ppp"#), "{line}");
        assert!(line.len() < 220, "{line}");
        let refused = ToolOutput::error("There is no tool of this name.");
        let look = Look::new(
            "chunk 1/3",
            &LookUp {
                turn: 1,
                tool: None,
                input: &input,
                output: &refused,
            },
        );
        assert_eq!(
            look.log_line(),
            "chunk 1/3 turn 1: an unknown tool -> refused"
        );
    }
}
