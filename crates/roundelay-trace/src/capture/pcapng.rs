//! pcapng format: sections, interfaces, packets (draft-ietf-opsawg-pcapng-03, sections 3 and 4).

use super::order::Order;
use super::window::{ByteRange, Window};
use super::{CaptureNotes, Heading, LinkType, MAX_CAPTURED, Record, truncated_tail};
use crate::error::Broken;

/// The first four bytes of a pcapng file: a section header's type, which is the same in both byte
/// orders.
pub(super) const MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// A block's type, its length, and the length again.
const MIN_BLOCK: u32 = 12;
const MAX_BLOCK: u32 = 16 << 20;
const MAX_SECTION_HEADER: u32 = 1 << 20;
const MAX_INTERFACES: usize = 65_536;

const OPTION_END: u16 = 0;
const OPTION_NAME: u16 = 2;
const OPTION_PACKET_FLAGS: u16 = 2;
const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_TIME_OFFSET: u16 = 14;

/// A pcapng file, somewhere within a section.
#[derive(Debug)]
pub(super) struct File {
    /// The section's byte order.
    order: Order,
    /// The section's interfaces. The index is their number.
    interfaces: Vec<Interface>,
}

/// What an Interface Description Block says about its packets.
#[derive(Debug, Clone)]
struct Interface {
    /// `if_name`, or empty if there is none.
    name: String,
    link: LinkType,
    /// 0 for no limit.
    snap_length: u32,
    ticks: Ticks,
    /// Seconds to add to each timestamp.
    offset_seconds: i64,
}

/// The unit that an interface's timestamps count in.
#[derive(Debug, Clone, Copy)]
enum Ticks {
    /// Each tick is a whole number of nanoseconds.
    OfNanos(u32),
    /// How many ticks a second has.
    PerSecond(u64),
}

/// A block that is wholly in memory, with equal lengths at both ends.
#[derive(Debug, Clone, Copy)]
struct Block {
    kind: u32,
    length: usize,
    /// Where the block starts in the file.
    offset: u64,
}

impl File {
    /// Reads the first section header.
    pub(super) fn start(window: &mut Window, notes: &mut CaptureNotes) -> Result<Self, Broken> {
        let mut file = Self {
            order: Order::Little,
            interfaces: Vec::new(),
        };
        match file.block(window)? {
            Some(block) => file.section(window, block, notes)?,
            None => {
                let found = format!(
                    "the file ends after {} bytes, inside its section header",
                    window.bytes().len()
                );
                return Err(Broken::malformed(
                    0,
                    found,
                    "a section header of at least 28 bytes",
                ));
            }
        }
        Ok(file)
    }

    /// The next packet, or `None` at the end of the file.
    #[inline]
    pub(super) fn record(
        &mut self,
        window: &mut Window,
        notes: &mut CaptureNotes,
    ) -> Result<Option<Record>, Broken> {
        loop {
            let Some(block) = self.block(window)? else {
                return truncated_tail(window, notes);
            };
            let record = match block.kind {
                ENHANCED_PACKET => self.packet(window, block)?,
                SIMPLE_PACKET => self.simple_packet(window, block)?,
                OBSOLETE_PACKET => self.obsolete_packet(window, block)?,
                _ => {
                    self.other(window, block, notes)?;
                    continue;
                }
            };
            window.advance(block.length);
            return Ok(Some(record));
        }
    }

    /// Whether the section describes an interface of this name.
    pub(super) fn has_interface(&self, name: &str) -> bool {
        self.interfaces
            .iter()
            .any(|interface| interface.name == name)
    }

    /// Processes a block that has no packet.
    fn other(
        &mut self,
        window: &mut Window,
        block: Block,
        notes: &mut CaptureNotes,
    ) -> Result<(), Broken> {
        match block.kind {
            SECTION_HEADER => return self.section(window, block, notes),
            INTERFACE_DESCRIPTION => {
                self.interface(window.first(block.length), block.offset, notes)?
            }
            _ => notes.skipped_blocks += 1,
        }
        window.advance(block.length);
        Ok(())
    }

    /// Reads the next block into memory and checks its lengths. `None` if the file ends before the
    /// block does.
    #[inline]
    fn block(&mut self, window: &mut Window) -> Result<Option<Block>, Broken> {
        if !window.fill(MIN_BLOCK as usize)? {
            return Ok(None);
        }
        let offset = window.offset();
        if window.bytes().starts_with(&MAGIC) {
            self.order = byte_order(window.bytes(), offset)?;
        }
        let order = self.order;
        let kind = order.u32(window.bytes(), 0);
        let length = order.u32(window.bytes(), 4);
        check_length(kind, length, offset)?;
        let size = length as usize;
        if !window.fill(size)? {
            return Ok(None);
        }
        check_trailer(order.u32(window.bytes(), size - 4), length, offset)?;
        Ok(Some(Block {
            kind,
            length: size,
            offset,
        }))
    }

    /// Starts a section. Its byte order is known, its interfaces are not.
    fn section(
        &mut self,
        window: &mut Window,
        block: Block,
        notes: &mut CaptureNotes,
    ) -> Result<(), Broken> {
        let major = self.order.u16(window.bytes(), 12);
        let minor = self.order.u16(window.bytes(), 14);
        // Minor version 2 was written by mistake and means version 0 (section 4.1).
        if major != 1 || !matches!(minor, 0 | 2) {
            return Err(Broken::malformed(
                block.offset + 12,
                format!("pcapng version {major}.{minor}"),
                "version 1.0 or 1.2",
            ));
        }
        self.interfaces.clear();
        notes.sections += 1;
        window.advance(block.length);
        Ok(())
    }

    /// Processes an Interface Description Block (section 4.2).
    fn interface(
        &mut self,
        block: &[u8],
        offset: u64,
        notes: &mut CaptureNotes,
    ) -> Result<(), Broken> {
        if self.interfaces.len() == MAX_INTERFACES {
            let found = format!("section describes more than {MAX_INTERFACES} interfaces");
            return Err(Broken::malformed(
                offset,
                found,
                format!("at most {MAX_INTERFACES}"),
            ));
        }
        let mut interface = Interface {
            name: String::new(),
            link: LinkType(self.order.u16(block, 8)),
            snap_length: self.order.u32(block, 12),
            ticks: Ticks::OfNanos(1_000),
            offset_seconds: 0,
        };
        self.interface_options(block, offset, &mut interface)?;
        self.interfaces.push(interface);
        notes.interfaces += 1;
        Ok(())
    }

    /// Reads an interface's name and the options on timestamps. Skips other options.
    fn interface_options(
        &self,
        block: &[u8],
        offset: u64,
        interface: &mut Interface,
    ) -> Result<(), Broken> {
        let mut resolution_seen = false;
        let mut offset_seen = false;
        let mut at = 16;
        while let Some((code, value)) = self.option(block, at, offset)? {
            let option_offset = offset + at as u64;
            if code == OPTION_TIME_RESOLUTION {
                once(&mut resolution_seen, option_offset, "if_tsresol")?;
                interface.ticks = resolution(value, option_offset)?;
            } else if code == OPTION_TIME_OFFSET {
                once(&mut offset_seen, option_offset, "if_tsoffset")?;
                interface.offset_seconds = self.time_offset(value, option_offset)?;
            } else if code == OPTION_NAME {
                interface.name = String::from_utf8_lossy(value)
                    .trim_end_matches('\0')
                    .to_owned();
            }
            at += 4 + value.len().next_multiple_of(4);
        }
        Ok(())
    }

    /// The code and value of the option at `at`, or `None` after the last one (section 3.5).
    fn option<'a>(
        &self,
        block: &'a [u8],
        at: usize,
        offset: u64,
    ) -> Result<Option<(u16, &'a [u8])>, Broken> {
        let end = block.len().saturating_sub(4);
        let Some(rest) = block.get(at + 4..end) else {
            return Ok(None);
        };
        let code = self.order.u16(block, at);
        let length = usize::from(self.order.u16(block, at + 2));
        match rest.get(..length) {
            _ if code == OPTION_END => Ok(None),
            Some(value) => Ok(Some((code, value))),
            None => {
                let found = format!("option {code} claims {length} bytes");
                Err(Broken::malformed(
                    offset + at as u64,
                    found,
                    format!("at most {} (the rest of its block)", rest.len()),
                ))
            }
        }
    }

    /// The value of an if_tsoffset option.
    fn time_offset(&self, value: &[u8], option_offset: u64) -> Result<i64, Broken> {
        if value.len() != 8 {
            return Err(Broken::malformed(
                option_offset,
                format!("if_tsoffset of {} bytes", value.len()),
                "8 bytes",
            ));
        }
        Ok(self.order.i64(value, 0))
    }

    /// The packet in an Enhanced Packet Block (section 4.3).
    #[inline]
    fn packet(&self, window: &Window, block: Block) -> Result<Record, Broken> {
        let number = self.order.u32(window.bytes(), 8);
        let record = self.stamped_packet(window, block, number)?;
        Ok(Record {
            heading: self.heading(window.first(block.length), record.range.len()),
            ..record
        })
    }

    /// The direction in the `epb_flags` of a packet with `captured` bytes. We ignore illegal
    /// options, because the packet before them is whole.
    #[inline]
    fn heading(&self, block: &[u8], captured: u32) -> Option<Heading> {
        let mut at = 28 + (captured as usize).next_multiple_of(4);
        while let Ok(Some((code, value))) = self.option(block, at, 0) {
            if code == OPTION_PACKET_FLAGS && value.len() == 4 {
                return match self.order.u32(value, 0) & 3 {
                    1 => Some(Heading::In),
                    2 => Some(Heading::Out),
                    _ => None,
                };
            }
            at += 4 + value.len().next_multiple_of(4);
        }
        None
    }

    /// The name of the interface with this number, if it has one.
    pub(super) fn name(&self, number: u32) -> Option<&str> {
        let interface = self.interfaces.get(number as usize)?;
        Some(interface.name.as_str()).filter(|name| !name.is_empty())
    }

    /// The packet in an obsolete Packet Block (appendix A, replaced by the Enhanced Packet Block),
    /// which has two counters where the new one has one.
    fn obsolete_packet(&self, window: &Window, block: Block) -> Result<Record, Broken> {
        let number = self.order.u16(window.bytes(), 8);
        self.stamped_packet(window, block, u32::from(number))
    }

    /// Reads the fields that both kinds of packet block have at equal offsets.
    #[inline]
    fn stamped_packet(&self, window: &Window, block: Block, number: u32) -> Result<Record, Broken> {
        let order = self.order;
        let bytes = window.bytes();
        let interface = self.described(number, block.offset + 8)?;
        let ticks = u64::from(order.u32(bytes, 12)) << 32 | u64::from(order.u32(bytes, 16));
        let time_nanos = interface.time(ticks);
        let range = data(window, block, 28, order.u32(bytes, 20), 20)?;
        Ok(Record {
            has_wrong_time: time_nanos.is_none(),
            ..interface.record(number, time_nanos, order.u32(bytes, 24), range)
        })
    }

    /// The packet in a Simple Packet Block (section 4.4). It has no timestamp. Its captured length
    /// is the original one, up to the snap length.
    fn simple_packet(&self, window: &Window, block: Block) -> Result<Record, Broken> {
        let interface = self.described(0, block.offset)?;
        let original_len = self.order.u32(window.bytes(), 8);
        let limit = if interface.snap_length == 0 {
            u32::MAX
        } else {
            interface.snap_length
        };
        let range = data(window, block, 12, original_len.min(limit), 8)?;
        Ok(interface.record(0, None, original_len, range))
    }

    /// The interface with this number.
    #[inline]
    fn described(&self, number: u32, offset: u64) -> Result<&Interface, Broken> {
        self.interfaces
            .get(number as usize)
            .ok_or_else(|| self.unknown_interface(number, offset))
    }

    #[cold]
    fn unknown_interface(&self, number: u32, offset: u64) -> Broken {
        let expected = match self.interfaces.len() {
            0 => "an interface description before the first packet".to_owned(),
            1 => "interface 0, the only one described so far".to_owned(),
            count => format!(
                "interface 0 to {}, the interfaces described so far",
                count - 1
            ),
        };
        Broken::malformed(offset, format!("packet of interface {number}"), expected)
    }
}

impl Interface {
    fn record(
        &self,
        number: u32,
        time_nanos: Option<i64>,
        original_len: u32,
        range: ByteRange,
    ) -> Record {
        let snap_length = self.snap_length;
        let link = self.link;
        Record {
            time_nanos,
            original_len,
            snap_length,
            link,
            range,
            interface: Some(number),
            heading: None,
            has_wrong_time: false,
        }
    }

    /// Nanoseconds since the epoch. None outside the years 1677 to 2262.
    #[inline]
    fn time(&self, ticks: u64) -> Option<i64> {
        // This cannot overflow 128 bits, because ticks and rates have 64 bits and a second has 30.
        let nanos = match self.ticks {
            Ticks::OfNanos(nanos) => i128::from(ticks) * i128::from(nanos),
            Ticks::PerSecond(rate) => {
                let rest = u128::from(ticks % rate) * 1_000_000_000 / u128::from(rate);
                i128::from(ticks / rate) * 1_000_000_000 + rest.cast_signed()
            }
        };
        let nanos = nanos + i128::from(self.offset_seconds) * 1_000_000_000;
        i64::try_from(nanos).ok()
    }
}

/// A section's byte order, from the third field in its header.
fn byte_order(bytes: &[u8], offset: u64) -> Result<Order, Broken> {
    if Order::Little.u32(bytes, 8) == BYTE_ORDER_MAGIC {
        Ok(Order::Little)
    } else if Order::Big.u32(bytes, 8) == BYTE_ORDER_MAGIC {
        Ok(Order::Big)
    } else {
        let found = format!("byte-order magic {:08x}", Order::Big.u32(bytes, 8));
        Err(Broken::malformed(offset + 8, found, "1a2b3c4d or 4d3c2b1a"))
    }
}

/// Checks a block's length before we allocate or read as much.
#[inline]
fn check_length(kind: u32, length: u32, offset: u64) -> Result<(), Broken> {
    let (least, most) = limits(kind);
    if length < least || length > most || !length.is_multiple_of(4) {
        let found = format!("block of type {kind:#x} claims a length of {length}");
        return Err(Broken::malformed(
            offset + 4,
            found,
            format!("a multiple of 4 from {least} to {most}"),
        ));
    }
    Ok(())
}

/// Checks that the length at the end of a block repeats the one at its start.
#[inline]
fn check_trailer(trailer: u32, length: u32, offset: u64) -> Result<(), Broken> {
    if trailer != length {
        let found = format!("block of {length} bytes ends with the length {trailer}");
        return Err(Broken::malformed(
            offset + u64::from(length) - 4,
            found,
            format!("{length}, as at its start"),
        ));
    }
    Ok(())
}

/// The shortest and the longest legal block with this type.
fn limits(kind: u32) -> (u32, u32) {
    match kind {
        SECTION_HEADER => (28, MAX_SECTION_HEADER),
        INTERFACE_DESCRIPTION => (20, MAX_BLOCK),
        SIMPLE_PACKET => (16, MAX_BLOCK),
        ENHANCED_PACKET | OBSOLETE_PACKET => (32, MAX_BLOCK),
        _ => (MIN_BLOCK, MAX_BLOCK),
    }
}

/// Where a packet's data is: `captured` bytes from `from` on, if they fit into the block. `field`
/// is where the length stands, for the error.
#[inline]
fn data(
    window: &Window,
    block: Block,
    from: usize,
    captured: u32,
    field: u64,
) -> Result<ByteRange, Broken> {
    let room = u32::try_from(block.length - from - 4)
        .unwrap_or(u32::MAX)
        .min(MAX_CAPTURED);
    if captured > room {
        let found = format!(
            "packet block of {} bytes claims {captured} captured bytes",
            block.length
        );
        return Err(Broken::malformed(
            block.offset + field,
            found,
            format!("at most {room}"),
        ));
    }
    Ok(window.range(from, captured as usize))
}

/// Rejects an option that comes a second time.
fn once(seen: &mut bool, option_offset: u64, name: &str) -> Result<(), Broken> {
    if std::mem::replace(seen, true) {
        return Err(Broken::malformed(
            option_offset,
            format!("a second {name} option"),
            "one for each interface",
        ));
    }
    Ok(())
}

/// The value of an if_tsresol option: 10^-n, or 2^-n if the top bit is set.
fn resolution(value: &[u8], option_offset: u64) -> Result<Ticks, Broken> {
    let &[byte] = value else {
        return Err(Broken::malformed(
            option_offset,
            format!("if_tsresol of {} bytes", value.len()),
            "1 byte",
        ));
    };
    let base = if byte & 0x80 == 0 { 10_u64 } else { 2 };
    let power = byte & 0x7f;
    match base.checked_pow(u32::from(power)) {
        Some(rate) if 1_000_000_000 % rate == 0 => {
            Ok(Ticks::OfNanos((1_000_000_000 / rate) as u32))
        }
        Some(rate) => Ok(Ticks::PerSecond(rate)),
        None => Err(Broken::malformed(
            option_offset,
            format!("if_tsresol of {base}^-{power} s"),
            "10^0 to 10^-19 or 2^0 to 2^-63",
        )),
    }
}
