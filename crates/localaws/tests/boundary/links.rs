//! What every crate links, from `cargo metadata`: normal dependencies, transitively.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::process::Command;

use mirilla_localaws::project_root;
use serde_json::Value;

/// The graph of normal dependencies.
#[derive(Debug, Clone)]
pub(crate) struct Links {
    names: BTreeMap<String, String>,
    members: BTreeSet<String>,
    edges: BTreeMap<String, BTreeSet<String>>,
}

impl Links {
    /// The project's own.
    pub(crate) fn here() -> Self {
        Self::at(&project_root(), &["--locked"])
    }

    /// That of the workspace in a folder.
    pub(crate) fn at(root: &Path, further: &[&str]) -> Self {
        let output = Command::new(env!("CARGO"))
            .current_dir(root)
            .args(["metadata", "--format-version", "1"])
            .args(further)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Self::parse(&serde_json::from_slice(&output.stdout).unwrap())
    }

    fn parse(metadata: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let list = |value: &Value| value.as_array().unwrap().clone();
        let names: BTreeMap<String, String> = list(&metadata["packages"])
            .iter()
            .map(|package| (text(&package["id"]), text(&package["name"])))
            .collect();
        let edges = list(&metadata["resolve"]["nodes"])
            .iter()
            .map(|node| {
                let normal = list(&node["deps"])
                    .iter()
                    .filter(|dependency| {
                        list(&dependency["dep_kinds"])
                            .iter()
                            .any(|kind| kind["kind"].is_null())
                    })
                    .map(|dependency| text(&dependency["pkg"]))
                    .collect();
                (text(&node["id"]), normal)
            })
            .collect();
        let members = list(&metadata["workspace_members"])
            .iter()
            .map(|id| names[id.as_str().unwrap()].clone())
            .collect();
        Self {
            names,
            members,
            edges,
        }
    }

    /// Whether a crate is the workspace's own.
    pub(crate) fn is_member(&self, name: &str) -> bool {
        self.members.contains(name)
    }

    /// Everything a member links, itself included.
    pub(crate) fn of(&self, member: &str) -> BTreeSet<&str> {
        self.before(member)
            .keys()
            .map(|id| self.names[*id].as_str())
            .collect()
    }

    /// What a crate links directly.
    pub(crate) fn direct(&self, name: &str) -> BTreeSet<&str> {
        self.ids(name)
            .flat_map(|id| &self.edges[id])
            .map(|id| self.names[id].as_str())
            .collect()
    }

    /// How a member comes to link a crate, for the message.
    pub(crate) fn path(&self, member: &str, linked: &str) -> String {
        let before = self.before(member);
        let mut steps = Vec::new();
        let mut at = self.ids(linked).find(|id| before.contains_key(*id));
        while let Some(id) = at {
            steps.push(self.names[id].as_str());
            at = before[id];
        }
        steps.reverse();
        steps.join(" -> ")
    }

    fn ids(&self, name: &str) -> impl Iterator<Item = &str> {
        self.names
            .iter()
            .filter(move |(_, found)| *found == name)
            .map(|(id, _)| id.as_str())
    }

    /// Every reachable crate, with the one it was first reached from.
    fn before(&self, member: &str) -> BTreeMap<&str, Option<&str>> {
        let start = self
            .ids(member)
            .next()
            .unwrap_or_else(|| panic!("no crate {member}"));
        let mut before = BTreeMap::from([(start, None)]);
        let mut open = VecDeque::from([start]);
        while let Some(id) = open.pop_front() {
            for next in &self.edges[id] {
                if !before.contains_key(next.as_str()) {
                    before.insert(next, Some(id));
                    open.push_back(next);
                }
            }
        }
        before
    }
}
