//! A plan, for a person.
//!
//! **Invariant:** what a model or a repository wrote is escaped before it is printed.

use mirilla_domain::escape;
use mirilla_domain::plan::{Item, Plan, ReviewAction};
use mirilla_domain::review::Severity;

use crate::explain::became;
use crate::output;

/// Longest title that is shown.
const MAX_TITLE_CHARS: usize = 200;

/// Prints what a plan would do.
pub(super) fn plan(plan: &Plan) {
    let mut lines = vec![action(plan)];
    lines.extend(plan.items.iter().map(item));
    lines.push(plan.tally.equation());
    if let Some(check) = &plan.check {
        lines.push(format!(
            "gate: {} -> {}",
            check.verdict.ruling.as_str(),
            check.conclusion().as_str()
        ));
    }
    for line in lines {
        output::data_line(&escape::terminal(&line));
    }
}

fn action(plan: &Plan) -> String {
    match &plan.review {
        ReviewAction::Create { review } => match review.comments.len() {
            1 => "would post a review with 1 comment".to_owned(),
            count => format!("would post a review with {count} comments"),
        },
        ReviewAction::Edit { review_id, .. } => {
            format!("would edit review {review_id}: nothing is new")
        }
        ReviewAction::Nothing { review_id } => {
            format!("would write nothing: review {review_id} says this already")
        }
    }
}

fn item(item: &Item) -> String {
    let severity = item.severity.map_or("", Severity::as_str).to_uppercase();
    let title: String = item.title.chars().take(MAX_TITLE_CHARS).collect();
    format!(
        "{}:{}  {severity}  {}  {title} -> {}",
        item.path,
        item.line,
        item.category,
        became(item)
    )
}
