//! What reads hostile text with a model can act on nothing.

use std::collections::BTreeSet;

use super::denied;
use crate::template::Template;

const REVIEWER: &str = "ReviewerRole";

/// Its message carries signed addresses of one job's objects; of its own it has no right at all.
pub(crate) fn reviewer_has_no_right_in_s3(template: &Template) -> Vec<String> {
    let roles = template.roles();
    let mut found = Vec::new();
    if roles[REVIEWER].touches("s3") {
        found.push("the reviewer has a right in S3".to_owned());
    }
    for (right, control) in [
        (
            ("s3:GetObject", "Bucket.Arn/snapshots/j/diff.patch"),
            "CollectorRole",
        ),
        (
            ("s3:GetObject", "Bucket.Arn/archives/1/c.zip"),
            "CollectorRole",
        ),
        (
            ("s3:PutObject", "Bucket.Arn/work/j/progress.json"),
            "CollectorRole",
        ),
        (
            ("s3:PutObject", "Bucket.Arn/findings/j/1.json"),
            "CollectorRole",
        ),
        (
            ("s3:GetObject", "Bucket.Arn/findings/j/1.json"),
            "PosterRole",
        ),
        (
            ("s3:DeleteObject", "Bucket.Arn/snapshots/j/diff.patch"),
            "SweeperRole",
        ),
        (("s3:ListBucket", "Bucket.Arn"), "SweeperRole"),
    ] {
        denied(roles, REVIEWER, right, control, &mut found);
    }
    found
}

/// No forge token, no webhook secret, no marker key, no App.
pub(crate) fn reviewer_reads_the_model_key_and_no_other_secret(template: &Template) -> Vec<String> {
    let roles = template.roles();
    let mut found = Vec::new();
    for (secret, control) in [
        ("WebhookSecret.Id", "IntakeRole"),
        ("ReadToken.Id", "CollectorRole"),
        ("WriteToken.Id", "PosterRole"),
        ("MarkerKey.Id", "PosterRole"),
        ("AppSecret.Id", "MinterReadRole"),
    ] {
        let right = ("secretsmanager:GetSecretValue", secret);
        denied(roles, REVIEWER, right, control, &mut found);
    }
    if !roles[REVIEWER].may("secretsmanager:GetSecretValue", "ModelKey.Id") {
        found.push("control: the reviewer cannot read its own key".to_owned());
    }
    found
}

/// Claude itself, which is no resource of ours and is reached in any region that a profile leads to, or a
/// profile of this account.
pub(crate) fn is_claude(resource: &str) -> bool {
    let ours = "arn:AWS::Partition:bedrock:AWS::Region:AWS::AccountId:";
    let profile = resource.strip_prefix(ours).unwrap_or_default();
    resource == "arn:AWS::Partition:bedrock:*::foundation-model/anthropic.*"
        || ["inference-profile/*", "application-inference-profile/*"].contains(&profile)
}

/// With Bedrock it has no key, and its role may ask Claude, through our own profiles, and do nothing else.
pub(crate) fn reviewer_asks_bedrock_for_claude_and_nothing_else(
    template: &Template,
) -> Vec<String> {
    let mut found = Vec::new();
    let role = &template.roles()[REVIEWER];
    let grants: Vec<_> = role
        .grants
        .iter()
        .filter(|grant| grant.touches("bedrock"))
        .collect();
    for grant in &grants {
        let claude = grant.resources.iter().all(|resource| is_claude(resource));
        if !claude || grant.actions != ["bedrock:InvokeModel"] || !grant.inverted.is_empty() {
            found.push(grant.to_string());
        }
        if !grant.when.iter().any(|when| when.contains("UsesModelKey")) {
            found.push(format!("beside a key: {grant}"));
        }
    }
    if grants.is_empty() {
        found.push("control: the reviewer cannot ask Bedrock".to_owned());
    }
    found
}

/// Nor can it invoke anything else, or sign.
pub(crate) fn reviewer_reaches_no_minter(template: &Template) -> Vec<String> {
    let roles = template.roles();
    let mut found = Vec::new();
    for service in ["lambda", "kms", "sts", "iam"] {
        if roles[REVIEWER].touches(service) {
            found.push(format!("the reviewer has a right in {service}"));
        }
    }
    for (minter, control) in [
        ("MinterRead.Arn", "CollectorRole"),
        ("MinterWrite.Arn", "PosterRole"),
        ("MinterResolve.Arn", "PosterRole"),
        ("MinterDeliveries.Arn", "SweeperRole"),
    ] {
        let right = ("lambda:InvokeFunction", minter);
        denied(roles, REVIEWER, right, control, &mut found);
    }
    found
}

/// It is told of its job by its message, and of nothing else.
pub(crate) fn reviewer_reaches_no_ledger(template: &Template) -> Vec<String> {
    let roles = template.roles();
    let mut found = Vec::new();
    for (action, control) in [
        ("dynamodb:GetItem", "PosterRole"),
        ("dynamodb:PutItem", "PosterRole"),
    ] {
        let right = (action, "LedgerTable.Arn");
        denied(roles, REVIEWER, right, control, &mut found);
    }
    for index in ["unfinished", "touched"] {
        let index = format!("LedgerTable.Arn/index/{index}");
        let right = ("dynamodb:Query", index.as_str());
        denied(roles, REVIEWER, right, "SweeperRole", &mut found);
    }
    found
}

/// What it has to say is a file that somebody else distrusts.
pub(crate) fn reviewer_sends_to_no_queue(template: &Template) -> Vec<String> {
    let roles = template.roles();
    let mut found = Vec::new();
    for (queue, control) in [
        ("CollectQueue.Arn", "IntakeRole"),
        ("ReviewQueue.Arn", "CollectorRole"),
        ("PostQueue.Arn", "IntakeRole"),
    ] {
        let right = ("sqs:SendMessage", queue);
        denied(roles, REVIEWER, right, control, &mut found);
    }
    if roles[REVIEWER].touches("sns") || roles[REVIEWER].touches("events") {
        found.push("the reviewer may publish".to_owned());
    }
    found
}

/// It cannot write heads, and of the purses it may change items, not put or delete them.
pub(crate) fn reviewer_changes_purses_and_nothing_else(template: &Template) -> Vec<String> {
    let roles = template.roles();
    let mut found = Vec::new();
    for (table, most) in [
        (
            "MeterTable.Arn",
            &["dynamodb:GetItem", "dynamodb:UpdateItem"][..],
        ),
        ("HeadsTable.Arn", &["dynamodb:GetItem"][..]),
    ] {
        let has: BTreeSet<&str> = roles[REVIEWER]
            .actions_on("dynamodb", table)
            .into_iter()
            .collect();
        for action in &has {
            if !most.contains(action) {
                found.push(format!("the reviewer may {action} on {table}"));
            }
        }
        if has.is_empty() {
            found.push(format!("control: the reviewer has no right on {table}"));
        }
    }
    let right = ("dynamodb:PutItem", "HeadsTable.Arn");
    denied(roles, REVIEWER, right, "CollectorRole", &mut found);
    found
}

/// Whoever begins a check and whoever ends it must take the same bases for trusted, and the same purses must hold.
pub(crate) fn stages_are_told_the_same_policy(template: &Template) -> Vec<String> {
    const POLICY: [&str; 5] = [
        "MIRILLA_MODEL",
        "MIRILLA_POLICY",
        "MIRILLA_REVIEW_USD",
        "MIRILLA_REPOSITORY_DAY_USD",
        "MIRILLA_ACCOUNT_MONTH_USD",
    ];
    let told = |function: &str, name: &str| {
        template.properties(function)["Environment"]["Variables"][name].clone()
    };
    let mut found = Vec::new();
    let mut same = |name: &str, functions: &[&str]| {
        let of_collector = told("Collector", name);
        if of_collector.is_null() {
            found.push(format!("control: the collector is not told {name}"));
        }
        for function in functions {
            if told(function, name) != of_collector {
                found.push(format!("{function} is told another {name}"));
            }
        }
    };
    for name in POLICY {
        same(name, &["Reviewer", "Poster"]);
    }
    // It decides nothing about reading, and the reviewer is told no more than it needs.
    same("MIRILLA_TRUSTED_BASES", &["Poster"]);
    found
}

/// It refuses to start if it finds a forge's variable; the template gives it none.
pub(crate) fn reviewer_is_told_of_no_forge(template: &Template) -> Vec<String> {
    const ITS_OWN: &[&str] = &[
        "MIRILLA_HEADS_TABLE",
        "MIRILLA_METER_TABLE",
        "MIRILLA_BUCKET",
        "MIRILLA_REVIEW_QUEUE_URL",
        "MIRILLA_MODEL_KEY_ARN",
        "MIRILLA_BEDROCK_MODEL_ID",
        "MIRILLA_MODEL",
        "MIRILLA_MODEL_URL",
        "MIRILLA_POLICY",
        "MIRILLA_REVIEW_USD",
        "MIRILLA_REPOSITORY_DAY_USD",
        "MIRILLA_ACCOUNT_MONTH_USD",
        "MIRILLA_LOG_LEVEL",
    ];
    let mut found = Vec::new();
    let told = |function: &str| -> Vec<String> {
        let variables = &template.properties(function)["Environment"]["Variables"];
        variables
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .collect()
    };
    for name in told("Reviewer") {
        if !ITS_OWN.contains(&name.as_str()) {
            found.push(format!("the reviewer is told {name}"));
        }
    }
    if !told("Poster")
        .iter()
        .any(|name| name.starts_with("MIRILLA_GITHUB_"))
    {
        found.push("control: the poster is told of no forge".to_owned());
    }
    found
}
