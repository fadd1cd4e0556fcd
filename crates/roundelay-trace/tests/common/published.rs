//! Kinds of captures that other projects publish or report: a call beside a bulk flow, generated anew
//! in the wrapping of each. The first answer, without any option, has to be the right one.
//!
//! A name is that of a file in a project's tests, or of a report (`project#number`). The captures
//! themselves are not here: what is generated has their link type, tunnel, clock or fault.

use super::load::*;
use super::several_links::{IN, OUT, forwarded};
use super::*;

/// What the first answer has to be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Right {
    /// The call waits as in the plain capture: long under fifo, briefly under the others.
    Call,
    /// As the call, and this many packets are replayed.
    CallOf(u64),
    /// One flow, because neither Linux nor anybody else can tell what is inside.
    OneFlow(&'static str),
    /// No call at all, among so many flows.
    NoCall(usize),
    /// Frames that only their owner can decrypt, told as such.
    Encrypted,
}

pub(crate) struct Published {
    /// Where captures of the kind are published, or reported.
    pub(crate) origin: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) right: Right,
    /// What the answer's notes say, each in its words and in their order; none that all captures
    /// have.
    pub(crate) notes: &'static [&'static str],
}

/// The fields of a [`Published`].
type Row = (&'static str, Vec<u8>, Right, &'static [&'static str]);

/// Notes on tunnels.
const IN_IP: &str = "are in tunnels (GRE, IP in IP or 6in4): flows are those inside";
const IN_UDP: &str =
    "are in VXLAN, Geneve or GTP-U tunnels, whose outer addresses and ports make the flows";

/// Packets of the call, and of the bulk flow.
const PACKETS: u64 = 150 + 1545;
/// Bytes of each frame that the captures keep.
const KEPT: usize = 128;

/// The packets of the load, without a link.
fn packets() -> Vec<Sample> {
    let mut samples = both(3);
    for (_, frame) in &mut samples {
        frame.drain(..14);
    }
    samples
}

/// A capture of frames in a pcap.
fn in_pcap(order: Order, magic: u32, link: u16, frames: &[Sample]) -> Vec<u8> {
    let mut bytes = pcap(order, magic, (2, 4), 65_535, link);
    for (at, frame) in frames {
        let fraction = match magic {
            NANOS => at % 1_000_000_000,
            _ => at % 1_000_000_000 / 1000,
        };
        let seconds = 1_700_000_000 + (at / 1_000_000_000) as u32;
        let kept = &frame[..frame.len().min(KEPT)];
        let [captured, len] = [kept.len(), frame.len()].map(|len| len as u32);
        bytes.extend(record_header(
            order,
            seconds,
            fraction as u32,
            captured,
            len,
        ));
        bytes.extend(kept);
    }
    bytes
}

/// The load in frames of a link.
fn framed(link: u16, frame: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let mut samples = packets();
    for (_, packet) in &mut samples {
        *packet = frame(packet);
    }
    in_pcap(Little, MICROS, link, &samples)
}

/// The load inside of other packets, on Ethernet.
fn inside(wrap: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let mut samples = packets();
    for (number, (_, packet)) in samples.iter_mut().enumerate() {
        let outer = wrap(packet);
        let is_ipv4 = outer[0] >> 4 == 4;
        *packet = match is_ipv4 {
            true => ethernet(0x0800, &numbered(outer, number)),
            false => ethernet(0x86dd, &outer),
        };
    }
    in_pcap(Little, NANOS, ETHERNET, &samples)
}

/// The load inside of a protocol over IPv4.
fn over_ip(protocol: u8, header: &[u8]) -> Vec<u8> {
    inside(|packet| ipv4(protocol, NEAR, FAR, &[header, packet].concat()))
}

/// The load inside of UDP.
fn over_udp(port: u16, header: &[u8]) -> Vec<u8> {
    inside(|packet| {
        ipv4(
            UDP,
            NEAR,
            FAR,
            &[&ports(4000, port), header, packet].concat(),
        )
    })
}

/// The same packet in IPv6, which has no identification: packets differ in TCP's sequence number, or
/// in what UDP carries.
fn in_ipv6(packet: &[u8]) -> Vec<u8> {
    let mut payload = packet[20..].to_vec();
    let place = if packet[9] == TCP { 4 } else { 8 };
    payload[place..place + 2].copy_from_slice(&packet[4..6]);
    ipv6(0, packet[9], v6(1), v6(2), &payload)
}

/// A pcapng with one Ethernet interface.
fn in_pcapng(
    order: Order,
    options: &[u8],
    ticks: impl Fn(u64) -> u64,
    frames: &[Sample],
) -> Vec<u8> {
    let mut bytes = section(order);
    bytes.extend(interface(order, ETHERNET, 0, options));
    for (at, frame) in frames {
        let kept = &frame[..frame.len().min(KEPT)];
        let lengths = (kept.len() as u32, frame.len() as u32);
        bytes.extend(enhanced_with_lengths(order, 0, ticks(*at), lengths, kept));
    }
    bytes
}

const fn micros(nanos: u64) -> u64 {
    1_700_000_000_000_000 + nanos / 1000
}

/// The call beside frames of 64,000 bytes of data.
fn offloaded(frame: impl Fn(Vec<u8>) -> Vec<u8>) -> Vec<Sample> {
    let mut samples = call(3);
    for number in 0..35 {
        let packet = segment(64_000, number);
        samples.push((number as u64 * 85 * MILLI, frame(packet)));
    }
    sorted(samples)
}

/// The load, and acknowledgements and the other half of the call in the other direction.
fn both_ways() -> Vec<Sample> {
    let mut samples = both(3);
    for number in 0..150_usize {
        let at = number as u64 * 20 * MILLI + 3_000_007;
        let voice = [&ports(5006, 5004)[..], &[0; 172]].concat();
        let answer = numbered(ipv4(UDP, CALLED, CALLER, &voice), number);
        samples.push((at, ethernet(0x0800, &answer)));
        let header = [
            &ports(9000, 40_000)[..4],
            &[0; 8],
            &[0x50, 0x10, 0, 0, 0, 0, 0, 0],
        ]
        .concat();
        let acknowledgement = numbered(ipv4(TCP, CALLED, CALLER, &header), number + 150);
        samples.push((at + 1000, ethernet(0x0800, &acknowledgement)));
    }
    sorted(samples)
}

/// A gzip file whose content is not compressed.
fn gzipped(content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut parts = content.chunks(65_535).peekable();
    while let Some(part) = parts.next() {
        let len = part.len() as u16;
        bytes.push(u8::from(parts.peek().is_none()));
        bytes.extend(len.to_le_bytes());
        bytes.extend((!len).to_le_bytes());
        bytes.extend(part);
    }
    let mut sum = u32::MAX;
    for byte in content {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 {
                sum >> 1 ^ 0xedb8_8320
            } else {
                sum >> 1
            };
        }
    }
    bytes.extend((!sum).to_le_bytes());
    bytes.extend((content.len() as u32).to_le_bytes());
    bytes
}

/// An 802.11 data frame to the access point.
fn wireless(flags: u8, packet: &[u8]) -> Vec<u8> {
    let header = [&[0x08, flags | 1, 0, 0][..], &[0x11; 18], &[0x20, 0]].concat();
    [&header[..], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], packet].concat()
}

fn radiotap(frame: &[u8]) -> Vec<u8> {
    [&[0, 0, 8, 0, 0, 0, 0, 0], frame].concat()
}

/// Containers and clocks.
fn files() -> Vec<Published> {
    let plain = both(3);
    let half = plain.len() / 2;
    let mut ahead = plain.clone();
    ahead[half].0 += 5_000 * MILLI;
    let mut cut = plain.clone();
    for (_, frame) in &mut cut {
        frame.truncate(96);
    }
    let sections = [
        in_pcapng(Little, &[], micros, &bulk(3)),
        in_pcapng(Little, &[], micros, &call(3)),
    ];
    let behind = [bulk(3), call(3)].concat();
    let of = |order, magic| in_pcap(order, magic, ETHERNET, &plain);
    let whole = of(Little, MICROS);
    let past = |at: u64| match at == plain[half].0 {
        true => (-1_i64).cast_unsigned(),
        false => micros(at),
    };
    let nanos = if_tsresol(Little, 9);
    let binary = if_tsresol(Little, 0x80 | 20);
    let ticks =
        |at: u64| (u128::from(1_700_000_000_000_000_000 + at) * (1 << 20) / 1_000_000_000) as u64;
    let zone = if_tsoffset(Little, 1_700_000_000);
    let list: [Row; 17] = [
        (
            "PcapPlusPlus file_heuristics/microsecs.pcap",
            whole.clone(),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "PcapPlusPlus file_heuristics/nanosecs.pcap",
            of(Little, NANOS),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "PcapPlusPlus microsecs_big_endian.pcap",
            of(Big, MICROS),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "PcapPlusPlus nanosecs_big_endian.pcap",
            of(Big, NANOS),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "PcapPlusPlus file_heuristics/pcapng-example.pcapng",
            in_pcapng(Little, &[], micros, &plain),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "nDPI big_endian_issue.pcapng",
            in_pcapng(Big, &[], micros, &plain),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "Wireshark communityid.pcap.gz",
            gzipped(&whole),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "zeek#864 (appended)",
            in_pcap(Little, NANOS, ETHERNET, &behind),
            Right::CallOf(PACKETS),
            &["packets are out of order in the file and were put in the order of times"],
        ),
        (
            "tcpreplay#172 (two sections of one time)",
            sections.concat(),
            Right::CallOf(PACKETS),
            &["packets are out of order in the file and were put in the order of times"],
        ),
        (
            "tcpreplay#549 (a time from the future)",
            in_pcap(Little, NANOS, ETHERNET, &ahead),
            Right::CallOf(PACKETS),
            &["1 packet has a time that all others contradict"],
        ),
        (
            "PcapPlusPlus (a time before 1970)",
            in_pcapng(Little, &[], past, &plain),
            Right::CallOf(PACKETS),
            &["1 packet has a time outside of the years 1677 to 2262"],
        ),
        (
            "dpkt#681 (ticks of a nanosecond)",
            in_pcapng(Little, &nanos, |at| 1_700_000_000_000_000_000 + at, &plain),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "libpcap#577 (ticks of powers of two)",
            in_pcapng(Little, &binary, ticks, &plain),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "libpcap#1240 (if_tsoffset)",
            in_pcapng(Little, &zone, |at| at / 1000, &plain),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "nDPI#1678 (cut in a packet's header)",
            whole[..whole.len() - 130].to_vec(),
            Right::CallOf(PACKETS - 1),
            &["14 bytes at the end are a packet cut off"],
        ),
        (
            "ecapture#385 (pcapng cut in a packet)",
            {
                let mut bytes = in_pcapng(Little, &[], micros, &plain);
                bytes.truncate(bytes.len() - 40);
                bytes
            },
            Right::CallOf(PACKETS - 1),
            &["120 bytes at the end are a packet cut off"],
        ),
        (
            "scapy#1083 (cut with the length)",
            in_pcap(Little, NANOS, ETHERNET, &cut),
            Right::CallOf(PACKETS),
            &["1695 frames were cut by a tool together with their lengths"],
        ),
    ];
    Vec::from(list.map(row))
}

fn row((origin, bytes, right, notes): Row) -> Published {
    Published {
        origin,
        bytes,
        right,
        notes,
    }
}

/// Link types, and what stands between a link's header and IP.
fn links() -> Vec<Published> {
    let tagged =
        |tags: &[u8], packet: &[u8]| [&[2; 6][..], &[4; 6], tags, &[8, 0], packet].concat();
    let session = |packet: &[u8]| {
        let len = (packet.len() as u16 + 2).to_be_bytes();
        let header = [&[0x11, 0, 0, 7][..], &len, &[0, 0x21]].concat();
        ethernet(0x8864, &[&header, packet].concat())
    };
    let labelled = |packet: &[u8]| ethernet(0x8847, &[&[0, 1, 1, 64], packet].concat());
    let trailed = |packet: &[u8]| ethernet(0x0800, &[packet, &[0xee; 4]].concat());
    let with_options = |packet: &[u8]| {
        let mut packet = packet.to_vec();
        let len = (packet.len() as u16 + 4).to_be_bytes();
        packet[0] = 0x46;
        packet[2..4].copy_from_slice(&len);
        packet.splice(20..20, [1, 1, 1, 0]);
        packet
    };
    let hop_by_hop = |packet: &[u8]| {
        let options = [&[packet[9], 0, 1, 4, 0, 0, 0, 0], &packet[20..]].concat();
        ipv6(0, 0, v6(1), v6(2), &options)
    };
    let authenticated = |packet: &[u8]| {
        let header = [&[packet[9], 4, 0, 0, 0, 0, 0, 7][..], &[9; 16]].concat();
        ipv4(51, CALLER, CALLED, &[&header, &packet[20..]].concat())
    };
    let list: [Row; 23] = [
        (
            "tcpdump 802.1ad_QinQ.pcap",
            framed(ETHERNET, |packet| {
                tagged(&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 7], packet)
            }),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "PcapPlusPlus VlanPackets.pcap",
            framed(ETHERNET, |packet| tagged(&[0x81, 0, 0, 7], packet)),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "PcapPlusPlus MplsPackets.pcap",
            framed(ETHERNET, labelled),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "PcapPlusPlus PPPoESession.pcap",
            framed(ETHERNET, session),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "PcapPlusPlus packet_trailer.pcap",
            framed(ETHERNET, trailed),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "PcapPlusPlus ipv4-options.pcap",
            inside(with_options),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "PcapPlusPlus one_ipv6_http_stream.pcap",
            inside(in_ipv6),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "PcapPlusPlus ipv6_opt_fragments.pcap (options)",
            inside(hop_by_hop),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "nDPI ah.pcapng",
            inside(authenticated),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "PcapPlusPlus sll.pcap",
            framed(113, |packet| cooked(0, packet)),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "dpkt#569 (SLL2)",
            framed(276, |packet| cooked2(2, IN, packet)),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "PcapPlusPlus raw_ip.pcap",
            framed(12, <[u8]>::to_vec),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "tcpdump LINKTYPE_RAW_ipv4.pcap",
            framed(101, <[u8]>::to_vec),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "tcpdump LINKTYPE_IPV4.pcap",
            framed(228, <[u8]>::to_vec),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "tcpdump LINKTYPE_IPV6.pcap",
            framed(229, in_ipv6),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "PcapPlusPlus NullLoopback.pcap",
            framed(0, |packet| [&[2, 0, 0, 0], packet].concat()),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "PcapPlusPlus CiscoHDLC.pcap",
            framed(104, |packet| [&[0x0f, 0, 8, 0], packet].concat()),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "nDPI dlt_ppp.pcap",
            framed(9, |packet| [&[0xff, 3, 0, 0x21], packet].concat()),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "zeek arp-who-has-wlanmon.pcap",
            framed(105, |packet| wireless(0, packet)),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "zeek arp-who-has-radiotap.pcap",
            framed(127, |packet| radiotap(&wireless(0, packet))),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "Wireshark wpa-Induction.pcap.gz",
            gzipped(&framed(105, |packet| wireless(0x40, packet))),
            Right::Encrypted,
            &[
                "1695 packets whose headers could not be read share a flow",
                "1695 of these packets are encrypted 802.11 frames",
            ],
        ),
        (
            "tcpdump LINKTYPE_PKTAP.pcap",
            framed(258, |packet| {
                [&[108, 0, 0, 0][..], &[0; 104], &ethernet(0x0800, packet)].concat()
            }),
            Right::Call,
            &[],
        ),
        (
            "tcpdump arcnet-rfc1201-arp-icmp-http.pcap",
            framed(129, |packet| [&[1, 2, 0, 212, 0, 0, 7], packet].concat()),
            Right::Call,
            &[],
        ),
    ];
    Vec::from(list.map(row))
}

/// Packets in packets.
fn tunnels() -> Vec<Published> {
    let six = |packet: &[u8]| in_ipv6(packet);
    let bridge = [&[2; 12][..], &[8, 0]].concat();
    let gre = |kind: u16, more: &[u8]| [&[0, 0][..], &kind.to_be_bytes(), more].concat();
    let erspan = [
        &[
            0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 5, 0x10, 1, 0, 0, 0, 2,
        ][..],
        &bridge,
    ]
    .concat();
    let vxlan = [&[8, 0, 0, 0, 0, 0, 7, 0][..], &bridge].concat();
    let geneve = [&[0, 0, 0x65, 0x58, 0, 0, 7, 0][..], &bridge].concat();
    let gtp = [0x30, 255, 0, 0, 0, 0, 0, 7];
    let gre_in_gre = |packet: &[u8]| {
        let header = gre(0x0800, &[]);
        let inner = ipv4(47, NEAR, [10, 0, 0, 9], &[&header[..], packet].concat());
        ipv4(47, NEAR, FAR, &[&header[..], &inner].concat())
    };
    let esp = |packet: &[u8]| {
        let index = if packet[9] == UDP { 1_u32 } else { 2 };
        let sealed = vec![0; packet.len() + 24];
        ipv4(50, NEAR, FAR, &[&index.to_be_bytes()[..], &sealed].concat())
    };
    let pptp = [
        0x30, 0x81, 0x88, 0x0b, 0, 9, 0, 7, 0, 0, 0, 1, 0, 0, 0, 1, 0xff, 3, 0, 0x21,
    ];
    let quic = |packet: &[u8]| {
        let mut packet = packet.to_vec();
        if packet[9] == TCP {
            packet[9] = UDP;
            packet[22..24].copy_from_slice(&443_u16.to_be_bytes());
        }
        packet
    };
    let list: [Row; 17] = [
        (
            "zeek tunnels/4in4.pcap",
            over_ip(4, &[]),
            Right::CallOf(PACKETS),
            &[IN_IP],
        ),
        (
            "zeek tunnels/4in6.pcap",
            inside(|packet| ipv6(0, 4, v6(8), v6(9), packet)),
            Right::CallOf(PACKETS),
            &[IN_IP],
        ),
        (
            "zeek tunnels/6in4.pcap",
            inside(|packet| ipv4(41, NEAR, FAR, &six(packet))),
            Right::CallOf(PACKETS),
            &[IN_IP],
        ),
        (
            "zeek tunnels/6in6.pcap",
            inside(|packet| ipv6(0, 41, v6(8), v6(9), &six(packet))),
            Right::CallOf(PACKETS),
            &[IN_IP],
        ),
        (
            "zeek tunnels/gre-sample.pcap",
            over_ip(47, &gre(0x0800, &[])),
            Right::CallOf(PACKETS),
            &[IN_IP],
        ),
        (
            "zeek tunnels/gre-within-gre.pcap",
            inside(gre_in_gre),
            Right::CallOf(PACKETS),
            &[IN_IP],
        ),
        (
            "zeek tunnels/gre-pptp.pcap",
            over_ip(47, &pptp),
            Right::CallOf(PACKETS),
            &[IN_IP],
        ),
        (
            "contrail-vrouter#100 (Ethernet over GRE)",
            over_ip(47, &gre(0x6558, &bridge)),
            Right::CallOf(PACKETS),
            &[IN_IP],
        ),
        (
            "tcpdump erspan-type-ii-1.pcap",
            over_ip(47, &erspan),
            Right::OneFlow("gre 10.0.0.1 > 10.0.0.2"),
            &[],
        ),
        (
            "zeek tunnels/vxlan.pcap",
            over_udp(4789, &vxlan),
            Right::OneFlow("udp 10.0.0.1:4000 > 10.0.0.2:4789"),
            &[IN_UDP],
        ),
        (
            "tcpdump geneve.pcap",
            over_udp(6081, &geneve),
            Right::OneFlow("udp 10.0.0.1:4000 > 10.0.0.2:6081"),
            &[IN_UDP],
        ),
        (
            "zeek tunnels/gtp/gtp1_gn_normal_incl_fragmentation.pcap",
            over_udp(2152, &gtp),
            Right::OneFlow("udp 10.0.0.1:4000 > 10.0.0.2:2152"),
            &[IN_UDP],
        ),
        (
            "zeek tunnels/Teredo.pcap",
            inside(|packet| {
                ipv4(
                    UDP,
                    NEAR,
                    FAR,
                    &[&ports(4000, 3544)[..], &six(packet)].concat(),
                )
            }),
            Right::OneFlow("udp 10.0.0.1:4000 > 10.0.0.2:3544"),
            &[],
        ),
        (
            "nDPI capwap_data.pcapng",
            over_udp(5247, &[0, 0x10, 2, 0, 0, 0, 0, 0]),
            Right::OneFlow("udp 10.0.0.1:4000 > 10.0.0.2:5247"),
            &[],
        ),
        (
            "Wireshark wireguard-ping-tcp.pcap",
            over_udp(51_820, &[4, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]),
            Right::OneFlow("udp 10.0.0.1:4000 > 10.0.0.2:51820"),
            &["are in WireGuard tunnels, each of which is one flow"],
        ),
        (
            "PcapPlusPlus ipsec.pcapng",
            inside(esp),
            Right::CallOf(0),
            &["are in ESP tunnels: what is inside cannot be read"],
        ),
        (
            "PcapPlusPlus quic.pcapng",
            inside(quic),
            Right::CallOf(PACKETS),
            &["of the bytes are QUIC: a connection is one flow"],
        ),
    ];
    Vec::from(list.map(row))
}

/// Loads that a capturing host changed, or that hold more than one link.
fn loads() -> Vec<Published> {
    let ether = |packet: Vec<u8>| ethernet(0x0800, &packet);
    let unsaid = |mut packet: Vec<u8>| {
        packet[2..4].fill(0);
        ethernet(0x0800, &packet)
    };
    let six = |packet: Vec<u8>| ethernet(0x86dd, &in_ipv6(&packet));
    let huge = |packet: Vec<u8>| {
        let mut packet = packet;
        packet[2..4].fill(0);
        packet.resize(packet.len() + 64_000, 0);
        ethernet(0x0800, &packet)
    };
    let pieces = 150 + 35 * 44;
    let fragments = |is_ipv6: bool| {
        let mut samples = call(3);
        for (number, (at, _)) in bulk(3).into_iter().enumerate() {
            let part = number % 3;
            let more = u16::from(part < 2);
            let offset = part as u16 * 176;
            let payload = [&ports(40_000, 9000)[..], &[0; 1400]].concat();
            let id = number / 3;
            let frame = if is_ipv6 {
                let place = (offset << 3 | more).to_be_bytes();
                let header = [&[UDP, 0][..], &place, &(id as u32).to_be_bytes()].concat();
                ethernet(
                    0x86dd,
                    &ipv6(0, 44, v6(1), v6(2), &[header, payload].concat()),
                )
            } else {
                let packet = ipv4_with(0, more << 13 | offset, UDP, CALLER, CALLED, &payload);
                ethernet(0x0800, &numbered(packet, id))
            };
            samples.push((at, frame));
        }
        in_pcap(Little, NANOS, ETHERNET, &sorted(samples))
    };
    let mut twice = Vec::new();
    let mut routed = Vec::new();
    for (at, packet) in packets() {
        twice.push((at, cooked2(1, OUT, &packet)));
        twice.push((at + 2000, cooked2(1, IN, &packet)));
        routed.push((at, cooked2(2, IN, &packet)));
        routed.push((at + 50_000, cooked2(3, OUT, &forwarded(packet))));
    }
    let mirrored = both(3)
        .into_iter()
        .flat_map(|(at, frame)| [(at, frame.clone()), (at + 3000, frame)]);
    let chatter = [5355, 1900, 137, 67, 123, 5353, 3702];
    let mut talk = bulk(3);
    for (host, port) in (20..).zip(chatter) {
        for number in 0..12_u64 {
            let payload = [&ports(port, port)[..], &[0; 80]].concat();
            let packet = ipv4(UDP, [192, 168, 7, host], [192, 168, 7, 255], &payload);
            let packet = numbered(packet, usize::from(host) * 100 + number as usize);
            talk.push((
                number * 250 * MILLI + u64::from(host),
                ethernet(0x0800, &packet),
            ));
        }
    }
    let any = |samples: &[Sample]| in_pcap(Little, NANOS, ETHERNET, samples);
    let list: [Row; 11] = [
        (
            "tcpdump gso-ipv4.pcap, PCAPdroid#404",
            any(&offloaded(ether)),
            Right::CallOf(pieces),
            &["35 packets are longer than the link's 1500 bytes"],
        ),
        (
            "PcapPlusPlus IPv4-TSO.pcap (no length in IP)",
            any(&offloaded(unsaid)),
            Right::CallOf(pieces),
            &["35 packets are longer than the link's 1500 bytes"],
        ),
        (
            "tcpdump gso-ipv6.pcap",
            any(&offloaded(six)),
            Right::Call,
            &["35 packets are longer than the link's 1500 bytes"],
        ),
        (
            "tcpdump bigtcp-ipv4.pcap (128,000 bytes)",
            any(&offloaded(huge)),
            Right::Call,
            &[
                "35 packets are longer than the link's 1500 bytes",
                "Light flows lose more on a real link than here",
            ],
        ),
        (
            "PcapPlusPlus ip4_fragments.pcap",
            fragments(false),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "PcapPlusPlus ip6_fragments.pcap",
            fragments(true),
            Right::CallOf(PACKETS),
            &[],
        ),
        (
            "nDPI discord_call.pcapng (both directions)",
            in_pcapng(Little, &[], micros, &both_ways()),
            Right::CallOf(PACKETS),
            &[
                "one direction of one link, the one with the larger load (--direction 'to 192.168.7.2')",
                "1695 of 1995 packets are replayed",
            ],
        ),
        (
            "libpcap#127 (tcpdump -i any on a router)",
            in_pcap(Little, NANOS, 276, &routed),
            Right::CallOf(PACKETS),
            &[
                "Left out: 1695 duplicates",
                "packets are out of order in the file",
            ],
        ),
        (
            "zeek#4954, PF_RING#648 (loopback twice)",
            in_pcap(Little, NANOS, 276, &twice),
            Right::CallOf(PACKETS),
            &[
                "Left out: 1695 duplicates",
                "1 packet is out of order in the file",
            ],
        ),
        (
            "faucet#1537 (mirrored twice)",
            any(&Vec::from_iter(mirrored)),
            Right::CallOf(PACKETS),
            &[
                "each packet once (--mirrored)",
                "Left out: 1695 by --mirrored",
                "1 packet is out of order in the file",
            ],
        ),
        (
            "nDPI's chatter of a LAN (LLMNR, SSDP, NTPv4.pcap and others)",
            any(&sorted(talk)),
            Right::NoCall(1 + chatter.len()),
            &[],
        ),
    ];
    Vec::from(list.map(row))
}

/// All kinds.
pub(crate) fn published() -> Vec<Published> {
    Vec::from_iter([files(), links(), tunnels(), loads()].into_iter().flatten())
}
