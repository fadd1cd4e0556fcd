//! Kinds of packets, by protocol and length. They are rough enough to mean the same in a live run
//! and in a simulation.

use roundelay::Duration;
use roundelay_metrics::Delays;
use serde::Serialize;

use crate::quantiles::quantiles;

/// Protocol numbers (IANA).
const TCP: u8 = 6;
const UDP: u8 = 17;
/// The longest TCP packet without data: one with all options, and a little more.
const LONGEST_ACKNOWLEDGEMENT: u32 = 100;
/// The longest UDP packet that counts as short. Calls and games send shorter ones.
const LONGEST_SHORT: u32 = 300;

/// A kind of packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PacketKind {
    /// TCP, more than 100 bytes.
    TcpData,
    /// TCP, up to 100 bytes: most carry no data.
    Acknowledgement,
    /// UDP, up to 300 bytes: calls, games, names.
    ShortUdp,
    /// UDP, more than 300 bytes.
    LongUdp,
    /// Anything else.
    Other,
}

impl PacketKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [
        Self::TcpData,
        Self::Acknowledgement,
        Self::ShortUdp,
        Self::LongUdp,
        Self::Other,
    ];

    /// The name for tables and sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TcpData => "TCP data",
            Self::Acknowledgement => "TCP acknowledgements",
            Self::ShortUdp => "short UDP",
            Self::LongUdp => "long UDP",
            Self::Other => "other packets",
        }
    }

    /// What kind a packet is. `len` counts bytes from the IP header on, and `protocol` is that of
    /// its flow.
    pub const fn of(protocol: Option<u8>, len: u32) -> Self {
        match protocol {
            Some(TCP) if len <= LONGEST_ACKNOWLEDGEMENT => Self::Acknowledgement,
            Some(TCP) => Self::TcpData,
            Some(UDP) if len <= LONGEST_SHORT => Self::ShortUdp,
            Some(UDP) => Self::LongUdp,
            _ => Self::Other,
        }
    }
}

/// What became of one kind's packets.
#[derive(Debug, Clone, Default)]
struct KindBooks {
    packets: u64,
    bytes: u64,
    dropped: u64,
    marked: u64,
    delays: Delays,
}

/// What became of each kind's packets.
#[derive(Debug, Clone, Default)]
pub struct Kinds([KindBooks; PacketKind::ALL.len()]);

/// What became of the packets of a kind, in figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KindFigures {
    /// The kind.
    pub kind: PacketKind,
    /// Packets that got the link.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets dropped by the queue.
    pub dropped: u64,
    /// Packets that got CE here.
    pub marked: u64,
    /// From arrival to the end of transmission, seconds: p50 and p99. None without packets.
    pub delay: Option<[f64; 2]>,
    /// The distribution of these times, to draw: seconds, and the fraction of packets up to them.
    #[serde(skip)]
    pub delay_cdf: Vec<(f64, f64)>,
}

/// A kind's delays around some time, seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KindSample {
    /// The mean.
    pub mean: f64,
    /// The 99th percentile.
    pub p99: f64,
}

/// Delays since the last sample, by kind.
#[derive(Debug, Default)]
pub struct Recent([Delays; PacketKind::ALL.len()]);

impl Recent {
    /// Counts a packet that got the link.
    pub fn record(&mut self, kind: PacketKind, delay: Duration) {
        self.0[kind as usize].record(delay);
    }

    /// The delays since the last call: p50 and p99 of all packets, and a sample of each kind, in the
    /// order of [`PacketKind::ALL`].
    pub fn take(&mut self) -> (Option<[f64; 2]>, KindSamples) {
        let recent = std::mem::take(self);
        let mut all = Delays::default();
        let mut kinds = KindSamples::default();
        for (sample, delays) in kinds.iter_mut().zip(&recent.0) {
            all.merge(delays);
            if let Some(mean) = delays.mean()
                && let Some(p99) = delays.quantile(0.99)
            {
                *sample = Some(KindSample {
                    mean: mean.as_secs_f64(),
                    p99: p99.as_secs_f64(),
                });
            }
        }
        (quantiles(&all, [0.5, 0.99]), kinds)
    }
}

/// A sample of each kind, in the order of [`PacketKind::ALL`]; none without packets.
pub type KindSamples = [Option<KindSample>; PacketKind::ALL.len()];

/// Points of a distribution to draw.
const POINTS: usize = 100;

impl Kinds {
    /// Counts a packet of `bytes` bytes that got the link. Its transmission ended `delay` after its
    /// arrival.
    pub fn sent(&mut self, kind: PacketKind, bytes: u64, delay: Duration, marked: bool) {
        let books = &mut self.0[kind as usize];
        books.packets += 1;
        books.bytes += bytes;
        books.marked += u64::from(marked);
        books.delays.record(delay);
    }

    /// Adds what became of other packets.
    pub fn merge(&mut self, other: &Self) {
        for (books, other) in self.0.iter_mut().zip(&other.0) {
            books.packets += other.packets;
            books.bytes += other.bytes;
            books.dropped += other.dropped;
            books.marked += other.marked;
            books.delays.merge(&other.delays);
        }
    }

    /// The delays of all kinds together.
    pub fn delays(&self) -> Delays {
        let mut all = Delays::default();
        for books in &self.0 {
            all.merge(&books.delays);
        }
        all
    }

    /// Counts a packet that the queue dropped.
    pub fn dropped(&mut self, kind: PacketKind) {
        self.0[kind as usize].dropped += 1;
    }

    /// Figures for every kind that has packets.
    pub fn figures(&self) -> Vec<KindFigures> {
        let mut figures = Vec::new();
        for (kind, books) in PacketKind::ALL.into_iter().zip(&self.0) {
            if books.packets + books.dropped > 0 {
                figures.push(KindFigures {
                    kind,
                    packets: books.packets,
                    bytes: books.bytes,
                    dropped: books.dropped,
                    marked: books.marked,
                    delay: quantiles(&books.delays, [0.5, 0.99]),
                    delay_cdf: cdf(&books.delays),
                });
            }
        }
        figures
    }
}

fn cdf(delays: &Delays) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for (delay, share) in delays.cdf(POINTS) {
        points.push((delay.as_secs_f64(), share));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_goes_by_protocol_and_length() {
        use PacketKind::{Acknowledgement, LongUdp, Other, ShortUdp, TcpData};
        for (protocol, len, expected) in [
            (Some(6), 52, Acknowledgement),
            (Some(6), 100, Acknowledgement),
            (Some(6), 101, TcpData),
            (Some(17), 300, ShortUdp),
            (Some(17), 301, LongUdp),
            (Some(1), 84, Other),
            (None, 60, Other),
        ] {
            assert_eq!(
                PacketKind::of(protocol, len),
                expected,
                "{protocol:?} {len}"
            );
        }
    }

    #[test]
    fn figures_are_of_kinds_with_packets() {
        let mut kinds = Kinds::default();
        for millis in 1..=100 {
            let delay = Duration::from_millis(millis);
            kinds.sent(PacketKind::TcpData, 1500, delay, millis <= 3);
        }
        kinds.dropped(PacketKind::ShortUdp);
        let figures = kinds.figures();
        let [data, short] = &figures[..] else {
            panic!("{figures:?}");
        };
        assert_eq!((data.packets, data.bytes, data.marked), (100, 150_000, 3));
        let [p50, p99] = data.delay.expect("packets");
        assert!((p50 - 0.05).abs() < 0.002 && (p99 - 0.099).abs() < 0.002);
        assert_eq!((short.packets, short.dropped, short.delay), (0, 1, None));
    }
}
