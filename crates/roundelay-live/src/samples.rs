//! What a report shows about a bottleneck over time.

use serde::Serialize;

use crate::bottleneck::Bottleneck;
use crate::kinds::KindSample;
use crate::meter::WaySample;
use crate::settings::Way;

/// Both directions at some time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
                for (kind, before) in way.kinds.iter_mut().zip(before.kinds) {
                    *kind = together(*kind, before);
                }
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

/// The mean of both means, and the larger p99.
fn together(one: Option<KindSample>, other: Option<KindSample>) -> Option<KindSample> {
    match [one, other] {
        [Some(one), Some(other)] => Some(KindSample {
            mean: f64::midpoint(one.mean, other.mean),
            p99: one.p99.max(other.p99),
        }),
        _ => one.or(other),
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
