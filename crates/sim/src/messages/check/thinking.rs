//! The `thinking` field.

use serde_json::{Map, Value};

use super::super::models::{ModelFacts, Thinking};
use super::super::refusal::Refusal;
use super::{object, one_of, only_known};

/// Smallest thinking budget.
const MIN_BUDGET: u64 = 1_024;

/// Checks the field; returns whether a budget is set.
pub(super) fn check(
    thinking: Option<&Value>,
    fields: &Map<String, Value>,
    model: &ModelFacts,
    max_tokens: u64,
    frowned: &mut Vec<&'static str>,
) -> Result<bool, Refusal> {
    let Some(thinking) = thinking else {
        return Ok(false);
    };
    frowned.push("a thinking setting");
    let thinking = object(thinking, "thinking")?;
    only_known(thinking, &["type", "budget_tokens", "display"], "thinking.")?;
    let kinds = ["adaptive", "enabled", "disabled", "between_tools"];
    let kind = one_of(
        thinking.get("type").unwrap_or(&Value::Null),
        &kinds,
        "thinking.type",
    )?;
    if let Some(display) = thinking.get("display") {
        one_of(display, &["summarized", "omitted"], "thinking.display")?;
    }
    let takes = match kind {
        "adaptive" => model.thinking != Thinking::Budget,
        "enabled" => model.thinking == Thinking::Budget,
        "disabled" => matches!(model.thinking, Thinking::Budget | Thinking::CanBeDisabled),
        _ => model.thinking == Thinking::AdaptiveOrBetweenTools,
    };
    if !takes {
        return Err(Refusal::invalid(format!(
            "\"thinking.type.{kind}\" is not supported for this model. Use \
             \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior."
        )));
    }
    let effort = fields.get("output_config").and_then(|o| o.get("effort"));
    let effort = effort.and_then(Value::as_str);
    if kind == "disabled" && matches!(effort, Some("xhigh" | "max")) {
        return Err(Refusal::invalid(
            "thinking cannot be disabled at this effort",
        ));
    }
    if kind != "enabled" {
        return Ok(false);
    }
    match thinking.get("budget_tokens").and_then(Value::as_u64) {
        Some(budget) if budget < MIN_BUDGET => Err(Refusal::invalid(format!(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to {MIN_BUDGET}"
        ))),
        Some(budget) if max_tokens > 0 && budget >= max_tokens => Err(Refusal::invalid(
            "`max_tokens` must be greater than `thinking.budget_tokens`",
        )),
        Some(_) => Ok(true),
        None => Err(Refusal::invalid(
            "thinking.enabled.budget_tokens: Field required",
        )),
    }
}
