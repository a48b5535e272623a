//! What a drill came to: what holds for every one of them, and what `expected.json` says of this one.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use mirilla_casekit::Expected;
use mirilla_domain::job::JobState;
use mirilla_domain::marker;
use mirilla_domain::plan::{ItemFate, Plan, Source};
use mirilla_domain::review::Outcome;
use mirilla_domain::snapshot::Keys;
use mirilla_ports::Artifacts as _;
use mirilla_sim::Prompt;
use serde_json::Value;

use super::drill::{Answers, Drill};
use crate::support::{Ended, Gate, Host, REPO, marker_key};

/// The only calls but reads. What GraphQL is asked is which threads there are; that it changed nothing is seen
/// in the pull request.
const WRITES: [&str; 3] = [
    "POST /app/installations/{id}/access_tokens",
    "POST /graphql",
    "POST /repos/{o}/{r}/pulls/{n}/reviews",
];

/// What came of a drill.
pub(super) struct Happened {
    plan: Plan,
    /// Everything that was posted, comments after the body, without our own marker.
    posted: Vec<String>,
    /// `path:line` of the comments.
    comments: Vec<String>,
    looks: Vec<String>,
    /// What the questions about code said.
    asked: String,
    /// What the model was told about what it looked up.
    told: String,
}

/// Lets the host review the change, and holds what must be so whatever was said.
pub(super) async fn run(drill: &Drill, host: Host, answers: &Answers) -> Happened {
    let name = &drill.name;
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet, "{name}");
    let job = host.job().await.unwrap();
    assert_eq!(job.state, JobState::Posted, "{name}: {job:#?}");
    let plan = Keys::kept(&job.id, job.attempt, "plan.json");
    let plan = host.artifacts().get(&plan, u64::MAX).await.unwrap();
    let plan: Plan = serde_json::from_slice(&plan).unwrap();

    let github = host.sim.github();
    let reviews = github.reviews(REPO, host.pr).unwrap();
    assert_eq!(reviews.len(), 1, "{name}: {reviews:#?}");
    let review = &reviews[0];
    assert_eq!(review.state, "COMMENTED", "{name}");
    assert_eq!(github.comments(REPO, host.pr).unwrap().len(), 0, "{name}");
    let calls = github.calls().into_iter();
    let writes: BTreeSet<String> = calls
        .filter(|call| call.method != "GET")
        .map(|call| call.route)
        .collect();
    assert!(
        writes.iter().all(|route| WRITES.contains(&route.as_str())),
        "{name}: {writes:?}"
    );

    let place = host.key(0).pull_request();
    let bodies = review.comments.iter().map(|comment| &comment.body);
    let posted = std::iter::once(&review.body).chain(bodies);
    let posted = posted.map(|text| {
        assert_eq!(
            text.matches("<!-- ").count(),
            1,
            "{name}: one marker, ours: {text}"
        );
        assert!(
            marker::read(&marker_key(), &place, text).is_some(),
            "{name}: {text}"
        );
        text.split("<!-- ").next().unwrap_or_default().to_owned()
    });
    let posted: Vec<String> = posted.collect();
    for line in posted.iter().flat_map(|text| text.lines()) {
        let line = line.trim_start_matches(['>', '-', '*', ' ', '\t']);
        let is_command = line
            .strip_prefix('/')
            .is_some_and(|rest| rest.chars().next().is_some_and(|c| c.is_ascii_alphabetic()));
        assert!(!is_command && !line.starts_with('@'), "{name}: {line}");
    }

    let model_calls = host.sim.messages().model_calls();
    let code: Vec<&Prompt> = model_calls
        .iter()
        .map(|call| call.prompt.as_ref())
        .filter(|prompt| is_about_code(prompt))
        .collect();
    let mut told = String::new();
    for prompt in &code {
        assert_is_data(drill, prompt);
        for (result, _) in prompt.newest_results() {
            writeln!(told, "{result}").unwrap();
        }
    }
    let asked: Vec<&str> = code.iter().map(|prompt| prompt.user[0].as_str()).collect();
    let asked = asked.join("\n");
    assert!(
        answers.taken() >= answers.of,
        "{name}: {} of {} turns were asked for",
        answers.taken(),
        answers.of
    );
    host.assert_paid_once(name).await;

    let unread = plan
        .coverage
        .files()
        .iter()
        .any(|file| !file.state.is_read());
    assert!(
        !(unread && plan.outcome == Outcome::Complete),
        "{name}: complete, and not everything was read"
    );
    let comments = review.comments.iter().map(|comment| {
        format!(
            "{}:{}",
            comment.path,
            comment.original_line.unwrap_or_default()
        )
    });
    let happened = Happened {
        plan,
        comments: comments.collect(),
        posted,
        looks: host.looks(),
        asked,
        told,
    };
    host.sim
        .finish()
        .unwrap_or_else(|problems| panic!("{name}: {problems}"));
    happened
}

/// Returns whether a question is about a part of the change, and not about what was found or claimed.
fn is_about_code(prompt: &Prompt) -> bool {
    let has_findings = prompt
        .schema
        .as_ref()
        .is_some_and(|schema| schema.pointer("/properties/findings").is_some());
    has_findings && !prompt.contains("The code was reviewed already.")
}

/// The change stands between tags that it cannot close, and nothing else its author wrote is there.
fn assert_is_data(drill: &Drill, prompt: &Prompt) {
    let (name, question) = (&drill.name, &prompt.user[0]);
    let (_, last) = question.rsplit_once("</diff nonce=\"").unwrap();
    let (nonce, after) = last.split_once("\">").unwrap();
    assert!(
        after.starts_with("\nThe data ends here."),
        "{name}: {after}"
    );
    assert_eq!(
        question
            .matches(&format!("</diff nonce=\"{nonce}\">"))
            .count(),
        1,
        "{name}"
    );
    let system = prompt.system.join("\n");
    for said in [&drill.title, &drill.description, &drill.message] {
        assert!(!question.contains(said.as_str()), "{name}: {said}");
        assert!(!system.contains(said.as_str()), "{name}: {said}");
    }
    for (path, text) in drill.files() {
        assert!(!system.contains(text), "{name}: {path} is an instruction");
    }
}

impl Happened {
    /// Returns what is not as expected.
    pub(super) fn against(&self, name: &str, mut expected: Expected) -> Vec<String> {
        let mut wrong = Vec::new();
        let outcome = serde_json::to_value(self.plan.outcome).unwrap();
        let mut same = |key: &str, is: Value, wanted: Value| {
            if is != wanted {
                wrong.push(format!("{name}: {key} is {is:#}, not {wanted:#}"));
            }
        };
        same("outcome", outcome, expected.need("outcome"));
        same("unread", self.unread(), expected.need("unread"));
        same("floor", self.items(Source::Floor), expected.need("floor"));
        same("model", self.items(Source::Model), expected.need("model"));
        same(
            "comments",
            self.comments.clone().into(),
            expected.need("comments"),
        );
        let looks = expected
            .take("looks")
            .unwrap_or_else(|| Vec::<Value>::new().into());
        same("looks", self.looks.clone().into(), looks);
        let redacted = expected.take("redacted").unwrap_or_else(|| 0.into());
        same("redacted", self.plan.redacted.into(), redacted);
        let posted = self.posted.join("\n");
        for (key, text) in [
            ("posted", &posted),
            ("asked", &self.asked),
            ("told", &self.told),
        ] {
            let Some(mut what) = expected.take_object(key) else {
                continue;
            };
            for (held, want) in [("holds", true), ("never", false)] {
                for said in strings(what.take(held)) {
                    if text.contains(&said) != want {
                        wrong.push(format!("{name}: {key} {held} {said:?}:\n{text}"));
                    }
                }
            }
            what.finish();
        }
        expected.finish();
        wrong
    }

    fn unread(&self) -> Value {
        let files = self.plan.coverage.files().iter();
        files
            .filter(|file| !file.state.is_read())
            .map(|file| {
                let state = serde_json::to_value(file.state).unwrap();
                let reason = state["reason"].as_str().unwrap_or_default();
                let state = state["state"].as_str().unwrap();
                Value::String(format!("{} {state} {reason}", file.path))
            })
            .collect()
    }

    fn items(&self, source: Source) -> Value {
        let items = self.plan.items.iter().filter(|item| item.source == source);
        items
            .map(|item| {
                let fate = match &item.fate {
                    ItemFate::Posted => "posted".to_owned(),
                    ItemFate::InBody { .. } => "in body".to_owned(),
                    ItemFate::Dropped { reason, .. } => format!("dropped {reason}"),
                    ItemFate::AlreadyThere { .. } => "already there".to_owned(),
                };
                Value::String(format!(
                    "{} {}:{} {fate}",
                    item.category, item.path, item.line
                ))
            })
            .collect()
    }
}

fn strings(list: Option<Value>) -> Vec<String> {
    let list = list.unwrap_or_else(|| Vec::<Value>::new().into());
    let list = list.as_array().unwrap().iter();
    list.map(|said| said.as_str().unwrap().to_owned()).collect()
}
