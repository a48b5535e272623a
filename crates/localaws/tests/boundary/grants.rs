//! Policies, flattened: who may do what to which resource, under which condition.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::symbol::{covers, symbol};
use crate::template::Template;

/// One statement of a policy.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    /// Conditions of the template under which it exists.
    pub(crate) when: Vec<String>,
    /// `Allow` or `Deny`.
    pub(crate) effect: String,
    /// Whom it is about, in a resource's own policy.
    pub(crate) principals: Vec<String>,
    /// What may be done.
    pub(crate) actions: Vec<String>,
    /// To what.
    pub(crate) resources: Vec<String>,
    /// If what holds, as `Operator key = value`.
    pub(crate) conditions: Vec<String>,
    /// Keys that turn a list round (`NotAction` and the like), which nobody here may use.
    pub(crate) inverted: Vec<String>,
}

impl Statement {
    /// Whether it gives something.
    pub(crate) fn allows(&self) -> bool {
        self.effect != "Deny"
    }

    /// Whether any of its actions could be one of a service.
    pub(crate) fn touches(&self, service: &str) -> bool {
        self.actions
            .iter()
            .any(|action| covers(action.split(':').next().unwrap(), service))
    }

    /// Whether it has a condition `Operator key = value`, whatever the operator.
    pub(crate) fn demands(&self, key: &str, value: &str) -> bool {
        let wanted = format!(" {key} = {value}");
        self.conditions.iter().any(|found| found.ends_with(&wanted))
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for when in &self.when {
            write!(f, "[{when}] ")?;
        }
        write!(f, "{}", self.effect.to_lowercase())?;
        if !self.principals.is_empty() {
            write!(f, " {}", self.principals.join(", "))?;
        }
        write!(f, " {}", self.actions.join(", "))?;
        if !self.resources.is_empty() {
            write!(f, " on {}", self.resources.join(", "))?;
        }
        if !self.conditions.is_empty() {
            write!(f, " if {}", self.conditions.join(" and "))?;
        }
        for inverted in &self.inverted {
            write!(f, " {inverted}")?;
        }
        Ok(())
    }
}

/// Returns the statements of a policy document, conditional ones with their conditions.
pub(crate) fn statements(document: &Value) -> Vec<Statement> {
    let mut found = Vec::new();
    let statement = &document["Statement"];
    match statement {
        Value::Array(list) => {
            for item in list {
                add(item, &mut Vec::new(), &mut found);
            }
        }
        Value::Null => {}
        one => add(one, &mut Vec::new(), &mut found),
    }
    found
}

fn add(item: &Value, when: &mut Vec<String>, found: &mut Vec<Statement>) {
    if let Some(parts) = item["Fn::If"].as_array() {
        let condition = parts[0].as_str().unwrap();
        for (name, branch) in [
            (condition.to_owned(), &parts[1]),
            (format!("not {condition}"), &parts[2]),
        ] {
            when.push(name);
            add(branch, when, found);
            when.pop();
        }
        return;
    }
    if item["Ref"] == "AWS::NoValue" {
        return;
    }
    let conditions = item["Condition"].as_object().into_iter().flatten();
    found.push(Statement {
        when: when.clone(),
        effect: symbol(&item["Effect"]),
        principals: principals(&item["Principal"]),
        actions: list(&item["Action"]),
        resources: list(&item["Resource"]),
        conditions: conditions
            .flat_map(|(operator, keys)| {
                keys.as_object().unwrap().iter().map(move |(key, value)| {
                    format!("{operator} {key} = {}", list(value).join(" or "))
                })
            })
            .collect(),
        inverted: ["NotAction", "NotResource", "NotPrincipal"]
            .iter()
            .filter(|key| !item[**key].is_null())
            .map(|key| (*key).to_owned())
            .collect(),
    });
}

fn list(value: &Value) -> Vec<String> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().map(symbol).collect(),
        one => vec![symbol(one)],
    }
}

fn principals(value: &Value) -> Vec<String> {
    match value {
        Value::Object(kinds) if !kinds.keys().any(|key| key.starts_with("Fn::")) => kinds
            .iter()
            .flat_map(|(kind, who)| {
                list(who)
                    .into_iter()
                    .map(move |who| format!("{kind} {who}"))
            })
            .collect(),
        other => list(other),
    }
}

/// A role: whom it trusts and what it may do, from its own policies and those beside it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Role {
    /// The condition under which it exists.
    pub(crate) condition: Option<String>,
    /// Who may take it.
    pub(crate) trust: Vec<Statement>,
    /// What it may do.
    pub(crate) grants: Vec<Statement>,
    /// Policies that stand elsewhere.
    pub(crate) managed: Vec<String>,
}

/// Returns every role, by its name in the template.
pub(crate) fn roles(template: &Template) -> BTreeMap<String, Role> {
    let mut found = BTreeMap::new();
    for (name, resource) in template.of_type("AWS::IAM::Role") {
        let properties = &resource["Properties"];
        let policies = properties["Policies"].as_array();
        let role = Role {
            condition: resource["Condition"].as_str().map(str::to_owned),
            trust: statements(&properties["AssumeRolePolicyDocument"]),
            grants: policies
                .into_iter()
                .flatten()
                .flat_map(|policy| statements(&policy["PolicyDocument"]))
                .collect(),
            managed: list(&properties["ManagedPolicyArns"]),
        };
        found.insert(name.to_owned(), role);
    }
    for (_, resource) in template.of_type("AWS::IAM::Policy") {
        let properties = &resource["Properties"];
        for role in list(&properties["Roles"]) {
            found
                .entry(role)
                .or_default()
                .grants
                .extend(statements(&properties["PolicyDocument"]));
        }
    }
    found
}

impl Role {
    /// Whether some statement gives this right; denials are not counted on.
    pub(crate) fn may(&self, action: &str, resource: &str) -> bool {
        self.grants.iter().any(|grant| {
            grant.allows()
                && grant.actions.iter().any(|pattern| covers(pattern, action))
                && grant
                    .resources
                    .iter()
                    .any(|pattern| covers(pattern, resource))
        })
    }

    /// Whether some statement gives any right of a service.
    pub(crate) fn touches(&self, service: &str) -> bool {
        self.grants
            .iter()
            .any(|grant| grant.allows() && grant.touches(service))
    }

    /// The actions of a service that it may do to a resource, as written.
    pub(crate) fn actions_on(&self, service: &str, resource: &str) -> Vec<&str> {
        self.grants
            .iter()
            .filter(|grant| {
                grant.allows()
                    && grant.touches(service)
                    && grant
                        .resources
                        .iter()
                        .any(|pattern| covers(pattern, resource))
            })
            .flat_map(|grant| grant.actions.iter().map(String::as_str))
            .collect()
    }
}
