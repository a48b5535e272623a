//! `list_files`.

use mirilla_domain::prompt::show_path;
use mirilla_domain::settings::Ignore;
use mirilla_ports::source::{Entry, EntryKind};

use super::{Eyes, MAX_CALL_BYTES, given, push, spec};

/// Most paths of one answer.
const MAX_PATHS: usize = 300;

/// Which paths are meant.
pub(super) struct Glob(Option<Ignore>);

impl Glob {
    pub(super) fn new(glob: Option<&String>) -> Result<Self, String> {
        let Some(glob) = given(glob) else {
            return Ok(Self(None));
        };
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        match Ignore::new([glob]) {
            Ok(matcher) => Ok(Self(Some(matcher))),
            Err(error) => Err(format!("The glob cannot be used: {}.", error.reason)),
        }
    }

    pub(super) fn matches(&self, entry: &Entry) -> bool {
        let Self(matcher) = self;
        matcher
            .as_ref()
            .is_none_or(|matcher| matcher.matches(&entry.path))
    }
}

impl Eyes<'_> {
    pub(super) async fn list_files(&self, asked: spec::ListFiles) -> Result<String, String> {
        let (_source, tree) = self.files().await?;
        let glob = Glob::new(asked.glob.as_ref())?;
        let after = given(asked.after.as_ref()).unwrap_or_default();
        let mut matching = tree
            .entries()
            .iter()
            .filter(|entry| entry.path.as_str() > after && glob.matches(entry))
            .peekable();
        let mut listed = String::new();
        let mut count = 0_usize;
        while let Some(entry) = matching.next_if(|entry| {
            let bytes = listed.len().saturating_add(entry.path.len());
            count < MAX_PATHS && bytes < MAX_CALL_BYTES
        }) {
            push_entry(&mut listed, entry);
            count = count.saturating_add(1);
        }
        let left = matching.count();
        if count == 0 {
            return Ok("No path of the archive matches. That does not mean that there is no such file: an archive can leave files out.\n".to_owned());
        }
        let mut note = format!("{count} paths.\n");
        if left > 0 {
            note = format!(
                "{count} paths, and {left} more. For the rest call {} again with the last path as `after`, or with a narrower glob.\n",
                spec::LIST_FILES
            );
        }
        if tree.unusable > 0 {
            note.push_str("Some entries of the archive are left out, because their names cannot be paths of a repository.\n");
        }
        Ok(self.fenced(&listed, &note))
    }
}

fn push_entry(out: &mut String, entry: &Entry) {
    let path = show_path(&entry.path);
    match entry.kind {
        EntryKind::File => push(out, format_args!("{path} {}\n", entry.size_bytes)),
        EntryKind::Symlink => push(out, format_args!("{path} symbolic link\n")),
        EntryKind::Submodule => push(out, format_args!("{path} submodule or empty folder\n")),
        EntryKind::Ambiguous => push(out, format_args!("{path} several entries of this name\n")),
    }
}
