//! What a replay failed: packets that came out later than in the recorded schedule, and by how much.

use roundelay::{Duration, Instant};
use serde::Serialize;

use super::resend::Replay;
use super::schedule::{Packet, Schedule};

/// Which packets are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Counting {
    /// All that were sent within the window, whenever they got out.
    Drained,
    /// Those that got out within the window in both runs, as the authors count; those of the recorded run that are missing in the replay stand apart.
    Cut,
}

/// Packets that were compared, and those that came out too late.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// Packets that got out in the recorded run, those missing in the replay included.
    pub packets: u64,
    /// Of these, packets that did not get out in the replay: dropped, or still on their way when the window ended.
    pub missing: u64,
    /// Packets that got out later than recorded.
    pub overdue: u64,
    /// By more than a nanosecond.
    pub overdue_by_nanosecond: u64,
    /// By more than the threshold.
    pub overdue_by_threshold: u64,
    /// The longest of these delays, in picoseconds.
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

    /// A part of the packets compared.
    pub fn part(&self, count: u64) -> f64 {
        if self.packets == 0 { 0.0 } else { count as f64 / self.packets as f64 }
    }
}

const NANOSECOND: Duration = Duration::from_nanos(1);

/// What a replay failed, in all and by congestion points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Count {
    /// Which packets are compared.
    pub counting: Counting,
    /// All of them.
    pub all: Counted,
    /// By routers at which they waited in the recorded run: 0, 1, 2 and so on.
    pub by_congestion_points: Vec<Counted>,
    /// Queueing delays in the replay over those in the recorded run.
    pub ratios: DelayRatios,
}

/// The distribution of (q' + 1 ns) / (q + 1 ns) over the packets compared, q and q' being the times that a packet waited in the recorded run and in
/// the replay: Figure 1 of the paper.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DelayRatios {
    /// The part of the packets whose ratio is at most 1.
    pub not_longer: f64,
    /// Quantiles: the part of the packets, and the ratio that so many do not exceed, within 1 %.
    pub quantiles: Vec<[f64; 2]>,
}

/// Bins of a factor of 1.01 from 10^-9 to 10^9.
const BINS: usize = 4166;
const BIN: f64 = 1.01;

struct Ratios {
    bins: Vec<u64>,
    packets: u64,
    not_longer: u64,
}

impl Ratios {
    #[inline]
    fn add(&mut self, replayed: f64, recorded: f64) {
        let ratio = (replayed + 1e3) / (recorded + 1e3);
        let bin = (ratio.ln() / BIN.ln() + BINS as f64 / 2.0).round();
        self.bins[(bin.max(0.0) as usize).min(BINS - 1)] += 1;
        self.packets += 1;
        self.not_longer += u64::from(replayed <= recorded);
    }

    fn finish(&self) -> DelayRatios {
        const PARTS: [f64; 15] = [0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999];
        let mut quantiles = Vec::with_capacity(PARTS.len());
        let (mut seen, mut parts) = (0, PARTS.iter().peekable());
        for (bin, packets) in self.bins.iter().enumerate() {
            seen += packets;
            while let Some(part) = parts.next_if(|part| self.packets > 0 && seen as f64 >= **part * self.packets as f64) {
                quantiles.push([*part, BIN.powf(bin as f64 - BINS as f64 / 2.0)]);
            }
        }
        DelayRatios { not_longer: if self.packets == 0 { 0.0 } else { self.not_longer as f64 / self.packets as f64 }, quantiles }
    }
}

impl Replay {
    /// By how much a packet came out later than recorded, 0 if it did not. None: it did not get out.
    #[inline]
    pub fn late(&self, number: usize, packet: &Packet) -> Option<Duration> {
        let output = self.outputs[number];
        (output < Instant::MAX).then(|| output.since(packet.output))
    }

    /// Counts the packets that came out too late.
    pub fn count(&self, schedule: &Schedule, counting: Counting, threshold: Duration) -> Count {
        let end = Instant::ZERO + schedule.window;
        let (mut all, mut by) = (Counted::default(), Vec::<Counted>::new());
        let mut ratios = Ratios { bins: vec![0; BINS], packets: 0, not_longer: 0 };
        for (number, packet) in schedule.counted() {
            if counting == Counting::Cut && packet.output > end {
                continue;
            }
            let late = self.late(number, packet).filter(|_| counting == Counting::Drained || self.outputs[number] <= end);
            all.add(late, threshold);
            let points = usize::from(packet.congestion_points);
            if by.len() <= points {
                by.resize(points + 1, Counted::default());
            }
            by[points].add(late, threshold);
            if late.is_some() {
                let fastest = schedule.fastest(packet);
                let waited = |output: Instant| (output.since(packet.input) - fastest).as_picos() as f64;
                ratios.add(waited(self.outputs[number]), waited(packet.output));
            }
        }
        Count { counting, all, by_congestion_points: by, ratios: ratios.finish() }
    }
}
