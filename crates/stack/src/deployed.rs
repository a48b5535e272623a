//! A deployed stack: its state, what it was deployed with, and what it says.

use std::collections::BTreeMap;

use aws_sdk_cloudformation::error::ProvideErrorMetadata as _;
use aws_sdk_cloudformation::types::StackStatus;

use crate::{Session, StackError};

/// An output of the template. Which ones there are is the template's contract with this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Output {
    /// Where webhooks go.
    WebhookUrl,
    /// The webhook's secret.
    WebhookSecret,
    /// What GitLab signs webhooks with; with GitLab only, and empty where only the secret above is used.
    SigningToken,
    /// The model provider's key.
    ModelKey,
    /// The App's description; with an App only.
    AppSecret,
    /// The App's private key in KMS; with an App only.
    AppKey,
    /// The reading token; with plain tokens only.
    ReadToken,
    /// The writing token; with plain tokens only.
    WriteToken,
    /// The token that resolves threads; with plain tokens and `ResolveThreads` only.
    ResolveToken,
    /// Where alarms go.
    AlarmTopic,
    /// `app` or `token`.
    AuthMode,
}

impl Output {
    /// Every output.
    pub const ALL: [Self; 11] = [
        Self::WebhookUrl,
        Self::WebhookSecret,
        Self::SigningToken,
        Self::ModelKey,
        Self::AppSecret,
        Self::AppKey,
        Self::ReadToken,
        Self::WriteToken,
        Self::ResolveToken,
        Self::AlarmTopic,
        Self::AuthMode,
    ];

    /// Returns its name in the template.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WebhookUrl => "WebhookUrl",
            Self::WebhookSecret => "WebhookSecretArn",
            Self::SigningToken => "SigningTokenArn",
            Self::ModelKey => "ModelKeyArn",
            Self::AppSecret => "AppSecretArn",
            Self::AppKey => "AppKeyArn",
            Self::ReadToken => "ReadTokenArn",
            Self::WriteToken => "WriteTokenArn",
            Self::ResolveToken => "ResolveTokenArn",
            Self::AlarmTopic => "AlarmTopicArn",
            Self::AuthMode => "AuthMode",
        }
    }

    /// Returns what it is, for a sentence: "could not read the webhook secret".
    pub const fn what(self) -> &'static str {
        match self {
            Self::WebhookUrl => "the webhook's address",
            Self::WebhookSecret => "the webhook secret",
            Self::SigningToken => "the webhook's signing token",
            Self::ModelKey => "the model key",
            Self::AppSecret => "the App's description",
            Self::AppKey => "the App's key in KMS",
            Self::ReadToken => "the reading token",
            Self::WriteToken => "the writing token",
            Self::ResolveToken => "the token that resolves threads",
            Self::AlarmTopic => "the alarms' topic",
            Self::AuthMode => "how the forge is reached",
        }
    }
}

/// How a stack stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Deployed.
    Good,
    /// Being changed right now.
    Busy,
    /// Deployed, but the last change was taken back.
    TakenBack,
    /// Not usable.
    Broken,
}

/// A deployed stack, as `CloudFormation` described it when it was looked for.
#[derive(Debug, Clone)]
pub struct Stack {
    pub(crate) session: Session,
    name: String,
    status: StackStatus,
    outputs: BTreeMap<String, String>,
    parameters: BTreeMap<String, String>,
}

impl Stack {
    /// Looks a stack up.
    ///
    /// # Errors
    ///
    /// If there is none of that name, or `CloudFormation` cannot be asked.
    pub async fn find(session: &Session, name: &str) -> Result<Self, StackError> {
        let gone = || StackError::NoStack {
            stack: name.to_owned(),
            region: session.region().to_owned(),
        };
        let client = aws_sdk_cloudformation::Client::new(&session.config);
        let answer = client.describe_stacks().stack_name(name).send().await;
        let answer = answer.map_err(|error| {
            // CloudFormation has no code of its own for this.
            let missing = error.code() == Some("ValidationError")
                && error
                    .message()
                    .is_some_and(|words| words.contains("does not exist"));
            if missing {
                gone()
            } else {
                StackError::call(format!("look at the stack `{name}`"), &error)
            }
        })?;
        let stack = answer.stacks.unwrap_or_default().into_iter().next();
        let stack = stack.ok_or_else(gone)?;
        let outputs = stack.outputs.unwrap_or_default();
        let parameters = stack.parameters.unwrap_or_default();
        Ok(Self {
            session: session.clone(),
            name: name.to_owned(),
            status: stack
                .stack_status
                .ok_or(StackError::Answer("the stack's state"))?,
            outputs: outputs
                .into_iter()
                .filter_map(|output| Some((output.output_key?, output.output_value?)))
                .collect(),
            parameters: parameters
                .into_iter()
                .filter_map(|one| Some((one.parameter_key?, one.parameter_value?)))
                .collect(),
        })
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the region's name.
    pub fn region(&self) -> &str {
        self.session.region()
    }

    /// Returns the address that stands in for AWS, if one is set: an emulator's.
    pub fn endpoint_override(&self) -> Option<&str> {
        self.session.endpoint_override()
    }

    /// Returns `CloudFormation`'s word for its state.
    pub fn status(&self) -> &str {
        self.status.as_str()
    }

    /// Returns how it stands.
    pub fn standing(&self) -> Standing {
        standing(self.status.as_str())
    }

    /// Returns an output.
    ///
    /// # Errors
    ///
    /// If the stack has none of that name: its template is of another version, or its parameters left
    /// it out.
    pub fn output(&self, output: Output) -> Result<&str, StackError> {
        self.named_output(output.as_str())
    }

    /// Returns an output by its name.
    ///
    /// # Errors
    ///
    /// As [`Stack::output`].
    pub fn named_output(&self, name: &'static str) -> Result<&str, StackError> {
        let found = self.outputs.get(name).map(String::as_str);
        found.ok_or_else(|| StackError::NoOutput {
            stack: self.name.clone(),
            output: name,
        })
    }

    /// Returns the value of a parameter, if there is one that is not empty.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let value = self.parameters.get(name)?;
        (!value.is_empty()).then_some(value.as_str())
    }

    /// Returns the address of the GitLab that the stack serves; `None`: it serves GitHub.
    pub fn gitlab_url(&self) -> Option<&str> {
        self.parameter("GitLabUrl")
    }

    /// Returns whether there is a token of its own that resolves threads: GitHub wants one for it, and the operator.
    pub fn resolves_threads(&self) -> bool {
        self.gitlab_url().is_none() && self.parameter("ResolveThreads") == Some("true")
    }

    /// Returns whether the forge is reached as an App; otherwise by two plain tokens.
    pub fn uses_app(&self) -> bool {
        self.output(Output::AuthMode)
            .is_ok_and(|mode| mode == "app")
    }
}

fn standing(status: &str) -> Standing {
    match status {
        "CREATE_COMPLETE"
        | "UPDATE_COMPLETE"
        | "IMPORT_COMPLETE"
        | "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS" => Standing::Good,
        "UPDATE_ROLLBACK_COMPLETE" | "IMPORT_ROLLBACK_COMPLETE" => Standing::TakenBack,
        status if status.ends_with("_IN_PROGRESS") => Standing::Busy,
        _ => Standing::Broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_cloudformation_are_sorted() {
        for (status, want) in [
            ("CREATE_COMPLETE", Standing::Good),
            ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", Standing::Good),
            ("UPDATE_ROLLBACK_COMPLETE", Standing::TakenBack),
            ("UPDATE_IN_PROGRESS", Standing::Busy),
            ("ROLLBACK_COMPLETE", Standing::Broken),
            ("UPDATE_ROLLBACK_FAILED", Standing::Broken),
            ("A_STATE_OF_TOMORROW", Standing::Broken),
        ] {
            assert_eq!(standing(status), want, "{status}");
        }
    }

    #[test]
    fn outputs_are_those_of_the_template() {
        let template = include_str!("../../../template.yaml");
        let (_, outputs) = template.split_once("\nOutputs:\n").unwrap();
        for output in Output::ALL {
            let line = format!("  {}:\n", output.as_str());
            assert!(outputs.contains(&line), "{}", output.as_str());
        }
    }
}
