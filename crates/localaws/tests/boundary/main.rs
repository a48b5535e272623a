//! The trust boundary of design.md §2, checked where it can be broken: in the crates each function
//! links, and in the policies of the translated template.
//!
//! Each check is a function from what is deployed to a list of violations, with a test of its own.
//! `mutations.toml` holds one-line weakenings; each is applied to a copy and must turn exactly the
//! check it names red, so that a check which sees nothing is found out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "test code"
)]

mod checks;
mod grants;
mod links;
mod mutations;
mod rights;
mod symbol;
mod template;
mod watch;

use std::sync::OnceLock;

use links::Links;
use template::Template;

/// What is checked: the translated template and what is linked, each read when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct World {
    template: OnceLock<Template>,
    links: OnceLock<Links>,
}

impl World {
    /// A world with another template than the project's.
    pub(crate) fn with_template(template: Template) -> Self {
        Self {
            template: template.into(),
            ..Self::default()
        }
    }

    /// A world in which other crates are linked.
    pub(crate) fn with_links(links: Links) -> Self {
        Self {
            links: links.into(),
            ..Self::default()
        }
    }

    /// The translated template.
    pub(crate) fn template(&self) -> &Template {
        self.template.get_or_init(Template::here)
    }

    /// What is linked.
    pub(crate) fn links(&self) -> &Links {
        self.links.get_or_init(Links::here)
    }
}
