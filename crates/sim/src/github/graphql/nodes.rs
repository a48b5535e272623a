//! What a GraphQL field can lead to.

use serde_json::Value;

use super::mutations::Performed;
use crate::git::{CommitInfo, Object};
use crate::github::anchors::Current;
use crate::github::world::{IssueComment, Label, Pull, Repo, Review, ReviewComment, Thread};

/// An object of the schema.
#[derive(Debug, Clone)]
pub(crate) enum Node<'a> {
    Query,
    Mutation(&'a [Performed]),
    Repo(&'a Repo),
    /// A branch and its tip.
    Ref(&'a Repo, String, String),
    Pull(&'a Repo, &'a Pull),
    Label(&'a Label),
    Thread(&'a Repo, &'a Pull, &'a Thread),
    Comment(&'a Repo, &'a Pull, &'a ReviewComment, Current),
    IssueComment(&'a Repo, &'a Pull, &'a IssueComment),
    Review(&'a Repo, &'a Pull, &'a Review),
    Commit(&'a Repo, CommitInfo),
    /// A commit of a pull request, which wraps the commit.
    PullCommit(&'a Repo, CommitInfo),
    /// Only the name of a commit.
    Oid(String),
    Blob(Object),
    Tree(&'a Repo, Object, String),
    /// An entry of a tree: mode, name, object name, path of the tree.
    Entry(&'a Repo, String, Vec<u8>, String, String),
    /// A name in a commit.
    GitActor(String, String, String),
    Actor(String),
    /// Whose token it is; unlike an actor, an App is shown with its ending.
    Viewer(String, u64),
    RateLimit(u32, u32, i64, u32),
    Connection(Page<'a>),
    Edge(Box<Self>, String),
    PageInfo(PageInfo),
    /// The payload of a mutation: its type, its one field, and what that leads to.
    Payload(&'static str, &'static str, Box<Self>),
    /// Something that can be hidden, and why it is.
    Minimized(bool, Option<String>),
}

/// One page of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Page<'a> {
    pub(crate) kind: &'static str,
    pub(crate) total: usize,
    pub(crate) items: Vec<Node<'a>>,
    pub(crate) info: PageInfo,
}

/// Where a page lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageInfo {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) total: usize,
}

/// What a field is.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one per field, never stored")]
pub(crate) enum Found<'a> {
    /// A value without further fields.
    Scalar(Value),
    One(Node<'a>),
    Many(Vec<Node<'a>>),
    /// Null where an object could be.
    Nothing,
}

impl Node<'_> {
    /// Returns the name of the type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Query => "Query",
            Self::Mutation(_) => "Mutation",
            Self::Repo(_) => "Repository",
            Self::Ref(..) => "Ref",
            Self::Pull(..) => "PullRequest",
            Self::Label(_) => "Label",
            Self::Thread(..) => "PullRequestReviewThread",
            Self::Comment(..) => "PullRequestReviewComment",
            Self::IssueComment(..) => "IssueComment",
            Self::Review(..) => "PullRequestReview",
            Self::Commit(..) | Self::Oid(_) => "Commit",
            Self::PullCommit(..) => "PullRequestCommit",
            Self::Blob(_) => "Blob",
            Self::Tree(..) => "Tree",
            Self::Entry(..) => "TreeEntry",
            Self::GitActor(..) => "GitActor",
            Self::Actor(login) if login.ends_with("[bot]") => "Bot",
            Self::Actor(_) | Self::Viewer(..) => "User",
            Self::RateLimit(..) => "RateLimit",
            Self::Connection(page) => page.kind,
            Self::Edge(..) => "Edge",
            Self::PageInfo(_) => "PageInfo",
            Self::Payload(kind, ..) => kind,
            Self::Minimized(..) => "Minimizable",
        }
    }

    /// Returns whether a fragment on this type or interface applies.
    pub(crate) fn is(&self, name: &str) -> bool {
        let own = self.type_name();
        own == name
            || match name {
                "Node" => !matches!(
                    self,
                    Self::Connection(_) | Self::Edge(..) | Self::PageInfo(_)
                ),
                "Actor" => matches!(self, Self::Actor(_)),
                "GitObject" => {
                    matches!(
                        self,
                        Self::Blob(_) | Self::Tree(..) | Self::Commit(..) | Self::Oid(_)
                    )
                }
                "Comment" | "Minimizable" => matches!(
                    self,
                    Self::Comment(..)
                        | Self::IssueComment(..)
                        | Self::Review(..)
                        | Self::Minimized(..)
                ),
                _ => false,
            }
    }
}

/// The types a fragment may name.
pub(crate) const TYPES: [&str; 17] = [
    "Node",
    "Actor",
    "GitObject",
    "Comment",
    "Minimizable",
    "Repository",
    "PullRequest",
    "PullRequestReviewThread",
    "PullRequestReviewComment",
    "IssueComment",
    "PullRequestReview",
    "Commit",
    "Blob",
    "Tree",
    "Bot",
    "User",
    "Tag",
];
