//! A file whose old content stays until the first new byte: a run that fails before it begins
//! destroys nothing.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that is opened while the process has its privileges, and written later without them.
#[derive(Debug)]
pub struct LateFile {
    path: PathBuf,
    file: File,
    is_emptied: bool,
    /// We made the file.
    is_new: bool,
}

impl LateFile {
    /// Opens a file, and makes it if missing.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn open(path: &Path) -> io::Result<Self> {
        let is_new = !path.exists();
        let mut options = File::options();
        options.write(true).create(true).truncate(false);
        Ok(Self {
            path: path.to_owned(),
            file: options.open(path)?,
            is_emptied: false,
            is_new,
        })
    }

    /// Writes the whole content, or leaves the file as it was, for a process that may no longer make
    /// files in the file's folder. The room on the disk is taken before the old content goes.
    ///
    /// # Errors
    /// The content has no room, or cannot be written.
    pub fn replace(&mut self, content: &[u8]) -> io::Result<()> {
        if !self.file.metadata()?.is_file() {
            return self.file.write_all(content);
        }
        #[cfg(target_os = "linux")]
        crate::sys::reserve(&self.file, content.len())?;
        // In one call, because the room is there.
        let written = self.file.write(content)?;
        if written < content.len() {
            self.file
                .write_all(content.get(written..).unwrap_or_default())?;
        }
        self.file.set_len(content.len() as u64)?;
        self.file.sync_all()
    }

    /// Removes the file if [`open`](Self::open) made it and it is still empty.
    pub fn remove_if_new(&self) {
        let is_empty = |metadata: Metadata| metadata.is_file() && metadata.len() == 0;
        if self.is_new && self.file.metadata().is_ok_and(is_empty) {
            _ = fs::remove_file(&self.path);
        }
    }
}

impl Write for LateFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A pipe and a device have no length.
        if !self.is_emptied && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.is_emptied = true;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_content_stays_until_the_first_byte() {
        let path = std::env::temp_dir().join(format!("roundelay-late-{}", std::process::id()));
        std::fs::write(&path, "a page of yesterday").expect("a file");
        drop(LateFile::open(&path).expect("a file"));
        let read = || std::fs::read_to_string(&path).expect("a text");
        assert_eq!(read(), "a page of yesterday");
        let mut file = LateFile::open(&path).expect("a file");
        file.write_all(b"to").expect("a write");
        file.write_all(b"day").expect("a write");
        assert_eq!(read(), "today");
        std::fs::remove_file(path).expect("it is removed");
        LateFile::open(Path::new("/dev/null"))
            .and_then(|mut null| null.write_all(b"a device has no length"))
            .expect("a write");
    }
}
