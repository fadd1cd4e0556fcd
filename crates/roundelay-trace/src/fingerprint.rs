//! Fingerprint of an IP packet: digests of what routers leave alone, and of what address translation
//! leaves alone, too.

#![deny(clippy::indexing_slicing)]

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::RandomState;

use crate::capture::Frame;
use crate::headers::{TCP, UDP, network_layer};

/// The protocol numbers for ICMP and ICMPv6.
const ICMP: [u8; 2] = [1, 58];

/// Hashes tables by digest. A digest is its own hash, because nobody can choose it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AsDigest(u64);

impl BuildHasher for AsDigest {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        Self::default()
    }
}

impl Hasher for AsDigest {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, digest: u64) {
        self.0 = digest;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The key for one comparison's digests. It is new in each process, so nobody can make packets with
/// equal digests without watching this process.
#[derive(Debug, Default)]
pub(crate) struct DigestKey(RandomState);

/// What tells an IP packet from others. It is digested once for everybody who looks for copies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fingerprint {
    /// Digest of everything that forwarding leaves alone.
    pub(crate) forwarded: u64,
    /// Digest of everything that address translation leaves alone too.
    pub(crate) translated: u64,
    /// How many payload bytes address translation leaves alone.
    pub(crate) kept_len: usize,
    pub(crate) has_identification: bool,
    /// Whether the captured payload differs between a flow's packets.
    pub(crate) is_telling: bool,
    /// Whether it is a TCP segment with data, or another protocol.
    pub(crate) has_data: bool,
}

/// Source and destination, in as few numbers as they fit into.
enum Addresses {
    V4(u64),
    V6([u128; 2]),
}

/// An IP packet, taken apart.
struct Parts<'a> {
    addresses: Addresses,
    protocol: u8,
    /// Fields of the IP header, without the protocol.
    fields: u64,
    identification: u16,
    /// How many payload bytes were on the wire.
    payload_len: usize,
    /// The captured payload, without the link's padding.
    payload: &'a [u8],
}

impl Fingerprint {
    /// An IP packet's fingerprint. None for other frames.
    pub(crate) fn of(frame: &Frame<'_>, key: &DigestKey) -> Option<Self> {
        let parts = Parts::of(frame)?;
        let Translation { kept, changed } = Translation::of(parts.protocol, parts.payload);
        let mut digest = key.0.build_hasher();
        digest.write_u64(parts.fields << 8 | u64::from(parts.protocol));
        // With the protocol, the length tells where each part ends.
        digest.write_usize(parts.payload.len());
        kept.iter().for_each(|part| digest.write(part));
        let translated = digest.finish();
        digest.write_u64(changed);
        match parts.addresses {
            Addresses::V4(both) => digest.write_u64(both),
            Addresses::V6([source, destination]) => {
                digest.write_u128(source);
                digest.write_u128(destination);
            }
        }
        Some(Self {
            forwarded: digest.finish(),
            translated,
            kept_len: kept[0].len() + kept[1].len(),
            has_identification: parts.identification != 0,
            is_telling: parts.are_telling(),
            has_data: parts.have_data(),
        })
    }
}

impl<'a> Parts<'a> {
    /// A frame's IP packet, taken apart.
    fn of(frame: &Frame<'a>) -> Option<Self> {
        let packet = network_layer(frame.link, frame.bytes).ok()?;
        match packet.first()? >> 4 {
            4 => Self::of_ipv4(packet),
            6 => Self::of_ipv6(packet),
            _ => None,
        }
    }

    /// Takes an IPv4 packet apart (RFC 791, section 3.1).
    fn of_ipv4(packet: &'a [u8]) -> Option<Self> {
        // Without options the header has a fixed length, so no read of a field needs a check.
        let header = packet.first_chunk::<20>()?;
        let &[first, _, l, m, i, j, f, g, _, protocol, ..] = header;
        let header_len = usize::from(first & 15) * 4;
        if header_len < header.len() {
            return None;
        }
        let payload = packet.get(header_len..)?;
        let length = u16::from_be_bytes([l, m]);
        let identification = u16::from_be_bytes([i, j]);
        let fragment = u16::from_be_bytes([f, g]);
        let payload_len = payload_len(length, header_len);
        Some(Self {
            addresses: Addresses::V4(u64::from_be_bytes(*header.last_chunk()?)),
            protocol,
            fields: u64::from(length) << 32 | u64::from(identification) << 16 | u64::from(fragment),
            identification,
            payload_len,
            payload: payload.get(..payload_len).unwrap_or(payload),
        })
    }

    /// Takes an IPv6 packet apart (RFC 8200, section 3).
    fn of_ipv6(packet: &'a [u8]) -> Option<Self> {
        let (header, payload) = packet.split_first_chunk::<40>()?;
        let &[_, _, _, _, l, m, protocol, _, ref addresses @ ..] = header;
        let (source, destination) = addresses.split_first_chunk()?;
        let length = u16::from_be_bytes([l, m]);
        let payload_len = payload_len(length, 0);
        Some(Self {
            addresses: Addresses::V6([
                u128::from_be_bytes(*source),
                u128::from_be_bytes(*destination.first_chunk()?),
            ]),
            protocol,
            fields: length.into(),
            identification: 0,
            payload_len,
            payload: payload.get(..payload_len).unwrap_or(payload),
        })
    }

    /// Whether this is more than a TCP segment without data.
    fn have_data(&self) -> bool {
        let header = self
            .payload
            .get(12)
            .map_or(0, |offset| usize::from(offset >> 4) * 4);
        self.protocol != TCP || self.payload_len > header
    }

    /// Whether the captured payload differs between a flow's packets.
    fn are_telling(&self) -> bool {
        match (self.protocol, self.payload) {
            (TCP, payload) if payload.len() >= 18 => true,
            (UDP, &[_, _, _, _, _, _, a, b, ..]) if (a, b) != (0, 0) => true,
            (_, payload) => payload.len() >= 8 && payload.len() == self.payload_len,
        }
    }
}

/// The payload's length, from one that includes the header. Offloading leaves that at 0.
fn payload_len(length: u16, header_len: usize) -> usize {
    if length == 0 {
        usize::MAX
    } else {
        usize::from(length).saturating_sub(header_len)
    }
}

/// A payload in two parts: what translation leaves alone, and what it changes. It changes ports or
/// an echo's identifier, and checksums.
struct Translation<'a> {
    kept: [&'a [u8]; 2],
    /// The changed bytes in a row, at most six.
    changed: u64,
}

impl<'a> Translation<'a> {
    fn of(protocol: u8, payload: &'a [u8]) -> Self {
        match (protocol, payload) {
            // Ports, what is kept, the checksum, and the rest.
            (TCP | UDP, &[a, b, c, d, ref rest @ ..]) => {
                let kept = if protocol == TCP { 12 } else { 2 };
                let Some((kept, &[e, f, ref data @ ..])) = rest.split_at_checked(kept) else {
                    return Self::of_another(protocol, payload);
                };
                Self {
                    kept: [kept, data],
                    changed: u64::from_be_bytes([0, 0, a, b, c, d, e, f]),
                }
            }
            _ => Self::of_another(protocol, payload),
        }
    }

    /// Splits an echo, another protocol, or a payload that was cut before its checksum.
    fn of_another(protocol: u8, payload: &'a [u8]) -> Self {
        let part = |from: usize, to: usize| {
            let end = payload.len();
            payload.get(from.min(end)..to.min(end)).unwrap_or_default()
        };
        let (kept, changed) = match protocol {
            TCP => ([part(4, 16), part(0, 0)], [part(0, 4), part(16, 18)]),
            UDP => ([part(4, 6), part(0, 0)], [part(0, 4), part(6, 8)]),
            protocol if ICMP.contains(&protocol) => {
                ([part(0, 2), part(6, usize::MAX)], [part(2, 6), part(0, 0)])
            }
            _ => ([payload, part(0, 0)], [part(0, 0), part(0, 0)]),
        };
        let mut bytes = 0;
        for byte in changed.into_iter().flatten() {
            bytes = bytes << 8 | u64::from(*byte);
        }
        Self {
            kept,
            changed: bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{LinkType, Tap};

    fn print(bytes: &[u8], key: &DigestKey) -> Fingerprint {
        let frame = Frame {
            time_nanos: 0,
            original_len: bytes.len() as u32,
            link: LinkType::RAW,
            bytes,
            tap: Tap {
                interface: None,
                name: None,
                heading: None,
            },
        };
        Fingerprint::of(&frame, key).expect("an IP packet")
    }

    /// TCP, UDP and an ICMP echo in IPv4, UDP in IPv6, and TCP cut before its checksum: the packet,
    /// bytes that routers change, bytes that translation changes, and all others that count.
    #[test]
    fn each_byte_counts_in_the_digests_that_it_belongs_to() {
        let ipv4 = |protocol, payload: usize| {
            let mut packet = vec![
                0x45,
                0,
                0,
                20 + payload as u8,
                1,
                2,
                0,
                0,
                64,
                protocol,
                3,
                4,
            ];
            packet.extend([10, 0, 0, 1, 10, 0, 0, 2]);
            packet.extend((0..payload).map(|number| 100 + number as u8));
            packet
        };
        let mut ipv6 = vec![0x60, 0, 0, 0, 0, 20, UDP, 64];
        ipv6.extend(1..=52);
        let ends_v4: Vec<_> = (12..20).collect();
        let ends_v6: Vec<_> = (8..40).collect();
        let cases = [
            (
                ipv4(TCP, 30),
                [&ends_v4[..], &[20, 21, 22, 23, 36, 37]].concat(),
            ),
            (
                ipv4(TCP, 17),
                [&ends_v4[..], &[20, 21, 22, 23, 36]].concat(),
            ),
            (
                ipv4(UDP, 20),
                [&ends_v4[..], &[20, 21, 22, 23, 26, 27]].concat(),
            ),
            (ipv4(UDP, 7), [&ends_v4[..], &[20, 21, 22, 23, 26]].concat()),
            (ipv4(1, 20), [&ends_v4[..], &[22, 23, 24, 25]].concat()),
            (ipv4(47, 20), ends_v4.clone()),
            (ipv6, [ends_v6, (40..44).collect(), vec![46, 47]].concat()),
        ];
        let key = DigestKey::default();
        for (packet, translated) in cases {
            let header = if packet[0] == 0x45 { 4..20 } else { 8..40 };
            let whole = print(&packet, &key);
            for offset in header.start..packet.len() {
                // TTL and checksum of IPv4.
                if packet[0] == 0x45 && [8, 10, 11].contains(&offset) {
                    continue;
                }
                let mut other = packet.clone();
                other[offset] ^= 1;
                let other = print(&other, &key);
                assert_ne!(other.forwarded, whole.forwarded, "{packet:?} {offset}");
                assert_eq!(
                    other.translated == whole.translated,
                    translated.contains(&offset),
                    "{packet:?} {offset}"
                );
            }
        }
    }

    /// Digests are slots in tables, too: nobody may choose them.
    #[test]
    fn another_comparison_has_other_digests() {
        let mut packet = [0; 60];
        packet[0] = 0x45;
        packet[9] = UDP;
        let [one, other] = [(); 2].map(|()| print(&packet, &DigestKey::default()));
        assert_ne!(one.forwarded, other.forwarded);
        assert_ne!(one.translated, other.translated);
    }
}
