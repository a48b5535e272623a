//! The exact rights of every role and every resource's own policy, as a snapshot to review.
//!
//! A change here is a change of the trust boundary: it is read before it is accepted.

use std::fmt::Write as _;

use crate::grants::statements;
use crate::symbol::symbol;
use crate::template::Template;

#[test]
fn rights_of_every_role_are_as_reviewed() {
    let template = Template::here();
    let mut text = String::new();
    for (name, role) in template.roles() {
        let only = role.condition.as_ref().map(|when| format!(" [{when}]"));
        writeln!(text, "{name}{}", only.unwrap_or_default()).unwrap();
        for trust in &role.trust {
            writeln!(text, "  trusts: {trust}").unwrap();
        }
        let mut lines: Vec<String> = role
            .grants
            .iter()
            .flat_map(|grant| {
                // What Lambda needs for a network is the same everywhere.
                if grant.touches("ec2") {
                    return vec![format!("  {grant}")];
                }
                // One line for each pair: a right that moved between statements is no change.
                let pairs = grant.actions.iter().flat_map(move |action| {
                    grant.resources.iter().map(move |resource| {
                        let mut one = grant.clone();
                        one.actions = vec![action.clone()];
                        one.resources = vec![resource.clone()];
                        format!("  {one}")
                    })
                });
                pairs.collect()
            })
            .collect();
        lines.sort();
        lines.dedup();
        text.push_str(&lines.join("\n"));
        text.push_str("\n\n");
    }
    insta::assert_snapshot!("roles", text);
}

#[test]
fn policies_of_every_resource_are_as_reviewed() {
    let template = Template::here();
    let mut text = String::new();
    for (name, resource) in template.resources() {
        let properties = &resource["Properties"];
        let kind = resource["Type"].as_str().unwrap();
        if kind.starts_with("AWS::IAM::") {
            continue;
        }
        let mut lines = Vec::new();
        for key in ["PolicyDocument", "KeyPolicy", "ResourcePolicy"] {
            lines.extend(
                statements(&properties[key])
                    .iter()
                    .map(|statement| format!("  {statement}")),
            );
        }
        if kind == "AWS::Lambda::Permission" {
            let given: Vec<String> = properties
                .as_object()
                .unwrap()
                .iter()
                .map(|(key, value)| format!("{key} {}", symbol(value)))
                .collect();
            lines.push(format!("  {}", given.join(", ")));
        }
        if !lines.is_empty() {
            writeln!(text, "{name} ({kind})\n{}\n", lines.join("\n")).unwrap();
        }
    }
    insta::assert_snapshot!("resources", text);
}
