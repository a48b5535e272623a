//! What an operator may say, and how it is refused.

use super::*;

fn environment(pairs: &[(&str, &str)]) -> Environment {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn an_empty_environment_names_everything_that_is_missing_at_once() {
    let problems = host(&Environment::new()).unwrap_err().join("\n");
    for name in [
        "MIRILLA_ALLOWED_ACCOUNTS",
        "MIRILLA_WEBHOOK_SECRET",
        "MIRILLA_GITHUB_APP_KEY_FILE",
    ] {
        assert!(problems.contains(name), "{problems}");
    }
}

#[test]
fn runs_are_kept_for_a_week_or_as_long_as_is_said() {
    for (said, wanted) in [
        (None, Some(7)),
        (Some("30"), Some(30)),
        (Some("0"), Some(0)),
        (Some("91"), None),
        (Some("-1"), None),
        (Some("a week"), None),
    ] {
        let mut given = environment(&[
            ("MIRILLA_ALLOWED_ACCOUNTS", "acme"),
            ("MIRILLA_WEBHOOK_SECRET", "not-a-real-secret"),
            ("MIRILLA_GITHUB_READ_TOKEN", "made-up-read"),
            ("MIRILLA_GITHUB_WRITE_TOKEN", "made-up-write"),
        ]);
        given.extend(said.map(|text| ("MIRILLA_KEEP_RUN_DAYS".to_owned(), text.to_owned())));
        match (host(&given), wanted) {
            (Ok(settings), Some(count)) => {
                assert_eq!(settings.timings.keep_runs, days(count), "{said:?}");
            }
            (Err(problems), None) => {
                assert!(problems.join("\n").contains("MIRILLA_KEEP_RUN_DAYS"));
            }
            (other, _) => panic!("{said:?}: {:?}", other.map(|_| ())),
        }
    }
}

#[test]
fn two_tokens_are_enough_and_stay_apart() {
    let settings = host(&environment(&[
        ("MIRILLA_ALLOWED_ACCOUNTS", "acme, other"),
        ("MIRILLA_WEBHOOK_SECRET", "not-a-real-secret"),
        ("MIRILLA_GITHUB_READ_TOKEN", "made-up-read"),
        ("MIRILLA_GITHUB_WRITE_TOKEN", "made-up-write"),
        ("MIRILLA_REVIEW_USD", "0.40"),
    ]))
    .unwrap();
    assert_eq!(settings.allowed_accounts, ["acme", "other"]);
    assert_eq!(settings.policy.max_usd.exact(), "0.40");
    assert!(matches!(settings.credentials, Credentials::Tokens { .. }));
    assert!(
        !format!("{settings:?}").contains("made-up"),
        "secrets must not be printed"
    );
}

#[test]
fn resolving_is_asked_for_and_takes_a_token_of_its_own() {
    let tokens = [
        ("MIRILLA_ALLOWED_ACCOUNTS", "acme"),
        ("MIRILLA_WEBHOOK_SECRET", "not-a-real-secret"),
        ("MIRILLA_GITHUB_READ_TOKEN", "made-up-read"),
        ("MIRILLA_GITHUB_WRITE_TOKEN", "made-up-write"),
    ];
    let mut given = environment(&tokens);
    assert!(!host(&given).unwrap().resolve_threads, "off by default");
    given.insert("MIRILLA_RESOLVE_THREADS".to_owned(), "yes".to_owned());
    let problems = host(&given).unwrap_err().join("\n");
    assert!(
        problems.contains("MIRILLA_GITHUB_RESOLVE_TOKEN is missing"),
        "{problems}"
    );
    let token = "made-up-resolve".to_owned();
    given.insert("MIRILLA_GITHUB_RESOLVE_TOKEN".to_owned(), token);
    let settings = host(&given).unwrap();
    assert!(settings.resolve_threads && !format!("{settings:?}").contains("made-up"));
}

#[test]
fn a_malformed_value_names_its_variable_and_form() {
    let problems = host(&environment(&[
        ("MIRILLA_REVIEW_USD", "1e3"),
        ("MIRILLA_LISTEN", "8080"),
    ]))
    .unwrap_err();
    assert!(
        problems
            .iter()
            .any(|p| p.starts_with("MIRILLA_REVIEW_USD is not well-formed: it takes dollars")),
        "{problems:?}"
    );
    assert!(
        problems.iter().any(|p| p.starts_with("MIRILLA_LISTEN")),
        "{problems:?}"
    );
}

/// What serves a GitLab.
const GITLAB: &[(&str, &str)] = &[
    ("MIRILLA_ALLOWED_ACCOUNTS", "acme"),
    ("MIRILLA_WEBHOOK_SECRET", "not-a-real-secret"),
    ("MIRILLA_GITLAB_URL", "https://gitlab.example.com"),
    ("MIRILLA_GITLAB_READ_TOKEN", "made-up-read"),
    ("MIRILLA_GITLAB_WRITE_TOKEN", "made-up-write"),
];

#[test]
fn gitlab_is_served_with_two_tokens_and_a_secret_and_nothing_of_github() {
    let settings = host(&environment(GITLAB)).unwrap();
    assert!(matches!(settings.forge, ForgePlace::Gitlab(_)));
    assert!(matches!(
        settings.hooks,
        HookSettings::Gitlab {
            token: Some(_),
            signing: None
        }
    ));
    for (name, value, wrong) in [
        (
            "MIRILLA_GITLAB_READ_TOKEN",
            "",
            "MIRILLA_GITLAB_READ_TOKEN is missing",
        ),
        (
            "MIRILLA_GITLAB_WRITE_TOKEN",
            "",
            "MIRILLA_GITLAB_WRITE_TOKEN is missing",
        ),
        (
            "MIRILLA_WEBHOOK_SECRET",
            "",
            "MIRILLA_WEBHOOK_SECRET is missing",
        ),
        (
            "MIRILLA_GITLAB_READ_TOKEN",
            "made-up-write",
            "is the token that writes",
        ),
        (
            "MIRILLA_GITHUB_READ_TOKEN",
            "made-up",
            "a host serves one forge",
        ),
        ("MIRILLA_GITLAB_CA_FILE", "/nowhere.pem", "cannot be read"),
    ] {
        let mut given = environment(GITLAB);
        given.insert(name.to_owned(), value.to_owned());
        let problems = host(&given).map(|_| ()).unwrap_err().join("\n");
        assert!(
            problems.contains(wrong) && problems.contains(name),
            "{problems}"
        );
        assert!(!problems.contains("made-up"), "{problems}");
    }
    let mut signed = environment(GITLAB);
    signed.insert("MIRILLA_WEBHOOK_SECRET".to_owned(), String::new());
    signed.insert(SIGNING_TOKEN.to_owned(), "whsec_made-up".to_owned());
    let settings = host(&signed).unwrap();
    assert!(matches!(
        settings.hooks,
        HookSettings::Gitlab {
            token: None,
            signing: Some(_)
        }
    ));
}
