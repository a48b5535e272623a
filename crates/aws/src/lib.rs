//! DynamoDB, SQS, S3, Secrets Manager, KMS and Lambda behind the ports.
