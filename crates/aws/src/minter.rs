//! Tokens from a minter, which is another function.

use std::fmt;

use async_trait::async_trait;
use aws_sdk_lambda::Client;
use mirilla_ports::tokens::{MintAnswer, MintRequest, MintTokens, NoToken};
use secrecy::{ExposeSecret as _, SecretString};

use crate::LambdaInvoker;

/// The minter of one stage; which one it is, the role that calls it decides.
pub struct MinterFunction {
    invoker: LambdaInvoker,
    function: String,
}

impl MinterFunction {
    /// Takes the function's name or ARN.
    pub fn new(client: Client, function: impl Into<String>) -> Self {
        Self {
            invoker: LambdaInvoker::new(client),
            function: function.into(),
        }
    }
}

impl fmt::Debug for MinterFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MinterFunction")
            .field("function", &self.function)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl MintTokens for MinterFunction {
    async fn mint(&self, request: &MintRequest) -> Result<SecretString, NoToken> {
        let answer = self
            .invoker
            .invoke(&self.function, request)
            .await
            .map_err(|error| NoToken::unavailable(error.to_string()))?;
        // The parser's own words could quote the token.
        let answer: MintAnswer = serde_json::from_str(answer.expose_secret())
            .map_err(|_quotes| NoToken::unavailable("the minter's answer cannot be read"))?;
        answer.into()
    }
}
