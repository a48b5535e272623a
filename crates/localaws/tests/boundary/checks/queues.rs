//! Messages: who may take them, how often they come back, and where they end.

use std::collections::BTreeSet;

use crate::grants::statements;
use crate::symbol::symbol;
use crate::template::Template;

/// What a mapping needs; the last lets a handler ask for its message back later.
const RECEIVES: [&str; 4] = [
    "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ReceiveMessage",
];

const QUEUES: [&str; 3] = ["CollectQueue", "ReviewQueue", "PostQueue"];

/// And nobody takes messages from a queue that is not mapped to them.
pub(crate) fn each_mapping_has_receive_delete_and_attributes_on_its_queue(
    template: &Template,
) -> Vec<String> {
    let roles = template.roles();
    let mut found = Vec::new();
    let mut mapped = BTreeSet::new();
    for (name, mapping) in template.of_type("AWS::Lambda::EventSourceMapping") {
        let queue = symbol(&mapping["Properties"]["EventSourceArn"]);
        let role = format!("{}Role", symbol(&mapping["Properties"]["FunctionName"]));
        let Some(rights) = roles.get(&role) else {
            found.push(format!("{name} runs as nobody"));
            continue;
        };
        for action in RECEIVES {
            if !rights.may(action, &queue) {
                found.push(format!("{role} may not {action} on {queue}"));
            }
        }
        mapped.insert((role, queue));
    }
    let expected: BTreeSet<(String, String)> = [
        ("CollectorRole", "CollectQueue.Arn"),
        ("ReviewerRole", "ReviewQueue.Arn"),
        ("PosterRole", "PostQueue.Arn"),
    ]
    .map(|(role, queue)| (role.to_owned(), queue.to_owned()))
    .into();
    if mapped != expected {
        found.push(format!("queues are mapped as {mapped:?}"));
    }
    for (queue, _) in template.of_type("AWS::SQS::Queue") {
        let queue = format!("{queue}.Arn");
        for (who, role) in roles {
            let takes = [
                "sqs:ReceiveMessage",
                "sqs:DeleteMessage",
                "sqs:ChangeMessageVisibility",
            ]
            .iter()
            .any(|action| role.may(action, &queue));
            if takes && !mapped.contains(&(who.clone(), queue.clone())) {
                found.push(format!("{who} may take messages of {queue}"));
            }
        }
    }
    found
}

/// Without the account, a bucket of the same name elsewhere could feed the post queue.
pub(crate) fn queue_policies_name_source_and_account(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (name, policy) in template.of_type("AWS::SQS::QueuePolicy") {
        let queues = symbol(&policy["Properties"]["Queues"]);
        if !queues.contains("PostQueue") || queues.contains(',') {
            found.push(format!("{name} is about {queues}"));
        }
        for statement in statements(&policy["Properties"]["PolicyDocument"]) {
            let from_bucket = statement.demands(
                "aws:SourceArn",
                &format!(
                    "arn:AWS::Partition:s3:::{}",
                    symbol(&template.properties("Bucket")["BucketName"])
                ),
            );
            if statement.principals != ["Service s3.amazonaws.com"]
                || statement.actions != ["sqs:SendMessage"]
                || statement.resources != ["PostQueue.Arn"]
                || !from_bucket
                || !statement.demands("aws:SourceAccount", "AWS::AccountId")
            {
                found.push(format!("{name}: {statement}"));
            }
        }
    }
    if template.of_type("AWS::SQS::QueuePolicy").is_empty() {
        found.push("control: nothing tells the poster of findings".to_owned());
    }
    found
}

/// Ten tries, then a queue that keeps them for two weeks and takes them from nowhere else.
pub(crate) fn each_queue_has_dead_letters(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for queue in QUEUES {
        let dead = queue.replace("Queue", "DeadLetters");
        let redrive = &template.properties(queue)["RedrivePolicy"];
        if symbol(&redrive["deadLetterTargetArn"]) != format!("{dead}.Arn")
            || redrive["maxReceiveCount"] != 10
        {
            found.push(format!("{queue} ends in {redrive}"));
        }
        let letters = template.properties(&dead);
        if letters["MessageRetentionPeriod"] != 1_209_600 {
            found.push(format!(
                "{dead} keeps {}",
                letters["MessageRetentionPeriod"]
            ));
        }
        if letters["RedriveAllowPolicy"]["redrivePermission"] != "byQueue" {
            found.push(format!(
                "{dead} takes from {}",
                letters["RedriveAllowPolicy"]
            ));
        }
        for name in [queue, &dead] {
            if template.properties(name)["SqsManagedSseEnabled"] != true {
                found.push(format!("{name} is not encrypted"));
            }
        }
    }
    found
}

/// As Lambda asks for; less, and a message comes back while its first reader still works.
pub(crate) fn messages_are_hidden_for_six_time_outs(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (name, mapping) in template.of_type("AWS::Lambda::EventSourceMapping") {
        let properties = &mapping["Properties"];
        let function = symbol(&properties["FunctionName"]);
        let queue = symbol(&properties["EventSourceArn"]);
        let timeout = template.properties(&function)["Timeout"]
            .as_u64()
            .unwrap_or(0);
        let hidden =
            template.properties(queue.trim_end_matches(".Arn"))["VisibilityTimeout"].as_u64();
        if timeout == 0 || hidden != Some(timeout * 6) {
            found.push(format!("{name}: hidden {hidden:?} s, time-out {timeout} s"));
        }
        if properties["BatchSize"] != 1 {
            found.push(format!(
                "{name} takes {} messages at once",
                properties["BatchSize"]
            ));
        }
        if properties["FunctionResponseTypes"] != serde_json::json!(["ReportBatchItemFailures"]) {
            found.push(format!("{name} cannot report a failure"));
        }
    }
    found
}

/// How many reviews run at once is what bounds how fast money goes.
pub(crate) fn reviews_have_a_brake(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let brake = &template.properties("ReviewerReview")["ScalingConfig"]["MaximumConcurrency"];
    if !brake.to_string().contains("\"MaximumConcurrency\"") {
        found.push(format!("reviews run {brake} at a time"));
    }
    let parameter = &template.whole()["Parameters"]["MaximumConcurrency"];
    let least = parameter["AllowedValues"]
        .as_array()
        .and_then(|values| values.iter().filter_map(serde_json::Value::as_u64).min());
    if least < Some(2) {
        found.push(format!("SQS mappings take 2 or more: {parameter}"));
    }
    for (name, function) in template.of_type("AWS::Lambda::Function") {
        let reserved = &function["Properties"]["ReservedConcurrentExecutions"];
        if !reserved.is_null() {
            found.push(format!("{name} takes {reserved} from the account"));
        }
    }
    found
}
