//! Reads parts of one object, neighbours with one request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use mirilla_domain::snapshot::StoredObject;
use mirilla_ports::{ArtifactError, Artifacts};

/// What is asked for at once. The files of a folder stand beside each other, and most are a few
/// kilobytes: asked for one by one, a search would spend its time waiting.
pub(crate) const BLOCK_BYTES: u64 = 256 * 1024;
/// Blocks that are kept: 8 MiB.
const KEPT_BLOCKS: usize = 32;

/// One object's bytes.
pub(crate) struct Blocks<'a> {
    artifacts: &'a dyn Artifacts,
    object: StoredObject,
    /// The last blocks, by number, the newest last.
    kept: Mutex<VecDeque<(u64, Arc<[u8]>)>>,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(artifacts: &'a dyn Artifacts, object: StoredObject) -> Self {
        Self {
            artifacts,
            object,
            kept: Mutex::default(),
        }
    }

    /// Returns the object's size.
    pub(crate) const fn size(&self) -> u64 {
        self.object.size_bytes
    }

    /// Reads `length` bytes from `offset` on, fewer at the object's end.
    pub(crate) async fn read(&self, offset: u64, length: u64) -> Result<Vec<u8>, ArtifactError> {
        let end = offset.saturating_add(length).min(self.size());
        if length > BLOCK_BYTES || end <= offset {
            return self.artifacts.get_range(&self.object, offset, length).await;
        }
        let mut bytes = Vec::new();
        let first = offset / BLOCK_BYTES;
        let last = end.saturating_sub(1) / BLOCK_BYTES;
        for number in first..=last {
            let begin = number.saturating_mul(BLOCK_BYTES);
            let block = self.block(number, begin).await?;
            let within = |at: u64| usize::try_from(at.saturating_sub(begin)).unwrap_or(usize::MAX);
            let (from, to) = (within(offset), within(end).min(block.len()));
            bytes.extend_from_slice(block.get(from..to).unwrap_or_default());
        }
        Ok(bytes)
    }

    async fn block(&self, number: u64, begin: u64) -> Result<Arc<[u8]>, ArtifactError> {
        if let Some(block) = self.kept(number) {
            return Ok(block);
        }
        let read = self.artifacts.get_range(&self.object, begin, BLOCK_BYTES);
        let block: Arc<[u8]> = read.await?.into();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_BLOCKS {
            kept.pop_front();
        }
        kept.push_back((number, Arc::clone(&block)));
        Ok(block)
    }

    fn kept(&self, number: u64) -> Option<Arc<[u8]>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut newest_first = kept.iter().rev();
        newest_first
            .find(|(of, _)| *of == number)
            .map(|(_, block)| Arc::clone(block))
    }
}
