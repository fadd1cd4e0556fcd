//! Files that a scenario names.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use roundelay::Duration;

use super::lists::FlowBy;
use crate::sources::trace::Entry;

/// Whoever reads captures, whose formats the simulator does not know: the packets of one up to a time, the first one at time zero, none earlier than
/// the one before it, flows numbered from 0 in the order of first sight; or what is wrong with the file.
pub type ReadCapture<'a> = dyn Fn(&Path, FlowBy, Duration) -> Result<Vec<Entry>, String> + 'a;

/// Where files are looked for, and who reads captures.
pub(super) struct Files<'a> {
    pub(super) folder: &'a Path,
    pub(super) capture: &'a ReadCapture<'a>,
}

/// Nobody reads captures.
pub(super) fn no_captures(path: &Path, _: FlowBy, _: Duration) -> Result<Vec<Entry>, String> {
    Err(format!("'{}' is a capture, and there is nobody to read it: Scenario::from_toml_with", path.display()))
}

/// Whether a file begins as captures do: pcap in either order of bytes, with micro- or nanoseconds, or pcapng.
///
/// # Errors
/// It cannot be read.
pub(super) fn is_capture(path: &Path) -> io::Result<bool> {
    let mut first = [0; 4];
    let read = File::open(path)?.read(&mut first)?;
    let number = u32::from_le_bytes(first);
    let magic = [0xa1b2_c3d4, 0xa1b2_3c4d, 0x0a0d_0d0a].into_iter().any(|magic| number == magic || number == magic.swap_bytes());
    Ok(read == first.len() && magic)
}
