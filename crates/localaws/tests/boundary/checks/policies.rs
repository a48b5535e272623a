//! Policies are written out, and so narrow that reading them is enough.

use std::collections::BTreeSet;

use super::reviewer::is_claude;
use crate::grants::statements;
use crate::symbol::symbol;
use crate::template::Template;

/// What Lambda itself needs to put a function into a network, and nothing else, has no resource.
const NETWORK: [&str; 6] = [
    "ec2:CreateNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeSubnets",
    "ec2:AssignPrivateIpAddresses",
    "ec2:UnassignPrivateIpAddresses",
];

/// A function named `X` runs as `XRole`, which the template wrote and no other function uses.
pub(crate) fn each_function_has_a_role_of_its_own(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (name, function) in template.of_type("AWS::Lambda::Function") {
        let role = symbol(&function["Properties"]["Role"]);
        if role != format!("{name}Role.Arn") {
            found.push(format!("{name} runs as {role}"));
        }
    }
    found
}

/// Neither SAM nor anybody else attaches a policy that this file does not show.
pub(crate) fn no_policy_stands_elsewhere(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (who, role) in template.roles() {
        for policy in &role.managed {
            found.push(format!("{who} has the policy {policy}"));
        }
    }
    for (name, _) in template.of_type("AWS::IAM::ManagedPolicy") {
        found.push(format!("{name} is a policy of its own"));
    }
    let beside: Vec<&str> = template
        .of_type("AWS::IAM::Policy")
        .iter()
        .map(|(name, _)| *name)
        .collect();
    if beside != ["MinterResolveSigns", "MintersSign"] {
        found.push(format!("policies beside their roles: {beside:?}"));
    }
    found
}

/// The confused deputy of another account cannot take a role.
pub(crate) fn each_role_trusts_one_service_of_this_account(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (who, role) in template.roles() {
        let service = match who.as_str() {
            "SweeperScheduleRole" => "scheduler.amazonaws.com",
            "AuditRole" => "events.amazonaws.com",
            _ => "lambda.amazonaws.com",
        };
        let [trust] = role.trust.as_slice() else {
            found.push(format!(
                "{who} has {} statements of trust",
                role.trust.len()
            ));
            continue;
        };
        if trust.principals != [format!("Service {service}")] {
            found.push(format!("{who} trusts {:?}", trust.principals));
        }
        if trust.actions != ["sts:AssumeRole"] {
            found.push(format!("{who} may be used by {:?}", trust.actions));
        }
        if !trust.demands("aws:SourceAccount", "AWS::AccountId") {
            found.push(format!("{who} may be taken on behalf of another account"));
        }
    }
    found
}

/// No `*`, no resource that is not this template's.
pub(crate) fn each_resource_is_named(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (who, role) in template.roles() {
        for grant in role.grants.iter().filter(|grant| grant.allows()) {
            if grant.resources.is_empty() {
                found.push(format!("{who}: {grant}"));
            }
            for resource in &grant.resources {
                let of_lambda = resource == "*"
                    && grant
                        .actions
                        .iter()
                        .all(|action| NETWORK.contains(&action.as_str()));
                if !of_lambda && !is_claude(resource) && !is_named(template, resource) {
                    found.push(format!("{who} is given {resource}: {grant}"));
                }
            }
        }
        // What Lambda needs for a network, the code that it runs must not have.
        let for_network = |allows: bool| {
            role.grants
                .iter()
                .filter(|grant| grant.allows() == allows && grant.touches("ec2"))
                .flat_map(|grant| grant.actions.clone())
                .collect::<BTreeSet<_>>()
        };
        if for_network(true) != for_network(false) {
            found.push(format!("{who}: its code has rights in the network"));
        }
    }
    found
}

/// `Name.Arn` or `Name.Id` of this template, with a prefix of keys or an index behind it; a topic's
/// name is its address.
fn is_named(template: &Template, resource: &str) -> bool {
    if resource == "AlarmTopic" {
        return true;
    }
    let Some((name, rest)) = resource.split_once('.') else {
        return false;
    };
    let Some(rest) = rest.strip_prefix("Arn").or_else(|| rest.strip_prefix("Id")) else {
        return false;
    };
    let (prefix, wild) = match rest.strip_suffix("/*") {
        Some(prefix) => (prefix, true),
        None => (rest, false),
    };
    // A wildcard ends a prefix of keys; the whole bucket is none.
    template.resources().contains_key(name)
        && !prefix.contains(['*', '?'])
        && (prefix.is_empty() != wild || prefix.starts_with('/'))
}

/// No action with a wildcard, nothing by exclusion, nothing that hands rights on.
pub(crate) fn each_action_is_named(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (who, role) in template.roles() {
        for grant in &role.grants {
            let wide = grant.actions.iter().any(|action| {
                action.contains(['*', '?'])
                    || [
                        "iam:",
                        "sts:",
                        "organizations:",
                        "secretsmanager:Put",
                        "kms:CreateGrant",
                    ]
                    .iter()
                    .any(|prefix| action.starts_with(prefix))
            });
            if wide || !grant.inverted.is_empty() {
                found.push(format!("{who}: {grant}"));
            }
        }
    }
    found
}

/// What resources say about themselves lets nobody else in.
pub(crate) fn resource_policies_give_nothing_wider(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (name, policy) in template.of_type("AWS::S3::BucketPolicy") {
        let statements = statements(&policy["Properties"]["PolicyDocument"]);
        for statement in statements.iter().filter(|statement| statement.allows()) {
            found.push(format!("{name}: {statement}"));
        }
        let tls = statements.iter().any(|statement| {
            !statement.allows()
                && statement.principals == ["*"]
                && statement.resources == ["Bucket.Arn", "Bucket.Arn/*"]
                && statement.demands("aws:SecureTransport", "false")
        });
        if !tls {
            found.push(format!("{name} takes requests in the clear"));
        }
    }
    for (name, policy) in template.of_type("AWS::SNS::TopicPolicy") {
        for statement in statements(&policy["Properties"]["PolicyDocument"]) {
            let services = statement.principals.iter().all(|who| {
                [
                    "Service cloudwatch.amazonaws.com",
                    "Service events.amazonaws.com",
                ]
                .contains(&who.as_str())
            });
            if !services
                || statement.actions != ["sns:Publish"]
                || !statement.demands("aws:SourceAccount", "AWS::AccountId")
            {
                found.push(format!("{name}: {statement}"));
            }
        }
    }
    for kind in [
        "AWS::SecretsManager::ResourcePolicy",
        "AWS::Lambda::LayerVersionPermission",
        "AWS::Logs::ResourcePolicy",
        "AWS::S3::AccessPoint",
    ] {
        for (name, _) in template.of_type(kind) {
            found.push(format!("{name} is a policy nobody reviewed"));
        }
    }
    for (name, table) in template.of_type("AWS::DynamoDB::Table") {
        if !table["Properties"]["ResourcePolicy"].is_null() {
            found.push(format!("{name} has a policy of its own"));
        }
    }
    found
}

/// One address, one function, and both permissions an address needs.
pub(crate) fn only_intake_is_public(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let mut given = Vec::new();
    for (name, permission) in template.of_type("AWS::Lambda::Permission") {
        let properties = &permission["Properties"];
        let bound = match symbol(&properties["Action"]).as_str() {
            "lambda:InvokeFunctionUrl" => properties["FunctionUrlAuthType"] == "NONE",
            "lambda:InvokeFunction" => properties["InvokedViaFunctionUrl"] == true,
            _ => false,
        };
        if symbol(&properties["FunctionName"]) != "Intake" || !bound {
            found.push(format!("{name}: {properties}"));
        }
        given.push(symbol(&properties["Action"]));
    }
    given.sort();
    if given != ["lambda:InvokeFunction", "lambda:InvokeFunctionUrl"] && found.is_empty() {
        found.push(format!(
            "control: webhooks need two permissions and have {given:?}"
        ));
    }
    for (name, url) in template.of_type("AWS::Lambda::Url") {
        if name != "IntakeUrl" {
            found.push(format!("{name}: {}", url["Properties"]));
        }
    }
    found
}
