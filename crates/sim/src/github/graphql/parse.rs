//! Reading GraphQL documents.
//!
//! Grammar: <https://spec.graphql.org/October2021/#sec-Appendix-Grammar-Summary>. Directives and
//! subscriptions are left out.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Fault;

/// Query or mutation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Query,
    Mutation,
}

/// A document with its one operation.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) kind: Kind,
    variables: Vec<Variable>,
    pub(crate) selections: Vec<Selection>,
    pub(crate) fragments: BTreeMap<String, Fragment>,
}

#[derive(Debug)]
struct Variable {
    name: String,
    required: bool,
    default: Option<Argument>,
}

/// A named fragment.
#[derive(Debug)]
pub(crate) struct Fragment {
    pub(crate) on: String,
    pub(crate) selections: Vec<Selection>,
}

/// One selection.
#[derive(Debug)]
pub(crate) enum Selection {
    Field(Field),
    Inline {
        on: Option<String>,
        selections: Vec<Self>,
    },
    Spread(String),
}

/// One field.
#[derive(Debug)]
pub(crate) struct Field {
    /// What the answer calls it.
    pub(crate) alias: String,
    pub(crate) name: String,
    pub(crate) arguments: Vec<(String, Argument)>,
    pub(crate) selections: Vec<Selection>,
}

/// An argument's value.
#[derive(Debug, Clone)]
pub(crate) enum Argument {
    Variable(String),
    Plain(Value),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl Document {
    /// Checks that exactly the declared variables are given and used.
    pub(crate) fn check_variables(&self, given: &Map<String, Value>) -> Result<(), Fault> {
        let mut used = Vec::new();
        uses(&self.selections, &mut used);
        for fragment in self.fragments.values() {
            uses(&fragment.selections, &mut used);
        }
        for variable in &self.variables {
            let name = &variable.name;
            if !used.contains(name) {
                return Err(Fault::Request(format!(
                    "Variable ${name} is declared but not used"
                )));
            }
            let absent = given.get(name).is_none_or(Value::is_null);
            if variable.required && absent && variable.default.is_none() {
                return Err(Fault::Request(format!(
                    "Variable ${name} was provided invalid value: Expected value to not be null"
                )));
            }
        }
        for name in used {
            if !self.variables.iter().any(|variable| variable.name == name) {
                return Err(Fault::Request(format!(
                    "Variable ${name} is used but not declared"
                )));
            }
        }
        Ok(())
    }

    /// Returns an argument's value with the variables put in.
    pub(crate) fn value(&self, argument: &Argument, given: &Map<String, Value>) -> Value {
        match argument {
            Argument::Plain(value) => value.clone(),
            Argument::List(items) => items.iter().map(|item| self.value(item, given)).collect(),
            Argument::Object(fields) => fields
                .iter()
                .map(|(name, field)| (name.clone(), self.value(field, given)))
                .collect::<Map<_, _>>()
                .into(),
            Argument::Variable(name) => given.get(name).cloned().unwrap_or_else(|| {
                let declared = self
                    .variables
                    .iter()
                    .find(|variable| variable.name == *name);
                let default = declared.and_then(|variable| variable.default.as_ref());
                default.map_or(Value::Null, |default| self.value(default, given))
            }),
        }
    }
}

fn uses(selections: &[Selection], used: &mut Vec<String>) {
    for selection in selections {
        match selection {
            Selection::Spread(_) => {}
            Selection::Inline { selections, .. } => uses(selections, used),
            Selection::Field(field) => {
                for (_, argument) in &field.arguments {
                    uses_in(argument, used);
                }
                uses(&field.selections, used);
            }
        }
    }
}

fn uses_in(argument: &Argument, used: &mut Vec<String>) {
    match argument {
        Argument::Variable(name) => used.push(name.clone()),
        Argument::Plain(_) => {}
        Argument::List(items) => items.iter().for_each(|item| uses_in(item, used)),
        Argument::Object(fields) => fields.iter().for_each(|(_, field)| uses_in(field, used)),
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Punctuation(char),
    Spread,
    Name(String),
    Number(serde_json::Number),
    Text(String),
}

/// Reads a document with one operation.
pub(crate) fn parse(text: &str) -> Result<Document, Fault> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        at: 0,
        depth: 0,
    };
    let mut operation = None;
    let mut fragments = BTreeMap::new();
    while parser.at < parser.tokens.len() {
        if parser.peek() == Some(&Token::Punctuation('{')) {
            let selections = parser.selections()?;
            operation = Some((Kind::Query, Vec::new(), selections));
            continue;
        }
        match parser.name()?.as_str() {
            "fragment" => {
                let name = parser.name()?;
                parser.word("on")?;
                let on = parser.name()?;
                let selections = parser.selections()?;
                fragments.insert(name, Fragment { on, selections });
            }
            word @ ("query" | "mutation") => {
                if operation.is_some() {
                    return Err(syntax("more than one operation"));
                }
                let kind = if word == "query" {
                    Kind::Query
                } else {
                    Kind::Mutation
                };
                if let Some(Token::Name(_)) = parser.peek() {
                    parser.name()?;
                }
                let variables = parser.variables()?;
                operation = Some((kind, variables, parser.selections()?));
            }
            other => return Err(syntax(&format!("unexpected {other}"))),
        }
    }
    let (kind, variables, selections) =
        operation.ok_or_else(|| syntax("a document without an operation"))?;
    Ok(Document {
        kind,
        variables,
        selections,
        fragments,
    })
}

fn syntax(what: &str) -> Fault {
    Fault::Request(format!("Parse error: {what}"))
}

/// Deepest nesting that is read.
const MAX_DEPTH: u32 = 64;

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at = self.at.saturating_add(1);
        token
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(&Token::Punctuation(wanted));
        if found {
            self.at = self.at.saturating_add(1);
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), Fault> {
        if self.take(wanted) {
            return Ok(());
        }
        Err(syntax(&format!(
            "expected {wanted} but found {:?}",
            self.peek()
        )))
    }

    fn name(&mut self) -> Result<String, Fault> {
        match self.next() {
            Some(Token::Name(name)) => Ok(name),
            other => Err(syntax(&format!("expected a name but found {other:?}"))),
        }
    }

    fn word(&mut self, wanted: &str) -> Result<(), Fault> {
        let found = self.name()?;
        if found == wanted {
            Ok(())
        } else {
            Err(syntax(&format!("expected {wanted}")))
        }
    }

    fn variables(&mut self) -> Result<Vec<Variable>, Fault> {
        let mut variables = Vec::new();
        if !self.take('(') {
            return Ok(variables);
        }
        while !self.take(')') {
            self.expect('$')?;
            let name = self.name()?;
            self.expect(':')?;
            let required = self.kind()?;
            let default = if self.take('=') {
                Some(self.argument()?)
            } else {
                None
            };
            variables.push(Variable {
                name,
                required,
                default,
            });
        }
        Ok(variables)
    }

    /// Reads a type and returns whether it excludes null.
    fn kind(&mut self) -> Result<bool, Fault> {
        if self.take('[') {
            self.kind()?;
            self.expect(']')?;
        } else {
            self.name()?;
        }
        Ok(self.take('!'))
    }

    fn selections(&mut self) -> Result<Vec<Selection>, Fault> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MAX_DEPTH {
            return Err(syntax("too deep"));
        }
        self.expect('{')?;
        let mut selections = Vec::new();
        while !self.take('}') {
            selections.push(self.selection()?);
        }
        self.depth = self.depth.saturating_sub(1);
        if selections.is_empty() {
            return Err(syntax("an empty selection"));
        }
        Ok(selections)
    }

    fn selection(&mut self) -> Result<Selection, Fault> {
        if self.peek() == Some(&Token::Spread) {
            self.next();
            if self.peek() == Some(&Token::Punctuation('{')) {
                return Ok(Selection::Inline {
                    on: None,
                    selections: self.selections()?,
                });
            }
            let name = self.name()?;
            if name != "on" {
                return Ok(Selection::Spread(name));
            }
            let on = Some(self.name()?);
            return Ok(Selection::Inline {
                on,
                selections: self.selections()?,
            });
        }
        let first = self.name()?;
        let (alias, name) = if self.take(':') {
            (first, self.name()?)
        } else {
            (first.clone(), first)
        };
        let mut arguments = Vec::new();
        if self.take('(') {
            while !self.take(')') {
                let name = self.name()?;
                self.expect(':')?;
                arguments.push((name, self.argument()?));
            }
        }
        let open = self.peek() == Some(&Token::Punctuation('{'));
        let selections = if open { self.selections()? } else { Vec::new() };
        Ok(Selection::Field(Field {
            alias,
            name,
            arguments,
            selections,
        }))
    }

    fn argument(&mut self) -> Result<Argument, Fault> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MAX_DEPTH {
            return Err(syntax("too deep"));
        }
        let argument = match self.next() {
            Some(Token::Punctuation('$')) => Argument::Variable(self.name()?),
            Some(Token::Number(number)) => Argument::Plain(Value::Number(number)),
            Some(Token::Text(text)) => Argument::Plain(Value::String(text)),
            Some(Token::Name(name)) => Argument::Plain(match name.as_str() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                "null" => Value::Null,
                // A value of an enumeration.
                _ => Value::String(name),
            }),
            Some(Token::Punctuation('[')) => {
                let mut items = Vec::new();
                while !self.take(']') {
                    items.push(self.argument()?);
                }
                Argument::List(items)
            }
            Some(Token::Punctuation('{')) => {
                let mut fields = Vec::new();
                while !self.take('}') {
                    let name = self.name()?;
                    self.expect(':')?;
                    fields.push((name, self.argument()?));
                }
                Argument::Object(fields)
            }
            other => return Err(syntax(&format!("expected a value but found {other:?}"))),
        };
        self.depth = self.depth.saturating_sub(1);
        Ok(argument)
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, Fault> {
    let mut tokens = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() || c == ',' || c == '\u{feff}' => {}
            '#' => while chars.next_if(|c| *c != '\n').is_some() {},
            '{' | '}' | '(' | ')' | '[' | ']' | ':' | '!' | '=' | '$' => {
                tokens.push(Token::Punctuation(c));
            }
            '.' => {
                if chars.next() != Some('.') || chars.next() != Some('.') {
                    return Err(syntax("a single dot"));
                }
                tokens.push(Token::Spread);
            }
            '"' => tokens.push(Token::Text(text_token(&mut chars)?)),
            c if c == '_' || c.is_ascii_alphabetic() => {
                let mut name = String::from(c);
                while let Some(c) = chars.next_if(|c| *c == '_' || c.is_ascii_alphanumeric()) {
                    name.push(c);
                }
                tokens.push(Token::Name(name));
            }
            c if c == '-' || c.is_ascii_digit() => {
                let mut number = String::from(c);
                let part = |c: &char| c.is_ascii_digit() || ".eE+-".contains(*c);
                while let Some(c) = chars.next_if(part) {
                    number.push(c);
                }
                let number = serde_json::from_str(&number)
                    .map_err(|_bad| syntax(&format!("{number} is not a number")))?;
                tokens.push(Token::Number(number));
            }
            other => return Err(syntax(&format!("unexpected character {other:?}"))),
        }
    }
    Ok(tokens)
}

/// Reads a string whose opening quote was read. Block strings are refused: nothing needs them.
fn text_token(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<String, Fault> {
    let mut json = String::from('"');
    loop {
        match chars.next() {
            None | Some('\n') => return Err(syntax("a string without end")),
            Some('"') => break,
            Some('\\') => {
                json.push('\\');
                json.push(chars.next().ok_or_else(|| syntax("a string without end"))?);
            }
            Some(c) => json.push(c),
        }
    }
    if json.len() == 1 && chars.peek() == Some(&'"') {
        return Err(syntax("block strings are not supported"));
    }
    json.push('"');
    // Both languages escape alike.
    serde_json::from_str(&json).map_err(|_bad| syntax("a string with an unknown escape"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_with_variables_aliases_and_fragments_is_read() {
        let document = parse(
            "query Q($o: String!, $n: [Int!] = [1]) { a: repository(owner: $o, name: \"x\\\"y\") \
             { ...F object(expression: $n) { ... on Blob { text } } } } \
             fragment F on Repository { id } # done",
        )
        .unwrap();
        assert_eq!(document.kind, Kind::Query);
        assert_eq!(document.fragments["F"].on, "Repository");
        let Selection::Field(field) = &document.selections[0] else {
            panic!("a field")
        };
        assert_eq!(
            (field.alias.as_str(), field.name.as_str()),
            ("a", "repository")
        );
        let name = document.value(&field.arguments[1].1, &Map::new());
        assert_eq!(name, "x\"y");
        let given = serde_json::from_str::<Map<_, _>>(r#"{"o":"acme"}"#).unwrap();
        document.check_variables(&given).unwrap();
        assert!(document.check_variables(&Map::new()).is_err());
    }

    #[test]
    fn broken_documents_are_errors() {
        for text in [
            "",
            "{",
            "{}",
            "query { a(",
            "{ a(b: ) }",
            "{ a } { b ",
            "subscription { a }",
            "{ a(x: \"",
            "query($x: Int) { a }",
            "{ a(x: $x) }",
            "{ a.b }",
            "{ \u{1F600} }",
        ] {
            let outcome = parse(text).and_then(|d| d.check_variables(&Map::new()));
            assert!(outcome.is_err(), "{text}");
        }
    }
}
