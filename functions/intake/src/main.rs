//! Wires intake to AWS.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use lambda_http::service_fn;
use mirilla_aws::{
    Aws, CredentialSource, DynamoLedger, HookNames, QueueUrls, SecretStore, SqsQueues,
    StoredWebhookSecrets,
};
use mirilla_domain::ids::Forge;
use mirilla_intake::{State, handle};
use mirilla_lambda::{Environment, Settings};
use mirilla_ports::Clock;
use mirilla_stages::intake::{IntakeSettings, SecretCache};
use mirilla_system::SystemClock;
use mirilla_telemetry::Telemetry;

fn main() -> ExitCode {
    mirilla_lambda::start("intake", run)
}

async fn run(environment: Environment, telemetry: Telemetry) -> Result<()> {
    let mut settings = Settings::of(&environment);
    let ledger = settings.required("MIRILLA_LEDGER_TABLE");
    let secret = settings.required("MIRILLA_WEBHOOK_SECRET_ARN");
    let urls = QueueUrls {
        collect: Some(settings.required("MIRILLA_COLLECT_QUEUE_URL")),
        post: Some(settings.required("MIRILLA_POST_QUEUE_URL")),
        ..QueueUrls::default()
    };
    let accounts = settings.list("MIRILLA_ALLOWED_ACCOUNTS");
    let debounce = settings.debounce();
    let place = settings.forge();
    let signing = settings.optional("MIRILLA_SIGNING_TOKEN_ARN");
    settings.finish(())?;
    let mut stage = IntakeSettings::new(accounts.iter().map(String::as_str))?;
    stage.debounce = debounce;

    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let aws = Aws::connect(CredentialSource::Environment).await?;
    let secrets = StoredWebhookSecrets::new(
        SecretStore::new(aws.secrets()),
        match place.forge() {
            Forge::Github => HookNames::Github { secret },
            Forge::Gitlab => HookNames::Gitlab {
                token: secret,
                signing,
            },
        },
        place.webhook_grace(),
        Arc::clone(&clock),
    );
    let state = Arc::new(State {
        ledger: Arc::new(DynamoLedger::new(
            aws.dynamodb(),
            ledger,
            Arc::clone(&clock),
        )),
        queue: Arc::new(SqsQueues::new(aws.sqs(), urls)),
        secrets: SecretCache::open(Arc::new(secrets), clock.now()).await?,
        clock,
        settings: stage,
        telemetry,
    });
    let service = service_fn(move |request| {
        let state = Arc::clone(&state);
        async move { Ok::<_, std::convert::Infallible>(handle(&state, request).await) }
    });
    lambda_http::run(service)
        .await
        .map_err(|error| anyhow!(error))
}
