//! Walking the selections of a document.

use serde_json::{Map, Value, json};

use super::Fault;
use super::nodes::{Found, Node, Page, PageInfo, TYPES};
use super::parse::{Document, Field, Selection};
use crate::github::Github;
use crate::github::auth::Caller;
use crate::github::world::World;

/// Largest page of a connection.
const MAX_PAGE: u64 = 100;

/// One execution.
pub(crate) struct Run<'a> {
    pub(crate) world: &'a World,
    pub(crate) github: &'a Github,
    pub(crate) caller: &'a Caller,
    pub(crate) actor: &'a str,
    pub(crate) document: &'a Document,
    pub(crate) variables: &'a Map<String, Value>,
    pub(crate) errors: Vec<Value>,
}

/// The arguments of one field; reading takes them, and what is left at the end is unknown.
pub(crate) struct Arguments {
    given: Map<String, Value>,
    of: String,
}

impl Arguments {
    /// Takes an argument, if it was given and is not null.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.given.remove(name).filter(|value| !value.is_null())
    }

    /// Takes an argument that must be a string.
    pub(crate) fn text(&mut self, name: &str) -> Result<String, Fault> {
        match self.take(name) {
            Some(Value::String(text)) => Ok(text),
            _ => Err(Fault::Request(format!(
                "{} needs the argument {name}",
                self.of
            ))),
        }
    }

    /// Takes an argument that must be a number.
    pub(crate) fn number(&mut self, name: &str) -> Result<u64, Fault> {
        let number = self.take(name).and_then(|value| value.as_u64());
        number.ok_or_else(|| Fault::Request(format!("{} needs the argument {name}", self.of)))
    }

    /// Returns one page of a connection of so many items; `show` makes the nodes.
    pub(crate) fn page<'a>(
        &mut self,
        kind: &'static str,
        total: usize,
        show: impl FnOnce(std::ops::Range<usize>) -> Result<Vec<Node<'a>>, Fault>,
    ) -> Result<Found<'a>, Fault> {
        let size = |value: Option<Value>| value.and_then(|value| value.as_u64());
        let (first, last) = (size(self.take("first")), size(self.take("last")));
        let cursor = |value: Option<Value>| {
            value
                .as_ref()
                .and_then(Value::as_str)
                .and_then(|text| text.parse::<usize>().ok())
        };
        let after = cursor(self.take("after")).unwrap_or(0);
        let before = cursor(self.take("before")).map_or(total, |before| before.saturating_sub(1));
        let wanted = first.or(last).ok_or_else(|| {
            Fault::Request(format!(
                "You must provide a `first` or `last` value to properly paginate the `{}` \
                 connection.",
                self.of
            ))
        })?;
        if wanted == 0 || wanted > MAX_PAGE {
            return Err(Fault::Request(format!(
                "Requesting {wanted} records on the `{}` connection exceeds the limit of \
                 {MAX_PAGE} records.",
                self.of
            )));
        }
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let (low, high) = (after.min(total), before.min(total));
        let range = if first.is_some() {
            low..low.saturating_add(wanted).min(high)
        } else {
            high.saturating_sub(wanted).max(low)..high
        };
        let info = PageInfo {
            start: range.start,
            end: range.end,
            total,
        };
        let items = if range.is_empty() {
            Vec::new()
        } else {
            show(range)?
        };
        Ok(Found::One(Node::Connection(Page {
            kind,
            total,
            items,
            info,
        })))
    }
}

impl<'a> Run<'a> {
    /// Returns the selected fields of a node.
    pub(crate) fn select(
        &mut self,
        node: &Node<'a>,
        selections: &'a [Selection],
        path: &mut Vec<Value>,
    ) -> Result<Value, Fault> {
        let mut shown = Map::new();
        self.select_into(node, selections, path, &mut shown)?;
        Ok(Value::Object(shown))
    }

    fn select_into(
        &mut self,
        node: &Node<'a>,
        selections: &'a [Selection],
        path: &mut Vec<Value>,
        shown: &mut Map<String, Value>,
    ) -> Result<(), Fault> {
        for selection in selections {
            match selection {
                Selection::Inline { on, selections } => {
                    let applies = match on {
                        None => true,
                        Some(name) => {
                            known_type(name)?;
                            node.is(name)
                        }
                    };
                    if applies {
                        self.select_into(node, selections, path, shown)?;
                    }
                }
                Selection::Spread(name) => {
                    let fragment = self.document.fragments.get(name);
                    let fragment = fragment.ok_or_else(|| {
                        Fault::Request(format!("Fragment {name} was not defined"))
                    })?;
                    known_type(&fragment.on)?;
                    if node.is(&fragment.on) {
                        self.select_into(node, &fragment.selections, path, shown)?;
                    }
                }
                Selection::Field(field) => {
                    path.push(json!(field.alias));
                    let value = self.field(node, field, path)?;
                    path.pop();
                    merge(shown, &field.alias, value);
                }
            }
        }
        Ok(())
    }

    fn field(
        &mut self,
        node: &Node<'a>,
        field: &'a Field,
        path: &mut Vec<Value>,
    ) -> Result<Value, Fault> {
        if field.name == "__typename" {
            return Ok(json!(node.type_name()));
        }
        let of = format!("{}.{}", node.type_name(), field.name);
        let given = field
            .arguments
            .iter()
            .map(|(name, value)| (name.clone(), self.document.value(value, self.variables)))
            .collect();
        // The same mutation may stand in a document twice; its alias says which one is meant.
        let one;
        let node = match node {
            Node::Mutation(performed) => {
                let is_this = |selection: &Selection| matches!(selection, Selection::Field(f) if f.alias == field.alias);
                let index = self
                    .document
                    .selections
                    .iter()
                    .position(is_this)
                    .unwrap_or(usize::MAX);
                one = Node::Mutation(performed.get(index..).unwrap_or_default());
                &one
            }
            other => other,
        };
        let mut arguments = Arguments {
            given,
            of: of.clone(),
        };
        let found = match self.resolve(node, &field.name, &mut arguments) {
            Ok(found) => found,
            Err(Fault::Field { kind, message }) => {
                self.errors
                    .push(json!({ "type": kind, "path": path, "message": message }));
                return Ok(Value::Null);
            }
            Err(fault) => return Err(fault),
        };
        if let Some(name) = arguments.given.keys().next() {
            return Err(Fault::Request(format!(
                "Field '{of}' doesn't accept argument '{name}'"
            )));
        }
        let leaf = field.selections.is_empty();
        match found {
            Found::Scalar(_) if !leaf => Err(Fault::Request(format!(
                "Selections can't be made on scalars ({of})"
            ))),
            Found::Scalar(value) => Ok(value),
            _ if leaf => Err(Fault::Request(format!("Field must have selections ({of})"))),
            Found::Nothing => Ok(Value::Null),
            Found::One(node) => self.select(&node, &field.selections, path),
            Found::Many(nodes) => {
                let mut shown = Vec::new();
                for (index, node) in nodes.iter().enumerate() {
                    path.push(json!(index));
                    shown.push(self.select(node, &field.selections, path)?);
                    path.pop();
                }
                Ok(Value::Array(shown))
            }
        }
    }
}

fn known_type(name: &str) -> Result<(), Fault> {
    if TYPES.contains(&name) {
        return Ok(());
    }
    Err(Fault::Request(format!(
        "No such type {name}, so it can't be a fragment condition"
    )))
}

/// Two selections of one field are one field with both their selections.
fn merge(shown: &mut Map<String, Value>, name: &str, value: Value) {
    match (shown.get_mut(name), value) {
        (Some(Value::Object(have)), Value::Object(more)) => {
            for (name, value) in more {
                merge(have, &name, value);
            }
        }
        (_, value) => {
            shown.insert(name.to_owned(), value);
        }
    }
}
