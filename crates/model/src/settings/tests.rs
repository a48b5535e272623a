use super::*;

fn settings(endpoint: &str) -> AnthropicSettings {
    AnthropicSettings::new(
        Url::parse(endpoint).unwrap(),
        SecretString::from("sk-ant-made-up-for-tests"),
        "claude-sonnet-5-5",
    )
}

fn refusal(change: impl FnOnce(&mut AnthropicSettings)) -> String {
    let mut settings = settings(DEFAULT_ENDPOINT);
    change(&mut settings);
    settings.check().unwrap_err().to_string()
}

#[test]
fn defaults_are_accepted() {
    let capability = settings(DEFAULT_ENDPOINT).check().unwrap();
    assert_eq!(capability.id, "claude-sonnet-5-5");
}

#[test]
fn url_keeps_the_endpoints_path() {
    for (endpoint, url) in [
        (
            "https://api.anthropic.com",
            "https://api.anthropic.com/v1/messages",
        ),
        (
            "https://api.anthropic.com/",
            "https://api.anthropic.com/v1/messages",
        ),
        (
            "https://gw.example.test/a/b/",
            "https://gw.example.test/a/b/v1/messages",
        ),
        (
            "http://127.0.0.1:99/anthropic",
            "http://127.0.0.1:99/anthropic/v1/messages",
        ),
    ] {
        let settings = settings(endpoint);
        assert_eq!(settings.check().unwrap().id, "claude-sonnet-5-5");
        assert_eq!(settings.messages_url().as_str(), url);
    }
}

#[test]
fn bad_endpoint_is_refused_without_its_password() {
    for (endpoint, said) in [
        (
            "http://api.anthropic.com/",
            "the model endpoint `http://api.anthropic.com/` is not https (http is for loopback only)",
        ),
        (
            "https://u:hunter2@h.test/",
            "the model endpoint `https://h.test/` holds a user or password; the key is set apart",
        ),
        (
            "https://h.test/v1/messages",
            "the model endpoint `https://h.test/v1/messages` ends in /v1/messages, which is added by itself",
        ),
        (
            "https://h.test/?key=hunter2",
            "the model endpoint `https://h.test/` has a query or a fragment, which no API has",
        ),
        (
            "data:text/plain,x",
            "the model endpoint `data://text/plain,x` names no host",
        ),
    ] {
        assert_eq!(settings(endpoint).check().unwrap_err().to_string(), said);
    }
}

#[test]
fn bad_settings_are_refused_by_name() {
    assert!(refusal(|s| s.model = "gpt".to_owned()).starts_with("the model `gpt` is not known"));
    assert_eq!(
        refusal(|s| s.max_tokens = 21_334),
        "max_tokens 21334 is not between 1 and 21333, the longest answer that does not need streaming"
    );
    assert!(refusal(|s| s.max_tokens = 0).contains("max_tokens 0"));
    assert_eq!(
        refusal(|s| s.version = "latest".to_owned()),
        "the API version `latest` is not a date such as `2023-06-01`"
    );
    assert_eq!(
        refusal(|s| {
            s.model = "claude-haiku-4-5".to_owned();
            s.effort = Some(Effort::High);
        }),
        "the model `claude-haiku-4-5` takes no effort; leave it out or use a newer model"
    );
    assert_eq!(
        refusal(|s| s.request_timeout = Duration::ZERO),
        "the request time-out is zero"
    );
    for key in ["", "sk-a1", "sk-ant with space", "sk-ant-with-newline\n"] {
        let said = refusal(|s| s.api_key = SecretString::from(key));
        assert!(said.starts_with("the model key "), "{said}");
        assert!(key.is_empty() || !said.contains(key), "{said}");
    }
}

#[test]
fn debug_hides_the_key() {
    let text = format!("{:?}", settings("https://h.test/secret-path?token=abc"));
    assert!(
        !text.contains("made-up")
            && !text.contains("abc")
            && !text.contains("secret")
            && text.contains("h.test")
    );
}

#[test]
fn effort_names_round_trip() {
    for effort in Effort::ALL {
        assert_eq!(Effort::parse(effort.as_str()).unwrap(), effort);
    }
    assert_eq!(
        Effort::parse("extreme").unwrap_err().to_string(),
        "the effort `extreme` is not one of low, medium, high, xhigh, max"
    );
}
