//! Counts a replay's overdue packets: how many got out later than in the recorded schedule, and how
//! much later.

use roundelay::{Duration, Instant};
use serde::Serialize;

use super::resend::Replay;
use super::schedule::{Packet, Schedule};

/// The packets compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Counting {
    /// All packets sent within the window, whenever they got out.
    Drained,
    /// Packets out within the window in both runs, as the authors count; packets out in the
    /// recorded run only are counted as missing.
    Cut,
}

/// Counts of packets compared, missing and overdue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counted {
    /// Packets out in the recorded run, including those missing in the replay.
    pub packets: u64,
    /// Of these, packets not out in the replay: dropped, or still on their way at the end of the
    /// window.
    pub missing: u64,
    /// Packets out later than recorded.
    pub overdue: u64,
    /// Packets overdue by more than a nanosecond.
    pub overdue_by_nanosecond: u64,
    /// Packets overdue by more than the threshold.
    pub overdue_by_threshold: u64,
    /// The largest delay after the recorded time, in picoseconds.
    pub worst_ps: u64,
}

impl Counted {
    #[inline]
    fn add(&mut self, late: Option<Duration>, threshold: Duration) {
        self.packets += 1;
        let Some(late) = late else {
            self.missing += 1;
            return;
        };
        self.overdue += u64::from(late > Duration::ZERO);
        self.overdue_by_nanosecond += u64::from(late > NANOSECOND);
        self.overdue_by_threshold += u64::from(late > threshold);
        self.worst_ps = self.worst_ps.max(late.as_picos());
    }

    /// A count as a share of the packets compared.
    pub fn part(&self, count: u64) -> f64 {
        if self.packets == 0 {
            0.0
        } else {
            count as f64 / self.packets as f64
        }
    }
}

const NANOSECOND: Duration = Duration::from_nanos(1);

/// Overdue packets of a replay, in all and by congestion points.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Count {
    /// The packets compared.
    pub counting: Counting,
    /// All packets.
    pub all: Counted,
    /// By number of routers with waiting time in the recorded run: 0, 1, 2 and so on.
    pub by_congestion_points: Vec<Counted>,
    /// Ratios of queueing delays, replay to recorded run.
    pub ratios: DelayRatios,
}

/// The distribution of (q' + 1 ns) / (q + 1 ns) over the packets compared: q is the waiting time of
/// a packet in the recorded run, q' in the replay. Figure 1 of the paper.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelayRatios {
    /// The share of packets with a ratio of at most 1.
    pub not_longer: f64,
    /// The share of packets with a ratio below 1.
    pub shorter: f64,
    /// Quantiles: a share of the packets, and the ratio not exceeded by this share, within 1 %.
    pub quantiles: Vec<[f64; 2]>,
}

/// Bins by a factor of 1.01, from 10^-9 to 10^9.
const BINS: usize = 4166;
const BIN: f64 = 1.01;

struct Ratios {
    bins: Vec<u64>,
    packets: u64,
    not_longer: u64,
    shorter: u64,
}

impl Ratios {
    #[inline]
    fn add(&mut self, replayed: f64, recorded: f64) {
        let ratio = (replayed + 1e3) / (recorded + 1e3);
        let bin = (ratio.ln() / BIN.ln() + BINS as f64 / 2.0).round();
        self.bins[(bin.max(0.0) as usize).min(BINS - 1)] += 1;
        self.packets += 1;
        self.not_longer += u64::from(replayed <= recorded);
        self.shorter += u64::from(replayed < recorded);
    }

    fn finish(&self) -> DelayRatios {
        const PARTS: [f64; 15] = [
            0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999,
        ];
        let mut quantiles = Vec::with_capacity(PARTS.len());
        let mut seen = 0;
        let mut parts = PARTS.iter().peekable();
        for (bin, packets) in self.bins.iter().enumerate() {
            seen += packets;
            while let Some(part) = parts
                .next_if(|part| self.packets > 0 && seen as f64 >= **part * self.packets as f64)
            {
                quantiles.push([*part, BIN.powf(bin as f64 - BINS as f64 / 2.0)]);
            }
        }
        let share = |packets: u64| packets as f64 / self.packets.max(1) as f64;
        DelayRatios {
            not_longer: share(self.not_longer),
            shorter: share(self.shorter),
            quantiles,
        }
    }
}

impl Replay {
    /// How much later than recorded a packet got out, or 0 if it was not later. None: it did not
    /// get out.
    #[inline]
    pub fn late(&self, number: usize, packet: &Packet) -> Option<Duration> {
        let output = self.outputs[number];
        (output < Instant::MAX).then(|| output.since(packet.output))
    }

    /// Counts overdue packets.
    pub fn count(&self, schedule: &Schedule, counting: Counting, threshold: Duration) -> Count {
        let end = Instant::ZERO + schedule.window;
        let mut all = Counted::default();
        let mut by = Vec::<Counted>::new();
        let mut ratios = Ratios {
            bins: vec![0; BINS],
            packets: 0,
            not_longer: 0,
            shorter: 0,
        };
        for (number, packet) in schedule.counted() {
            if counting == Counting::Cut && packet.output > end {
                continue;
            }
            let late = self
                .late(number, packet)
                .filter(|_| counting == Counting::Drained || self.outputs[number] <= end);
            all.add(late, threshold);
            let points = usize::from(packet.congestion_points);
            if by.len() <= points {
                by.resize(points + 1, Counted::default());
            }
            by[points].add(late, threshold);
            if late.is_some() {
                let fastest = schedule.fastest(packet);
                let waited =
                    |output: Instant| (output.since(packet.input) - fastest).as_picos() as f64;
                ratios.add(waited(self.outputs[number]), waited(packet.output));
            }
        }
        Count {
            counting,
            all,
            by_congestion_points: by,
            ratios: ratios.finish(),
        }
    }
}
