//! A model that knows the labels: its answers are as good as answers can be.
//!
//! **Invariant:** it says nothing about a line that the question did not show, so what it cannot say was
//! left out of the questions by this program.

use async_trait::async_trait;
use mirilla_domain::eval::Label;
use mirilla_domain::money::Usage;
use mirilla_domain::prompt::{Question, show_path};
use mirilla_domain::review::Category;
use mirilla_ports::Model;
use mirilla_ports::model::{Answer, Conversation, StopReason, Unanswered};
use serde_json::{Value, json};

use super::answers::RecordedCall;
use super::corpus::Case;
use super::models::say;

/// How sure somebody is who knows.
const CERTAIN: u8 = 100;

/// Knows the labels of one change.
pub(super) struct Oracle {
    /// The model whose prices are looked up; it uses no tokens.
    model: String,
    /// Each label with the text of the line it points at.
    labels: Vec<(Label, Option<String>)>,
}

impl Oracle {
    /// Learns the labels of a change.
    pub(super) fn new(model: String, case: &Case) -> Self {
        let parsed = mirilla_diff::parse(&case.diff);
        let with_text = |label: &Label| (label.clone(), label.text(&parsed.files));
        Self {
            model,
            labels: case.labels.iter().map(with_text).collect(),
        }
    }

    fn answer(&self, question: &Question) -> String {
        let findings: Vec<Value> = self
            .labels
            .iter()
            .filter(|(label, _)| shows(question, label))
            .map(|(label, text)| finding(label, text.as_deref()))
            .collect();
        json!({"summary": "", "findings": findings}).to_string()
    }
}

#[async_trait]
impl Model for Oracle {
    fn id(&self) -> &str {
        &self.model
    }

    async fn converse(&self, conversation: Conversation<'_>) -> Result<Answer, Unanswered> {
        let call = RecordedCall {
            text: self.answer(conversation.question),
            stop: StopReason::EndTurn,
            usage: Usage::default(),
        };
        say(&self.model, conversation, &[call]).await
    }
}

/// Returns whether a question prints the first line of a label, in its file.
fn shows(question: &Question, label: &Label) -> bool {
    let opening = format!("<file path={} ", show_path(&label.path));
    let number = label.line.to_string();
    question.user.iter().any(|block| {
        block.text.split(&opening).skip(1).any(|rest| {
            rest.lines()
                .take_while(|line| *line != "</file>")
                .any(|line| line.split_whitespace().next() == Some(&number))
        })
    })
}

fn finding(label: &Label, text: Option<&str>) -> Value {
    json!({
        "path": label.path,
        "line": label.line,
        "end_line": label.last(),
        "severity": "high",
        "category": label.category.unwrap_or(Category::Correctness),
        "title": label.what,
        "message": label.what,
        "confidence": CERTAIN,
        "quote": text.unwrap_or_default(),
        "symbol": "",
        "rule": "",
        "suggestion": "",
    })
}
