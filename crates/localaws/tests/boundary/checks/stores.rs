//! What is kept: restorable, encrypted, closed, and not for ever.

use std::collections::BTreeMap;

use crate::symbol::{covers, symbol};
use crate::template::Template;

/// Point-in-time recovery, encryption, an end for old items, and no accident.
pub(crate) fn tables_can_be_restored(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let tables = template.of_type("AWS::DynamoDB::Table");
    let names: Vec<&str> = tables.iter().map(|(name, _)| *name).collect();
    if names != ["HeadsTable", "LedgerTable", "MeterTable"] {
        found.push(format!("the tables are {names:?}"));
    }
    for (name, table) in tables {
        let properties = &table["Properties"];
        let recovers =
            &properties["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"];
        for (what, holds) in [
            ("point-in-time recovery", recovers == true),
            (
                "encryption",
                properties["SSESpecification"]["SSEEnabled"] == true,
            ),
            (
                "an end for old items",
                properties["TimeToLiveSpecification"]["Enabled"] == true,
            ),
            (
                "billing by request",
                properties["BillingMode"] == "PAY_PER_REQUEST",
            ),
            (
                "protection by default",
                symbol(&properties["DeletionProtectionEnabled"]) == "DeletionProtection",
            ),
        ] {
            if !holds {
                found.push(format!("{name} has not {what}"));
            }
        }
    }
    for name in ["LedgerTable", "MeterTable", "Bucket"] {
        if template.resources()[name]["DeletionPolicy"] != "Retain" {
            found.push(format!("{name} goes with its stack"));
        }
    }
    if template.whole()["Parameters"]["DeletionProtection"]["Default"] != "true" {
        found.push("tables can be deleted by default".to_owned());
    }
    found
}

/// Encrypted, never public, and nothing stays longer than its job may need it.
pub(crate) fn bucket_is_closed_and_empties_itself(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let bucket = template.properties("Bucket");
    if bucket["BucketEncryption"].is_null() {
        found.push("the bucket is not encrypted".to_owned());
    }
    for block in [
        "BlockPublicAcls",
        "BlockPublicPolicy",
        "IgnorePublicAcls",
        "RestrictPublicBuckets",
    ] {
        if bucket["PublicAccessBlockConfiguration"][block] != true {
            found.push(format!("the bucket has not {block}"));
        }
    }
    let rules = bucket["LifecycleConfiguration"]["Rules"].as_array();
    let days: BTreeMap<String, u64> = rules
        .into_iter()
        .flatten()
        .filter(|rule| rule["Status"] == "Enabled")
        .filter_map(|rule| {
            let aborted = &rule["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"];
            let (prefix, days) = match aborted.as_u64() {
                Some(days) => ("aborted", days),
                None => (rule["Prefix"].as_str()?, rule["ExpirationInDays"].as_u64()?),
            };
            Some((prefix.to_owned(), days))
        })
        .collect();
    for (prefix, most) in [
        ("snapshots/", 7),
        ("work/", 7),
        ("runs/", 7),
        ("archives/", 1),
        ("findings/", 30),
        ("aborted", 1),
    ] {
        if days.get(prefix).is_none_or(|days| *days > most) {
            found.push(format!(
                "{prefix} stays {:?} days, at most {most}",
                days.get(prefix)
            ));
        }
    }
    let events = bucket["NotificationConfiguration"].to_string();
    if events.matches("\"Queue\"").count() != 1 || !events.contains("findings/") {
        found.push(format!("the bucket tells of {events}"));
    }
    found
}

/// What is kept of a run holds code and says why something was posted. The poster writes it, if the operator
/// keeps runs, and writes no other object; no function reads, replaces or removes it beside that.
pub(crate) fn only_the_poster_keeps_runs(template: &Template) -> Vec<String> {
    const KEPT: &str = "Bucket.Arn/runs/j/1/plan.json";
    let mut found = Vec::new();
    let mut keeps = false;
    for (who, role) in template.roles() {
        for grant in role.grants.iter().filter(|grant| grant.allows()) {
            let its_own = who == "PosterRole"
                && grant.when == ["KeepsRuns"]
                && grant.actions == ["s3:PutObject"]
                && grant.resources == ["Bucket.Arn/runs/*"];
            keeps |= its_own;
            // A right to the whole bucket is one without a name: another check's to find.
            let reaches_runs = grant.touches("s3")
                && grant
                    .resources
                    .iter()
                    .any(|pattern| pattern != "Bucket.Arn/*" && covers(pattern, KEPT));
            let writes = who == "PosterRole"
                && grant
                    .actions
                    .iter()
                    .any(|action| covers(action, "s3:PutObject"));
            if (reaches_runs || writes) && !its_own {
                found.push(format!("{who}: {grant}"));
            }
        }
    }
    if !keeps {
        found.push("control: the poster cannot keep a run".to_owned());
    }
    found
}

/// Lines end after the operator's days, and a function writes to its own group alone.
pub(crate) fn logs_end_and_belong_to_one_function(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (name, group) in template.of_type("AWS::Logs::LogGroup") {
        if symbol(&group["Properties"]["RetentionInDays"]) != "LogRetentionDays" {
            found.push(format!("{name} keeps its lines for ever"));
        }
    }
    let roles = template.roles();
    for (name, function) in template.of_type("AWS::Lambda::Function") {
        let group = symbol(&function["Properties"]["LoggingConfig"]["LogGroup"]);
        if group != format!("{name}Logs") {
            found.push(format!("{name} logs to {group}"));
        }
        for (other, _) in template.of_type("AWS::Logs::LogGroup") {
            let Some(role) = roles.get(&format!("{name}Role")) else {
                continue;
            };
            let may = role.may("logs:PutLogEvents", &format!("{other}.Arn"));
            if may != (other == group) {
                found.push(format!("{name}: writing to {other} is {may}"));
            }
        }
    }
    found
}
