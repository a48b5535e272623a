//! What the Lambda functions share.
