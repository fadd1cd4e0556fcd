//! Files of text.

use std::io::{self, Read};

/// Maximum length of any file of text, in bytes. Longer ones are most likely devices, or captures.
pub const LONGEST_TEXT: u64 = 64 << 20;

/// Reads all bytes of a file of text, up to [`LONGEST_TEXT`].
///
/// # Errors
/// The reader's error, or the file is longer.
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
