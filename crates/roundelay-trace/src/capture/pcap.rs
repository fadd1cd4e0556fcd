//! pcap format: a 24-byte header, then one record per packet (draft-ietf-opsawg-pcap-05, sections 4
//! and 5).

use super::order::Order;
use super::window::Window;
use super::{CaptureNotes, LinkType, MAX_CAPTURED, Record, truncated_tail};
use crate::error::Broken;

const FILE_HEADER: usize = 24;
/// How many bytes each record's header has in its first fields, which are all that we read there.
const FIELDS: usize = 16;

/// How records look, as the magic number says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Variant {
    order: Order,
    /// How many nanoseconds one unit in a record's second time field stands for.
    nanos_per_fraction: u32,
    /// How many bytes come before a record's data.
    record_header: usize,
}

impl Variant {
    /// The variant with this magic number, if there is one.
    pub(super) fn from_magic(magic: [u8; 4]) -> Option<Self> {
        Self::with_order(Order::Big, u32::from_be_bytes(magic))
            .or_else(|| Self::with_order(Order::Little, u32::from_le_bytes(magic)))
    }

    fn with_order(order: Order, magic: u32) -> Option<Self> {
        let (nanos_per_fraction, record_header) = match magic {
            0xa1b2_c3d4 => (1_000, 16),
            0xa1b2_3c4d => (1, 16),
            // In Alexey Kuznetzov's libpcap, interface, protocol and packet type follow the usual
            // four fields.
            0xa1b2_cd34 => (1_000, 24),
            _ => return None,
        };
        Some(Self {
            order,
            nanos_per_fraction,
            record_header,
        })
    }
}

/// A pcap file after its header.
#[derive(Debug)]
pub(super) struct File {
    variant: Variant,
    /// Versions before 2.4 disagree on which of the two lengths comes first. The captured length is
    /// never the longer one.
    lengths_may_be_swapped: bool,
    snap_length: u32,
    link: LinkType,
}

impl File {
    /// Reads the file header.
    pub(super) fn start(window: &mut Window, variant: Variant) -> Result<Self, Broken> {
        if !window.fill(FILE_HEADER)? {
            let found = format!(
                "the file ends after {} bytes, inside its header",
                window.bytes().len()
            );
            return Err(Broken::malformed(
                0,
                found,
                format!("a pcap header of {FILE_HEADER} bytes"),
            ));
        }
        let order = variant.order;
        let header = window.bytes();
        let major = order.u16(header, 4);
        let minor = order.u16(header, 6);
        if major != 2 || minor > 4 {
            return Err(Broken::malformed(
                4,
                format!("pcap version {major}.{minor}"),
                "version 2.0 to 2.4",
            ));
        }
        // The upper 16 bits describe the frame check sequence or are reserved.
        let link = LinkType(order.u16(header, if order == Order::Little { 20 } else { 22 }));
        let file = Self {
            variant,
            lengths_may_be_swapped: minor < 4,
            snap_length: order.u32(header, 16),
            link,
        };
        window.advance(FILE_HEADER);
        Ok(file)
    }

    /// The next packet, or `None` at the end of the file.
    #[inline]
    pub(super) fn record(
        &self,
        window: &mut Window,
        notes: &mut CaptureNotes,
    ) -> Result<Option<Record>, Broken> {
        let Variant {
            order,
            record_header,
            ..
        } = self.variant;
        if !window.fill(record_header)? {
            return truncated_tail(window, notes);
        }
        // The length is known here, so no read of a field needs a check.
        let Some(header) = window.bytes().first_chunk::<FIELDS>() else {
            return truncated_tail(window, notes);
        };
        let time_nanos = self.time(order.u32(header, 0), order.u32(header, 4), notes);
        let (captured, original_len) =
            self.lengths(order.u32(header, 8), order.u32(header, 12), window.offset())?;
        if !window.fill(record_header + captured)? {
            return truncated_tail(window, notes);
        }
        let range = window.range(record_header, captured);
        window.advance(record_header + captured);
        let snap_length = self.snap_length;
        let link = self.link;
        Ok(Some(Record {
            time_nanos: Some(time_nanos),
            original_len,
            snap_length,
            link,
            range,
            interface: None,
            heading: None,
            has_wrong_time: false,
        }))
    }

    /// Nanoseconds since the epoch. They are at most 2^32 s + 2^32 us, far within 64 bits.
    #[inline]
    fn time(&self, seconds: u32, fraction: u32, notes: &mut CaptureNotes) -> i64 {
        let nanos = i64::from(fraction) * i64::from(self.variant.nanos_per_fraction);
        notes.fractions_of_a_second_or_more += u64::from(nanos >= 1_000_000_000);
        i64::from(seconds) * 1_000_000_000 + nanos
    }

    /// The captured and the original length. They are checked before we allocate or read as much.
    #[inline]
    fn lengths(&self, first: u32, second: u32, offset: u64) -> Result<(usize, u32), Broken> {
        let swapped = self.lengths_may_be_swapped && first > second;
        let (captured, original) = if swapped {
            (second, first)
        } else {
            (first, second)
        };
        if captured > MAX_CAPTURED {
            let found = format!("record claims {captured} captured bytes");
            return Err(Broken::malformed(
                offset,
                found,
                format!("at most {MAX_CAPTURED}"),
            ));
        }
        Ok((captured as usize, original))
    }
}
