//! The bucket's objects.

use super::Services;

impl Services {
    /// Returns a client for the bucket; the emulator has no host names for buckets.
    pub fn s3(&self) -> aws_sdk_s3::Client {
        let config = aws_sdk_s3::config::Builder::from(&self.config)
            .force_path_style(true)
            .build();
        aws_sdk_s3::Client::from_conf(config)
    }

    /// Returns an object.
    pub async fn object(&self, bucket: &str, key: &str) -> Vec<u8> {
        let found = self.s3().get_object().bucket(bucket).key(key).send().await;
        found.unwrap().body.collect().await.unwrap().to_vec()
    }

    /// Returns the keys of the bucket that begin with a prefix.
    pub async fn keys(&self, bucket: &str, prefix: &str) -> Vec<String> {
        let found = self
            .s3()
            .list_objects_v2()
            .bucket(bucket)
            .prefix(prefix)
            .send()
            .await
            .unwrap();
        let objects = found.contents.unwrap_or_default().into_iter();
        objects.filter_map(|object| object.key).collect()
    }
}
