//! SAM templates as the `CloudFormation` they become, without AWS.

use anyhow::{Context as _, Result, anyhow};
use serde_json::{Value, json};

use crate::script;

/// Translates SAM templates to `CloudFormation`: what SAM adds is there, conditions and references are
/// as they were written.
///
/// All are translated by one process, because its start takes longer than a translation. Nothing is
/// contacted, and the functions' code need not be built.
///
/// # Errors
///
/// For each template what is wrong with it; for all of them, when Python cannot be had.
pub fn translate(templates: &[&str]) -> Result<Vec<Result<Value>>> {
    let answers = script::run("translate.py", &json!({"templates": templates}))
        .context("could not translate the template")?;
    let answers = answers
        .as_array()
        .context("translate.py answered no list")?;
    Ok(answers.iter().map(one).collect())
}

fn one(answer: &Value) -> Result<Value> {
    match answer.get("template") {
        Some(template) => Ok(template.clone()),
        None => Err(anyhow!(
            "the template is not valid: {}",
            answer
                .get("error")
                .and_then(Value::as_str)
                .unwrap_or_default()
        )),
    }
}
