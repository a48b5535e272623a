//! Puts parts of files together into chunks: what matters most first, folders together.

use crate::chunk::{Chunk, FilePart};

/// Most files in one chunk: more would not get the attention that each needs.
const MAX_FILES_PER_CHUNK: usize = 40;

/// Packs parts into chunks of at most `limit` tokens; a part over the limit is a chunk of its own.
///
/// The parts of a file that does not fit share their chunks with no other file: what shares a chunk is read
/// again together, and a file is read again whole, so that parts would chain their neighbours together.
///
/// A small file may fill the room left in an earlier chunk, one of its own folder if there is one:
/// fewer questions cost less, and earlier is never worse for what a cap cuts off.
pub(super) fn pack(mut parts: Vec<FilePart>, limit: u64) -> Vec<Chunk> {
    parts.sort_by(|a, b| {
        (a.risk, folder(&a.path), &a.path, a.part).cmp(&(b.risk, folder(&b.path), &b.path, b.part))
    });
    let mut chunks: Vec<Chunk> = Vec::new();
    for part in parts {
        let fits = |chunk: &Chunk| {
            chunk.tokens.saturating_add(part.tokens) <= limit
                && chunk.files.len() < MAX_FILES_PER_CHUNK
                && part.parts == 1
                && chunk.files.iter().all(|file| file.parts == 1)
        };
        let same_folder = |chunk: &Chunk| {
            let here = folder(&part.path);
            chunk.files.iter().any(|file| folder(&file.path) == here)
        };
        let place = chunks
            .iter()
            .position(|chunk| fits(chunk) && same_folder(chunk))
            .or_else(|| chunks.iter().position(fits));
        match place.and_then(|at| chunks.get_mut(at)) {
            Some(chunk) => {
                chunk.tokens = chunk.tokens.saturating_add(part.tokens);
                chunk.files.push(part);
            }
            None => chunks.push(Chunk {
                tokens: part.tokens,
                files: vec![part],
            }),
        }
    }
    chunks
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}
