//! IEEE 802.11 frames, and the headers that capturing hosts put before them: radiotap, PPI, Prism,
//! AVS.
//!
//! A data frame has an LLC/SNAP header (IEEE 802.2, RFC 1042) after its MAC header. We read data
//! frames with or without QoS, with three or four addresses, and with HT Control. An A-MSDU holds
//! several packets for one receiver in one frame, and the first packet counts. We do not read
//! 802.11s's mesh control field. In an encrypted frame no packet is visible, nor in any fragment
//! after the first.

use super::{Unparsable, after, be16, byte, ether_type};

/// Bits in the second byte of Frame Control (IEEE 802.11-2020, 9.2.4.1).
const TO_DISTRIBUTION: u8 = 0x01;
const FROM_DISTRIBUTION: u8 = 0x02;
const PROTECTED: u8 = 0x40;
const HT_CONTROL: u8 = 0x80;

/// The IP packet in an 802.11 frame. If it is `padded`, zeros after the MAC header make its length
/// a multiple of four.
pub(super) fn frame(bytes: &[u8], padded: bool) -> Result<&[u8], Unparsable> {
    let control = byte(bytes, 0)?;
    let flags = byte(bytes, 1)?;
    let version = control & 3;
    let kind = control >> 2 & 3;
    let subtype = control >> 4;
    const DATA: u8 = 2;
    // A subtype with bit 2 has no frame body: Null, CF-Ack, CF-Poll.
    if version != 0 || kind != DATA || subtype & 4 != 0 {
        return Err(Unparsable::NotIp);
    }
    if flags & PROTECTED != 0 {
        return Err(Unparsable::Encrypted);
    }
    let four_addresses = flags & TO_DISTRIBUTION != 0 && flags & FROM_DISTRIBUTION != 0;
    let addresses = if four_addresses { 30 } else { 24 };
    if byte(bytes, 22)? & 0x0f != 0 {
        // This is a fragment after the first.
        return Err(Unparsable::NotIp);
    }
    let has_qos = subtype & 8 != 0;
    let qos = if has_qos { byte(bytes, addresses)? } else { 0 };
    let header = addresses
        + if has_qos { 2 } else { 0 }
        + if has_qos && flags & HT_CONTROL != 0 {
            4
        } else {
            0
        };
    let body = after(
        bytes,
        if padded {
            header.next_multiple_of(4)
        } else {
            header
        },
    )?;
    const A_MSDU: u8 = 0x80;
    // A subframe starts with two addresses and a length.
    logical_link(if qos & A_MSDU != 0 {
        after(body, 14)?
    } else {
        body
    })
}

/// The packet after an LLC header with a SNAP extension (RFC 1042, and 802.1H for the second
/// organisation).
fn logical_link(bytes: &[u8]) -> Result<&[u8], Unparsable> {
    match bytes.get(..6).ok_or(Unparsable::Truncated)? {
        [0xaa, 0xaa, 0x03, 0, 0, 0 | 0xf8] => ether_type(be16(bytes, 6)?, after(bytes, 8)?),
        _ => Err(Unparsable::NotIp),
    }
}

/// Radiotap: version, length, and a bit for each field, all little-endian (radiotap.org).
pub(super) fn radiotap(bytes: &[u8]) -> Result<&[u8], Unparsable> {
    frame(after(bytes, radiotap_len(bytes)?)?, is_padded(bytes))
}

pub(super) fn radiotap_len(bytes: &[u8]) -> Result<usize, Unparsable> {
    match byte(bytes, 0)? {
        0 => at_least(8, le16(bytes, 2)?.into()),
        _ => Err(Unparsable::NotIp),
    }
}

/// Whether the Flags field, which is the second one, says that zeros follow the MAC header.
fn is_padded(bytes: &[u8]) -> bool {
    const TIME: u32 = 1 << 0;
    const FLAGS: u32 = 1 << 1;
    const MORE_FIELDS: u32 = 1 << 31;
    const PADDED: u8 = 0x20;
    let Ok(first) = le32(bytes, 4) else {
        return false;
    };
    let mut at = 4;
    while le32(bytes, at).is_ok_and(|fields| fields & MORE_FIELDS != 0) {
        at += 4;
    }
    at += 4;
    if first & TIME != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    first & FLAGS != 0 && byte(bytes, at).is_ok_and(|flags| flags & PADDED != 0)
}

/// Per-Packet Information: version, flags, length, and the number of the link type below.
pub(super) fn ppi(bytes: &[u8]) -> Result<(u32, &[u8]), Unparsable> {
    Ok((le32(bytes, 4)?, after(bytes, ppi_len(bytes)?)?))
}

pub(super) fn ppi_len(bytes: &[u8]) -> Result<usize, Unparsable> {
    match byte(bytes, 0)? {
        0 => at_least(8, le16(bytes, 2)?.into()),
        _ => Err(Unparsable::NotIp),
    }
}

/// Prism: a message code and a length, in the capturing host's byte order. AVS may come under the
/// same link type.
pub(super) fn prism_len(bytes: &[u8]) -> Result<usize, Unparsable> {
    if is_avs(bytes) {
        return avs_len(bytes);
    }
    let length = le32(bytes, 4)?;
    at_least(8, length.min(length.swap_bytes()) as usize)
}

/// AVS: version and length in network byte order.
pub(super) fn avs_len(bytes: &[u8]) -> Result<usize, Unparsable> {
    if !is_avs(bytes) {
        return Err(Unparsable::NotIp);
    }
    at_least(8, le32(bytes, 4)?.swap_bytes() as usize)
}

fn is_avs(bytes: &[u8]) -> bool {
    bytes.get(..3) == Some(&[0x80, 0x21, 0x10])
}

fn at_least(least: usize, length: usize) -> Result<usize, Unparsable> {
    if length < least {
        Err(Unparsable::NotIp)
    } else {
        Ok(length)
    }
}

fn le16(bytes: &[u8], at: usize) -> Result<u16, Unparsable> {
    be16(bytes, at).map(u16::swap_bytes)
}

fn le32(bytes: &[u8], at: usize) -> Result<u32, Unparsable> {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
    field
        .map(|field| u32::from_le_bytes(*field))
        .ok_or(Unparsable::Truncated)
}
