//! What must hold for any bytes that are read as a capture. The fuzzer runs it, and the tests run
//! it on the corpus.

use std::io::{Cursor, Read, Result};

use roundelay_trace::{Capture, CaptureNotes};

/// All that a capture gives: a frame's time, length, link and bytes; the notes; the error.
type Reading = (
    Vec<(i64, u32, u16, Vec<u8>)>,
    Option<CaptureNotes>,
    Option<String>,
);

/// Magic numbers of gzip, zstd and xz.
const COMPRESSED: [&[u8]; 3] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0"];
/// Packets read at most: a few bytes of a compressed capture may hold millions.
const MOST_READ: usize = 1000;

/// Reading ends, gives no more than the bytes hold, and does not depend on how they arrive.
pub(crate) fn check(data: &[u8]) {
    let whole = read(Cursor::new(data.to_vec()));
    let compressed = COMPRESSED.iter().any(|magic| data.starts_with(magic));
    let most = if compressed {
        MOST_READ
    } else {
        data.len() / 16
    };
    assert!(
        whole.0.len() <= most,
        "{} packets in {} bytes",
        whole.0.len(),
        data.len()
    );
    for (_, original_len, _, bytes) in &whole.0 {
        assert!(bytes.len() <= 262_144 && *original_len as usize >= bytes.len());
    }
    let mut slow = read(ByteByByte(Cursor::new(data.to_vec())));
    let mut whole = whole;
    if compressed && whole.2.is_some() && slow.2.is_some() {
        // How much comes before the damage depends on the decompressor's steps, and so does whether it
        // or the reader of packets finds it. Nothing that came before is used.
        let least = slow.0.len().min(whole.0.len());
        for reading in [&mut slow, &mut whole] {
            reading.0.truncate(least);
            (reading.1, reading.2) = (None, None);
        }
    }
    assert_eq!(slow, whole);
}

fn read(reader: impl Read + Send + 'static) -> Reading {
    let mut frames = Vec::new();
    let mut capture = match Capture::from_reader("fuzz", reader) {
        Ok(capture) => capture,
        Err(error) => return (frames, None, Some(error.to_string())),
    };
    let error = loop {
        if frames.len() == MOST_READ {
            return (frames, Some(capture.notes()), None);
        }
        match capture.next() {
            Ok(Some(frame)) => frames.push((
                frame.time_nanos,
                frame.original_len,
                frame.link.0,
                frame.bytes.to_vec(),
            )),
            Ok(None) => break None,
            Err(error) => break Some(error.to_string()),
        }
    };
    assert_eq!(capture.next().expect("no second error"), None);
    (frames, Some(capture.notes()), error)
}

/// Gives one byte at a time.
struct ByteByByte(Cursor<Vec<u8>>);

impl Read for ByteByByte {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let most = buffer.len().min(1);
        self.0.read(&mut buffer[..most])
    }
}
