//! A stack on AWS, as far as an operator may look.

use mirilla_domain::forge_place::GitlabPlace;
use mirilla_domain::ids::{Forge, RepoName};
use mirilla_domain::settings::{GivenProblem, OperatorPolicy, Single};
use mirilla_domain::webhook::WebhookSecret;
use mirilla_forge::gitlab::Access;
use mirilla_model::BedrockSettings;
use mirilla_stack::{KeyState, Output, Session, Stack, StackError, Standing};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::report::Report;
use super::webhook::{self, Door};
use super::{gitlab, model};
use crate::serve::child;
use crate::webhook::Proof;

/// A function of the template.
struct Function {
    /// The output with its name.
    output: &'static str,
    /// Whether it is there only where an App is used.
    with_app: bool,
    /// Whether a queue feeds it.
    fed: bool,
    /// Whether it is there only where threads are resolved.
    with_resolving: bool,
}

const fn function(output: &'static str, with_app: bool, fed: bool) -> Function {
    Function {
        output,
        with_app,
        fed,
        with_resolving: false,
    }
}

const FUNCTIONS: [Function; 9] = [
    function("IntakeFunction", false, false),
    function("CollectorFunction", false, true),
    function("ReviewerFunction", false, true),
    function("PosterFunction", false, true),
    function("SweeperFunction", false, false),
    function("MinterReadFunction", true, false),
    function("MinterWriteFunction", true, false),
    function("MinterDeliveriesFunction", true, false),
    Function {
        with_resolving: true,
        ..function("MinterResolveFunction", true, false)
    },
];

const DEAD_LETTERS: [&str; 3] = [
    "CollectDeadLettersUrl",
    "ReviewDeadLettersUrl",
    "PostDeadLettersUrl",
];

/// Checks a stack from its state to the model's answer.
pub(super) async fn examine(name: &str, project: Option<&RepoName>, report: &mut Report) {
    const CHECK: &str = "stack";
    let found = async {
        let session = Session::open().await?;
        Stack::find(&session, name).await
    };
    let stack = match found.await {
        Ok(stack) => stack,
        Err(error) => {
            report.fail(CHECK, mirilla_telemetry::chain(&error), error.hint());
            return;
        }
    };
    let state = format!("{name} in {} is {}", stack.region(), stack.status());
    match stack.standing() {
        Standing::Good => report.ok(CHECK, state),
        Standing::Busy => report.warn(CHECK, state, "run the doctor again when that is done"),
        Standing::TakenBack => report.warn(
            CHECK,
            format!("{state}: the last change was taken back"),
            "deploy again; the stack's events say what went wrong",
        ),
        Standing::Broken => {
            report.fail(
                CHECK,
                state,
                "deploy it again; the stack's events say what went wrong",
            );
            return;
        }
    }
    functions(&stack, report).await;
    dead_letters(&stack, report).await;
    alarms(&stack, report).await;
    let proof = proof(&stack, report).await;
    door(&stack, proof.as_ref(), report).await;
    if stack.gitlab_url().is_none() {
        report.no_project(project);
    }
    if stack.uses_app() {
        app(&stack, report).await;
    } else if let Some(both) = tokens(&stack, report).await
        && let Some(url) = stack.gitlab_url()
    {
        gitlab(&stack, url, both, project, report).await;
    }
    let policy = policy(&stack, report);
    model::price(&policy, report);
    model_key(&stack, &policy.model, report).await;
}

async fn functions(stack: &Stack, report: &mut Report) {
    const CHECK: &str = "functions";
    let wanted = stack.parameter("Architecture").unwrap_or("arm64");
    let mut fine = 0_u32;
    for function in FUNCTIONS {
        let is_elsewhere = (function.with_app && !stack.uses_app())
            || (function.with_resolving && !stack.resolves_threads());
        if is_elsewhere {
            continue;
        }
        let looked = async {
            let name = stack.named_output(function.output)?;
            Ok((name, stack.function(name).await?))
        };
        let (name, facts) = match looked.await {
            Ok(found) => found,
            Err(error) => {
                report.unseen(CHECK, &error);
                continue;
            }
        };
        let why = facts.why.as_deref().unwrap_or("no reason given");
        if facts.state == "Pending" || facts.last_update == "InProgress" {
            report.warn(
                CHECK,
                format!("{name} is being changed"),
                "run the doctor again in a minute",
            );
        } else if !matches!(facts.state.as_str(), "Active" | "Inactive") {
            report.fail(
                CHECK,
                format!("{name} is {}: {why}", facts.state),
                "deploy the stack again",
            );
        } else if facts.last_update != "Successful" {
            report.fail(
                CHECK,
                format!("the last change of {name} is {}: {why}", facts.last_update),
                "deploy again",
            );
        } else if facts.architecture != wanted {
            report.fail(
                CHECK,
                format!(
                    "{name} runs on {}, and the stack was deployed for {wanted}",
                    facts.architecture
                ),
                "build for one of the two and deploy with Architecture set to it",
            );
        } else if !function.fed || fed(stack, name, report).await {
            fine = fine.saturating_add(1);
        }
    }
    if fine > 0 {
        report.ok(
            CHECK,
            format!("{fine} functions are deployed for {wanted} and fed"),
        );
    }
}

/// Checks that a function is fed from its queue; says so only if it is not.
async fn fed(stack: &Stack, function: &str, report: &mut Report) -> bool {
    const CHECK: &str = "queues";
    let mappings = match stack.mappings(function).await {
        Ok(mappings) => mappings,
        Err(error) => {
            report.unseen(CHECK, &error);
            return false;
        }
    };
    if mappings.is_empty() {
        report.fail(
            CHECK,
            format!("no queue feeds {function}"),
            "deploy the template again",
        );
        return false;
    }
    let mut fine = true;
    for mapping in mappings {
        let queue = mapping.source.rsplit(':').next().unwrap_or_default();
        if mapping.state != "Enabled" {
            report.fail(
                CHECK,
                format!("{function} is not fed from {queue}: {}", mapping.state),
                "enable the event source mapping in the Lambda console, or deploy again",
            );
            fine = false;
        } else if let Some(result) = &mapping.last_result
            && result.starts_with("PROBLEM")
        {
            report.warn(
                CHECK,
                format!("{function} had a problem with {queue}: {result}"),
                "look into the function's log",
            );
        }
    }
    fine
}

async fn dead_letters(stack: &Stack, report: &mut Report) {
    const CHECK: &str = "dead-letters";
    let mut empty = true;
    for output in DEAD_LETTERS {
        let looked = async {
            let url = stack.named_output(output)?;
            Ok((url, stack.waiting(url).await?))
        };
        match looked.await {
            Ok((_, 0)) => {}
            Ok((url, count)) => {
                empty = false;
                report.warn(
                    CHECK,
                    format!(
                        "{count} messages gave up in {}",
                        url.rsplit('/').next().unwrap_or(url)
                    ),
                    "docs/OPERATIONS.md says how to look at them and send them back",
                );
            }
            Err(error) => {
                empty = false;
                report.unseen(CHECK, &error);
            }
        }
    }
    if empty {
        report.ok(CHECK, "no message gave up");
    }
}

async fn alarms(stack: &Stack, report: &mut Report) {
    const CHECK: &str = "alarms";
    let subscriptions = match stack.subscriptions().await {
        Ok(subscriptions) => subscriptions,
        Err(error) => {
            report.unseen(CHECK, &error);
            return;
        }
    };
    if subscriptions.pending > 0 {
        report.warn(
            CHECK,
            format!(
                "{} of those who shall hear of alarms have not confirmed",
                subscriptions.pending
            ),
            "open the mail from AWS Notifications and confirm",
        );
    } else if subscriptions.confirmed == 0 {
        report.warn(
            CHECK,
            "nobody hears of alarms",
            "deploy with AlarmEmail set, or subscribe to the topic in the output AlarmTopicArn",
        );
    } else {
        report.ok(CHECK, format!("{} hear of alarms", subscriptions.confirmed));
    }
}

/// Checks what webhooks are believed by; returns it if it can be used.
async fn proof(stack: &Stack, report: &mut Report) -> Option<Proof> {
    const CHECK: &str = "webhook-secret";
    let fix = if stack.uses_app() {
        format!("mirilla app create --stack {}", stack.name())
    } else {
        "deploy the template again, which makes one, and paste it into the forge".to_owned()
    };
    let value = match stack.secret(Output::WebhookSecret).await {
        Ok(Some(value)) => value,
        Ok(None) => {
            report.fail(CHECK, "it is empty", fix);
            return None;
        }
        Err(error) => {
            report.unseen(CHECK, &error);
            return None;
        }
    };
    let secret = match WebhookSecret::parse(value.expose_secret()) {
        Ok(secret) => secret,
        Err(error) => {
            report.fail(CHECK, error.to_string(), fix);
            return None;
        }
    };
    report.ok(CHECK, "it is well-formed");
    if stack.gitlab_url().is_none() {
        return Some(Proof::Github(secret));
    }
    Some(Proof::Gitlab {
        token: Some(value.expose_secret().trim().to_owned()),
        signing: signing_token(stack, report).await?,
    })
}

/// Checks GitLab's signing token, which may be missing; returns nothing if it is there and cannot be used.
async fn signing_token(stack: &Stack, report: &mut Report) -> Option<Option<WebhookSecret>> {
    const CHECK: &str = "signing-token";
    match stack.secret(Output::SigningToken).await {
        Ok(Some(value)) if !value.expose_secret().trim().is_empty() => {
            match WebhookSecret::parse_signing_token(value.expose_secret()) {
                Ok(key) => {
                    report.ok(CHECK, "it is well-formed");
                    Some(Some(key))
                }
                Err(error) => {
                    let fix = format!("mirilla secret set signing-token --stack {}", stack.name());
                    report.fail(CHECK, error.to_string(), fix);
                    None
                }
            }
        }
        Ok(_) => {
            report.ok(
                CHECK,
                "there is none: webhooks prove themselves by the secret token",
            );
            Some(None)
        }
        Err(error) => {
            report.unseen(CHECK, &error);
            None
        }
    }
}

async fn door(stack: &Stack, proof: Option<&Proof>, report: &mut Report) {
    const CHECK: &str = "webhook";
    const FIX: &str = "look into the log of the intake function";
    let url = match stack.output(Output::WebhookUrl).map(Url::parse) {
        Ok(Ok(url)) => url,
        Ok(Err(error)) => {
            report.fail(
                CHECK,
                format!("the output WebhookUrl is not a URL: {error}"),
                "deploy the template again",
            );
            return;
        }
        Err(error) => {
            report.unseen(CHECK, &error);
            return;
        }
    };
    let through = stack.endpoint_override().and_then(|it| Url::parse(it).ok());
    let forge = match stack.gitlab_url() {
        None => Forge::Github,
        Some(_) => Forge::Gitlab,
    };
    let door = Door { url, through };
    webhook::examine(&door, forge, proof, FIX, report).await;
}

async fn app(stack: &Stack, report: &mut Report) {
    const CHECK: &str = "app";
    let create = format!("mirilla app create --stack {}", stack.name());
    match stack.app().await {
        Ok(Ok(app)) => match stack.secret_facts(Output::WebhookSecret).await {
            Ok(facts) if facts.has_label(&app.webhook_label()) => {
                report.ok(CHECK, format!("{} is the stack's App", app.slug));
            }
            Ok(_) => report.fail(
                CHECK,
                format!("{} does not sign with the stack's webhook secret", app.slug),
                reconnect(stack),
            ),
            Err(error) => report.unseen(CHECK, &error),
        },
        Ok(Err(problem)) => report.fail(CHECK, problem.to_string(), create.clone()),
        Err(error) => report.unseen(CHECK, &error),
    }
    key(stack, &create, report).await;
    if stack.resolves_threads() {
        // Only a minter can ask: the App's key is not at hand here.
        report.warn(
            "permissions",
            "ResolveThreads is true, and whether the App has contents: write cannot be seen from here",
            "add it on the App's page and let each account accept it; until then threads stay open and \
             the metric threads_gone counts them as failed",
        );
    }
}

fn reconnect(stack: &Stack) -> String {
    format!(
        "generate a private key on the App's page, then: mirilla app key --stack {} --pem FILE",
        stack.name()
    )
}

async fn key(stack: &Stack, create: &str, report: &mut Report) {
    const CHECK: &str = "app-key";
    let state = match stack.key_state().await {
        Ok(state) => state,
        Err(error) => {
            report.unseen(CHECK, &error);
            return;
        }
    };
    match &state {
        KeyState::Ready { .. } => report.ok(
            CHECK,
            format!(
                "KMS has {}, which must be among the keys on the App's page",
                state.fingerprint().unwrap_or_default()
            ),
        ),
        KeyState::Waiting => report.fail(
            CHECK,
            "KMS has no private key of the App",
            format!("{create}, or, if the App exists, {}", reconnect(stack)),
        ),
        KeyState::Disabled => report.fail(
            CHECK,
            "the App's key in KMS is disabled",
            "enable it in the KMS console",
        ),
        KeyState::Dying => report.fail(
            CHECK,
            "the App's key in KMS will be deleted",
            "cancel its deletion in the KMS console, and enable it",
        ),
        KeyState::NotImported => report.fail(
            CHECK,
            "the App's key in KMS was made by KMS, which GitHub does not know",
            "deploy the template of this version",
        ),
        KeyState::Other(word) => report.fail(
            CHECK,
            format!("the App's key in KMS is {word}"),
            "look at it in the KMS console",
        ),
    }
}

/// Checks the plain tokens without sending their values anywhere; returns the one that reads and the one that
/// writes if both are there.
async fn tokens(stack: &Stack, report: &mut Report) -> Option<[SecretString; 2]> {
    const CHECK: &str = "tokens";
    let mut values: Vec<SecretString> = Vec::new();
    let resolve = (Output::ResolveToken, "resolve-token");
    let resolve = stack.resolves_threads().then_some(resolve);
    let both = [
        (Output::ReadToken, "read-token"),
        (Output::WriteToken, "write-token"),
    ];
    for (output, name) in both.into_iter().chain(resolve) {
        match stack.secret(output).await {
            Ok(Some(value)) if !value.expose_secret().trim().is_empty() => values.push(value),
            Ok(_) => report.fail(
                CHECK,
                format!("{} is empty", output.what()),
                format!("mirilla secret set {name} --stack {}", stack.name()),
            ),
            Err(error) => report.unseen(CHECK, &error),
        }
    }
    if let [read, write, more @ ..] = values.as_slice() {
        let is_shared = |one: &SecretString| {
            [read, write]
                .map(SecretString::expose_secret)
                .contains(&one.expose_secret())
        };
        if more.iter().any(is_shared) {
            report.warn(
                CHECK,
                "the token that resolves threads is another one's too, so that one may push",
                "make a third one, of the same account, with Contents: write and Pull requests: write",
            );
        } else if read.expose_secret() == write.expose_secret() {
            report.warn(
                CHECK,
                "both tokens are the same, so the collector may write",
                "make one that reads contents and pull requests, and one that writes pull requests",
            );
        } else {
            report.ok(CHECK, "there is one that reads and one that writes");
        }
        return Some([read.clone(), write.clone()]);
    }
    None
}

/// Asks GitLab about its version and the tokens.
async fn gitlab(
    stack: &Stack,
    url: &str,
    tokens: [SecretString; 2],
    project: Option<&RepoName>,
    report: &mut Report,
) {
    let place = GitlabPlace {
        url: url.to_owned(),
        extra_ca_pem: stack.parameter("ForgeCaPem").map(ToOwned::to_owned),
    };
    let access = child::surroundings()
        .and_then(|(clock, entropy)| Ok(Access::of_operator(&place, clock, entropy)?));
    match access {
        Ok(access) => {
            let settings = gitlab::Settings::Stack(stack.name());
            gitlab::examine(&access, tokens, project, settings, report).await;
        }
        Err(error) => report.fail(
            "gitlab",
            format!("{error:#}"),
            "deploy with another GitLabUrl or ForgeCaPem",
        ),
    }
}

/// Returns what the operator decided, from the stack's parameters.
fn policy(stack: &Stack, report: &mut Report) -> OperatorPolicy {
    const CHECK: &str = "policy";
    const TEXT: &str = "Policy";
    let given = |name: &str| {
        let value = stack.parameter(name);
        value.filter(|value| !value.trim().is_empty())
    };
    let single = |single: Single| given(single.parameter()).map(str::to_owned);
    let (policy, problems) = OperatorPolicy::given(given(TEXT), single);
    for problem in problems {
        let (what, fix) = match problem {
            GivenProblem::Text(why) => (
                format!("the parameter {TEXT} cannot be used: {why}"),
                "deploy with a Policy as `mirilla config policy` prints it".to_owned(),
            ),
            GivenProblem::Single(single) => (
                format!(
                    "the parameter {} is `{}`",
                    single.parameter(),
                    given(single.parameter()).unwrap_or_default()
                ),
                format!("deploy with {}", single.form()),
            ),
        };
        report.fail(CHECK, what, fix);
    }
    policy
}

async fn model_key(stack: &Stack, model_id: &str, report: &mut Report) {
    const CHECK: &str = "model-key";
    if let Some(id) = stack
        .parameter("BedrockModelId")
        .filter(|id| !id.is_empty())
    {
        bedrock(id, model_id, report);
        return;
    }
    let fix = format!("mirilla secret set model-key --stack {}", stack.name());
    let key = match stack.secret(Output::ModelKey).await {
        Ok(Some(key)) if key.expose_secret().trim().is_empty() => None,
        Ok(key) => key,
        Err(error) => {
            report_unread(&error, stack, &fix, report).await;
            return;
        }
    };
    let Some(key) = key else {
        report.fail(CHECK, "it is empty", fix);
        return;
    };
    report.ok(CHECK, "it is filled");
    let endpoint = stack
        .parameter("ModelUrl")
        .unwrap_or("https://api.anthropic.com");
    match Url::parse(endpoint) {
        Ok(endpoint) => model::reach(&endpoint, &key, model_id, &fix, report).await,
        Err(error) => report.fail(
            "model",
            format!("ModelUrl is not a URL: {error}"),
            "deploy with another ModelUrl",
        ),
    }
}

/// Checks what can be checked without a question, which would cost something: Bedrock has no other way to
/// see whether the reviewer's role may ask.
fn bedrock(id: &str, model: &str, report: &mut Report) {
    const CHECK: &str = "model";
    match BedrockSettings::new(id, model).check() {
        Ok(_) => report.warn(
            CHECK,
            format!("{id} is asked on Bedrock for {model}; whether it answers was not tried"),
            "see that this account has access to the model in this region, then open a pull request",
        ),
        Err(error) => report.fail(
            CHECK,
            error.to_string(),
            "deploy with another BedrockModelId or Model",
        ),
    }
}

/// Says as much about a key that may not be read as can be said without reading it.
async fn report_unread(error: &StackError, stack: &Stack, fix: &str, report: &mut Report) {
    const CHECK: &str = "model-key";
    if !error.is_denied() {
        report.unseen(CHECK, error);
        return;
    }
    match stack.secret_facts(Output::ModelKey).await {
        Ok(facts) if facts.version.is_none() => report.fail(CHECK, "it is empty", fix),
        Ok(_) => report.warn(
            CHECK,
            "it is filled; whether the model takes it was not tried, because you may not read it",
            "use an AWS role that may read it, or open a pull request to see",
        ),
        Err(error) => report.unseen(CHECK, &error),
    }
}
