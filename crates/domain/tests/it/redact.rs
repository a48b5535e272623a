//! Secrets do not get out: known ones in any form, unknown ones by shape, and opaque text by default.
//!
//! Every credential here is made up; each is put together at run time so that no scanner takes it for one.

use std::sync::LazyLock;

use mirilla_casekit::cases;
use mirilla_domain::redact::{Haystack, Redactor, credential_shape, mask_diff};
use mirilla_domain::sanitise::{self, TextPolicy};
use proptest::prelude::*;
use serde_json::Value;

/// Letters and digits that look generated.
const NOISE: &str = "q7Zt2Lk9Xw4Rb8Vn3Hs6Jd1Gf5Pm0Yc7Tq2Ke9Wa4Ru8Nx3Bv6Lz1Sd5Fh0Jg7Mk2Qp9Xc4";

fn noise(len: usize) -> &'static str {
    &NOISE[..len]
}

fn hex(len: usize) -> String {
    "3f8a1c9e72b4d06587e1f0a9c2d4b6384c6e80a1b2c3d5f7"[..len].to_owned()
}

/// One made-up credential of each shape, with the kind it must be reported as.
fn credentials() -> Vec<(&'static str, String)> {
    let jwt = format!(
        "{}{}.{}{}.{}",
        "ey",
        "JhbGciOiJIUzI1NiJ9",
        "ey",
        "JzdWIiOiIxMjM0NTYifQ",
        noise(43)
    );
    vec![
        (
            "aws-access-key",
            format!("{}{}", "AKIA", "Q3EGVZ2LKT5WXB7N"),
        ),
        (
            "aws-access-key",
            format!("{}{}", "ASIA", "Q3EGVZ2LKT5WXB7N"),
        ),
        ("github-token", format!("{}{}", "ghp_", noise(36))),
        ("github-token", format!("{}{}", "gho_", noise(36))),
        ("github-token", format!("{}{}", "ghs_", noise(36))),
        ("github-token", format!("{}{}{jwt}", "ghs_", "123456_")),
        ("github-token", format!("{}{}", "github_pat_", noise(60))),
        ("gitlab-token", format!("{}{}", "glpat-", noise(20))),
        (
            "gitlab-token",
            format!("{}{}.01.{}", "glpat-", noise(27), "0w1abcdef"),
        ),
        ("gitlab-token", format!("{}{}", "gldt-", noise(20))),
        (
            "slack-token",
            format!("{}{}", "xoxb-", "281734650912-9817346501-Zt2Lk9Xw4Rb8Vn3H"),
        ),
        (
            "slack-webhook",
            format!("{}{}", "T0A1B2C3D/B0A1B2C3D/", noise(24)),
        ),
        ("stripe-key", format!("{}{}", "sk_live_", noise(24))),
        ("google-api-key", format!("{}{}", "AIza", noise(35))),
        ("npm-token", format!("{}{}", "npm_", noise(36))),
        ("pypi-token", format!("{}{}", "pypi-", noise(70))),
        ("json-web-token", jwt),
        ("anthropic-key", format!("{}{}", "sk-ant-", noise(40))),
        ("openai-key", format!("{}{}", "sk-proj-", noise(40))),
        ("openai-key", format!("{}{}", "sk-", noise(48))),
        ("twilio-key", format!("{}{}", "SK", hex(32))),
        (
            "sendgrid-key",
            format!("{}.{}.{}", "SG", noise(22), noise(43)),
        ),
        ("hugging-face-token", format!("{}{}", "hf_", noise(34))),
        ("vault-token", format!("{}{}", "hvs.", noise(30))),
        (
            "digitalocean-token",
            format!("{}{}{}", "dop_v1_", hex(32), hex(32)),
        ),
        ("shopify-token", format!("{}{}", "shpat_", hex(32))),
        ("docker-token", format!("{}{}", "dckr_pat_", noise(27))),
    ]
}

/// The text around a credential.
fn around(kind: &str, secret: &str) -> String {
    match kind {
        "slack-webhook" => format!("see https://hooks.slack.com/services/{secret} here"),
        _ => format!("The key `{secret}` is in the log."),
    }
}

#[test]
fn every_shape_is_replaced_by_its_kind() {
    for (kind, secret) in credentials() {
        let out = Redactor::default().redact(&around(kind, &secret));
        assert!(!out.text.contains(&secret[4..]), "{kind}: {}", out.text);
        assert!(
            out.text.contains(&format!("[redacted: {kind}]")),
            "{kind}: {}",
            out.text
        );
        assert_eq!(
            (out.total(), out.counts.get(kind)),
            (1, Some(&1)),
            "{kind}: {:?}",
            out.counts
        );
        assert!(
            out.text.ends_with("here") || out.text.ends_with("` is in the log."),
            "{}",
            out.text
        );
    }
}

#[test]
fn shapes_survive_what_markdown_puts_around_them() {
    for (kind, secret) in credentials()
        .into_iter()
        .filter(|(kind, _)| *kind != "slack-webhook")
    {
        for text in [
            format!("x{secret}"),
            format!("\"{secret}\""),
            format!("({secret})"),
            format!("a={secret};"),
            format!("**{secret}**"),
            format!("<{secret}>"),
            format!("{secret}\n"),
            format!("[a]({secret})"),
        ] {
            let out = Redactor::default().redact(&text).text;
            assert!(!out.contains(&secret[4..]), "{kind} in {text:?}: {out}");
        }
    }
}

#[test]
fn values_beside_a_name_are_replaced_and_the_name_stays() {
    let value = noise(18);
    for (line, kind) in [
        (format!("password = \"{value}\""), "password"),
        (format!("\"db_password\": \"{value}\","), "password"),
        (format!("const API_KEY: &str = \"{value}\";"), "key"),
        (format!("let client_secret = '{value}'"), "secret"),
        (format!("self.auth_token=b'{value}'"), "token"),
        (format!("config['secret'] = `{value}`"), "secret"),
        (format!("export STRIPE_SECRET={value}"), "secret"),
        (format!("  apiKey: {value}"), "key"),
        (format!("setPassword(\"{value}\")"), "password"),
        (format!("Authorization: Bearer {value}"), "token"),
        (format!("-H 'Authorization: token {value}'"), "token"),
        (
            format!("postgres://app:{value}@db.internal/x"),
            "url-password",
        ),
        (format!("redis://:{value}@cache:6379"), "url-password"),
        (
            format!("AccountKey={}{}==;", noise(60), noise(26)),
            "azure-storage-key",
        ),
        (
            format!("aws_secret_access_key = {}", noise(40)),
            "aws-secret-key",
        ),
    ] {
        let out = Redactor::default().redact(&line);
        assert!(
            out.text.contains(&format!("[redacted: {kind}]")),
            "{line}: {}",
            out.text
        );
        assert!(!out.text.contains(value), "{}", out.text);
    }
}

#[test]
fn ordinary_text_is_not_touched() {
    for text in [
        "password = \"changeme please\"",
        "The password is read from the environment.",
        "token = parse_token(&input)?;",
        "let api_key = config.get(\"api-key-name\")",
        "secret = os.environ[\"SECRET\"]",
        "const TOKEN_TYPE = \"Bearer\"",
        "password: ${DB_PASSWORD}",
        "secretName: database-credentials-v2",
        "tokenizer = \"bert-base-uncased\"",
        "https://example.org:8080/a@b",
        "postgres://localhost:5432/app",
        "key = \"user.profile.name\"",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "token_count: 12345678",
        "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "550e8400-e29b-41d4-a716-446655440000",
        "sk-learn is imported",
        "the SG.fn call",
        "eyJ is how a JWT starts",
        "the `ghp_` prefix",
        "-----BEGIN CERTIFICATE-----",
        "xoxo-hugs",
        "AKIA is a prefix",
        "npm_config_registry",
    ] {
        assert_eq!(Redactor::default().redact(text).text, text);
    }
}

#[test]
fn private_keys_vanish_whole_and_prose_stays() {
    let body = format!("{}\n", noise(64)).repeat(4);
    let armour = |label: &str| format!("-----BEGIN {label}-----\n{body}-----END {label}-----");
    for label in [
        "RSA PRIVATE KEY",
        "PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ] {
        let text = format!("Before\n```\n{}\n```\nafter", armour(label));
        let out = Redactor::default().redact(&text);
        assert_eq!(out.text, "Before\n```\n[redacted: private-key]\n```\nafter");
        assert_eq!(out.total(), 1);
    }
    let open = format!("x\n-----BEGIN PRIVATE KEY-----\n{body}The rest is prose.");
    assert_eq!(
        Redactor::default().redact(&open).text,
        "x\n[redacted: private-key]\nThe rest is prose."
    );
    let one_line = format!(
        "key = \"-----BEGIN PRIVATE KEY-----\\n{}\\n-----END PRIVATE KEY-----\\n\";",
        noise(64)
    );
    assert_eq!(
        Redactor::default().redact(&one_line).text,
        "key = \"[redacted: private-key]\\n\";"
    );
    let fence_closed =
        format!("```\n-----BEGIN PRIVATE KEY-----\n{body}```\nprose\n-----END PRIVATE KEY-----");
    assert!(
        Redactor::default()
            .redact(&fence_closed)
            .text
            .contains("\n```\nprose\n")
    );
}

#[test]
fn known_values_are_found_in_every_disguise() {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    let secret = format!("{}{}", "sk-ant-api03-", &NOISE[..40]);
    let redactor = Redactor::new([("model-key", secret.as_str())]);
    let by = |len: usize, glue: &str| {
        let chars: Vec<char> = secret.chars().collect();
        chars
            .chunks(len)
            .map(|chunk| chunk.iter().collect::<String>())
            .collect::<Vec<_>>()
            .join(glue)
    };
    let disguises = [
        secret.clone(),
        by(7, " "),
        by(7, "\n"),
        by(1, " "),
        by(1, "-"),
        by(3, "."),
        by(7, " and then "),
        by(8, ", "),
        by(12, "` `"),
        by(10, "**"),
        secret.to_uppercase(),
        secret.chars().rev().collect(),
        STANDARD.encode(&secret),
        URL_SAFE_NO_PAD.encode(&secret),
        STANDARD.encode(format!("a{secret}")),
        STANDARD.encode(format!("ab{secret}z")),
        hex_of(&secret),
        hex_of(&secret).to_uppercase(),
        spelled(&secret, "%", ""),
        spelled(&secret, "\\x", ""),
        spelled(&secret, "0x", ", "),
        spelled(&secret, "", " "),
    ];
    for disguise in disguises {
        let out = redactor.redact(&format!("It says {disguise} there."));
        assert!(
            out.counts.contains_key("model-key"),
            "{disguise}: {}",
            out.text
        );
        assert!(
            longest_common(&out.text, &secret) < 8,
            "{disguise} left {}",
            out.text
        );
        assert!(
            out.text.starts_with("It says ") && out.text.ends_with(" there."),
            "{}",
            out.text
        );
        let squeezed: String = out
            .text
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        assert!(
            longest_common(&squeezed, &secret[13..]) < 8,
            "{disguise} left {}",
            out.text
        );
    }
    for at in 13..secret.len() - 8 {
        let out = redactor.redact(&format!("<{}>", &secret[at..at + 8]));
        assert_eq!(out.text, "<[redacted: model-key]>", "fragment at {at}");
    }
}

#[test]
fn known_values_do_not_eat_words() {
    let redactor = Redactor::new([
        (
            "database",
            "postgres://service:correct-horse-battery@database.internal/production",
        ),
        ("short", "abc"),
    ]);
    let text = "The production database uses postgres; see service.rs. abc and sk-ant-api03- are prefixes.";
    assert_eq!(redactor.redact(text).text, text);
    assert_eq!(format!("{redactor:?}"), "Redactor { known: 1, .. }");
}

fn hex_of(text: &str) -> String {
    spelled(text, "", "")
}

/// Each byte in hexadecimal between two texts.
fn spelled(text: &str, before: &str, after: &str) -> String {
    text.bytes()
        .map(|b| format!("{before}{b:02x}{after}"))
        .collect::<Vec<_>>()
        .concat()
}

/// Length of the longest common substring, case aside.
fn longest_common(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    (1..=b.len())
        .rev()
        .find(|&len| (0..=b.len() - len).any(|at| a.contains(&b[at..at + len])))
        .unwrap_or(0)
}

#[test]
fn opaque_runs_are_posted_only_if_the_public_can_read_them() {
    let diff = format!("+let digest = \"{}\";\n", hex(40));
    let public = Haystack::new([
        diff.as_bytes(),
        b"src/a1/module_with_a_long_name_2.rs".as_slice(),
    ]);
    let redactor = Redactor::default();
    let post = |text: &str| redactor.redact_for_posting(text, &public).text;
    assert_eq!(
        post(&format!("the digest {} is short", hex(40))),
        format!("the digest {} is short", hex(40))
    );
    assert_eq!(
        post(&format!("part {}", &hex(40)[..33])),
        format!("part {}", &hex(40)[..33])
    );
    assert_eq!(
        post("see src/a1/module_with_a_long_name_2.rs."),
        "see src/a1/module_with_a_long_name_2.rs."
    );
    assert_eq!(
        post("see -src/a1/module_with_a_long_name_2-"),
        "see -src/a1/module_with_a_long_name_2-"
    );
    assert_eq!(
        post(&format!("the value {} leaks", noise(24))),
        "the value [redacted: opaque-text] leaks"
    );
    assert_eq!(
        post(&format!("the value {} is fine", noise(23))),
        format!("the value {} is fine", noise(23))
    );
    let other = hex(48)[8..40].replace(|c: char| c.is_ascii_digit(), "e");
    assert_eq!(
        post(&other),
        "[redacted: opaque-text]",
        "hexadecimal without digits"
    );
    let words = "a-very-long-name-without-digits and internationalisation/localisation/translation";
    assert_eq!(post(words), words);
    assert_eq!(
        format!("{public:?}"),
        format!("Haystack {{ bytes: {}, .. }}", diff.len() + 35)
    );
}

#[test]
fn placeholders_of_ours_pass_every_net() {
    let redactor = Redactor::new([("model-key", NOISE)]);
    for (kind, secret) in credentials() {
        let once = redactor.redact_for_posting(&around(kind, &secret), &Haystack::default());
        let twice = redactor.redact_for_posting(&once.text, &Haystack::default());
        assert_eq!(
            (twice.text.as_str(), twice.total()),
            (once.text.as_str(), 0)
        );
    }
}

#[test]
fn case_131_secrets_echoed_by_the_model_are_in_no_field() {
    let case = &cases("tests/fixtures/cases", |name| name.starts_with("131"))[0];
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "sanitise/1");
    expected.need("check");
    assert_eq!(expected.need("raw_is_live"), serde_json::json!(["secrets"]));
    let mut after = expected.take_object("after_sanitising").unwrap();
    let text = case.text("model_text.md");
    assert!(secrets(&text) >= 5, "the oracle sees the secrets");
    assert_eq!(after.need("none_live"), serde_json::json!(["secrets"]));
    let policy = TextPolicy::default();
    let redacted = Redactor::default().redact(&text).text;
    let fields = [
        ("body", sanitise::body(&redacted, &policy)),
        (
            "title",
            sanitise::title(
                &redacted,
                &TextPolicy {
                    max_title_chars: 5_000,
                    ..policy
                },
            ),
        ),
        ("suggestion", sanitise::suggestion(&redacted, None).unwrap()),
        ("code", sanitise::code_fence("", &redacted)),
        ("check output", redacted.clone()),
    ];
    let Value::Array(visible) = after.need("visible_text_contains") else {
        panic!("not a list")
    };
    for (field, output) in fields {
        assert_eq!(secrets(&output), 0, "{field}: {output}");
        for text in &visible {
            assert!(
                output.contains(text.as_str().unwrap()),
                "{field} lost {text}"
            );
        }
        assert!(
            output.contains("redacted: github-token") && output.contains("redacted: private-key"),
            "{field}"
        );
    }
    after.finish();
    expected.finish();
}

/// The secrets that the cases' own checker knows.
fn secrets(text: &str) -> usize {
    [
        r"AKIA[0-9A-Z]{16}",
        r"gh[pousr]_[A-Za-z0-9]{36}",
        r"github_pat_[A-Za-z0-9_]{30,}",
        r"glpat-[A-Za-z0-9_\-]{20}",
        r"xox[abprs]-[A-Za-z0-9-]{10,}",
        r"sk-ant-[A-Za-z0-9_\-]{20,}",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
        r"eyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}",
    ]
    .iter()
    .map(|pattern| regex::Regex::new(pattern).unwrap().find_iter(text).count())
    .sum()
}

#[test]
fn masking_a_diff_keeps_its_lines() {
    let token = format!("{}{}", "ghp_", noise(36));
    let body = noise(64);
    let diff = format!(
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,9 @@ fn {token}\n context {token}\n-old = \"{token}\"\n+new = \"{token}\";\n+-----BEGIN RSA PRIVATE KEY-----\n+{body}\n+  {body}\n+-----END RSA PRIVATE KEY-----\n+password = \"changeme-please\"\n+\n last\u{fffd}\n\\ No newline at end of file\n"
    );
    let masked = mask_diff(diff.as_bytes());
    let text = String::from_utf8(masked.diff).unwrap();
    assert_eq!(text.lines().count(), diff.lines().count());
    let marks = |text: &str| {
        text.lines()
            .map(|line| line.chars().next())
            .collect::<Vec<_>>()
    };
    assert_eq!(marks(&text), marks(&diff));
    let hunk = text.split_once("@@ fn").unwrap().1;
    assert!(
        !hunk.split_once('\n').unwrap().1.contains(&token[4..]) && !text.contains(body),
        "{text}"
    );
    assert!(text.contains("\n+new = \"[masked: github-token]\";\n"));
    assert!(text.contains("\n+[masked: private-key]\n+[masked: private-key]\n+  [masked: private-key]\n+[masked: private-key]\n"));
    assert!(
        text.contains("\n+password = \"changeme-please\"\n+\n last"),
        "fillers stay: {text}"
    );
    assert_eq!(masked.counts.get("github-token"), Some(&3));
    assert_eq!(masked.counts.get("private-key"), Some(&1));
}

#[test]
fn credential_shapes_stop_a_reviewer_and_its_own_keys_do_not() {
    let jwt = format!(
        "{}{}.{}{}.{}",
        "ey",
        "JhbGciOiJSUzI1NiJ9",
        "ey",
        "JpYXQiOjE3MDAwMDAwMDB9",
        noise(43)
    );
    let pem = format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\n",
        noise(64)
    );
    for (value, kind) in [
        (format!("{}{jwt}", "ghs_1_"), "github-token"),
        (format!("{}{}", "ghs_", noise(36)), "github-token"),
        (format!("{}{}", "ghp_", noise(36)), "github-token"),
        (format!("{}{}", "github_pat_", noise(40)), "github-token"),
        (format!("{}{}", "glpat-", noise(20)), "gitlab-token"),
        (format!("{}{}", "glrt-", noise(20)), "gitlab-token"),
        (jwt.clone(), "json-web-token"),
        (format!("Bearer {jwt}"), "json-web-token"),
        (pem.clone(), "private-key"),
        (pem.replace('\n', "\\n"), "private-key"),
        (
            format!("{{\"key\": \"{}\"}}", pem.replace('\n', "\\n")),
            "private-key",
        ),
        (pem.replace("RSA ", ""), "private-key"),
        (pem.replace("RSA", "EC"), "private-key"),
        (pem.replace("RSA", "OPENSSH"), "private-key"),
        (
            pem.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"),
            "private-key",
        ),
        (base64_of(&pem), "private-key"),
        (base64_of(&format!(" {pem}")), "private-key"),
        (base64_of(&format!("  {pem}")), "private-key"),
        (
            format!("https://x-access-token:{}@github.com/a/b", noise(20)),
            "forge-address",
        ),
        (
            format!(
                "AUTHORIZATION: basic {}",
                base64_of(&format!("x-access-token:{}", noise(20)))
            ),
            "git-basic-auth",
        ),
    ] {
        assert_eq!(credential_shape(&value), Some(kind), "{value}");
    }
    for value in [
        "",
        "info",
        "/var/task",
        "us-east-1",
        "https://api.anthropic.com",
        "arn:aws:secretsmanager:eu-west-1:1:secret:x",
        "ghp_",
        "the glpat- prefix",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "arn:aws:s3:::bucket",
        "claude-sonnet-5-5",
        "2026-11-29T00:00:00Z",
    ] {
        assert_eq!(credential_shape(value), None, "{value}");
    }
    // What the reviewer must hold to do its work.
    assert_eq!(
        credential_shape(&format!("{}{}", "sk-ant-api03-", noise(60))),
        None
    );
    assert_eq!(
        credential_shape(&format!("{}{}", "ASIA", "Q3EGVZ2LKT5WXB7N")),
        None
    );
    assert_eq!(
        credential_shape(&NOISE.repeat(6)),
        None,
        "an AWS session token"
    );
}

fn base64_of(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

static KNOWING: LazyLock<Redactor> = LazyLock::new(|| Redactor::new([("model-key", NOISE)]));

/// Text of `len` characters of an alphabet.
fn of(alphabet: &'static str, len: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let chars: Vec<char> = alphabet.chars().collect();
    prop::collection::vec(prop::sample::select(chars), len)
        .prop_map(|chars| chars.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn posted_text_holds_no_opaque_run_of_its_own(
        pieces in prop::collection::vec(prop_oneof![
            of("abc de\n", 1..12),
            of("abcdefGHIJ0123456789+/=_-", 20..60),
            of("0123456789abcdef", 30..44),
            of("é\u{200b}\n `*[](){}\"'$", 0..8),
            Just("```\n".to_owned()), Just("-----BEGIN PRIVATE KEY-----\n".to_owned()),
            Just("password = \"".to_owned()), Just("diffrun0123456789abcdefghij".to_owned()),
        ], 0..12),
    ) {
        let text = pieces.concat();
        let diff = b"+ diffrun0123456789abcdefghij\n".as_slice();
        let redactor = &*KNOWING;
        let out = redactor.redact_for_posting(&text, &Haystack::new([diff]));
        for run in out.text.split(|c: char| !(c.is_ascii_alphanumeric() || "+/=_-".contains(c))) {
            let mixed = run.contains(|c: char| c.is_ascii_digit()) && run.contains(|c: char| c.is_ascii_alphabetic());
            let core = run.trim_matches(['+', '/', '=', '_', '-']);
            let public = std::str::from_utf8(diff).unwrap().contains(core);
            prop_assert!(run.len() < 24 || !mixed || public, "{run:?} in {:?}", out.text);
        }
        let again = redactor.redact_for_posting(&out.text, &Haystack::new([diff]));
        prop_assert_eq!(again.total(), 0, "{:?} from {:?}", again, out);
    }

    #[test]
    fn masking_never_changes_the_number_of_lines(
        pieces in prop::collection::vec(prop_oneof![
            Just("@@ -1,3 +1,4 @@".to_owned()), Just("-----BEGIN PRIVATE KEY-----".to_owned()),
            Just("-----END PRIVATE KEY-----".to_owned()), Just("+token = \"q7Zt2Lk9Xw4Rb8Vn3H\"".to_owned()),
            Just("\n".to_owned()), Just("\n".to_owned()), Just("\r\n".to_owned()), of("+- abc=\\", 0..20),
        ], 0..40),
    ) {
        let diff = pieces.concat();
        let masked = mask_diff(diff.as_bytes());
        let count = |bytes: &[u8]| bytes.split(|&b| b == b'\n').count();
        prop_assert_eq!(count(&masked.diff), count(diff.as_bytes()));
    }
}
