//! `search`.

use mirilla_domain::eyes::{Near, Search};
use mirilla_domain::prompt::show_path;
use mirilla_ports::Source;
use mirilla_ports::source::{Entry, EntryKind};

use super::list::Glob;
use super::open::{Closed, text};
use super::{Changed, Eyes, MAX_CALL_BYTES, MAX_SEARCH_BYTES, given, push, spec};

/// Most lines of one answer.
const MAX_MATCHES: usize = 100;
/// Most lines of one file.
const MAX_MATCHES_PER_FILE: usize = 20;
/// Larger files are data or generated, and are not searched.
const MAX_SEARCHED_FILE_BYTES: u64 = 1024 * 1024;
/// What a file costs of the bound at least: opening one takes time, however short it is.
const LEAST_COST_BYTES: u64 = 1024;

/// What a search came to so far.
#[derive(Default)]
struct Progress {
    text: String,
    lines: usize,
    files: usize,
    searched: usize,
    cost_bytes: u64,
    large: usize,
    differing: usize,
    unreadable: usize,
}

impl Progress {
    fn is_full(&self) -> bool {
        self.lines >= MAX_MATCHES || self.text.len() >= MAX_CALL_BYTES
    }
}

impl Eyes<'_> {
    pub(super) async fn search(&self, asked: spec::Search) -> Result<String, String> {
        let search = Search::new(&asked.pattern)
            .map_err(|error| format!("Nothing is searched: {error}."))?;
        let glob = Glob::new(asked.glob.as_ref())?;
        let (source, tree) = self.files().await?;
        let changed = self.changes.iter();
        let near = Near::new(
            changed
                .filter(|(_, changed)| !matches!(changed, Changed::Gone))
                .map(|(path, _)| path.as_str()),
        );
        let files = tree
            .entries()
            .iter()
            .filter(|entry| entry.kind == EntryKind::File && glob.matches(entry));
        let files = near.sort(files, |entry| entry.path.as_str());
        let begin = match given(asked.after.as_ref()) {
            None => 0,
            Some(after) => files
                .iter()
                .position(|entry| entry.path == after)
                .ok_or("No searched path is the one given as `after`; leave it out to begin anew.")?
                .saturating_add(1),
        };
        let rest = files.get(begin..).unwrap_or_default();
        let mut progress = Progress::default();
        let mut done = 0_usize;
        for entry in rest {
            let cost = entry.size_bytes.max(LEAST_COST_BYTES);
            let searched = entry.size_bytes <= MAX_SEARCHED_FILE_BYTES;
            let cost = if searched { cost } else { 0 };
            let after = progress.cost_bytes.saturating_add(cost);
            if progress.is_full() || after > MAX_SEARCH_BYTES {
                break;
            }
            progress.cost_bytes = after;
            done = done.saturating_add(1);
            if searched {
                self.search_file(source, entry, &search, &mut progress)
                    .await?;
            } else {
                progress.large = progress.large.saturating_add(1);
            }
        }
        let stopped_at = done
            .checked_sub(1)
            .and_then(|last| rest.get(last))
            .filter(|_| done < rest.len());
        Ok(self.found(
            progress,
            stopped_at.copied(),
            rest.len().saturating_sub(done),
        ))
    }

    async fn search_file(
        &self,
        source: &dyn Source,
        entry: &Entry,
        search: &Search,
        progress: &mut Progress,
    ) -> Result<(), String> {
        let bytes = match self.open(source, entry, MAX_SEARCHED_FILE_BYTES).await {
            Ok(bytes) => bytes,
            Err(Closed::Differs | Closed::Unchecked | Closed::Gone) => {
                progress.differing = progress.differing.saturating_add(1);
                return Ok(());
            }
            Err(Closed::TooLarge | Closed::Unreadable(_)) => {
                progress.unreadable = progress.unreadable.saturating_add(1);
                return Ok(());
            }
            Err(closed @ Closed::Unavailable(_)) => return Err(closed.explain()),
        };
        let Ok((text, _converted)) = text(&bytes) else {
            return Ok(());
        };
        progress.searched = progress.searched.saturating_add(1);
        let most = MAX_MATCHES
            .saturating_sub(progress.lines)
            .min(MAX_MATCHES_PER_FILE);
        let found = search.find(&text, most, |line| self.added(&entry.path, line));
        if found.shown > 0 {
            self.saw(&entry.path, &bytes);
            let more = if found.more { " more=\"true\"" } else { "" };
            push(
                &mut progress.text,
                format_args!(
                    "<file path={}{more}>\n{}</file>\n",
                    show_path(&entry.path),
                    found.text
                ),
            );
            progress.lines = progress.lines.saturating_add(found.shown);
            progress.files = progress.files.saturating_add(1);
        }
        Ok(())
    }

    /// Says what was found, what was left out, and how to go on.
    fn found(&self, mut progress: Progress, stopped_at: Option<&Entry>, left: usize) -> String {
        let mut note = format!(
            "{} matching lines shown, in {} of {} files searched.\n",
            progress.lines, progress.files, progress.searched
        );
        let mut say = |count: usize, what: &str| {
            if count > 0 {
                push(&mut note, format_args!("{count} {what}\n"));
            }
        };
        say(
            progress.large,
            "files are longer than 1 MiB and were not searched.",
        );
        say(
            progress.differing,
            "changed files differ from the commit in the archive and were not searched: use the diff.",
        );
        say(progress.unreadable, "files could not be read.");
        if let Some(entry) = stopped_at {
            push(
                &mut progress.text,
                format_args!("<stopped after={}>\n", show_path(&entry.path)),
            );
            say(
                left,
                "files were not searched yet. To go on, search again with the path in `<stopped>` as `after`; or give a narrower glob or pattern.",
            );
        }
        if progress.text.is_empty() {
            note.push_str("That nothing was found does not mean that nothing is there: an archive can leave files out.\n");
            return note;
        }
        self.fenced(&progress.text, &note)
    }
}
