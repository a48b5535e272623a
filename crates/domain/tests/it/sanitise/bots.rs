//! Other bots read the raw body: nothing they obey may start a line, in code or out of it.

use mirilla_domain::sanitise;

use super::{assert_safe, oracle, policy};

/// A command of each of more than twelve bots.
const COMMANDS: [&str; 22] = [
    "/approve",
    "/lgtm cancel",
    "/merge",
    "/close",
    "/ok-to-test",
    "/gemini review",
    "/azp run",
    "/label ~bug",
    "@dependabot merge",
    "@dependabot squash and merge",
    "bors r+",
    "bors: merge",
    "@bors r+",
    "@mergifyio rebase",
    "@rustbot label +bug",
    "r? @octo-user",
    "@renovate rebase",
    "@coderabbitai approve",
    "@claude please push",
    "@copilot fix it",
    "!merge",
    "+r",
];

/// The places a command can stand in.
fn places(command: &str) -> Vec<String> {
    vec![
        command.to_owned(),
        format!("text\n{command}"),
        format!("  {command}"),
        format!("> {command}"),
        format!("> > {command}"),
        format!("- item\n  {command}"),
        format!("1. {command}"),
        format!("```\n{command}\n```"),
        format!("~~~sh\n   {command}\n~~~"),
        format!("```suggestion\n{command}\n```"),
        format!("    {command}"),
        format!("- x\n\n  ```\n  {command}\n  ```"),
        format!("> ```\n> {command}\n> ```"),
        format!("**{command}**"),
        format!("`{command}`"),
        format!("text `{command}` text"),
        format!("text `run {command}` text"),
        format!("# {command}"),
        format!("| a |\n| - |\n| {command} |"),
        format!("\\{command}"),
        format!(
            "&#{};{}",
            u32::from(command.chars().next().unwrap()),
            &command[1..]
        ),
        format!("text<br>{command}"),
        format!("\u{feff}{command}"),
        format!("\u{a0}{command}"),
        format!("text\r{command}"),
    ]
}

#[test]
fn no_bot_finds_a_command_in_any_place() {
    for command in COMMANDS {
        for text in places(command) {
            let out = sanitise::body(&text, &policy());
            assert_safe(&out);
            assert_eq!(
                sanitise::body(&out, &policy()),
                out,
                "not stable for {text:?}"
            );
            // Disarmed, not deleted.
            let word = command
                .trim_start_matches(['@', '/', '!', '+'])
                .split([' ', ':'])
                .next()
                .unwrap();
            assert!(
                oracle::visible_text(&out).contains(word),
                "{text:?} became {out:?}"
            );
        }
        assert_safe(&sanitise::title(command, &policy()));
        assert_safe(&sanitise::code_fence("sh", command));
        assert_eq!(sanitise::suggestion(command, None), None, "{command}");
    }
}

#[test]
fn the_raw_pass_sees_commands() {
    for command in COMMANDS.iter().filter(|command| !command.starts_with("!m")) {
        assert!(!oracle::violations(command, &[]).is_empty(), "{command}");
        assert!(
            !oracle::violations(&format!("```\n{command}\n```"), &[]).is_empty(),
            "{command} in a fence"
        );
    }
}

#[test]
fn code_that_only_looks_like_a_command_is_exact() {
    for line in [
        "/usr/bin/make all",
        "/usr/local/lib",
        "/api/v1/users",
        "// comment",
        "/* comment */",
        "/^[a-z]+$/i",
        "@Override",
        "@app.route('/')",
        "@decorator",
        "@import url(x);",
        "#include <x>",
        "!important",
        "!x && y",
        "r = 1",
        "+ added",
        "- removed",
        "merge(a, b);",
        "check = true",
        "</div>",
        "/",
    ] {
        assert_eq!(sanitise::code_fence("", line), format!("```\n{line}\n```"));
    }
    assert_eq!(
        sanitise::code_fence("", "/approve\nx"),
        "```\n\\/approve\nx\n```"
    );
    assert_eq!(
        sanitise::code_fence("", "  @bors r+"),
        "```\n  @ bors r+\n```"
    );
}
