//! The reviewer's network, where one is set: no way out by address, endpoint or name.

use serde_json::Value;

use crate::grants::statements;
use crate::symbol::symbol;
use crate::template::Template;

/// No route, no gateway, no rule towards everywhere.
pub(crate) fn reviewer_has_no_way_out(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for kind in [
        "AWS::EC2::InternetGateway",
        "AWS::EC2::EgressOnlyInternetGateway",
        "AWS::EC2::NatGateway",
        "AWS::EC2::Route",
        "AWS::EC2::VPCPeeringConnection",
        "AWS::EC2::TransitGatewayAttachment",
    ] {
        for (name, _) in template.of_type(kind) {
            found.push(format!("{name} is a way out"));
        }
    }
    let groups = template.of_type("AWS::EC2::SecurityGroup");
    if groups.len() != 3 {
        found.push(format!(
            "control: there are {} security groups",
            groups.len()
        ));
    }
    for (name, group) in groups {
        let rules = group["Properties"]["SecurityGroupEgress"].as_array();
        if rules.is_none_or(Vec::is_empty) {
            found.push(format!("{name} has no rule, which means any"));
        }
        for rule in rules.into_iter().flatten() {
            let nowhere = rule["CidrIp"] == "127.0.0.1/32";
            let to = ["DestinationSecurityGroupId", "DestinationPrefixListId"]
                .map(|key| symbol(&rule[key]));
            let ours = [
                "EndpointSecurityGroup.GroupId",
                "ReviewerS3PrefixList",
                "ReviewerDynamoDbPrefixList",
            ]
            .iter()
            .any(|known| to.iter().any(|to| to == known));
            let tls = rule["FromPort"] == 443 && rule["ToPort"] == 443;
            let any = !rule["CidrIpv6"].is_null() || (!rule["CidrIp"].is_null() && !nowhere);
            if any || !(nowhere || (ours && tls)) {
                found.push(format!("{name} lets out to {rule}"));
            }
        }
    }
    let network = template.properties("Reviewer")["VpcConfig"]["Fn::If"].clone();
    let expected = serde_json::json!({
        "SubnetIds": {"Ref": "ReviewerSubnets"},
        "SecurityGroupIds": [
            {"Fn::GetAtt": ["ReviewerSecurityGroup", "GroupId"]},
            {"Fn::GetAtt": ["ReviewerEgressSecurityGroup", "GroupId"]},
        ],
    });
    if network[0] != "ReviewerInVpc" || network[1] != expected {
        found.push(format!("the reviewer's network is {network}"));
    }
    found
}

/// Each endpoint has a policy, names our resources, and asks for our account on both sides.
pub(crate) fn endpoints_admit_our_account_to_our_resources(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let endpoints = template.of_type("AWS::EC2::VPCEndpoint");
    let services: Vec<String> = endpoints
        .iter()
        .map(|(_, endpoint)| symbol(&endpoint["Properties"]["ServiceName"]))
        .collect();
    for service in ["s3", "dynamodb", "sqs", "secretsmanager", "bedrock-runtime"] {
        if !services.contains(&format!("com.amazonaws.AWS::Region.{service}")) {
            found.push(format!("control: {service} has no endpoint"));
        }
    }
    for (name, endpoint) in &endpoints {
        let policy = statements(&endpoint["Properties"]["PolicyDocument"]);
        if policy.is_empty() {
            found.push(format!(
                "{name} has no policy, which means anybody's anything"
            ));
        }
        for statement in policy.iter().filter(|statement| statement.allows()) {
            let models = statement.resources.iter().all(|resource| {
                resource == "arn:AWS::Partition:bedrock:*::foundation-model/anthropic.*"
            });
            let named = statement.resources.iter().all(|resource| {
                models
                    || resource
                        .starts_with("arn:AWS::Partition:bedrock:AWS::Region:AWS::AccountId:")
                    || resource
                        .split('.')
                        .next()
                        .is_some_and(|name| template.resources().contains_key(name))
            });
            let ours = statement.demands("aws:PrincipalAccount", "AWS::AccountId")
                && (models || statement.demands("aws:ResourceAccount", "AWS::AccountId"));
            let wide = statement.actions.iter().any(|action| action.contains('*'));
            if !named || !ours || wide || !statement.inverted.is_empty() {
                found.push(format!("{name}: {statement}"));
            }
        }
    }
    found
}

/// A name can carry data out as well as an address can.
pub(crate) fn names_of_others_do_not_resolve(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let nested = template.nested();
    let rules = &nested["NameRules"]["Properties"]["FirewallRules"];
    let mut rules: Vec<&Value> = rules.as_array().into_iter().flatten().collect();
    rules.sort_by_key(|rule| rule["Priority"].as_u64());
    let as_written: Vec<(String, String)> = rules
        .iter()
        .map(|rule| {
            (
                symbol(&rule["Action"]),
                symbol(&rule["FirewallDomainListId"]),
            )
        })
        .collect();
    let expected = [("ALLOW", "EndpointNames"), ("BLOCK", "AllOtherNames")]
        .map(|(action, list)| (action.to_owned(), list.to_owned()));
    if as_written != expected {
        found.push(format!("names are ruled by {as_written:?}"));
    }
    if nested["AllOtherNames"]["Properties"]["Domains"] != serde_json::json!(["*"]) {
        found.push("what is blocked is not everything else".to_owned());
    }
    let allowed = nested["EndpointNames"]["Properties"]["Domains"].as_array();
    for name in allowed.into_iter().flatten().map(symbol) {
        let service = name
            .trim_start_matches("*.")
            .split('.')
            .next()
            .unwrap()
            .to_owned();
        let known = [
            "s3",
            "dynamodb",
            "ddb",
            "sqs",
            "secretsmanager",
            "bedrock-runtime",
        ];
        if !known.contains(&service.as_str()) || !name.ends_with(".AWS::Region.AWS::URLSuffix") {
            found.push(format!("{name} resolves"));
        }
    }
    let network = &nested["NameRulesInVpc"]["Properties"];
    if symbol(&network["VpcId"]) != "Vpc" || symbol(&network["FirewallRuleGroupId"]) != "NameRules"
    {
        found.push("the rules are for no network".to_owned());
    }
    let asked = template.properties("ReviewerNames");
    if symbol(&asked["Parameters"]["Vpc"]) != "ReviewerVpc" {
        found.push(format!("the rules are asked for as {asked}"));
    }
    found
}
