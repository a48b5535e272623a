//! `mirilla explain`: where a finding came from and what became of it.
//!
//! **Invariant:** everything that a model or a repository wrote is escaped before it is printed; what the
//! run's files do not say is said to be unknown.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use mirilla_domain::anchor::OffDiff;
use mirilla_domain::escape;
use mirilla_domain::ids::sha256;
use mirilla_domain::plan::{self, Item, ItemFate, KeptInput, Plan, Source};
use mirilla_domain::record::{self, CallFate, Explained, RunRecord, Wanted};
use mirilla_domain::review::{Fate, Review, Severity};

use crate::arguments;
use crate::failure::Failure;
use crate::output;
use crate::run_folder::{PLAN, PLAN_INPUT, REVIEW, RUN, RunFolder};

/// Longest piece of somebody else's text on one line.
const MAX_TEXT_CHARS: usize = 300;
/// Most refused items that are named when no finding is.
const MAX_REFUSED: usize = 10;

/// Runs the command.
pub(crate) fn run(arguments: &arguments::Explain) -> Result<ExitCode> {
    let wanted = Wanted::parse(&arguments.finding).map_err(|error| {
        Failure::usage(error.to_string()).hint(
            "for example `src/Pay.java:88`, or the first digits of a fingerprint from `plan.json`",
        )
    })?;
    let folder = RunFolder::named(&arguments.run)?;
    let review_bytes = folder.read(REVIEW)?;
    let review = plan::read_review(&review_bytes)
        .with_context(|| format!("{REVIEW} cannot be used"))?
        .review;
    let record = match folder.find(RUN)? {
        None => None,
        Some(bytes) => {
            Some(RunRecord::read(&bytes).with_context(|| format!("{RUN} cannot be used"))?)
        }
    };
    let record = record.filter(|record| {
        let belongs = record.review_sha256 == sha256(&review_bytes);
        if !belongs {
            output::note(&format!(
                "note: {RUN} belongs to another review and is left out"
            ));
        }
        belongs
    });
    let kept = folder.find(PLAN_INPUT)?;
    let kept = kept.and_then(|bytes| KeptInput::read(&bytes).ok());
    let plan: Option<Plan> = match folder.find(PLAN)? {
        None => None,
        Some(bytes) => {
            if kept.is_some_and(|kept| kept.plan_sha256 != sha256(&bytes)) {
                return Err(
                    Failure::new(format!("{PLAN} was changed after it was kept"))
                        .hint("`mirilla replay` makes it again from the other files")
                        .into(),
                );
            }
            Some(serde_json::from_slice(&bytes).with_context(|| format!("{PLAN} cannot be used"))?)
        }
    };
    let found = record::explain(&wanted, record.as_ref(), &review, plan.as_ref());
    if found.is_empty() {
        return Err(nothing(&wanted, plan.is_some(), record.as_ref()).into());
    }
    for explained in &found {
        for line in lines(explained, record.as_ref(), &review) {
            output::data_line(&escape::terminal(&line));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn nothing(wanted: &Wanted, planned: bool, record: Option<&RunRecord>) -> Failure {
    let refused = record.map_or(&[][..], |record| &record.rejected);
    for item in refused.iter().take(MAX_REFUSED) {
        output::worker_line(&format!(
            "refused of the answer of call {} about chunk {}: item {}: {}",
            item.call, item.chunk, item.item, item.reason
        ));
    }
    let failure = Failure::new("the run has no such finding");
    match wanted {
        Wanted::Fingerprint(_) if !planned => failure.hint(format!(
            "fingerprints stand in {PLAN}, which this run does not have; name the finding as PATH:LINE"
        )),
        _ => failure.hint(format!(
            "{PLAN} lists what was found, dropped findings too; items of answers that were refused have no place"
        )),
    }
}

/// Returns what is to be said, one line each, not escaped yet.
fn lines(explained: &Explained<'_>, record: Option<&RunRecord>, review: &Review) -> Vec<String> {
    let mut lines = vec![heading(explained)];
    let mut say = |what: &str, text: &str| lines.push(format!("    {what:12} {}", cut(text)));
    if let Some(fingerprint) = explained.item.and_then(|item| item.fingerprint.as_ref()) {
        say("fingerprint", fingerprint.as_str());
    }
    let by_check = explained.item.filter(|item| item.source == Source::Floor);
    if let Some(item) = by_check {
        say(
            "found by",
            &format!("the fixed check {}, without a model", item.category),
        );
    } else {
        say("found by", &found_by(explained, review));
    }
    if let Some(chunk) = explained.chunk {
        say("asked about", &chunk.files.join(", "));
    }
    if let Some((_, finding)) = explained.finding {
        say("quoted", finding.quote.as_deref().unwrap_or("nothing"));
        say("confidence", &format!("{} %", finding.confidence));
        if let Some(rule) = &finding.rule {
            say("rule", rule);
        }
    }
    if explained.origin.is_some() {
        let mut any = false;
        for look_up in explained.look_ups() {
            any = true;
            let brought = if look_up.is_error {
                "refused".to_owned()
            } else {
                format!("{} bytes", look_up.result_bytes)
            };
            let tool = look_up.tool.as_deref().unwrap_or("an unknown tool");
            say(
                "looked up",
                &format!("{tool} {} -> {brought}", look_up.arguments.text),
            );
        }
        if !any {
            say("looked up", "nothing");
        }
        for call in &explained.calls {
            if let Some(objection) = &call.objection {
                say("asked again", &objection.text);
            }
        }
        say("cost", &cost(explained, review));
    }
    if by_check.is_none() && record.is_some() {
        match explained.second_look {
            Some(second) => say(
                "second look",
                &format!(
                    "{} (call {}; it was {})",
                    second.verdict,
                    second.call,
                    second.was.as_str()
                ),
            ),
            None => say("second look", "none"),
        }
    }
    let became = explained
        .item
        .map_or_else(|| "unknown: the run has no plan".to_owned(), became);
    say("became", &became);
    lines
}

fn heading(explained: &Explained<'_>) -> String {
    let (path, line, severity, category, title) = match (explained.item, explained.finding) {
        (Some(item), _) => (
            item.path.as_str(),
            item.line,
            item.severity,
            item.category.as_str(),
            item.title.as_str(),
        ),
        (None, Some((_, finding))) => (
            finding.path.as_str(),
            finding.line,
            Some(finding.severity),
            finding.category.as_str(),
            finding.title.as_str(),
        ),
        (None, None) => ("", 0, None, "", ""),
    };
    let severity = severity.map_or("", Severity::as_str).to_uppercase();
    cut(&format!("{path}:{line}  {severity}  {category}  {title}"))
}

fn found_by(explained: &Explained<'_>, review: &Review) -> String {
    let prompt = &review.prompt_version;
    let Some(origin) = explained.origin else {
        let model = &review.model;
        let path = explained.finding.map(|(_, finding)| &finding.path);
        let is_carried = (review.coverage.iter())
            .any(|line| Some(&line.path) == path && line.fate == Fate::Carried);
        return if is_carried {
            format!(
                "{model}, prompt version {prompt}, in an earlier review of this pull request; nothing that was seen then has changed"
            )
        } else {
            format!("{model}, prompt version {prompt}; the run has no record of its calls")
        };
    };
    let call = explained.calls.last();
    let model = call.and_then(|call| call.model.as_deref());
    let turn = call.map_or_else(String::new, |call| {
        let request = call.request_id.as_deref().unwrap_or("none");
        format!(", turn {}, request {request}", call.turn)
    });
    format!(
        "{}, prompt version {prompt}, chunk {}, call {}{turn}",
        model.unwrap_or(&review.model),
        origin.chunk,
        origin.call,
    )
}

/// `$0.0123 for 2 calls (1200 in, 300 out), 40 % of the review; they named 3 findings`
fn cost(explained: &Explained<'_>, review: &Review) -> String {
    let cost = explained.cost();
    let answered = explained
        .calls
        .iter()
        .filter(|call| call.fate == CallFate::Answered);
    let (input, output) = answered.fold((0_u64, 0_u64), |(input, output), call| {
        (
            input.saturating_add(call.usage.total_input()),
            output.saturating_add(call.usage.output_tokens),
        )
    });
    format!(
        "{cost} for {} (in={input} out={output}), {} % of the review; named {}",
        counted(explained.calls.len(), "call"),
        cost.percent_of(review.cost),
        counted(explained.named_together, "finding"),
    )
}

/// Says what became of a finding.
pub(crate) fn became(item: &Item) -> String {
    match &item.fate {
        ItemFate::Posted => match &item.anchor {
            Some(anchor) => format!("a new comment on line {}", anchor.line),
            None => "a new comment".to_owned(),
        },
        ItemFate::AlreadyThere { comment, resolved } => {
            let comment = comment.map_or_else(
                || "which the ledger remembers".to_owned(),
                |comment| format!("comment {comment}"),
            );
            let thread = if *resolved { ", resolved" } else { "" };
            format!("nothing new: it was posted before, {comment}{thread}")
        }
        ItemFate::InBody { place, new } => {
            let again = if *new { "" } else { ", as before" };
            format!("named in the review's body{again}: {}", off_diff(*place))
        }
        ItemFate::Dropped { reason, detail } => {
            let detail = detail
                .as_ref()
                .map_or_else(String::new, |detail| format!(" ({detail})"));
            format!("not posted: {reason}: {}{detail}", reason.explain())
        }
    }
}

const fn off_diff(place: OffDiff) -> &'static str {
    match place {
        OffDiff::NoLine => "it names no line",
        OffDiff::OutsideDiff => "its line is not part of the change, and no changed line is near",
        OffDiff::Doubted => "the second look doubts it",
        OffDiff::LinesRefused => "the forge did not accept comments on lines",
        OffDiff::TooManyComments => "there are more comments than are listed",
    }
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

fn cut(text: &str) -> String {
    let mut cut: String = text.chars().take(MAX_TEXT_CHARS).collect();
    if cut.len() < text.len() {
        cut.push_str(" [cut]");
    }
    cut
}
