//! What the sweeper keeps from one run to the next.

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::Value;

use super::Services;

impl Services {
    /// Lets the next run look through GitHub's record although the latest look was a moment ago; returns
    /// what that one kept.
    pub async fn look_anew(&self, ledger_table: &str) -> Value {
        let client = aws_sdk_dynamodb::Client::new(&self.config);
        let key = AttributeValue::S("bookmark#github-deliveries".to_owned());
        let found = client.get_item().table_name(ledger_table).key("pk", key);
        let mut row = found.send().await.unwrap().item.unwrap();
        let kept: Value = serde_json::from_str(row["body"].as_s().unwrap()).unwrap();
        let mut rested = kept.clone();
        assert!(rested["not_before"].take().is_number(), "{kept}");
        let body = AttributeValue::S(rested.to_string());
        row.insert("body".to_owned(), body);
        let put = client.put_item().table_name(ledger_table);
        put.set_item(Some(row)).send().await.unwrap();
        kept
    }
}
