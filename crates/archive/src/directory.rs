//! The directory at an archive's end: which entries there are, and where.

use std::io;
use std::sync::Arc;

use mirilla_ports::ArtifactError;
use mirilla_ports::source::{Entry, EntryKind, Tree, as_path};
use rawzip::{CompressionMethod, CreatorSystem, ReaderAt, ZipArchive, ZipFileHeaderRecord};

use crate::blocks::{BLOCK_BYTES, Blocks};

/// Most entries of an archive that is read.
pub const MAX_ENTRIES: usize = 100_000;
/// Longest directory that is read: over 300 bytes for each of [`MAX_ENTRIES`].
pub const MAX_DIRECTORY_BYTES: u64 = 32 * 1024 * 1024;
/// The end record, its longest comment and what stands before it in archives over 4 GiB.
const END_BYTES: u64 = 66 * 1024;

/// Type bits of a Unix mode, and those of a symbolic link.
const MODE_TYPE: u32 = 0o170_000;
const MODE_SYMLINK: u32 = 0o120_000;

/// Where an entry is and what it claims to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) header_offset: u64,
    pub(crate) name_bytes: u64,
    pub(crate) stored_bytes: u64,
    pub(crate) size_bytes: u64,
    pub(crate) crc: u32,
    pub(crate) method: Method,
}

/// How an entry is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    AsItIs,
    Deflated,
    Encrypted,
    Unknown,
}

/// All entries.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) tree: Arc<Tree>,
    /// Where the tree's entries are, in its order.
    places: Vec<Place>,
}

impl Directory {
    pub(crate) fn find(&self, path: &str) -> Option<(&Entry, &Place)> {
        let at = self.tree.position(path)?;
        self.tree.entries().get(at).zip(self.places.get(at))
    }
}

/// Why there is no directory.
#[derive(Debug)]
pub(crate) enum Unlisted {
    /// The archive is none or not one that is read.
    Never(String),
    /// The store failed.
    NotNow(ArtifactError),
}

/// Reads the directory: the end of the archive, and again from where it says that the directory begins.
pub(crate) async fn read(blocks: &Blocks<'_>) -> Result<Directory, Unlisted> {
    let size = blocks.size();
    let mut begin = size.saturating_sub(END_BYTES.max(BLOCK_BYTES));
    let mut end = End::read(blocks, begin).await?;
    let declared = end.locate()?.directory_offset();
    if declared < begin {
        if size.saturating_sub(declared) > MAX_DIRECTORY_BYTES.saturating_add(END_BYTES) {
            return Err(Unlisted::Never(format!(
                "its directory is longer than {MAX_DIRECTORY_BYTES} bytes"
            )));
        }
        begin = declared;
        end = End::read(blocks, begin).await?;
    }
    list(&end.locate()?)
}

/// The end of an archive in memory.
struct End {
    begin: u64,
    bytes: Vec<u8>,
}

impl End {
    async fn read(blocks: &Blocks<'_>, begin: u64) -> Result<Self, Unlisted> {
        let length = blocks.size().saturating_sub(begin);
        let bytes = blocks.read(begin, length).await;
        Ok(Self {
            begin,
            bytes: bytes.map_err(Unlisted::NotNow)?,
        })
    }

    fn locate(&self) -> Result<ZipArchive<&Self>, Unlisted> {
        let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
        let length = u64::try_from(self.bytes.len()).unwrap_or(u64::MAX);
        ZipArchive::with_max_search_space(END_BYTES)
            .locate_in_reader(self, &mut buffer, self.begin.saturating_add(length))
            .map_err(|(_, error)| not_a_zip(&error))
    }
}

impl ReaderAt for End {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = offset
            .checked_sub(self.begin)
            .and_then(|at| usize::try_from(at).ok())
            .and_then(|at| self.bytes.get(at..))
            .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        let length = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..length), rest.get(..length)) {
            to.copy_from_slice(from);
        }
        Ok(length)
    }
}

fn not_a_zip(error: &rawzip::Error) -> Unlisted {
    Unlisted::Never(format!("it is not a whole zip archive ({error})"))
}

/// Lists the entries below the archive's one folder.
fn list(archive: &ZipArchive<&End>) -> Result<Directory, Unlisted> {
    let mut buffer = vec![0; rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
    let mut records = archive.entries(&mut buffer);
    let mut found: Vec<(Entry, Place)> = Vec::new();
    let mut top: Option<String> = None;
    let (mut seen, mut unusable) = (0_usize, 0_u64);
    while let Some(record) = records.next_entry().map_err(|error| not_a_zip(&error))? {
        seen = seen.saturating_add(1);
        if seen > MAX_ENTRIES {
            return Err(Unlisted::Never(format!(
                "it has more than {MAX_ENTRIES} entries"
            )));
        }
        let name = record.file_path();
        let name = name.as_ref();
        let is_folder = name.ends_with(b"/");
        let Some(path) = as_path(name.strip_suffix(b"/").unwrap_or(name)) else {
            unusable = unusable.saturating_add(1);
            continue;
        };
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let top = top.get_or_insert_with(|| first.to_owned());
        if rest.is_empty() && is_folder && first == top {
            continue;
        }
        if rest.is_empty() || first != top {
            unusable = unusable.saturating_add(1);
            continue;
        }
        found.push((entry_of(&record, rest, is_folder), Place::of(&record)));
    }
    found.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
    drop_full_folders(&mut found);
    let (entries, places): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    // The tree makes one entry of equal paths: the first one's place stands for it.
    let mut places = places.into_iter();
    let mut kept = Vec::with_capacity(entries.len());
    let mut last = None;
    for entry in &entries {
        let place = places.next();
        if last != Some(&entry.path) {
            kept.extend(place);
        }
        last = Some(&entry.path);
    }
    Ok(Directory {
        tree: Arc::new(Tree::new(entries, unusable)),
        places: kept,
    })
}

/// Leaves only those folders in a sorted list that have nothing in them.
fn drop_full_folders(found: &mut Vec<(Entry, Place)>) {
    let folders: Vec<bool> = found
        .iter()
        .enumerate()
        .map(|(at, (entry, _))| {
            let prefix = format!("{}/", entry.path);
            let after = found.get(at..).unwrap_or_default();
            let below = after.partition_point(|(other, _)| other.path < prefix);
            entry.kind == EntryKind::Submodule
                && after
                    .get(below)
                    .is_some_and(|(other, _)| other.path.starts_with(&prefix))
        })
        .collect();
    let mut full = folders.into_iter();
    found.retain(|_| full.next() != Some(true));
}

fn entry_of(record: &ZipFileHeaderRecord<'_>, path: &str, is_folder: bool) -> Entry {
    let unix = record.version_made_by().creator_system() == CreatorSystem::UNIX;
    let mode = record.external_attributes() >> 16;
    let kind = if is_folder {
        EntryKind::Submodule
    } else if unix && mode & MODE_TYPE == MODE_SYMLINK {
        EntryKind::Symlink
    } else {
        EntryKind::File
    };
    Entry {
        path: path.to_owned(),
        kind,
        size_bytes: record.uncompressed_size_hint(),
        blob: None,
    }
}

impl Place {
    fn of(record: &ZipFileHeaderRecord<'_>) -> Self {
        let flags = record.flags();
        let method = record.compression_method();
        Self {
            header_offset: record.local_header_offset(),
            name_bytes: u64::try_from(record.file_path().as_ref().len()).unwrap_or(u64::MAX),
            stored_bytes: record.compressed_size_hint(),
            size_bytes: record.uncompressed_size_hint(),
            crc: record.crc32(),
            method: if flags.is_encrypted() || flags.has_strong_encryption() || flags.is_masked() {
                Method::Encrypted
            } else if method == CompressionMethod::STORE {
                Method::AsItIs
            } else if method == CompressionMethod::DEFLATE {
                Method::Deflated
            } else {
                Method::Unknown
            },
        }
    }
}
