//! Decompresses captures: gzip (RFC 1952), zstd (RFC 8878) and xz, recognised by magic number and
//! decoded as a stream.
//!
//! A compressed file may have several members, frames or streams in a row. Memory is bounded: gzip
//! needs 32 KiB, and a zstd window or an xz dictionary at most [`MOST_MEMORY`]. We verify checks on
//! the content (CRC, XXH64).

use std::io::{self, BufRead as _, BufReader, Cursor, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::error::Broken;

/// The largest window of a zstd frame and the largest dictionary of an xz block. It is zstd's own
/// default limit for decompression, and twice the dictionary of `xz -9`.
const MOST_MEMORY: u64 = 128 << 20;
/// Bytes per read of compressed data.
const READ_SIZE: usize = 1 << 16;
/// The longest magic number's length.
const LONGEST_MAGIC: usize = 6;

/// A compression format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
    Xz,
}

impl Compression {
    /// The format of a file that starts with these bytes.
    fn of(head: &[u8]) -> Option<Self> {
        let known = [
            (&b"\x1f\x8b"[..], Self::Gzip),
            (b"\x28\xb5\x2f\xfd", Self::Zstd),
            (b"\xfd7zXZ\0", Self::Xz),
        ];
        known
            .into_iter()
            .find(|(magic, _)| head.starts_with(magic))
            .map(|(_, format)| format)
    }

    /// The format's name, which is also its program's.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
        }
    }
}

type Source = Box<dyn Read + Send>;

/// A capture's bytes, decompressed if necessary.
pub(super) struct Input {
    decoder: Decoder,
    /// The compressed data ended before the decompressed data did.
    truncated: bool,
}

enum Decoder {
    Plain(Source),
    Gzip(Box<MultiGzDecoder<BufReader<Counted>>>),
    Zstd(Box<Frames>),
    Xz(Box<XzReader<BufReader<Counted>>>),
}

/// A reader that counts its bytes, and remembers whether the input ended or failed.
struct Counted {
    inner: Source,
    bytes: u64,
    /// Somebody asked for bytes after the last one.
    at_end: bool,
    failed: bool,
}

impl Input {
    /// Recognises the compression by the first bytes.
    pub(super) fn new(mut reader: Source) -> Result<Self, Broken> {
        let mut head = Vec::new();
        // `read_to_end` repeats interrupted reads.
        let read = reader
            .by_ref()
            .take(LONGEST_MAGIC as u64)
            .read_to_end(&mut head);
        let offset = head.len() as u64;
        read.map_err(|reason| Broken::Read { offset, reason })?;
        let compression = Compression::of(&head);
        let inner: Source = Box::new(Cursor::new(head).chain(reader));
        let decoder = match compression {
            None => Decoder::Plain(inner),
            Some(Compression::Gzip) => Decoder::Gzip(Box::new(MultiGzDecoder::new(counted(inner)))),
            Some(Compression::Zstd) => Decoder::Zstd(Box::new(Frames::new(counted(inner)))),
            Some(Compression::Xz) => Decoder::Xz(Box::new(XzReader::new_mem_limit(
                counted(inner),
                true,
                most_xz_memory(),
            ))),
        };
        Ok(Self {
            decoder,
            truncated: false,
        })
    }

    /// The compression, if any.
    pub(super) const fn compression(&self) -> Option<Compression> {
        match self.decoder {
            Decoder::Plain(_) => None,
            Decoder::Gzip(_) => Some(Compression::Gzip),
            Decoder::Zstd(_) => Some(Compression::Zstd),
            Decoder::Xz(_) => Some(Compression::Xz),
        }
    }

    /// Whether the end of the compressed data is missing.
    pub(super) const fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// How many compressed bytes were read. None if the capture is not compressed.
    pub(super) fn compressed_bytes(&self) -> Option<u64> {
        self.source().map(|source| source.bytes)
    }

    /// Reads decompressed bytes. Returns 0 at the end. `offset` says how many bytes were read
    /// before.
    pub(super) fn read(&mut self, buffer: &mut [u8], offset: u64) -> Result<usize, Broken> {
        if self.truncated {
            return Ok(0);
        }
        loop {
            let read = match &mut self.decoder {
                Decoder::Plain(reader) => reader.read(buffer),
                Decoder::Gzip(reader) => reader.read(buffer),
                Decoder::Zstd(reader) => reader.read(buffer),
                Decoder::Xz(reader) => reader.read(buffer),
            };
            match read {
                Ok(length) => return Ok(length),
                Err(reason) if reason.kind() == ErrorKind::Interrupted => {}
                Err(reason) => return self.failure(reason, offset),
            }
        }
    }

    /// Says what an error is: a missing end, an error in the reader below, or broken data.
    #[cold]
    fn failure(&mut self, reason: io::Error, offset: u64) -> Result<usize, Broken> {
        let (Some(source), Some(compression)) = (self.source(), self.compression()) else {
            return Err(Broken::Read { offset, reason });
        };
        if source.failed {
            return Err(Broken::Read { offset, reason });
        }
        if source.at_end {
            self.truncated = true;
            return Ok(0);
        }
        let name = compression.name();
        if reason.kind() == ErrorKind::OutOfMemory {
            let expected = format!("at most {} MiB", MOST_MEMORY >> 20);
            return Err(Broken::malformed(
                offset,
                format!("{name} data that takes more memory to decompress"),
                expected,
            ));
        }
        Err(Broken::malformed(
            offset,
            format!("broken {name} data ({reason})"),
            format!("a whole file, as '{name} -t' finds it"),
        ))
    }

    fn source(&self) -> Option<&Counted> {
        match &self.decoder {
            Decoder::Plain(_) => None,
            Decoder::Gzip(reader) => Some(reader.get_ref().get_ref()),
            Decoder::Zstd(reader) => Some(reader.source.get_ref()),
            Decoder::Xz(reader) => Some(reader.inner().get_ref()),
        }
    }
}

fn counted(inner: Source) -> BufReader<Counted> {
    BufReader::with_capacity(
        READ_SIZE,
        Counted {
            inner,
            bytes: 0,
            at_end: false,
            failed: false,
        },
    )
}

/// [`MOST_MEMORY`] in KiB, and a sixteenth more for what the decoder needs besides the dictionary.
fn most_xz_memory() -> u32 {
    u32::try_from((MOST_MEMORY + MOST_MEMORY / 16) >> 10).unwrap_or(u32::MAX)
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.inner.read(buffer) {
                Ok(length) => {
                    self.bytes += length as u64;
                    self.at_end |= length == 0 && !buffer.is_empty();
                    return Ok(length);
                }
                Err(reason) if reason.kind() == ErrorKind::Interrupted => {}
                Err(reason) => {
                    self.failed = true;
                    return Err(reason);
                }
            }
        }
    }
}

/// A zstd file's frames (RFC 8878, section 3) in order, without the skippable ones.
struct Frames {
    source: BufReader<Counted>,
    decoder: FrameDecoder,
    /// The decoder is inside a frame.
    open: bool,
    /// The file ends inside this frame.
    cut: bool,
}

/// What ends a frame: a last block without content, and a checksum.
const END_OF_FRAME: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

impl Frames {
    fn new(source: BufReader<Counted>) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MOST_MEMORY);
        Self {
            source,
            decoder,
            open: false,
            cut: false,
        }
    }

    /// Reads the next frame's header. False at the end of the file.
    fn open(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.init(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped = io::copy(
                        &mut self.source.by_ref().take(length.into()),
                        &mut io::sink(),
                    )?;
                    if skipped < u64::from(length) {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(FrameDecoderError::WindowSizeTooBig { .. }) => {
                    return Err(ErrorKind::OutOfMemory.into());
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }

    /// Decodes the next block. Because the decoder holds a window of decoded bytes back until the
    /// frame ends, we end a cut frame after its last whole block.
    fn decode_block(&mut self) -> io::Result<()> {
        let Err(error) = self
            .decoder
            .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
        else {
            return Ok(());
        };
        if !self.source.get_ref().at_end || self.cut {
            return Err(io::Error::other(error));
        }
        self.cut = true;
        let ended = self
            .decoder
            .decode_blocks(&END_OF_FRAME[..], BlockDecodingStrategy::UptoBlocks(1));
        ended.map(drop).map_err(io::Error::other)
    }

    /// Compares the content with the frame's checksum, if it has one.
    fn close(&self) -> io::Result<()> {
        match self.decoder.get_checksum_from_data() {
            Some(checksum) if Some(checksum) != self.decoder.get_calculated_checksum() => {
                Err(io::Error::other("wrong checksum"))
            }
            _ => Ok(()),
        }
    }
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.open && !self.open()? {
                return Ok(0);
            }
            self.open = true;
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decode_block()?;
            }
            let length = self.decoder.read(buffer)?;
            if length > 0 {
                return Ok(length);
            }
            if self.cut {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            self.open = false;
            self.close()?;
        }
    }
}
