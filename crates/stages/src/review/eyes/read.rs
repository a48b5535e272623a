//! `read_file`.

use mirilla_domain::eyes::{self, MAX_FILE_BYTES};
use mirilla_domain::prompt::{show_line, show_path};
use mirilla_ports::source::{EntryKind, Tree};

use super::open::text;
use super::{Changed, Eyes, MAX_CALL_BYTES, spec, spelled};

/// Most lines of one answer.
const MAX_LINES: u32 = 400;
/// Longest target of a link that is shown.
const MAX_TARGET_BYTES: u64 = 4 * 1024;

impl Eyes<'_> {
    pub(super) async fn read_file(&self, asked: spec::ReadFile) -> Result<String, String> {
        let (source, tree) = self.files().await?;
        let path = spelled(&asked.path);
        let Some(entry) = tree.entry(path) else {
            return Err(self.not_there(&tree, path));
        };
        if entry.kind == EntryKind::Submodule {
            return Err("It is a submodule or an empty folder: none of its files are here. That does not mean that they do not exist.".to_owned());
        }
        if entry.kind == EntryKind::Symlink {
            let target = self.open(source, entry, MAX_TARGET_BYTES).await;
            let target = target.map_err(|closed| closed.explain())?;
            self.saw(path, &target);
            let shown = format!("{}\n", show_path(&show_line(&target)));
            return Ok(self.fenced(
                &shown,
                "It is a symbolic link to that path, relative to its own folder. Links are not followed: read the target if you need it.\n",
            ));
        }
        let bytes = self.open(source, entry, MAX_FILE_BYTES).await;
        let bytes = bytes.map_err(|closed| closed.explain())?;
        let (text, converted) = text(&bytes)?;
        let from = asked.start_line.unwrap_or(1).max(1);
        let most = from.saturating_add(MAX_LINES.saturating_sub(1));
        let to = asked.end_line.unwrap_or(most).min(most);
        let page = eyes::page(&text, from, to, MAX_CALL_BYTES, |line| {
            self.added(path, line)
        });
        if page.lines == 0 {
            self.saw(path, &bytes);
            return Ok("The file is empty.\n".to_owned());
        }
        if page.last < from {
            return Err(if from > page.lines {
                format!("The file has {} lines only.", page.lines)
            } else {
                "end_line comes before start_line.".to_owned()
            });
        }
        self.saw(path, &bytes);
        let shown = format!(
            "<file path={} lines=\"{from}-{} of {}\">\n{}</file>\n",
            show_path(path),
            page.last,
            page.lines,
            page.text
        );
        let mut note = String::new();
        if converted {
            note.push_str("The file is UTF-16, shown as UTF-8.\n");
        }
        let wanted = asked.end_line.unwrap_or(page.lines).min(page.lines);
        if page.last < wanted {
            note.push_str(&format_rest(page.last));
        }
        Ok(self.fenced(&shown, &note))
    }

    /// Says why a path has no entry.
    fn not_there(&self, tree: &Tree, path: &str) -> String {
        if tree.is_folder(path) || path.is_empty() {
            return "It is a folder. List it with list_files.".to_owned();
        }
        match self.changes.get(path) {
            Some(Changed::Gone) => super::open::Closed::Gone.explain(),
            Some(Changed::Shown(_) | Changed::Withheld) => "This changed file is not in the archive, which leaves files out where .gitattributes says so. It exists: use the diff.".to_owned(),
            None => "It is not in the archive. That does not mean that it does not exist: an archive can leave files out. Look for the path with list_files; report nothing as missing because of this.".to_owned(),
        }
    }
}

fn format_rest(last: u32) -> String {
    format!(
        "Cut after line {last}. For the rest call {} again with start_line {}.\n",
        spec::READ_FILE,
        last.saturating_add(1)
    )
}
