//! The template, deployed.

use std::fs;
use std::path::Path;

use mirilla_localaws::{Emulator, Options, Stack, StackRequest, project_root};

/// A stack whose functions never answer: nobody calls them here.
pub(crate) fn request(name: &str, folder: &Path) -> StackRequest {
    let program = folder.join("bootstrap");
    fs::write(&program, "#!/bin/sh\nexec sleep 1\n").unwrap();
    StackRequest::new(name)
        .bootstraps(|_| &program)
        .parameter("AllowedAccounts", "acme")
}

#[test]
fn template_is_deployed_twice_side_by_side_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    // As strict as the account that it is for.
    let emulator = Emulator::start(&Options {
        auth: true,
        ..Options::default()
    })
    .unwrap();
    let endpoint = emulator.endpoint();
    let first = Stack::deploy(&endpoint, &request("Mirilla-One", folder.path())).unwrap();
    let second = request("mirilla-two", folder.path()).parameter("GitHubAuth", "token");
    let second = Stack::deploy(&endpoint, &second).unwrap();

    assert!(
        first
            .output("WebhookUrl")
            .unwrap()
            .ends_with("/webhooks/github")
    );
    assert_eq!(
        first.output("PosterFunction").unwrap(),
        "Mirilla-One-poster"
    );
    assert_ne!(
        first.output("BucketName").unwrap(),
        second.output("BucketName").unwrap()
    );
    assert!(first.output("AppKeyArn").unwrap().contains(":key/"));
    assert!(first.resource("MinterReadRole").is_ok());
    let error = second.output("AppKeyArn").unwrap_err().to_string();
    assert!(
        error.contains("ReadTokenArn"),
        "names those it has: {error}"
    );
    assert!(second.resource("MinterRead").is_err());

    second.delete().unwrap();
    first.delete().unwrap();
}

#[test]
fn failure_says_what_went_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let emulator = Emulator::start(&Options::default()).unwrap();
    let endpoint = emulator.endpoint();

    let mut without = request("without", folder.path());
    without.bootstraps.remove("sweeper");
    let error = format!("{:#}", Stack::deploy(&endpoint, &without).unwrap_err());
    assert!(error.contains("target/lambda/sweeper"), "{error}");

    let mut nobody = request("nobody", folder.path());
    nobody.parameters.remove("AllowedAccounts");
    let error = format!("{:#}", Stack::deploy(&endpoint, &nobody).unwrap_err());
    assert!(error.contains("AllowedAccounts"), "{error}");

    let broken = folder.path().join("broken.yaml");
    let text = fs::read_to_string(project_root().join("template.yaml")).unwrap();
    let line = "      KeySpec: RSA_2048\n";
    assert!(text.contains(line));
    fs::write(&broken, text.replace(line, "      KeySpec: RSA_2047\n")).unwrap();
    let mut request = request("broken", folder.path());
    request.template = broken;
    let error = format!("{:#}", Stack::deploy(&endpoint, &request).unwrap_err());
    assert!(error.contains("AppKey: CREATE_FAILED"), "{error}");
}
