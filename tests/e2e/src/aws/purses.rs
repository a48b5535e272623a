//! The purses in the meter's table.

use std::collections::BTreeMap;

use super::Services;

impl Services {
    /// Returns what is spent and set aside of every purse, in 10⁻¹² dollars, by the purse's key.
    pub async fn purses(&self, meter_table: &str) -> BTreeMap<String, u64> {
        let client = aws_sdk_dynamodb::Client::new(&self.config);
        let rows = client.scan().table_name(meter_table).send().await.unwrap();
        let rows = rows.items.unwrap_or_default().into_iter();
        rows.filter_map(|row| {
            let key = row["pk"].as_s().unwrap().strip_prefix("purse#")?.to_owned();
            Some((key, row["total"].as_n().unwrap().parse().unwrap()))
        })
        .collect()
    }
}
