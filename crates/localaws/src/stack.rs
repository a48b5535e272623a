//! The template, deployed to the emulator with real binaries.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::{REGION, TEST_ACCESS_KEY_ID, TEST_SECRET_ACCESS_KEY, project_root, script};

/// The functions' programs, by the name of their binary and of their folder under `target/lambda`.
pub const FUNCTIONS: [&str; 6] = [
    "intake",
    "collector",
    "reviewer",
    "poster",
    "sweeper",
    "minter",
];

/// What to deploy.
#[derive(Debug, Clone)]
pub struct StackRequest {
    /// The stack's name. Names of queues and functions begin with it.
    pub name: String,
    /// The template; the project's own unless a test tries another.
    pub template: PathBuf,
    /// Each function's program, by the last part of its `CodeUri`: `intake`, `minter` and so on.
    pub bootstraps: BTreeMap<String, PathBuf>,
    /// Values for the template's parameters; the others keep their defaults.
    pub parameters: BTreeMap<String, String>,
}

impl StackRequest {
    /// Asks for the project's template under a name, so far without programs and parameters.
    ///
    /// The tables do not refuse to be deleted, unlike the template's default.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            template: project_root().join("template.yaml"),
            bootstraps: BTreeMap::new(),
            parameters: BTreeMap::from([("DeletionProtection".to_owned(), "false".to_owned())]),
        }
    }

    /// Sets the program of `function`, such as `intake`.
    pub fn bootstrap(mut self, function: impl Into<String>, program: impl Into<PathBuf>) -> Self {
        self.bootstraps.insert(function.into(), program.into());
        self
    }

    /// Sets the program of every function.
    pub fn bootstraps<P: Into<PathBuf>>(self, program: impl Fn(&str) -> P) -> Self {
        FUNCTIONS.into_iter().fold(self, |request, function| {
            request.bootstrap(function, program(function))
        })
    }

    /// Sets a parameter.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.insert(name.into(), value.into());
        self
    }
}

/// A deployed stack. It stays until it is deleted or its emulator ends.
#[derive(Debug, Clone)]
pub struct Stack {
    endpoint: String,
    name: String,
    outputs: BTreeMap<String, String>,
    resources: BTreeMap<String, String>,
}

impl Stack {
    /// Deploys a template to the emulator at `endpoint` and waits until it is there.
    ///
    /// The template is sent as it is, except that every `CodeUri` becomes the place its program was
    /// uploaded to.
    ///
    /// # Errors
    ///
    /// When a program is missing or the stack cannot be created, then with the stack's events.
    pub fn deploy(endpoint: &str, request: &StackRequest) -> Result<Self> {
        let template = fs::read_to_string(&request.template)
            .with_context(|| format!("could not read {}", request.template.display()))?;
        let code: BTreeMap<String, &Path> = request
            .bootstraps
            .iter()
            .map(|(function, program)| (format!("target/lambda/{function}"), program.as_path()))
            .collect();
        let answer = call(
            endpoint,
            &request.name,
            &json!({"template": template, "code": code, "parameters": request.parameters}),
        )
        .with_context(|| format!("could not deploy the stack {}", request.name))?;
        Ok(Self {
            endpoint: endpoint.to_owned(),
            name: request.name.clone(),
            outputs: texts(&answer, "outputs"),
            resources: texts(&answer, "resources"),
        })
    }

    /// Returns the stack's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns all outputs.
    pub const fn outputs(&self) -> &BTreeMap<String, String> {
        &self.outputs
    }

    /// Returns an output, such as `WebhookUrl`.
    ///
    /// # Errors
    ///
    /// When the stack has none of that name, naming those it has.
    pub fn output(&self, name: &str) -> Result<&str> {
        find(&self.outputs, "output", name)
    }

    /// Returns the physical id of a resource, such as `ReviewerRole`.
    ///
    /// # Errors
    ///
    /// When the stack has none of that name, naming those it has.
    pub fn resource(&self, logical_id: &str) -> Result<&str> {
        find(&self.resources, "resource", logical_id)
    }

    /// Deletes the stack and waits until it is gone; what the template retains stays.
    ///
    /// # Errors
    ///
    /// When it cannot be deleted, with the stack's events.
    pub fn delete(self) -> Result<()> {
        call(&self.endpoint, &self.name, &json!({"delete": true}))
            .with_context(|| format!("could not delete the stack {}", self.name))
            .map(drop)
    }
}

fn call(endpoint: &str, stack: &str, what: &Value) -> Result<Value> {
    let mut request = json!({
        "endpoint": endpoint,
        "region": REGION,
        "key_id": TEST_ACCESS_KEY_ID,
        "secret": TEST_SECRET_ACCESS_KEY,
        "stack": stack,
    });
    if let (Some(request), Some(what)) = (request.as_object_mut(), what.as_object()) {
        request.extend(what.clone());
    }
    script::run("deploy.py", &request)
}

fn texts(answer: &Value, key: &str) -> BTreeMap<String, String> {
    let found = answer.get(key).and_then(Value::as_object);
    found
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect()
}

fn find<'a>(all: &'a BTreeMap<String, String>, what: &str, name: &str) -> Result<&'a str> {
    all.get(name).map(String::as_str).with_context(|| {
        let names: Vec<&str> = all.keys().map(String::as_str).collect();
        format!(
            "the stack has no {what} {name}; it has {}",
            names.join(", ")
        )
    })
}
