//! Each credential is in one hand.

use std::collections::BTreeSet;

use super::denied;
use crate::grants::statements;
use crate::template::Template;

const MINTERS: [&str; 4] = [
    "MinterReadRole",
    "MinterWriteRole",
    "MinterDeliveriesRole",
    "MinterResolveRole",
];
/// When there is a token that may push.
const OPTED_IN: [&str; 2] = ["ResolvesWithApp", "ResolvesWithToken"];

/// No process that could act on a forge can ask a model, and none that is told by one can act.
pub(crate) fn only_the_reviewer_reads_the_model_key(template: &Template) -> Vec<String> {
    let roles = template.roles();
    let mut found = Vec::new();
    for who in roles.keys().filter(|who| *who != "ReviewerRole") {
        let right = ("secretsmanager:GetSecretValue", "ModelKey.Id");
        denied(roles, who, right, "ReviewerRole", &mut found);
        if roles[who].touches("bedrock") {
            found.push(format!("{who} may ask a model"));
        }
    }
    found
}

/// Collector, poster and sweeper ask a minter; none of them can act as the App.
pub(crate) fn only_minters_sign_with_the_app_key(template: &Template) -> Vec<String> {
    let roles = template.roles();
    let mut found = Vec::new();
    for who in roles.keys() {
        if MINTERS.contains(&who.as_str()) {
            let actions: BTreeSet<&str> = roles[who]
                .grants
                .iter()
                .filter(|grant| grant.touches("kms"))
                .flat_map(|grant| grant.actions.iter().map(String::as_str))
                .collect();
            if actions != BTreeSet::from(["kms:Sign"]) {
                found.push(format!("{who} may do {actions:?} with keys, not just sign"));
            }
            continue;
        }
        denied(
            roles,
            who,
            ("kms:Sign", "AppKey.Arn"),
            MINTERS[0],
            &mut found,
        );
        if roles[who].touches("kms") {
            found.push(format!("{who} has a right in KMS"));
        }
    }
    let signers: BTreeSet<String> = statements(&template.properties("AppKey")["KeyPolicy"])
        .into_iter()
        .filter(|statement| {
            statement.allows() && statement.actions.contains(&"kms:Sign".to_owned())
        })
        .flat_map(|statement| statement.principals)
        .collect();
    let minters: BTreeSet<String> = MINTERS.map(|role| format!("AWS {role}.Arn")).into();
    if signers != minters {
        found.push(format!("the key's own policy lets {signers:?} sign"));
    }
    found
}

/// The account may import, disable and delete the key; it can neither sign nor let others.
pub(crate) fn account_manages_the_app_key_without_signing(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let policy = statements(&template.properties("AppKey")["KeyPolicy"]);
    let account: Vec<_> = policy
        .iter()
        .filter(|statement| {
            let minters = MINTERS.map(|role| format!("AWS {role}.Arn"));
            let names = &statement.principals;
            names.is_empty() || !names.iter().all(|who| minters.contains(who))
        })
        .collect();
    for statement in &account {
        if statement.principals != ["AWS arn:AWS::Partition:iam::AWS::AccountId:root"] {
            found.push(format!("the key's policy names {:?}", statement.principals));
        }
        for action in &statement.actions {
            let gives_use = [
                "Sign",
                "CreateGrant",
                "Encrypt",
                "Decrypt",
                "Generate",
                "Verify",
            ]
            .iter()
            .any(|word| action.contains(word));
            if gives_use || action.contains('*') {
                found.push(format!("the account may {action}"));
            }
        }
    }
    let manages = |action: &str| {
        account
            .iter()
            .any(|statement| statement.actions.iter().any(|found| found == action))
    };
    for action in [
        "kms:ImportKeyMaterial",
        "kms:PutKeyPolicy",
        "kms:ScheduleKeyDeletion",
    ] {
        if !manages(action) {
            found.push(format!("control: the account may not {action}"));
        }
    }
    found
}

/// The collector's minter hands out tokens that read, the poster's tokens that write.
pub(crate) fn each_stage_invokes_its_own_minter(template: &Template) -> Vec<String> {
    const INVOKES: [(&str, &str); 5] = [
        ("CollectorRole", "MinterRead.Arn"),
        ("PosterRole", "MinterWrite.Arn"),
        ("PosterRole", "MinterResolve.Arn"),
        ("SweeperRole", "MinterDeliveries.Arn"),
        ("SweeperScheduleRole", "Sweeper.Arn"),
    ];
    let roles = template.roles();
    let mut found = Vec::new();
    for (name, _) in template.of_type("AWS::Lambda::Function") {
        let function = format!("{name}.Arn");
        for (who, role) in roles {
            let may = role.may("lambda:InvokeFunction", &function);
            let expected = INVOKES.contains(&(who.as_str(), function.as_str()));
            match (may, expected) {
                (true, false) => found.push(format!("{who} may invoke {name}")),
                (false, true) => found.push(format!("control: {who} may not invoke {name}")),
                _ => {}
            }
        }
    }
    for (stage, minter) in [
        ("read", "MinterRead"),
        ("write", "MinterWrite"),
        ("resolve", "MinterResolve"),
        ("deliveries", "MinterDeliveries"),
    ] {
        let told = &template.properties(minter)["Environment"]["Variables"]["MIRILLA_MINTER_STAGE"];
        if told != stage {
            found.push(format!("{minter} is told to be {told}"));
        }
    }
    found
}

/// Unless the operator opts in, nothing of the stack can get a token that may push: no minter for it is
/// deployed, no secret is there for one, and nobody has a right to either.
pub(crate) fn tokens_that_push_need_the_opt_in(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let whole = template.whole();
    if whole["Parameters"]["ResolveThreads"]["Default"] != "false" {
        found.push("resolving threads is not off by default".to_owned());
    }
    for condition in OPTED_IN {
        let text = whole["Conditions"][condition].to_string();
        if !text.contains("ResolveThreads") || text.contains("Fn::Or") {
            found.push(format!(
                "{condition} does not depend on the parameter: {text}"
            ));
        }
    }
    let mut seen = 0;
    for (name, resource) in template.resources() {
        let pushes = name.starts_with("MinterResolve") || name == "ResolveToken";
        if pushes {
            seen += 1;
            let when = resource["Condition"].as_str().unwrap_or("always");
            if !OPTED_IN.contains(&when) {
                found.push(format!("{name} is deployed {when}"));
            }
        }
    }
    for (who, role) in template.roles() {
        let is_its_own = who == "MinterResolveRole";
        for grant in role.grants.iter().filter(|_| !is_its_own) {
            let reaches = |one: &String| one == "MinterResolve.Arn" || one == "ResolveToken.Id";
            if !grant.resources.iter().any(reaches) {
                continue;
            }
            seen += 1;
            if !grant
                .when
                .iter()
                .any(|when| OPTED_IN.contains(&when.as_str()))
            {
                found.push(format!("{who}, without the opt-in: {grant}"));
            }
        }
    }
    if seen < 7 {
        found.push(format!("control: only {seen} places are about resolving"));
    }
    found
}

/// The whole table of who reads which secret.
pub(crate) fn each_secret_has_its_readers(template: &Template) -> Vec<String> {
    const READERS: &[(&str, &[&str])] = &[
        ("WebhookSecret", &["IntakeRole"]),
        ("SigningToken", &["IntakeRole"]),
        ("MarkerKey", &["PosterRole"]),
        ("ReadToken", &["CollectorRole"]),
        ("WriteToken", &["PosterRole"]),
        ("ResolveToken", &["PosterRole"]),
        ("AppSecret", &MINTERS),
    ];
    let roles = template.roles();
    let mut found = Vec::new();
    for (name, _) in template.of_type("AWS::SecretsManager::Secret") {
        // The model's key and the reviewer have checks of their own.
        if name == "ModelKey" {
            continue;
        }
        let Some((_, readers)) = READERS.iter().find(|(secret, _)| *secret == name) else {
            found.push(format!("nobody said who may read {name}"));
            continue;
        };
        let secret = format!("{name}.Id");
        for (who, role) in roles.iter().filter(|(who, _)| *who != "ReviewerRole") {
            let may = role.may("secretsmanager:GetSecretValue", &secret);
            match (may, readers.contains(&who.as_str())) {
                (true, false) => found.push(format!("{who} may read {name}")),
                (false, true) => found.push(format!("control: {who} may not read {name}")),
                _ => {}
            }
        }
    }
    found
}

/// Secrets are made up by AWS or empty, and functions are told where they lie.
pub(crate) fn no_secret_is_written_down(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let text = template.whole().to_string();
    for reference in ["{{resolve:", "SecretString\":\""] {
        if text.contains(reference) {
            found.push(format!("the template has {reference}"));
        }
    }
    for (name, function) in template.of_type("AWS::Lambda::Function") {
        let variables = &function["Properties"]["Environment"]["Variables"];
        for (variable, value) in variables.as_object().into_iter().flatten() {
            let names_secret = ["SECRET", "KEY", "TOKEN"]
                .iter()
                .any(|word| variable.contains(word));
            if names_secret && !variable.ends_with("_ARN") && !variable.ends_with("_ID") {
                found.push(format!("{name} is told {variable} = {value}"));
            }
        }
    }
    for (name, parameter) in template.whole()["Parameters"].as_object().unwrap() {
        let holds_secret = ["Secret", "Key", "Token"]
            .iter()
            .any(|word| name.contains(word));
        if holds_secret {
            found.push(format!(
                "the parameter {name} asks for a secret: {parameter}"
            ));
        }
    }
    found
}
