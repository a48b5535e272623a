//! Bedrock's `InvokeModel`, as far as it differs from the Messages API: the model in the path, the version
//! in the body, a signature instead of a key, and errors of another shape.
//!
//! See <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html>.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::models;
use super::refusal::Refusal;
use crate::server::{Reply, Request};

const VERSION: &str = "bedrock-2023-05-31";
/// The Messages API's version that this one is written for.
const SAME_AS: &str = "2023-06-01";
const REGIONS: [&str; 7] = ["us.", "eu.", "apac.", "au.", "ca.", "jp.", "global."];

/// Returns the model's id in a path, not decoded.
pub(crate) fn model_id(path: &str) -> Option<&str> {
    let id = path.strip_prefix("/model/")?.strip_suffix("/invoke")?;
    (!id.is_empty() && !id.contains('/')).then_some(id)
}

/// Checks what is Bedrock's own and returns the request as the Messages API would have it.
pub(crate) fn as_message<'r>(
    request: &'r Request,
    access_key_id: &str,
) -> Result<(Cow<'r, Request>, String), Refusal> {
    check_signature(request, access_key_id)?;
    let encoded = model_id(&request.path).unwrap_or_default();
    let id = encoded.replace("%3A", ":").replace("%2F", "/");
    let model =
        known(&id).ok_or_else(|| Refusal::invalid("The provided model identifier is invalid."))?;
    if !id.starts_with("arn:") && !REGIONS.iter().any(|region| id.starts_with(region)) {
        return Err(Refusal::invalid(format!(
            "Invocation of model ID {id} with on-demand throughput isn\u{2019}t supported. Retry your request with the ID or ARN of an inference profile that contains this model."
        )));
    }
    let mut body: Value = serde_json::from_slice(&request.body).map_err(|_syntax| {
        Refusal::invalid("Malformed input request, please reformat your input and try again.")
    })?;
    let fields = body
        .as_object_mut()
        .ok_or_else(|| Refusal::invalid("Malformed input request: expected type: JSONObject"))?;
    match fields.remove("anthropic_version") {
        Some(Value::String(version)) if version == VERSION => {}
        _ => return Err(Refusal::invalid("anthropic_version: Field required")),
    }
    for absent in [
        "model",
        "stream",
        "cache_control",
        "inference_geo",
        "service_tier",
    ] {
        if fields.contains_key(absent) {
            return Err(Refusal::invalid(format!(
                "{absent}: Extra inputs are not permitted"
            )));
        }
    }
    fields.insert("model".to_owned(), json!(model));
    let mut request = request.clone();
    request.body = body.to_string().into();
    Ok((Cow::Owned(request), SAME_AS.to_owned()))
}

/// Returns the plain name of a model that this simulator plays.
fn known(id: &str) -> Option<&'static str> {
    let id = id.rsplit('/').next().unwrap_or_default();
    let id = REGIONS
        .iter()
        .find_map(|region| id.strip_prefix(region))
        .unwrap_or(id);
    let id = id.strip_prefix("anthropic.")?;
    let bare = id.split("-v").next().unwrap_or(id);
    [id, bare]
        .into_iter()
        .find_map(models::find)
        .map(|model| model.id)
}

/// The form of a signature: <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>.
fn check_signature(request: &Request, access_key_id: &str) -> Result<(), Refusal> {
    let refused = |what: &str| Refusal::new(403, "permission_error", what);
    if request.header("x-api-key").is_some() || request.header("anthropic-version").is_some() {
        return Err(refused("a header of the Messages API"));
    }
    let given = request.header("authorization").unwrap_or_default();
    let rest = given
        .strip_prefix("AWS4-HMAC-SHA256 ")
        .ok_or_else(|| refused("Missing Authentication Token"))?;
    let part = |name: &str| {
        rest.split(", ")
            .find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
            .unwrap_or_default()
    };
    let scope: Vec<&str> = part("Credential").split('/').collect();
    let [key, day, _region, service, last] = scope[..] else {
        return Err(refused("the credential's scope has not five parts"));
    };
    let signed: Vec<&str> = part("SignedHeaders").split(';').collect();
    let date = request.header("x-amz-date").unwrap_or_default();
    let signature = part("Signature");
    let fine = key == access_key_id
        && service == "bedrock"
        && last == "aws4_request"
        && day.len() == 8
        && date.starts_with(day)
        && ["host", "x-amz-date"]
            .iter()
            .all(|name| signed.contains(name))
        && signature.len() == 64
        && signature.bytes().all(|b| b.is_ascii_hexdigit());
    if fine {
        Ok(())
    } else {
        Err(refused(
            "The security token included in the request is invalid.",
        ))
    }
}

/// Returns a reply with Bedrock's request id and, if it is an error, in Bedrock's shape.
pub(crate) fn restated(mut reply: Reply, request_id: String) -> Reply {
    if reply.status != 200 {
        let told = serde_json::from_slice::<Value>(&reply.body).unwrap_or_default();
        let error = told.get("error");
        let text = |key: &str| error.and_then(|e| e.get(key)).and_then(Value::as_str);
        let (status, kind) = match (reply.status, text("type")) {
            (400 | 413, _) => (400, "ValidationException"),
            (401 | 403, _) => (403, "AccessDeniedException"),
            (404, _) => (404, "ResourceNotFoundException"),
            (429, _) => (429, "ThrottlingException"),
            (529, _) => (503, "ServiceUnavailableException"),
            (500, Some(_)) => (500, "InternalServerException"),
            // A gateway's page stays one.
            (status, _) => (status, ""),
        };
        if !kind.is_empty() {
            let message = text("message").unwrap_or_default();
            reply.body = json!({ "message": message }).to_string().into();
            reply = reply
                .with("content-type", "application/json")
                .with("x-amzn-errortype", kind);
            reply.status = status;
        }
    }
    reply.with("x-amzn-requestid", request_id)
}
