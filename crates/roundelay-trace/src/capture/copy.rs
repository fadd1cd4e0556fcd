//! Copies a pipe, because a comparison reads a capture twice and standard input gives its bytes
//! only once.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek as _, SeekFrom, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

/// This many bytes stay in memory. Later ones go to a file without a name, which nobody else can
/// open, in the folder for temporary files.
const IN_MEMORY: usize = 64 << 20;

/// The bytes read so far. None after [`Copy::stop`].
#[derive(Debug, Clone)]
pub(super) struct Copy(Arc<Mutex<Option<Kept>>>);

#[derive(Debug, Default)]
struct Kept {
    memory: Vec<u8>,
    file: Option<File>,
}

/// A reader whose bytes are copied.
struct Copied<R> {
    inner: R,
    copy: Copy,
}

impl Copy {
    /// A reader that gives the same bytes, and their copy.
    pub(super) fn of(reader: impl Read + Send + 'static) -> (Box<dyn Read + Send>, Self) {
        let copy = Self(Arc::new(Mutex::new(Some(Kept::default()))));
        let copied = Copied {
            inner: reader,
            copy: copy.clone(),
        };
        (Box::new(copied), copy)
    }

    /// Stops keeping bytes, because they are read only once.
    pub(super) fn stop(&self) {
        self.take();
    }

    /// A reader that gives all bytes read so far, if we kept them. Afterwards we keep none.
    pub(super) fn reader(&self) -> io::Result<Option<Box<dyn Read + Send>>> {
        let Some(Kept { memory, file }) = self.take() else {
            return Ok(None);
        };
        let first = Cursor::new(memory);
        let Some(mut file) = file else {
            return Ok(Some(Box::new(first)));
        };
        file.seek(SeekFrom::Start(0))?;
        Ok(Some(Box::new(first.chain(file))))
    }

    fn take(&self) -> Option<Kept> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.take()
    }
}

impl<R: Read> Read for Copied<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let mut kept = self.copy.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.as_mut() {
            kept.add(buffer.get(..read).unwrap_or(buffer))?;
        }
        Ok(read)
    }
}

impl Kept {
    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.is_none() && self.memory.len() + bytes.len() > IN_MEMORY {
            self.file = nameless_file()?;
        }
        match &mut self.file {
            Some(file) => file.write_all(bytes),
            None => {
                self.memory.extend_from_slice(bytes);
                Ok(())
            }
        }
    }
}

/// A file without a name. None where a system has no files.
fn nameless_file() -> io::Result<Option<File>> {
    #[cfg(target_family = "wasm")]
    return Ok(None);
    #[cfg(not(target_family = "wasm"))]
    tempfile::tempfile().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_gives_the_same_bytes_again_from_memory_and_from_a_file() {
        for len in [5, IN_MEMORY + 3] {
            let bytes: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
            let (mut reader, copy) = Copy::of(Cursor::new(bytes.clone()));
            let mut first = Vec::new();
            reader.read_to_end(&mut first).unwrap();
            let mut second = Vec::new();
            let mut again = copy.reader().unwrap().expect("a copy");
            again.read_to_end(&mut second).unwrap();
            assert!(first == bytes && second == bytes, "{len} bytes");
            assert!(copy.reader().unwrap().is_none(), "given once");
        }
    }

    /// Regression test: the file had a name that others knew in advance, so they could make it
    /// first, or open it while it had the name.
    #[cfg(target_os = "linux")]
    #[test]
    fn others_can_neither_open_the_copy_nor_take_its_name() {
        use std::os::unix::fs::MetadataExt as _;

        let mut taken = Vec::new();
        for number in 0..8 {
            let name = format!("roundelay-{}-{number}", std::process::id());
            taken.push(std::env::temp_dir().join(name));
            std::fs::write(&taken[number], "").unwrap();
        }
        let mut kept = Kept::default();
        let added = kept.add(&vec![0; IN_MEMORY + 1]);
        for path in taken {
            std::fs::remove_file(path).unwrap();
        }
        added.unwrap();
        let file = kept.file.expect("a file").metadata().unwrap();
        assert_eq!(file.nlink(), 0);
    }

    #[test]
    fn a_stopped_copy_keeps_nothing() {
        let (mut reader, copy) = Copy::of(&b"abc"[..]);
        copy.stop();
        reader.read_to_end(&mut Vec::new()).unwrap();
        assert!(copy.reader().unwrap().is_none());
    }
}
