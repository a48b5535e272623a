//! Whatever a hostile reviewer writes into its file: what is posted is inside the diff, inert, ours, and holds
//! no secret.
//!
//! One generator and one judge for two users: a property test (`plan::review_file`), and the fuzz target
//! `review_file`, which lets coverage choose the bytes. The judge renders what would be posted (`sanitise::oracle`) and shares no code
//! with the sanitiser or the redactor.

use mirilla_domain::marker;
use mirilla_domain::plan::{Plan, ReviewAction, read_review};
use mirilla_domain::redact::Redactor;
use mirilla_domain::settings::Gate;
use serde_json::{Map, Value, json};

use crate::bench::{Bench, MAIN_GO, hit, key};
use crate::sanitise::fragments::FRAGMENTS;
use crate::sanitise::oracle;

/// Made up for this test: a credential that the poster knows.
const KNOWN: &str = "ghs_M4d3Up7T0k3nF0r9Th1sT3st0n1yQx7Lw9Zr2";
/// How much of `KNOWN` anybody may know: the prefix that all such tokens have.
const PUBLIC_PREFIX: usize = 4;
/// `KNOWN` in base64, beginning at each of the three phases, without what depends on neighbours, and in hex.
const ENCODED: [&str; 4] = [
    "Z2hzX000ZDNVcDdUMGszbkYwcjlUaDFzVDNzdDBuMXlReDdMdzlacj",
    "doc19NNGQzVXA3VDBrM25GMHI5VGgxc1Qzc3QwbjF5UXg3THc5WnIy",
    "naHNfTTRkM1VwN1QwazNuRjByOVRoMXNUM3N0MG4xeVF4N0x3OVpyM",
    "6768735f4d34643355703754306b336e463072395468317354337374306e31795178374c77395a7232",
];
/// Made up for this test: a secret of nobody we know.
const OPAQUE: &str = "q7Zk1pX9vB3mT5rL8wY2nC4hD6fG";
/// How the hidden line begins that we write last.
const MARKER: &str = "<!-- mirilla";
/// Two files, so that a finding can be in the wrong one.
const OTHER: &str = "\
diff --git a/docs/a b.md b/docs/a b.md
new file mode 100644
index 0000000..1111111
--- /dev/null
+++ b/docs/a b.md\t
@@ -0,0 +1,3 @@
+# Title
+
+| a | b |
";

/// Bytes as decisions; when they are used up, every decision is the first one.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn next(&mut self) -> usize {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        usize::from(*first)
    }

    fn pick<'p, T>(&mut self, pool: &'p [T]) -> &'p T {
        &pool[self.next() % pool.len()]
    }

    /// Text glued from hostile pieces.
    fn text(&mut self) -> String {
        let pieces = self.next() % 12;
        (0..pieces).map(|_| self.piece()).collect()
    }

    fn piece(&mut self) -> String {
        match self.next() {
            0..=199 => (*self.pick(&FRAGMENTS)).to_owned(),
            200..=214 => char::from_u32((self.next() * 256 + self.next()) as u32)
                .unwrap_or('\u{fffd}')
                .to_string(),
            215..=224 => {
                let secrets = [
                    KNOWN, OPAQUE, ENCODED[0], ENCODED[1], ENCODED[2], ENCODED[3],
                ];
                (*self.pick(&secrets)).to_owned()
            }
            225..=239 => {
                let at = PUBLIC_PREFIX + self.next() % (KNOWN.len() - PUBLIC_PREFIX - 8);
                let end = (at + 8 + self.next() % 12).min(KNOWN.len());
                KNOWN[at..end].to_owned()
            }
            240..=247 => self.pick(&FRAGMENTS).repeat(1 + self.next() * 8),
            _ => self
                .pick(&[
                    "line 5 changed",
                    "new 31",
                    "svc/main.go",
                    "<!-- mirilla v1 job=",
                    "mac=",
                ])
                .to_string(),
        }
    }

    /// Any JSON at all, mostly of the wrong type.
    fn json(&mut self, depth: u32) -> Value {
        match self.next() % 10 {
            0 => Value::Null,
            1 => json!(self.next()),
            2 => json!(-1),
            3 => json!(u64::MAX),
            4 => json!(1e300),
            5 => json!(true),
            6 if depth < 6 => (0..self.next() % 5).map(|_| self.json(depth + 1)).collect(),
            7 if depth < 6 => {
                let fields = (0..self.next() % 5).map(|_| (self.text(), self.json(depth + 1)));
                Value::Object(fields.collect::<Map<String, Value>>())
            }
            _ => json!(self.text()),
        }
    }
}

fn finding(choices: &mut Choices<'_>) -> Value {
    let lines = [5, 31, 51, 52, 1, 2, 3, 6, 7, 20, 28, 34, 50, 0];
    let line = match choices.next() {
        0..=219 => json!(choices.pick(&lines)),
        220..=234 => json!(choices.next() * 20_000_000),
        _ => choices.json(4),
    };
    let paths = [
        "svc/main.go",
        "docs/a b.md",
        "b/svc/main.go",
        "../svc/main.go",
        "SVC/main.go",
        "",
    ];
    let path = match choices.next() {
        0..=229 => json!(choices.pick(&paths)),
        _ => json!(choices.text()),
    };
    let mut finding = json!({
        "path": path,
        "line": line,
        "side": choices.pick(&["right", "right", "left", "middle"]),
        "severity": choices.pick(&["critical", "high", "medium", "low"]),
        "category": choices.pick(&["correctness", "security", "concurrency", "error-handling"]),
        "title": choices.text(),
        "message": choices.text(),
        "confidence": choices.pick(&[100, 90, 50, 0, 101]),
    });
    let more = choices.next();
    if more & 1 != 0 {
        finding["end_line"] = json!(choices.pick(&lines));
    }
    if more & 2 != 0 {
        finding["suggestion"] = json!(choices.text());
    }
    if more & 4 != 0 {
        finding["rule"] = json!(choices.text());
    }
    if more & 8 != 0 {
        finding["symbol"] = json!(choices.text());
    }
    if more & 16 != 0 {
        finding["quote"] = json!(choices.text());
    }
    finding
}

/// Turns any bytes into a review file: most are files of the right shape with hostile things in every field,
/// some have fields of other types or twice, and some are no JSON.
pub(crate) fn file(input: &[u8]) -> Vec<u8> {
    let mut choices = Choices(input);
    let kind = choices.next();
    if kind == 255 {
        return choices.0.to_vec();
    }
    let mut file = serde_json::to_value(bench().read()).unwrap();
    let findings = choices.next() % 6;
    file["findings"] = (0..findings).map(|_| finding(&mut choices)).collect();
    file["summary"] = json!(choices.text());
    if kind & 1 != 0 {
        file["model"] = json!(choices.text());
        file["prompt_version"] = json!(choices.text());
        file["cost"] = choices.json(0);
        file["usage"] = choices.json(0);
    }
    if kind & 2 != 0 {
        file["outcome"] = json!(choices.pick(&["complete", "partial", "failed", "splendid"]));
        file["coverage"][0]["fate"] = choices.json(3);
        file["coverage"][1]["path"] = json!(choices.text());
        file["rejected"] = choices.json(0);
    }
    if kind & 4 != 0 {
        let fields: Vec<String> = file.as_object().unwrap().keys().cloned().collect();
        file[choices.pick(&fields)] = choices.json(0);
    }
    let mut text = file.to_string();
    if kind & 8 != 0 && kind & 16 != 0 {
        let fields = ["outcome", "findings", "title", "severity"];
        let name = format!("\"{}\":", choices.pick(&fields));
        text = text.replacen(&name, &format!("{name}\"complete\",{name}"), 1);
    }
    let mut bytes = text.into_bytes();
    if kind & 32 != 0 && kind & 64 != 0 {
        let at = (choices.next() * 256 + choices.next()) % bytes.len();
        bytes[at] = choices.next() as u8;
    }
    bytes
}

/// A pull request with a gate, whose poster knows a credential.
fn bench() -> Bench {
    let mut bench = Bench::new(&format!("{MAIN_GO}{OTHER}"));
    bench.policy.gate.gate = Gate::High;
    bench.redactor = Redactor::new([("forge-token", KNOWN)]);
    bench.floor = vec![hit(
        "added-secret",
        "svc/main.go",
        31,
        mirilla_domain::review::Severity::High,
    )];
    bench
}

/// Plans from the file as the poster does, and judges everything that would leave.
pub(crate) fn judge(bytes: &[u8]) {
    let mut bench = bench();
    bench.review = read_review(bytes).ok();
    // `Bench::plan` asserts the places, the lengths and the sum.
    let plan = bench.run();
    for (what, text) in markdown(&plan) {
        assert_inert(&bench, what, &text);
    }
    for (what, text) in everything(&plan) {
        assert_no_secret(what, &text);
    }
    let again = bench.plan();
    assert!(again.is_noop(), "applied twice: {}", again.counts());
}

/// What the forge renders.
fn markdown(plan: &Plan) -> Vec<(&'static str, String)> {
    let mut out = vec![("body", plan.body.clone())];
    if let ReviewAction::Create { review } = &plan.review {
        assert_eq!(review.body, plan.body);
        out.extend(
            review
                .comments
                .iter()
                .map(|one| ("comment", one.body.clone())),
        );
    }
    if let Some(check) = &plan.check {
        out.push(("check", check.summary.clone()));
    }
    out
}

/// Every text that leaves the process, to the forge or into a log.
fn everything(plan: &Plan) -> Vec<(&'static str, String)> {
    let mut out = markdown(plan);
    for annotation in plan.check.iter().flat_map(|check| &check.annotations) {
        assert!(!annotation.title.contains('\n') && annotation.first <= annotation.last);
        out.push((
            "annotation",
            format!("{}\n{}", annotation.title, annotation.message),
        ));
    }
    out.push(("plan", serde_json::to_string(plan).unwrap()));
    out.push(("log", plan.counts()));
    out
}

/// Asserts that `text` ends in our own marker and that without our frame nothing in it is live.
fn assert_inert(bench: &Bench, what: &str, text: &str) {
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with(MARKER) && last.ends_with("-->"),
        "{what}:\n{text}"
    );
    if what != "check" {
        let read = marker::read(&key(), &bench.job.pull_request, text);
        assert!(
            read.is_some(),
            "the {what}'s own marker does not verify:\n{text}"
        );
    }
    let offered = text.matches("```suggestion").count();
    assert!(offered <= usize::from(what == "comment"), "{what}:\n{text}");
    let shown = without_frame(text).replacen("```suggestion\n", "```\n", 1);
    let bad = oracle::violations(&shown, &[]);
    assert!(bad.is_empty(), "{what}: {bad:#?}\nin:\n{text}");
}

/// Leaves out what is ours: the folded table, the marker where it belongs, the dollar sign of the cost.
pub(crate) fn without_frame(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.pop_if(|last| last.starts_with(MARKER));
    lines.retain(|line| !line.starts_with("<details><summary>Files: ") && *line != "</details>");
    lines.join("\n").replacen("Cost: $", "Cost: ", 1)
}

/// Asserts that neither the text nor what a reader sees of it holds eight characters of the credential, or its
/// encodings, or long opaque text.
fn assert_no_secret(what: &str, text: &str) {
    let seen = oracle::visible_text(text);
    for text in [text, seen.as_str()] {
        let secret = &KNOWN[PUBLIC_PREFIX..];
        for at in 0..=secret.len() - 8 {
            let piece = &secret[at..at + 8];
            assert!(
                !text.contains(piece),
                "{piece} of the secret in the {what}:\n{text}"
            );
        }
        for encoded in ENCODED {
            for at in 0..=encoded.len() - 16 {
                let piece = &encoded[at..at + 16];
                assert!(
                    !text.contains(piece),
                    "{piece}, encoded, in the {what}:\n{text}"
                );
            }
        }
        assert!(!text.contains(OPAQUE), "opaque text in the {what}:\n{text}");
    }
}
