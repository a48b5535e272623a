//! What stands on a pull request, in the shapes that forges list it in.
//!
//! **Invariant:** a missing field never fails the list: outdated comments have no line, deleted accounts
//! no name.

use serde_json::Value;

use super::Me;
use crate::ids::{CommentId, ReviewId};
use crate::review::Side;
use crate::thread::{Existing, ExistingComment, ExistingReview, ExistingThread};

/// Numbers for comments that come without one; far above any real one.
const FIRST_MADE_UP_ID: u64 = 1 << 60;

/// Reads a listing in any of the known shapes.
pub(super) fn existing(value: &Value, me: &Me) -> Result<Existing, String> {
    let mut reader = Reader {
        me,
        out: Existing::default(),
        made_up: FIRST_MADE_UP_ID,
    };
    match value {
        Value::Array(items) => reader.items(items),
        Value::Object(_) if is_our_own(value) => {
            return serde_json::from_value(value.clone()).map_err(|error| error.to_string());
        }
        Value::Object(fields) => {
            let list = |name: &str| fields.get(name).and_then(Value::as_array);
            let lists = [list("comments"), list("threads"), list("reviews")];
            if lists.iter().all(Option::is_none) {
                return Err("an object needs `comments`, `threads` or `reviews`".to_owned());
            }
            let [comments, threads, reviews] = lists;
            reader.items(comments.map_or(&[], Vec::as_slice));
            reader.items(threads.map_or(&[], Vec::as_slice));
            for review in reviews.map_or(&[][..], Vec::as_slice) {
                reader.review(review);
            }
        }
        _ => return Err("expected a list of comments or threads".to_owned()),
    }
    Ok(reader.out)
}

/// Our own listing says of each entry whether it is ours.
fn is_our_own(value: &Value) -> bool {
    ["comments", "reviews"].iter().any(|list| {
        value
            .get(list)
            .and_then(Value::as_array)
            .and_then(|items| items.first())
            .is_some_and(|first| first.get("ours").is_some())
    })
}

struct Reader<'a> {
    me: &'a Me,
    out: Existing,
    made_up: u64,
}

impl Reader<'_> {
    fn items(&mut self, items: &[Value]) {
        for item in items {
            if item.get("isResolved").is_some() {
                self.thread(item);
            } else {
                self.comment(item, None, None);
            }
        }
    }

    fn comment(
        &mut self,
        item: &Value,
        thread: Option<&Value>,
        in_reply_to: Option<CommentId>,
    ) -> CommentId {
        let number = |name: &str| item.get(name).and_then(Value::as_u64);
        let is_own = item.get("own") == Some(&Value::Bool(true));
        let id = CommentId::new(
            number("id")
                .or_else(|| number("databaseId"))
                .unwrap_or_else(|| self.next_id()),
        );
        let of = |name: &str| item.get(name).or_else(|| thread?.get(name));
        let line = |name: &str| of(name)?.as_u64().and_then(|line| u32::try_from(line).ok());
        let user = item.get("user").or_else(|| item.get("author"));
        self.out.comments.push(ExistingComment {
            edited: false,
            id,
            in_reply_to: in_reply_to.or_else(|| number("in_reply_to_id").map(CommentId::new)),
            review: number("pull_request_review_id").map(ReviewId::new),
            author: user.and_then(login).map(str::to_owned),
            ours: is_own || user.is_some_and(|user| self.is_me(user)),
            path: of("path")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            line: line("line"),
            original_line: line("original_line").or_else(|| line("originalLine")),
            side: match of("side").and_then(Value::as_str) {
                Some("LEFT") => Side::Left,
                _ => Side::Right,
            },
            // A thread in the short form carries its marker alone.
            body: ["body", "marker", "finding"]
                .iter()
                .map(|name| text(item, name))
                .find(|body| !body.is_empty())
                .unwrap_or_default(),
        });
        id
    }

    fn thread(&mut self, item: &Value) {
        let list = |at: &str| {
            item.pointer(at)
                .and_then(Value::as_array)
                .map_or(&[][..], Vec::as_slice)
        };
        let mut comments: Vec<CommentId> = Vec::new();
        if item.get("own") == Some(&Value::Bool(true)) {
            let id = self.comment(item, None, None);
            comments.push(id);
        }
        for node in list("/comments/nodes").iter().chain(list("/replies")) {
            let id = self.comment(node, Some(item), comments.first().copied());
            comments.push(id);
        }
        let resolved_by = item.get("resolvedBy").filter(|by| !by.is_null());
        self.out.threads.push(ExistingThread {
            id: text(item, "id"),
            comments,
            complete: item.pointer("/comments/pageInfo/hasNextPage") != Some(&Value::Bool(true)),
            resolved: item.get("isResolved") == Some(&Value::Bool(true)),
            resolved_by: resolved_by.and_then(login).map(str::to_owned),
            resolved_by_us: resolved_by.is_some_and(|by| self.is_me(by)),
            outdated: item.get("isOutdated") == Some(&Value::Bool(true)),
        });
    }

    fn review(&mut self, item: &Value) {
        let id = item.get("id").and_then(Value::as_u64);
        let id = ReviewId::new(id.unwrap_or_else(|| self.next_id()));
        self.out.reviews.push(ExistingReview {
            id,
            ours: item.get("user").is_some_and(|user| self.is_me(user)),
            pending: item.get("state").and_then(Value::as_str) == Some("PENDING"),
            body: text(item, "body"),
        });
    }

    fn is_me(&self, user: &Value) -> bool {
        let id = user.get("id").and_then(Value::as_u64);
        if let (Some(id), Some(mine)) = (id, self.me.id) {
            return id == mine;
        }
        // GraphQL names an App's account without the suffix and says its type beside it.
        let is_bot = user.get("__typename").and_then(Value::as_str) == Some("Bot");
        let bare = |login: &str| login.strip_suffix("[bot]").unwrap_or(login).to_owned();
        login(user).is_some_and(|login| {
            login == self.me.login || (is_bot && bare(login) == bare(&self.me.login))
        })
    }

    fn next_id(&mut self) -> u64 {
        self.made_up = self.made_up.saturating_add(1);
        self.made_up
    }
}

/// A login as an object's field or as plain text.
fn login(user: &Value) -> Option<&str> {
    user.as_str()
        .or_else(|| user.get("login").and_then(Value::as_str))
}

fn text(item: &Value, name: &str) -> String {
    item.get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}
