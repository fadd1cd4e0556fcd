//! What a report shows about a bottleneck: its figures over time, and its largest flows.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bottleneck::Bottleneck;
use crate::meter::WaySample;
use crate::settings::Way;

/// A flow in the report of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FlowFigures {
    /// The flow: addresses and ports, or what else defines it.
    pub flow: String,
    /// Packets that got the link.
    pub packets: u64,
    /// Their bytes, as frames.
    pub bytes: u64,
    /// Packets dropped by the queue.
    pub dropped: u64,
    /// Packets that got CE here.
    pub marked: u64,
    /// Mean time from arrival to the end of transmission, seconds. None without packets.
    pub mean_delay: Option<f64>,
}

/// How many flows of a direction a report shows.
const REPORTED: usize = 20;

/// The flows in a direction that have sent most.
pub(crate) fn largest_flows(bottleneck: &Bottleneck, way: Way) -> Vec<FlowFigures> {
    let books = bottleneck.flow_books(way);
    let mut all: Vec<_> = bottleneck.flows(way).iter().zip(books).collect();
    all.sort_by_key(|(_, books)| std::cmp::Reverse(books.bytes));
    let mut largest = Vec::new();
    for (flow, books) in all.into_iter().take(REPORTED) {
        largest.push(FlowFigures {
            flow: flow.to_string(),
            packets: books.packets,
            bytes: books.bytes,
            dropped: books.dropped,
            marked: books.marked,
            mean_delay: books.mean_delay(),
        });
    }
    largest
}

/// Both directions at some time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Sample {
    /// Seconds since the start.
    pub seconds: f64,
    /// Up and down.
    pub ways: [WaySample; 2],
}

/// Samples over a run of any length: at most [`Samples::MOST`], equally spaced.
#[derive(Debug)]
pub struct Samples {
    every: f64,
    next: f64,
    all: Vec<Sample>,
}

impl Default for Samples {
    fn default() -> Self {
        Self {
            every: Self::SHORTEST,
            next: Self::SHORTEST,
            all: Vec::new(),
        }
    }
}

impl Samples {
    /// The most samples that we keep.
    pub const MOST: usize = 1200;
    /// Seconds between samples in a short run.
    const SHORTEST: f64 = 0.1;

    /// Takes a sample, if it is time for one.
    pub fn take(&mut self, bottleneck: &mut Bottleneck, seconds: f64) {
        if seconds < self.next {
            return;
        }
        self.next = seconds + self.every;
        let ways = Way::BOTH.map(|way| bottleneck.sample(way));
        self.all.push(Sample { seconds, ways });
        if self.all.len() == Self::MOST {
            self.thin_out();
        }
    }

    /// Makes one sample out of every two. Because counts are since the start, the second has them
    /// all.
    fn thin_out(&mut self) {
        let mut half = Vec::with_capacity(Self::MOST);
        for pair in self.all.chunks(2) {
            let [first, second] = pair else { continue };
            let mut both = *second;
            for (way, before) in both.ways.iter_mut().zip(first.ways) {
                way.delay = worse(way.delay, before.delay);
            }
            half.push(both);
        }
        self.all = half;
        self.every *= 2.0;
    }

    /// The samples.
    pub fn all(&self) -> &[Sample] {
        &self.all
    }
}

/// The larger value of each quantile. Over both halves together the p99 is no higher.
fn worse(a: Option<[f64; 2]>, b: Option<[f64; 2]>) -> Option<[f64; 2]> {
    let (Some([a50, a99]), Some([b50, b99])) = (a, b) else {
        return a.or(b);
    };
    Some([a50.max(b50), a99.max(b99)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{QueueText, Settings};
    use crate::slots::Slots;

    #[test]
    fn a_long_run_has_as_many_samples_in_longer_distances() {
        let queue = QueueText::Discipline("fifo".to_owned());
        let settings = Settings::new("1mbit".parse().unwrap(), queue);
        let mut bottleneck = Bottleneck::new(&settings, Slots::new(1, 64)).unwrap();
        let mut samples = Samples::default();
        for tick in 0..100_000 {
            samples.take(&mut bottleneck, f64::from(tick) * 0.05);
        }
        let all = samples.all();
        assert!(
            (Samples::MOST / 2..Samples::MOST).contains(&all.len()),
            "{}",
            all.len()
        );
        assert!(all.is_sorted_by_key(|sample| sample.seconds));
        assert!(all.last().unwrap().seconds > 4_980.0);
        let gaps = all.windows(2).map(|pair| pair[1].seconds - pair[0].seconds);
        assert!(gaps.fold(0.0, f64::max) < 20.0);
    }

    #[test]
    fn thinning_keeps_the_worse_delay() {
        let some = |p50, p99| Some([p50, p99]);
        assert_eq!(worse(some(1.0, 5.0), some(2.0, 3.0)), some(2.0, 5.0));
        assert_eq!(worse(None, some(2.0, 3.0)), some(2.0, 3.0));
        assert_eq!(worse(None, None), None);
    }
}
