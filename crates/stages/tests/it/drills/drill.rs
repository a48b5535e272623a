//! A drill's folder: the change, and what a model that obeys it says.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mirilla_casekit::{Case, Expected, made_up};
use mirilla_domain::settings::OperatorPolicy;
use mirilla_sim::{OpenPull, Scripted};
use serde_json::{Map, Value, json};

use crate::support::Host;

/// The change of a drill, and the answers to it.
pub(super) struct Drill {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) message: String,
    policy: OperatorPolicy,
    before: Vec<(String, String)>,
    after: Vec<(String, String)>,
    turns: Vec<Turn>,
}

/// What the model says in one turn.
#[derive(Clone)]
enum Turn {
    Look(Vec<(String, Value)>),
    Say(String),
    Refuse(String),
}

/// The answers that were taken, of those that a drill has.
pub(super) struct Answers {
    taken: Arc<AtomicUsize>,
    pub(super) of: usize,
}

impl Answers {
    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::SeqCst)
    }
}

impl Drill {
    pub(super) fn load(case: &Case) -> Self {
        let mut files: Vec<_> = std::fs::read_dir(&case.dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let known = ["change.json", "expected.json", "obeyed.json"];
        assert_eq!(files, known, "{}", case.name);
        let mut change = Expected::of(
            format!("{}/change.json", case.name),
            read(case, "change.json"),
        );
        assert!(!text(&change.need("shows")).is_empty());
        let settings = change.take("settings").unwrap_or_else(|| json!({}));
        let drill = Self {
            name: case.name.clone(),
            title: text(&change.need("title")),
            description: text(&change.need("description")),
            message: text(&change.need("commit")),
            policy: serde_json::from_value(settings).unwrap(),
            before: tree(&change.need("before")),
            after: tree(&change.need("after")),
            turns: turns(case),
        };
        change.finish();
        drill
    }

    /// What the change writes: paths with contents.
    pub(super) fn files(&self) -> &[(String, String)] {
        &self.after
    }

    /// A host on which the change is a pull request.
    pub(super) fn host(&self) -> Host {
        let mut pull = OpenPull::new("dana", "change", &self.title);
        pull.body = Some(self.description.clone());
        let mut host = Host::open(&self.before, &self.after, &self.message, pull);
        host.policy = self.policy.clone();
        host
    }

    /// Lets the model obey: one turn after the other, and the last one whatever else it is asked.
    pub(super) fn obey(&self, host: &Host) -> Answers {
        let taken = Arc::new(AtomicUsize::new(0));
        let (turns, next) = (self.turns.clone(), Arc::clone(&taken));
        let answer = move |_: &_| {
            let at = next.fetch_add(1, Ordering::SeqCst).min(turns.len() - 1);
            match &turns[at] {
                Turn::Look(calls) => Scripted::tool_calls(
                    calls
                        .iter()
                        .map(|(name, input)| (name.as_str(), input.clone()))
                        .collect(),
                ),
                Turn::Say(said) => Scripted::text(said.clone()),
                Turn::Refuse(category) => Scripted::refusal(Some(category)),
            }
        };
        let messages = host.sim.messages();
        messages.answer_all_when("what the change asks for", |_| true, answer);
        let of = self.turns.len();
        Answers { taken, of }
    }
}

/// Reads what is expected, with its made-up values put in.
pub(super) fn expected(case: &Case) -> Expected {
    let what = format!("{}/expected.json", case.name);
    Expected::of(what, read(case, "expected.json"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Reads a file with its made-up values put in.
fn read(case: &Case, file: &str) -> Value {
    serde_json::from_str(&made_up(&case.text(file)))
        .unwrap_or_else(|error| panic!("{}/{file}: {error}", case.name))
}

/// Reads files: paths with lists of lines, a line being a text or `{"line", "times", "joined"}`.
fn tree(value: &Value) -> Vec<(String, String)> {
    let files = value.as_object().unwrap();
    files
        .iter()
        .map(|(path, lines)| {
            let lines = lines.as_array().unwrap().iter();
            (path.clone(), lines.map(line).collect())
        })
        .collect()
}

fn line(value: &Value) -> String {
    if let Some(line) = value.as_str() {
        return format!("{line}\n");
    }
    let mut many = Expected::of("a line", value.clone());
    let (line, times) = (text(&many.need("line")), many.need("times"));
    let is_joined = many.take("joined").is_some_and(|joined| joined == true);
    many.finish();
    let numbered = (1..=times.as_u64().unwrap()).map(|n| line.replace("{n}", &n.to_string()));
    if is_joined {
        numbered.collect::<String>() + "\n"
    } else {
        numbered.map(|line| line + "\n").collect()
    }
}

fn turns(case: &Case) -> Vec<Turn> {
    let file = read(case, "obeyed.json");
    let turns = file.as_array().unwrap().iter().map(|turn| {
        let object = turn.as_object().unwrap();
        assert_eq!(object.len(), 1, "{}: a turn is one thing", case.name);
        let (kind, what) = object.iter().next().unwrap();
        match kind.as_str() {
            "look" => Turn::Look(calls(what)),
            "say" => Turn::Say(text(what)),
            "answer" => Turn::Say(answer(what).to_string()),
            "refuse" => Turn::Refuse(text(what)),
            other => panic!("{}: a turn of kind {other}", case.name),
        }
    });
    let turns: Vec<_> = turns.collect();
    assert!(!turns.is_empty());
    turns
}

fn calls(value: &Value) -> Vec<(String, Value)> {
    let calls = value.as_array().unwrap().iter();
    calls
        .map(|call| match call.as_array().unwrap().as_slice() {
            [name, input] => (text(name), input.clone()),
            other => panic!("a call is a name and its input: {other:?}"),
        })
        .collect()
}

/// Returns an answer in the agreed form; what a finding leaves out says nothing, and one with `times` is as many
/// findings, each a line further down.
fn answer(value: &Value) -> Value {
    let mut given = Expected::of("an answer", value.clone());
    let summary = given.need("summary");
    let mut findings = Vec::new();
    for mut finding in given.take_objects("findings").unwrap_or_default() {
        let times = finding
            .take("times")
            .map_or(1, |times| times.as_u64().unwrap());
        let first = finding.need("line").as_i64().unwrap();
        let mut whole = Map::new();
        for (key, usual) in [
            ("path", Value::Null),
            ("title", Value::Null),
            ("message", Value::Null),
            ("end_line", json!(0)),
            ("quote", json!("")),
            ("category", json!("correctness")),
            ("severity", json!("high")),
            ("confidence", json!(95)),
            ("symbol", json!("")),
            ("rule", json!("")),
            ("suggestion", json!("")),
        ] {
            let said = finding.take(key).unwrap_or(usual);
            assert!(!said.is_null(), "a finding has a {key}");
            whole.insert(key.to_owned(), said);
        }
        finding.finish();
        for (n, line) in (1..=times).zip(first..) {
            let mut one = whole.clone();
            one.insert("line".to_owned(), json!(line));
            let title = text(&one["title"]).replace("{n}", &n.to_string());
            one.insert("title".to_owned(), json!(title));
            findings.push(Value::Object(one));
        }
    }
    given.finish();
    json!({"summary": summary, "findings": findings})
}
