//! Recognises files that users mistake for captures, so that the error can give advice.

use super::window::Window;
use crate::error::Broken;

const EXPECTED: &str = "a pcap or pcapng capture";

/// Magic numbers of other formats, each with a description and the command that converts or unpacks
/// such a file.
const KNOWN: &[(&[u8], &str, Option<&str>)] = &[
    (
        b"\x1f\x8b",
        "a file compressed with gzip, twice",
        Some("gunzip -k"),
    ),
    (
        b"\x28\xb5\x2f\xfd",
        "a file compressed with zstd, twice",
        Some("unzstd"),
    ),
    (
        b"\xfd7zXZ\0",
        "a file compressed with xz, twice",
        Some("unxz -k"),
    ),
    (b"BZh", "a file compressed with bzip2", Some("bunzip2 -k")),
    (
        b"\x04\x22\x4d\x18",
        "a file compressed with lz4",
        Some("unlz4"),
    ),
    (b"PK\x03\x04", "a zip archive", Some("unzip")),
    (
        b"GMBU",
        "a Microsoft Network Monitor 2 capture",
        Some(CONVERT),
    ),
    (
        b"RTSS",
        "a Microsoft Network Monitor 1 capture",
        Some(CONVERT),
    ),
    (b"snoop\0\0\0", "a snoop capture", Some(CONVERT)),
    (b"TRSNIFF data    \x1a", "a Sniffer capture", Some(CONVERT)),
    (
        b"XCP\0",
        "a NetXRay or Windows Sniffer capture",
        Some(CONVERT),
    ),
    (
        b"ObserverPktBuffe",
        "a Network Instruments Observer capture",
        Some(CONVERT),
    ),
    (b"iptrace ", "an AIX iptrace capture", Some(CONVERT)),
    (b"\x1c\0\x01\xac", "an IXIA capture", Some(CONVERT)),
    (b"\xac\x01\0\x1c", "an IXIA capture", Some(CONVERT)),
    (b"\x1c\0\x01\xab", "an IXIA capture", Some(CONVERT)),
    (b"\xab\x01\0\x1c", "an IXIA capture", Some(CONVERT)),
    (b"\x7fELF", "a program", None),
];

/// The program that converts between capture formats. It comes with Wireshark.
const CONVERT: &str = "editcap -F pcapng";

/// The error for a file without a capture's magic number.
pub(super) fn not_a_capture(window: &mut Window, name: &str) -> Broken {
    // A shorter file is described by the bytes that it has.
    if let Err(fault) = window.fill(64) {
        return fault;
    }
    let head = window.bytes();
    if let Some(compression) = window.input().compression().filter(|_| head.len() < 4) {
        let end = if window.input().is_truncated() {
            "is cut off"
        } else {
            "ends"
        };
        let found = format!(
            "the {} file {end} after {} decompressed bytes",
            compression.name(),
            head.len()
        );
        return Broken::malformed(0, found, EXPECTED);
    }
    if head.is_empty() {
        return Broken::malformed(0, "the file is empty", EXPECTED);
    }
    Broken::malformed(0, describe(head.get(..64).unwrap_or(head), name), EXPECTED)
}

/// Describes the file by its first bytes.
fn describe(head: &[u8], name: &str) -> String {
    if let Some((_, what, command)) = KNOWN.iter().find(|(magic, ..)| head.starts_with(magic)) {
        return with_advice(what, *command, name);
    }
    if let Some(text) = start_of_text(head) {
        return format!("text that starts with {text:?}");
    }
    let first: Vec<String> = head
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("unknown first bytes {}", first.join(" "))
}

/// The description, with the command to type.
fn with_advice(what: &str, command: Option<&str>, name: &str) -> String {
    match command {
        Some(CONVERT) => format!("{what} (convert it first: {CONVERT} {name} OUT.pcapng)"),
        Some(command) => format!("{what} (decompress it first: {command} {name})"),
        None => what.to_owned(),
    }
}

/// Letters of a text that a message shows.
const SHOWN: usize = 30;

/// The start of the first line, for a message, if all of `head` is text.
fn start_of_text(head: &[u8]) -> Option<String> {
    let is_text = head
        .iter()
        .all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace());
    // The last character may be cut.
    let text = match str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            str::from_utf8(head.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    let line = text.lines().next().filter(|_| is_text)?;
    Some(line.chars().take(SHOWN).collect())
}
