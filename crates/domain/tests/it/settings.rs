//! Settings: recorded cases of kind 10, the operator's keys, and strictness for any pair.

use mirilla_casekit::{Case, cases};
use mirilla_domain::money::PicoUsd;
use mirilla_domain::review::Severity;
use mirilla_domain::settings::{
    BrokenSettings, Gate, Ignore, Level, OnInconclusive, OperatorPolicy, Policy, PrDescription,
    Problem, RepoSettings, parse,
};
use proptest::prelude::*;
use serde_json::json;

fn case(id: &str) -> Case {
    cases("tests/fixtures/cases", |name| name.starts_with(id)).remove(0)
}

fn policy(text: &str) -> Policy {
    OperatorPolicy::default().with(&parse(text).0)
}

fn errors(text: &str) -> Vec<String> {
    let (_, problems) = parse(text);
    problems
        .iter()
        .filter(|problem| problem.is_error())
        .map(Problem::to_string)
        .collect()
}

fn only_error(text: &str) -> Problem {
    let (settings, problems) = parse(text);
    assert!(settings.broken, "{text}");
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems.into_iter().next().unwrap()
}

/// The recorded file is YAML of another product; ours is TOML. What both say: the check is on, at `high`.
/// The head's file would turn the review off. It has no way to say so here, and it is not read: the
/// collector asks for the trusted commit alone, which is proved with the collector.
#[test]
fn case_161_no_key_turns_the_review_off_and_the_base_decides() {
    let case = case("161");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    assert_eq!(expected.need("effective"), "base.yml");
    assert_eq!(case.text("base.yml"), "enabled: true\ngate: high\n");
    let base = policy("gate = \"high\"\n");
    assert_eq!(base.gate, Gate::High);
    assert_eq!(base.broken_settings, None);
    // The head's wishes, were they ever read under an operator whose check is on.
    let operator = OperatorPolicy {
        gate: Gate::High,
        ..OperatorPolicy::default()
    };
    assert_eq!(
        case.text("head.yml"),
        "enabled: false\ngate: none\nignore: ['**']\n"
    );
    let (head, problems) = parse("enabled = false\ngate = \"none\"\nignore = ['**']\n");
    assert_eq!(
        problems
            .iter()
            .map(|problem| problem.line)
            .collect::<Vec<_>>(),
        [1, 2]
    );
    let head = operator.with(&head);
    assert_eq!(head.gate, Gate::High);
    assert_eq!(head.broken_settings, Some(BrokenSettings::IgnoreKnown));
    assert_eq!(
        expected.need("contents_ref_used"),
        "base sha (or default branch), never head"
    );
    expected.finish();
}

/// The recorded files are YAML; each is put into the TOML that makes the same mistake.
#[test]
fn case_162_a_broken_file_is_said_and_never_widens_what_is_sent() {
    let case = case("162");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    let as_toml = [
        ("a1.yml", "ignore = [\"a\", \"b\n", true), // unclosed list
        ("a2.yml", "ignore = ['a']\nignore = ['b']\n", true), // the same key twice
        ("a3.yml", "\tignore: [a]\n", true),        // not the language at all
        ("a4.yml", "- just\n- a list\n", false),    // another shape; no ignore rule in sight
        ("a5.yml", "ignore = 5\n", true),           // another type
        ("a6.yml", "", false),                      // empty
        ("a7.yml", "# only a comment\n", false),
        ("a8.yml", "a = 1\n---\nb = 2\n", false), // two documents
    ];
    let find = |file: &str| as_toml.iter().find(|(name, _, _)| *name == file).unwrap();
    for file in serde_json::from_value::<Vec<String>>(expected.need("error")).unwrap() {
        let (_, text, may_ignore) = find(&file);
        let (settings, problems) = parse(text);
        assert!(settings.broken, "{file}");
        // "message on PR/check": it has a line, and names the file.
        let message = problems[0].to_string();
        assert!(
            problems[0].line >= 1 && message.starts_with(".mirilla.toml:"),
            "{message}"
        );
        // "check not success while config is broken": the policy says so, and nothing an ignore rule
        // might cover is sent.
        let policy = OperatorPolicy::default().with(&settings);
        let expected = if *may_ignore {
            BrokenSettings::IgnoreUnknown
        } else {
            BrokenSettings::IgnoreKnown
        };
        assert_eq!(policy.broken_settings, Some(expected), "{file}");
        assert_eq!(policy.sends_nothing(), *may_ignore, "{file}");
    }
    for file in serde_json::from_value::<Vec<String>>(expected.need("defaults_ok")).unwrap() {
        let (_, text, _) = find(&file);
        assert_eq!(parse(text), (RepoSettings::default(), Vec::new()), "{file}");
        assert_eq!(policy(text), Policy::default(), "{file}");
    }
    assert_eq!(expected.need("must").as_array().unwrap().len(), 2);
    expected.finish();
}

#[test]
fn case_164_ignore_patterns_mean_what_git_says() {
    let case = case("164");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "ignore-truth/1");
    let patterns = case.text("patterns.txt");
    let ignore = Ignore::new(patterns.lines()).unwrap();
    let truth = expected.need("ignored");
    let truth = truth.as_object().unwrap();
    for (path, ignored) in truth {
        assert_eq!(json!(ignore.matches(path)), *ignored, "{path}");
    }
    let paths = case.json("paths.json");
    assert_eq!(paths.as_array().unwrap().len(), truth.len());
    expected.finish();
}

/// Answers of `git check-ignore --no-index` (2.47) that the recorded table does not have.
#[test]
fn more_patterns_mean_what_git_says() {
    let table: &[(&[&str], &str, bool)] = &[
        // A file in an ignored folder cannot be taken back; one beside it can.
        (&["build/", "!build/keep.txt"], "build/keep.txt", true),
        (&["build/*", "!build/keep.txt"], "build/keep.txt", false),
        (&["*", "!*.rs"], "a.rs", false),
        (&["*", "!*.rs"], "src/a.rs", true),
        (&["*", "!*/", "!*.rs"], "src/a.rs", false),
        (&["**"], "x/y", true),
        (&["/*"], "x/y", true),
        (&["a/**/b"], "a/b", true),
        (&["a/**/b"], "a/x/y/b", true),
        (&["a?c"], "abc", true),
        (&["a?c"], "a/c", false),
        (&["[!a]x"], "bx", true),
        (&["[!a]x"], "ax", false),
        (&["\\!x"], "!x", true),
        (&["x\\ "], "x ", true),
        (&["foo/bar"], "x/foo/bar", false),
        (&["{a,b}"], "a", false),
        (&["{a,b}"], "{a,b}", true),
        (&["a\\{b"], "a{b", true),
        (&["[{]x"], "{x", true),
        (&["/****/[!a]"], "x/b", true),
        (&["a**c/x"], "abc/x", true),
        (&["a**c/x"], "a/c/x", false),
        (&["!***", "***"], "x/y", true),
        (&["[*]x"], "*x", true),
        (&["\\*x"], "*x", true),
        (&["\\*x"], "ax", false),
        (&["A.txt"], "a.txt", false),
        (&["node_modules"], "web/node_modules/x/index.js", true),
    ];
    for (patterns, path, ignored) in table {
        let ignore = Ignore::new(patterns.iter().copied()).unwrap();
        assert_eq!(ignore.matches(path), *ignored, "{patterns:?} {path}");
    }
    assert!(!Ignore::none().matches("anything") && !Ignore::none().matches(""));
}

/// The recorded file is YAML and has a key with regular expressions; ours has none, so that the key itself
/// is the error, and the message shows the line with its pattern.
#[test]
fn case_165_a_pattern_that_cannot_be_used_stops_the_sending() {
    let case = case("165");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    let yaml = case.text("config.yml");
    assert!(yaml.contains("ignore_regex: ['((unclosed']"));
    assert!(yaml.contains("ignore: ['assets/*,NOTES.md', '[z-a]', 'a/[', '']"));
    let text =
        "ignore_regex = ['((unclosed']\nignore = ['assets/*,NOTES.md', '[z-a]', 'a/[', '']\n";
    let (settings, problems) = parse(text);
    let level = |wanted: Level| -> String {
        let of_level = problems.iter().filter(|problem| problem.level == wanted);
        of_level
            .map(Problem::to_string)
            .collect::<Vec<String>>()
            .join("\n")
    };
    for pattern in serde_json::from_value::<Vec<String>>(expected.need("errors_mention")).unwrap() {
        assert!(
            level(Level::Error).contains(&pattern),
            "{pattern}: {}",
            level(Level::Error)
        );
    }
    for pattern in serde_json::from_value::<Vec<String>>(expected.need("warns_about")).unwrap() {
        assert!(
            level(Level::Warning).contains(&format!("`{pattern}` is one pattern")),
            "{pattern}"
        );
    }
    // "send files while a broken exclusion is in force without saying so": none is sent, and it is said.
    assert_eq!(expected.need("must_not").as_array().unwrap().len(), 1);
    let policy = OperatorPolicy::default().with(&settings);
    assert!(policy.sends_nothing());
    let files: Vec<String> = serde_json::from_value(case.json("files.json")).unwrap();
    let mut diff = String::new();
    for path in &files {
        diff += &format!(
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"
        );
    }
    let parsed = mirilla_diff::parse(diff.as_bytes());
    let plan = mirilla_domain::chunk::plan_chunks(&parsed.files, &[], &policy, 8_000);
    assert_eq!((plan.chunks.len(), plan.skipped.len()), (0, files.len()));
    expected.finish();
}

/// The recorded file is YAML, whose bare words change their type; TOML's do not, and what stands bare in it
/// is a syntax error. The same wishes as TOML, with the coercions that the schema documents.
#[test]
fn case_167_values_keep_the_type_they_are_written_in() {
    let case = case("167");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    let text = "gate = \"off\"\nignore = \"src/gen/**\"\nlanguage = \"no\"\nmax-comments = '5'\nmax-usd = 1e-1\n";
    let (settings, problems) = parse(text);
    assert_eq!(problems, []);
    assert_eq!(json!(settings.ignore), expected.need("ignore"));
    assert_eq!(json!(settings.gate), expected.need("gate"));
    assert_eq!(json!(settings.language), expected.need("language"));
    assert_eq!(json!(settings.max_comments), expected.need("max_comments"));
    let budget = expected.need("budget_usd");
    assert_eq!(settings.max_usd, PicoUsd::parse(budget.as_str().unwrap()));
    // Keys that we do not have are typed errors, the version's number among them.
    assert_eq!(expected.need("version"), "1.10 or a typed error");
    for (text, says) in [
        ("version = 1.10\n", "unknown key `version`"),
        ("enabled = true\n", "unknown key `enabled`"),
        (
            "budget_daily = 0x10\n",
            "`budget_daily` is the operator's setting",
        ),
        ("max-usd = 0x10\n", "`max-usd` must be an amount"),
        ("gate = off\n", "not valid TOML"),
        ("gate = false\n", "`gate` must be one of"),
        ("language = false\n", "`language` must be the name"),
    ] {
        assert!(
            only_error(text).message.contains(says),
            "{text}: {}",
            only_error(text)
        );
    }
    assert_eq!(expected.need("must_not").as_array().unwrap().len(), 3);
    expected.finish();
}

#[test]
fn every_problem_has_its_line_and_column() {
    let text = "ignore = []\nmax-coments = 3\n\n[thresholds]\nmin-severity = \"bad\"\n  min-konfidence = 3\nmin-confidence = 101\n";
    let (_, problems) = parse(text);
    let places: Vec<(u32, u32)> = problems.iter().map(|p| (p.line, p.column)).collect();
    assert_eq!(places, [(2, 1), (5, 16), (6, 3), (7, 18)]);
    let shown = problems[0].to_string();
    assert!(
        shown.starts_with(".mirilla.toml:2:1: error: unknown key `max-coments`"),
        "{shown}"
    );
    assert!(shown.ends_with("\n  | max-coments = 3"), "{shown}");
    // Columns count characters, and control characters of a line are not printed.
    let problem = only_error("\"\u{e4}\u{e4}\" = 1\n");
    assert_eq!((problem.line, problem.column), (1, 1));
    let problem = only_error("rules = \"\u{1b}[31m\"\n");
    assert!(!problem.to_string().contains('\u{1b}'));
}

#[test]
fn an_operators_key_is_refused_by_name_in_any_spelling() {
    for key in [
        "provider",
        "endpoint",
        "region",
        "model",
        "prices",
        "purses",
        "link-hosts",
        "secrets",
        "trusted-bases",
        "self-dismiss",
        "max-tokens",
        "chunk-tokens",
        "verify",
        "allowed-accounts",
        "api-key",
        "debounce",
        "Model",
        "link_hosts",
        "TRUSTED_BASES",
        "webhook_secret",
    ] {
        for text in [
            format!("{key} = \"x\"\n"),
            format!("# first\n\n[{key}]\nname = 1\n"),
        ] {
            let problem = only_error(&text);
            assert!(
                problem
                    .message
                    .starts_with(&format!("`{key}` is the operator's setting")),
                "{problem}"
            );
            assert_eq!(problem.line, if text.starts_with('#') { 3 } else { 1 });
            assert!(problem.column >= 1);
        }
    }
    // The settings of a repository have no field for any of them.
    let fields = serde_json::to_value(RepoSettings::default()).unwrap();
    let fields: Vec<&String> = fields.as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        [
            "broken",
            "gate",
            "ignore",
            "ignore_unknown",
            "language",
            "max_comments",
            "max_usd",
            "min_confidence",
            "min_severity",
            "on_inconclusive",
            "pr_description",
            "rules"
        ]
    );
}

#[test]
fn a_misspelt_exclusion_stops_the_sending() {
    for text in [
        "Ignore = ['a']\n",
        "ignores = ['a']\n",
        "exclude = ['a']\n",
        "ignore-files = ['a']\n",
    ] {
        assert!(policy(text).sends_nothing(), "{text}");
        assert!(errors(text)[0].contains("unknown key"), "{text}");
    }
    let other = policy("colour = 1\nignore = ['gen/']\nmax-comments = 3\n");
    assert_eq!(other.broken_settings, Some(BrokenSettings::IgnoreKnown));
    assert!(other.ignored().matches("gen/a.rs") && !other.ignored().matches("src/a.rs"));
    // What could be read still makes things stricter.
    assert_eq!(other.max_comments, 3);
}

#[test]
fn sizes_are_bounded() {
    let long = format!("# {}\n", "x".repeat(70_000));
    assert!(policy(&long).sends_nothing());
    let many = format!("ignore = [{}]\n", "'a',".repeat(501));
    assert!(only_error(&many).message.contains("at most 500"));
    assert!(policy(&many).sends_nothing());
    let pattern = format!("ignore = ['{}']\n", "a".repeat(501));
    assert!(
        only_error(&pattern)
            .message
            .contains("longer than 500 bytes")
    );
    let rule = format!("rules = ['{}']\n", "a".repeat(2_001));
    assert!(only_error(&rule).message.contains("2000 characters"));
    let rules = format!("rules = [{}]\n", "'a',".repeat(51));
    assert!(only_error(&rules).message.contains("at most 50"));
    assert!(
        only_error("max-comments = 1001\n")
            .message
            .contains("0 to 1000")
    );
    for amount in ["0", "-1", "0.0", "nan", "inf", "'free'"] {
        assert!(
            only_error(&format!("max-usd = {amount}\n"))
                .message
                .contains("above zero"),
            "{amount}"
        );
    }
    let (_, problems) = parse(&"a = 1\na = 1\n".repeat(200));
    assert_eq!(problems.len(), 50);
}

#[test]
fn rules_are_texts_or_tables() {
    let (settings, problems) = parse("rules = ['one', { text = ' two ', globs = 'src/*.rs' }]\n");
    assert_eq!(problems, []);
    assert_eq!(settings.rules[0].text, "one");
    assert_eq!(
        (
            settings.rules[1].text.as_str(),
            settings.rules[1].globs.len()
        ),
        ("two", 1)
    );
    assert_eq!(parse("[[rules]]\ntext = 'x'\n").0.rules.len(), 1);
    for (text, says) in [
        ("rules = [{ globs = ['a'] }]\n", "a rule needs a `text`"),
        (
            "rules = [{ text = 'a', when = 'b' }]\n",
            "unknown key `when`",
        ),
        ("rules = [1]\n", "`rules` must be"),
        ("rules = [{ text = 'a', globs = ['[z-a]'] }]\n", "`[z-a]`"),
        ("rules = ['']\n", "1 to 2000 characters"),
        ("thresholds = 3\n", "`thresholds` must be a table"),
        ("min-severity = 'high'\n", "under `[thresholds]`"),
    ] {
        assert!(
            only_error(text).message.contains(says),
            "{text}: {}",
            only_error(text)
        );
    }
}

#[test]
fn operator_settings_read_kebab_case_and_refuse_unknown_keys() {
    let text = "model = 'claude-opus-5-5'\nmax-usd = 0.75\nrepository-day-usd = '20'\ntrusted-bases = ['main', 'release']\npr-description = 'never'\n";
    let operator: OperatorPolicy = toml::from_str(text).unwrap();
    assert_eq!(operator.max_usd.exact(), "0.75");
    assert_eq!(operator.repository_day_usd.exact(), "20.00");
    assert_eq!(operator.pr_description, PrDescription::Never);
    assert!(toml::from_str::<OperatorPolicy>("modle = 'x'\n").is_err());
    let round: OperatorPolicy = toml::from_str(&toml::to_string(&operator).unwrap()).unwrap();
    assert_eq!(round, operator);
}

#[test]
fn a_policy_reads_back_and_tolerates_missing_fields() {
    let policy: Policy =
        serde_json::from_value(json!({"max_comments": 3, "max_usd": 0.4})).unwrap();
    assert_eq!(
        (policy.max_comments, policy.max_usd.exact()),
        (3, "0.40".to_owned())
    );
    assert_eq!(policy.model, "claude-sonnet-5-5");
    let round: Policy = serde_json::from_value(serde_json::to_value(&policy).unwrap()).unwrap();
    assert_eq!(round, policy);
}

#[test]
fn a_wish_for_more_is_named_with_what_applies() {
    let policy = policy("max-usd = 5\nmax-comments = 100\non-inconclusive = 'allow'\n");
    let overruled: Vec<(&str, &str, &str)> = policy
        .overruled
        .iter()
        .map(|o| (o.key.as_str(), o.wanted.as_str(), o.applies.as_str()))
        .collect();
    assert_eq!(
        overruled,
        [
            ("max-usd", "5.00", "1.00"),
            ("max-comments", "100", "20"),
            ("on-inconclusive", "allow", "block")
        ]
    );
}

fn a_severity() -> impl Strategy<Value = Severity> {
    proptest::sample::select(Severity::ALL.to_vec())
}

fn a_gate() -> impl Strategy<Value = Gate> {
    proptest::sample::select(vec![Gate::Off, Gate::High, Gate::Medium, Gate::Low])
}

fn an_operator() -> impl Strategy<Value = OperatorPolicy> {
    let numbers = (1..5_000_000_u64, 0..100_u8, 0..1_000_u32);
    (numbers, a_severity(), a_gate(), any::<bool>(), "[a-c]/").prop_map(
        |((micro, min_confidence, max_comments), min_severity, gate, allow, pattern)| {
            OperatorPolicy {
                max_usd: PicoUsd::from_micro(micro),
                min_confidence,
                max_comments,
                min_severity,
                gate,
                on_inconclusive: if allow {
                    OnInconclusive::Allow
                } else {
                    OnInconclusive::Block
                },
                ignore: vec![pattern],
                ..OperatorPolicy::default()
            }
        },
    )
}

/// A settings file that sets every key it may, to any value.
fn a_file() -> impl Strategy<Value = String> {
    let numbers = (1..5_000_000_u64, 0..=100_u8, 0..=1_000_u32);
    (numbers, a_severity(), a_gate(), any::<bool>(), "!?[a-c]/", any::<bool>()).prop_map(
        |((micro, confidence, comments), severity, gate, allow, pattern, broken)| {
            format!(
                "ignore = ['{pattern}']\nmax-usd = \"{}\"\nmax-comments = {comments}\ngate = {}\non-inconclusive = '{}'\n{}[thresholds]\nmin-severity = '{}'\nmin-confidence = {confidence}\n",
                PicoUsd::from_micro(micro).exact(),
                json!(gate),
                if allow { "allow" } else { "block" },
                if broken { "model = 'dear'\n" } else { "" },
                severity.as_str(),
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a repository writes, the policy is at least as strict as the operator's and as strict as
    /// the repository asks for; and nothing that is the operator's changes.
    #[test]
    fn a_repository_only_makes_things_stricter(operator in an_operator(), file in a_file()) {
        let (repo, problems) = parse(&file);
        prop_assert!(problems.len() <= 1, "{problems:?}\n{file}");
        let policy = operator.with(&repo);
        prop_assert!(policy.max_usd <= operator.max_usd && Some(policy.max_usd) <= repo.max_usd);
        prop_assert!(policy.max_comments <= operator.max_comments && Some(policy.max_comments) <= repo.max_comments);
        prop_assert!(policy.min_severity >= operator.min_severity && Some(policy.min_severity) >= repo.min_severity);
        prop_assert!(policy.min_confidence >= operator.min_confidence && Some(policy.min_confidence) >= repo.min_confidence);
        prop_assert!(policy.gate >= operator.gate && Some(policy.gate) >= repo.gate);
        prop_assert!(policy.gate.fails_at() <= operator.gate.fails_at() || operator.gate == Gate::Off);
        prop_assert!(policy.on_inconclusive >= operator.on_inconclusive);
        let theirs = operator.with(&RepoSettings::default()).ignored();
        let ours = policy.ignored();
        for path in ["a/x", "b/x", "c/x", "d"] {
            prop_assert!(ours.matches(path) || !theirs.matches(path), "{path}");
        }
        let untouched = |policy: &Policy| {
            json!([
                policy.model, policy.max_tokens, policy.chunk_tokens, policy.outsider_percent, policy.link_hosts,
                policy.trusted_bases, policy.self_dismiss, policy.verify, policy.repository_day_usd,
                policy.account_month_usd
            ])
        };
        prop_assert_eq!(untouched(&policy), untouched(&operator.with(&RepoSettings::default())));
    }

    /// No text makes the reader panic; what it calls whole has no error, and what it calls broken has one.
    #[test]
    fn any_text_is_read(text in "\\PC*|([a-z-]{1,12} ?= ?[\\[\\]{}'\"a-z0-9.,]{0,12}\n){0,6}") {
        let (settings, problems) = parse(&text);
        prop_assert_eq!(settings.broken, problems.iter().any(Problem::is_error));
        prop_assert!(settings.broken || !settings.ignore_unknown);
    }
}
