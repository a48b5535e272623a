//! The translated template, and the one beside it.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::sync::OnceLock;

use mirilla_localaws::{project_root, translate};
use serde_json::{Map, Value};
use tempfile::NamedTempFile;

use crate::grants::{Role, roles};

/// The template's file.
pub(crate) const TEMPLATE: &str = "template.yaml";
/// The nested stack's file.
pub(crate) const NAMES: &str = "infra/reviewer-names.yaml";

/// What the translation depends on beside the templates.
const TRANSLATION: [&str; 3] = [
    "infra/local-aws/translate.py",
    "infra/local-aws/template.py",
    "infra/local-aws/requirements.txt",
];

/// What is deployed, SAM's own additions included.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    /// `template.yaml`.
    main: Value,
    /// `infra/reviewer-names.yaml`.
    names: Value,
    /// Every role, flattened when it is first asked for.
    roles: OnceLock<BTreeMap<String, Role>>,
}

impl Template {
    /// The project's own.
    ///
    /// Every test is a process of its own, so the translation is kept beside the emulator, under a
    /// name made of everything it depends on.
    pub(crate) fn here() -> Self {
        let [main, names] = [TEMPLATE, NAMES].map(text_of);
        let mut hash = DefaultHasher::new();
        (&main, &names, TRANSLATION.map(text_of)).hash(&mut hash);
        let cache = project_root().join(".cache/local-aws");
        let kept = cache.join(format!("translated-{:016x}.json", hash.finish()));
        if let Ok(text) = fs::read(&kept) {
            let [main, names] = serde_json::from_slice(&text).unwrap();
            return Self::of(main, names);
        }
        let template = Self::all_of(&[(main, names)]).remove(0);
        let mut file = NamedTempFile::new_in(&cache).unwrap();
        let text = serde_json::json!([template.main, template.names]).to_string();
        file.write_all(text.as_bytes()).unwrap();
        file.persist(kept).unwrap();
        template
    }

    /// Translates pairs of both files' texts at once.
    pub(crate) fn all_of(texts: &[(String, String)]) -> Vec<Self> {
        let flat: Vec<&str> = texts
            .iter()
            .flat_map(|(main, names)| [main.as_str(), names.as_str()])
            .collect();
        let mut translated = translate(&flat).unwrap().into_iter().map(Result::unwrap);
        texts
            .iter()
            .map(|_| Self::of(translated.next().unwrap(), translated.next().unwrap()))
            .collect()
    }

    const fn of(main: Value, names: Value) -> Self {
        Self {
            main,
            names,
            roles: OnceLock::new(),
        }
    }

    /// Every role, by its name.
    pub(crate) fn roles(&self) -> &BTreeMap<String, Role> {
        self.roles.get_or_init(|| roles(self))
    }

    /// All resources of a type, by their names.
    pub(crate) fn of_type(&self, kind: &str) -> Vec<(&str, &Value)> {
        resources(&self.main)
            .iter()
            .filter(|(_, resource)| resource["Type"] == kind)
            .map(|(name, resource)| (name.as_str(), resource))
            .collect()
    }

    /// All resources, by their names.
    pub(crate) fn resources(&self) -> &Map<String, Value> {
        resources(&self.main)
    }

    /// All resources of the nested stack.
    pub(crate) fn nested(&self) -> &Map<String, Value> {
        resources(&self.names)
    }

    /// A resource's properties; a resource that is not there has none.
    pub(crate) fn properties(&self, name: &str) -> &Value {
        &resources(&self.main).get(name).unwrap_or(&Value::Null)["Properties"]
    }

    /// The whole template.
    pub(crate) const fn whole(&self) -> &Value {
        &self.main
    }
}

fn resources(template: &Value) -> &Map<String, Value> {
    template["Resources"].as_object().unwrap()
}

/// Reads a file of the project.
pub(crate) fn text_of(path: &str) -> String {
    let path = project_root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
