//! Values of a template as text that a person can compare: references keep their names.

use serde_json::Value;

/// Returns a value as text: `Bucket.Arn/snapshots/*`, `AWS::AccountId`.
pub(crate) fn symbol(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(map) if map.len() == 1 => {
            let (name, argument) = map.iter().next().unwrap();
            function(name, argument).unwrap_or_else(|| value.to_string())
        }
        other => other.to_string(),
    }
}

fn function(name: &str, argument: &Value) -> Option<String> {
    match (name, argument) {
        ("Ref", Value::String(id)) => Some(id.clone()),
        ("Fn::GetAtt", Value::Array(parts)) => {
            Some(parts.iter().map(symbol).collect::<Vec<_>>().join("."))
        }
        ("Fn::Sub", Value::String(text)) => Some(text.replace("${", "").replace('}', "")),
        ("Fn::Sub", Value::Array(parts)) => {
            let (text, values) = (parts[0].as_str()?, parts[1].as_object()?);
            let filled = values.iter().fold(text.to_owned(), |text, (name, value)| {
                text.replace(&format!("${{{name}}}"), &format!("<{}>", symbol(value)))
            });
            Some(filled.replace("${", "").replace('}', ""))
        }
        ("Fn::Select", Value::Array(parts)) => {
            Some(format!("{}[{}]", symbol(&parts[1]), symbol(&parts[0])))
        }
        ("Fn::Split", Value::Array(parts)) => Some(format!(
            "{} split at {}",
            symbol(&parts[1]),
            symbol(&parts[0])
        )),
        _ => None,
    }
}

/// Whether a policy's pattern, with `*` and `?`, covers a text.
pub(crate) fn covers(pattern: &str, text: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return pattern == text;
    }
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for wanted in pattern {
        let mut next = vec![false; text.len() + 1];
        for at in 0..=text.len() {
            next[at] = match wanted {
                '*' => reached[at] || (at > 0 && next[at - 1]),
                '?' => at > 0 && reached[at - 1],
                wanted => at > 0 && reached[at - 1] && text[at - 1] == wanted,
            };
        }
        reached = next;
    }
    reached[text.len()]
}

#[test]
fn patterns_cover_as_in_a_policy() {
    for (pattern, text, expected) in [
        ("s3:GetObject", "s3:GetObject", true),
        ("s3:Get*", "s3:GetObject", true),
        ("*", "s3:GetObject", true),
        ("s3:Get?bject", "s3:GetObject", true),
        ("s3:Put*", "s3:GetObject", false),
        (
            "Bucket.Arn/snapshots/*",
            "Bucket.Arn/snapshots/j/diff.patch",
            true,
        ),
        ("Bucket.Arn", "Bucket.Arn/snapshots/j/diff.patch", false),
        ("*.Arn/index/*", "LedgerTable.Arn/index/touched", true),
    ] {
        assert_eq!(covers(pattern, text), expected, "{pattern} {text}");
    }
}

#[test]
fn references_keep_their_names() {
    let value = serde_json::json!({"Fn::Sub": ["arn:${AWS::Partition}:s3:::m-${Id}",
        {"Id": {"Fn::Select": [2, {"Fn::Split": ["/", {"Ref": "AWS::StackId"}]}]}}]});
    assert_eq!(
        symbol(&value),
        "arn:AWS::Partition:s3:::m-<AWS::StackId split at /[2]>"
    );
}
