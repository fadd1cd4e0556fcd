//! Reads text files up to a maximum length.

use std::io::{self, Read};

/// Maximum length of a text file, in bytes. Longer ones are most likely devices or captures, so we
/// refuse them.
pub const LONGEST_TEXT: u64 = 64 << 20;

/// Reads a whole text file of at most [`LONGEST_TEXT`] bytes.
///
/// # Errors
/// The reader fails, or the file is longer.
pub fn read_text(file: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(LONGEST_TEXT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST_TEXT {
        let megabytes = LONGEST_TEXT >> 20;
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("longer than {megabytes} MB, the limit for text"),
        ));
    }
    Ok(bytes)
}
