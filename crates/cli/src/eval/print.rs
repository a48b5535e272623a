//! An evaluation's result as a table or as JSON.

use anyhow::Result;
use mirilla_domain::escape;
use mirilla_domain::eval::{LabelFate, Score};
use serde_json::{Map, Value, json};

use super::{Answers, Judged, Results, SetScore};
use crate::output;

/// What stands where there is no figure.
const NONE: &str = "-";

/// Prints a table.
pub(super) fn text(results: &Results) {
    output::data_line(&headline(results));
    let is_oracle = results.answers == Answers::Oracle;
    let rows = results.sets.iter().map(|(name, set)| (name.as_str(), set));
    let rows: Vec<(&str, &SetScore)> = rows.chain([("all", &results.all)]).collect();
    if results.all.answered.cases > 0 {
        let table: Vec<Vec<String>> = if is_oracle {
            let head = "set changes defects on-line in-text lost unread";
            [words(head)]
                .into_iter()
                .chain(rows.iter().map(oracle_row))
                .collect()
        } else {
            let head = "set changes defects found lost unread missed reported false precision recall F1 cost time";
            [words(head)]
                .into_iter()
                .chain(rows.iter().map(model_row))
                .collect()
        };
        output::data_line("");
        for line in aligned(&table) {
            output::data_line(&line);
        }
        output::data_line("");
        for line in remarks(&results.all.answered, is_oracle) {
            output::data_line(&line);
        }
    }
    output::data_line(&floor(&results.all.floor));
    if is_oracle {
        for line in not_on_a_line(results) {
            output::note(&escape::terminal(&line));
        }
    }
    for line in unmeasured(results) {
        output::worker_line(&line);
    }
}

/// Names what the figures are not about: one line for each reason.
fn unmeasured(results: &Results) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    let mut add = |why: String, id| match reasons.iter_mut().find(|(known, _)| *known == why) {
        Some((_, ids)) => ids.push(id),
        None => reasons.push((why, vec![id])),
    };
    for (id, why) in &results.unavailable {
        add(why.clone(), id.as_str());
    }
    for id in &results.unasked {
        add("the run's cap was reached".to_owned(), id.as_str());
    }
    for (id, why) in &results.misfits {
        add(format!("{why}; record it again"), id.as_str());
    }
    let line = |(why, ids): &(String, Vec<&str>)| match ids.as_slice() {
        [] => String::new(),
        [only] => format!("not measured: {only}: {why}"),
        [first, rest @ ..] => format!("not measured: {first} and {} more: {why}", rest.len()),
    };
    reasons.iter().map(line).collect()
}

fn headline(results: &Results) -> String {
    let changes = plural(results.all.floor.cases, "change");
    let models = results
        .models()
        .into_iter()
        .collect::<Vec<&str>>()
        .join(", ");
    let models = escape::terminal(&models);
    let answered = results.all.answered.cases;
    match results.answers {
        Answers::Oracle => format!(
            "{changes}; answers made of the labels: what is lost was lost by this program, and no model is measured"
        ),
        Answers::Asked => format!("{changes}; {models} was asked"),
        Answers::Recorded if answered > 0 => {
            format!("{changes}; recorded answers of {models} for {answered} of them")
        }
        Answers::Recorded => {
            format!("{changes}; no answers are recorded, so there is no figure about a model")
        }
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn model_row((name, set): &(&str, &SetScore)) -> Vec<String> {
    let score = &set.answered;
    let percent = |share: Option<f64>| {
        share.map_or_else(|| NONE.to_owned(), |share| format!("{:.1}%", share * 100.0))
    };
    let counts = [
        score.cases,
        score.labels,
        score.found(),
        score.lost_in_all(),
        score.unread,
        score.missed,
        score.reported,
        score.unmatched,
    ];
    let mut row = vec![escape::terminal(name).into_owned()];
    row.extend(counts.iter().map(u32::to_string));
    row.extend([score.precision(), score.recall(), score.f1()].map(percent));
    row.push(score.took.cost.to_string());
    row.push(seconds(score.took.millis));
    row
}

fn oracle_row((name, set): &(&str, &SetScore)) -> Vec<String> {
    let score = &set.answered;
    let counts = [
        score.cases,
        score.labels,
        score.found_on_line,
        score.found_in_text,
        score.lost_in_all(),
        score.unread.saturating_add(score.missed),
    ];
    let mut row = vec![escape::terminal(name).into_owned()];
    row.extend(counts.iter().map(u32::to_string));
    row
}

fn seconds(millis: u64) -> String {
    let tenths = millis.div_ceil(100);
    format!(
        "{}.{}s",
        tenths.checked_div(10).unwrap_or(0),
        tenths.checked_rem(10).unwrap_or(0)
    )
}

/// Lays columns out: the first to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells: Vec<String> = cells
            .map(|(column, (cell, width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        cells.join("  ")
    };
    rows.iter().map(line).collect()
}

/// What the table has no room for.
fn remarks(score: &Score, is_oracle: bool) -> Vec<String> {
    let lost = if score.lost.is_empty() {
        "none".to_owned()
    } else {
        let reasons = score
            .lost
            .iter()
            .map(|(why, count)| format!("{why} {count}"));
        reasons.collect::<Vec<String>>().join(", ")
    };
    let mut lines = vec![format!("true findings that our own filters lost: {lost}")];
    if !is_oracle {
        lines.push(format!(
            "clean changes with a finding: {} of {} ({})",
            score.clean_cases_flagged,
            score.clean_cases,
            plural(score.clean_findings, "finding")
        ));
        lines.push(format!(
            "found on a line {}, only in the review's text {}; further findings about the same defect {}",
            score.found_on_line, score.found_in_text, score.repeated
        ));
    }
    lines
}

fn floor(score: &Score) -> String {
    format!(
        "deterministic checks, without a model: {} about a defect, {} elsewhere, {} of those on clean changes",
        plural(score.floor_on_labels, "hit"),
        score.floor_elsewhere,
        score.floor_on_clean
    )
}

/// Names what a perfect answer did not bring onto a line.
fn not_on_a_line(results: &Results) -> Vec<String> {
    let mut lines = Vec::new();
    for case in &results.cases {
        for (number, fate) in (1_usize..).zip(&case.verdict.labels) {
            let what = match fate {
                LabelFate::Found => continue,
                LabelFate::FoundInText => "in the review's text, not on a line".to_owned(),
                LabelFate::Lost(loss) => format!("lost: {}", loss.as_str()),
                LabelFate::Unread => "its file was not read".to_owned(),
                LabelFate::Missed => "its line was in no question".to_owned(),
            };
            lines.push(format!("  {} defect {number}: {what}", case.id));
        }
    }
    lines
}

fn plural(count: u32, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Prints one JSON object.
pub(super) fn json(results: &Results) -> Result<()> {
    let sets: Map<String, Value> = results
        .sets
        .iter()
        .map(|(name, set)| (name.clone(), sums(set, results.answers)))
        .collect();
    let cases: Vec<Value> = results.cases.iter().map(case).collect();
    let why = |(id, why): &(String, String)| json!({"case": id, "why": why});
    let value = json!({
        "schema": "mirilla.eval.v1",
        "answers": match results.answers {
            Answers::Asked => "asked",
            Answers::Oracle => "oracle",
            Answers::Recorded => "recorded",
        },
        "models": results.models(),
        "prompt_version": mirilla_domain::prompt::PROMPT_VERSION,
        "tolerance_lines": mirilla_domain::eval::TOLERANCE_LINES,
        "sets": sets,
        "all": sums(&results.all, results.answers),
        "cases": cases,
        "unavailable": results.unavailable.iter().map(why).collect::<Vec<Value>>(),
        "unasked": results.unasked,
        "misfits": results.misfits.iter().map(why).collect::<Vec<Value>>(),
    });
    output::data_line(&escape::json(&serde_json::to_string_pretty(&value)?));
    Ok(())
}

/// The sums of one set; `model` is there only if one answered.
fn sums(set: &SetScore, answers: Answers) -> Value {
    let score = &set.answered;
    let pipeline = json!({
        "changes": score.cases,
        "defects": score.labels,
        "found_on_line": score.found_on_line,
        "found_in_text": score.found_in_text,
        "lost": score.lost,
        "unread": score.unread,
        "missed": score.missed,
    });
    let model = (answers != Answers::Oracle && score.cases > 0).then(|| {
        json!({
            "reported": score.reported,
            "repeated": score.repeated,
            "unmatched": score.unmatched,
            "precision": score.precision(),
            "recall": score.recall(),
            "f1": score.f1(),
            "clean_changes": score.clean_cases,
            "clean_changes_flagged": score.clean_cases_flagged,
            "clean_findings": score.clean_findings,
            "cost_usd": score.took.cost.exact(),
            "usage": score.took.usage,
            "calls": score.took.calls,
            "millis": score.took.millis,
        })
    });
    json!({
        "answered": (score.cases > 0).then_some(pipeline),
        "model": model,
        "floor": {
            "changes": set.floor.cases,
            "on_defects": set.floor.floor_on_labels,
            "elsewhere": set.floor.floor_elsewhere,
            "on_clean_changes": set.floor.floor_on_clean,
        },
    })
}

fn case(judged: &Judged) -> Value {
    json!({
        "case": judged.id,
        "answered": judged.is_answered,
        "model": judged.model,
        "defects": judged.verdict.labels,
        "reported": judged.verdict.reported,
        "unmatched": judged.verdict.unmatched,
    })
}
