//! `mirilla secret set`.

use super::support::{Account, github, run};

#[test]
fn secret_is_stored_from_standard_input_and_never_shown() {
    let account = Account::new();
    let sim = github();
    let stack = account.deploy("prod", &sim, &[]);
    let env = account.environment();
    assert_eq!(stack.secret("ModelKeyArn"), None);
    let arguments = ["secret", "set", "model-key", "--stack", "prod"];
    let ran = run(&arguments, b"sk-ant-SENTINEL-made-up\n", &env);
    assert_eq!(ran.code, 0, "{}", ran.said());
    assert!(!ran.said().contains("SENTINEL"), "{}", ran.said());
    assert_eq!(
        stack.secret("ModelKeyArn").as_deref(),
        Some("sk-ant-SENTINEL-made-up")
    );
    for bad in ["", "\n", "SENTINEL two words", "short"] {
        let ran = run(&arguments, bad.as_bytes(), &env);
        assert_eq!(ran.code, 2, "{}", ran.said());
        assert!(
            !ran.said().contains("SENTINEL") && ran.stderr.contains("hint:"),
            "{}",
            ran.said()
        );
    }
    let ran = run(
        &["secret", "set", "read-token", "--stack", "prod"],
        b"ghp_made_up_0",
        &env,
    );
    assert_eq!(ran.code, 1, "{}", ran.said());
    assert!(ran.stderr.contains("GitHubAuth=token"), "{}", ran.stderr);

    let tokens = account.deploy("tokens", &sim, &[("GitHubAuth", "token")]);
    let ran = run(
        &["secret", "set", "write-token", "--stack", "tokens"],
        b"ghp_made_up_1\r\n",
        &env,
    );
    assert_eq!(ran.code, 0, "{}", ran.said());
    assert_eq!(
        tokens.secret("WriteTokenArn").as_deref(),
        Some("ghp_made_up_1")
    );
    sim.finish().unwrap();
}

#[test]
fn stack_of_gitlabs_takes_a_signing_token_and_has_no_app() {
    let account = Account::new();
    let sim = github();
    let url = sim.gitlab().url();
    let stack = account.deploy("lab", &sim, &[("GitLabUrl", url.as_str())]);
    let env = account.environment();
    let arguments = ["secret", "set", "signing-token", "--stack", "lab"];
    let ran = run(&arguments, b"made-up-SENTINEL-and-none\n", &env);
    assert_eq!(ran.code, 2, "{}", ran.said());
    assert!(
        ran.stderr.contains("whsec_") && !ran.said().contains("SENTINEL"),
        "{}",
        ran.said()
    );
    let token = "whsec_bWFkZS11cC1zaWduaW5nLWtleS1vZi0zMi1ieXRlcyE=";
    let ran = run(&arguments, token.as_bytes(), &env);
    assert_eq!(ran.code, 0, "{}", ran.said());
    assert_eq!(stack.secret("SigningTokenArn").as_deref(), Some(token));

    let ran = run(&["app", "create", "--stack", "lab"], b"", &env);
    assert_eq!(ran.code, 1, "{}", ran.said());
    assert!(ran.stderr.contains("no Apps"), "{}", ran.stderr);

    let tokens = account.deploy("hub", &sim, &[("GitHubAuth", "token")]);
    let arguments = ["secret", "set", "signing-token", "--stack", "hub"];
    let ran = run(&arguments, token.as_bytes(), &env);
    assert_eq!(ran.code, 1, "{}", ran.said());
    assert!(ran.stderr.contains("GitLab"), "{}", ran.stderr);
    drop(tokens);
    sim.finish().unwrap();
}
