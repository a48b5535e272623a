//! The model: its key, whether it is there, and whether it can be paid for.

use mirilla_domain::price::PriceTable;
use mirilla_domain::settings::{OperatorPolicy, RepoSettings};
use mirilla_model::{AnthropicSettings, ProbeError, check_model, probe};
use secrecy::SecretString;
use url::Url;

use super::report::Report;

/// The provider's own endpoint; others may be gateways that know only questions.
const PROVIDER: &str = "api.anthropic.com";

/// Checks that the model has a price, and that the caps pay for it.
pub(super) fn price(policy: &OperatorPolicy, report: &mut Report) {
    const CHECK: &str = "price";
    let prices = PriceTable::shipped();
    if let Err(error) = check_model(&policy.model) {
        report.fail(CHECK, error.to_string(), "set another model");
        return;
    }
    match prices.check(&policy.with(&RepoSettings::default())) {
        Ok(()) => report.ok(
            CHECK,
            format!(
                "{} has a price (as of {}), and {} a review pays for it",
                policy.model,
                prices.as_of.as_deref().unwrap_or("an unknown day"),
                policy.max_usd
            ),
        ),
        Err(error) => report.fail(
            CHECK,
            error.to_string(),
            "set another model or cap; prices are in infra/prices.toml",
        ),
    }
}

/// Asks the provider about the model with the key; no question is put to it, so it costs nothing.
pub(super) async fn reach(
    endpoint: &Url,
    key: &SecretString,
    model: &str,
    fix: &str,
    report: &mut Report,
) {
    const CHECK: &str = "model";
    let settings = AnthropicSettings::new(endpoint.clone(), key.clone(), model);
    let host = endpoint.host_str().unwrap_or_default();
    match probe(&settings).await {
        Ok(facts) if facts.lifecycle.as_deref() == Some("retired") => report.fail(
            CHECK,
            format!("{model} is retired"),
            "set another model; infra/prices.toml lists those with a price",
        ),
        Ok(facts) if facts.obeys_schema() == Some(false) => report.fail(
            CHECK,
            format!("{model} does not support structured output"),
            "set another model; infra/prices.toml lists those with a price",
        ),
        Ok(facts) => match (facts.lifecycle.as_deref(), facts.retires_at) {
            (Some("deprecated"), when) => report.warn(
                CHECK,
                format!(
                    "{host} takes the key and has {model}, which retires {}",
                    when.as_deref().unwrap_or("soon")
                ),
                "plan for another model",
            ),
            _ => report.ok(CHECK, format!("{host} takes the key and has {model}")),
        },
        Err(ProbeError::Key { status }) => report.fail(
            CHECK,
            format!("{host} refuses the key (status {status})"),
            fix,
        ),
        Err(ProbeError::NoModel) if host == PROVIDER => report.fail(
            CHECK,
            format!("{host} knows no model {model}"),
            "set another model, or ask for access to it",
        ),
        Err(ProbeError::NoModel) => report.warn(
            CHECK,
            format!("{host} cannot be asked about {model}; a gateway, perhaps"),
            "open a pull request to see whether it answers",
        ),
        Err(error @ ProbeError::Refused { .. }) => report.warn(
            CHECK,
            mirilla_telemetry::chain(&error),
            "try again in a minute; the provider's status page says more",
        ),
        Err(error) => report.fail(
            CHECK,
            mirilla_telemetry::chain(&error),
            "check the model's address and the network",
        ),
    }
}
