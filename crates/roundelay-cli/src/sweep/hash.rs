//! Hashes of texts.

use sha2::{Digest as _, Sha256};

/// Hashes texts with their borders: 128 bits of SHA-256, in hexadecimal.
pub(super) fn hash(texts: &[&str]) -> String {
    let mut all = Sha256::new();
    for text in texts {
        all.update((text.len() as u64).to_le_bytes());
        all.update(text.as_bytes());
    }
    short(&all.finalize())
}

/// The first 128 bits in hexadecimal.
pub(super) fn short(bytes: &[u8]) -> String {
    hex(&bytes[..16])
}

/// Bytes in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
