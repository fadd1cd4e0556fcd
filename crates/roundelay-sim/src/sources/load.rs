//! How much a source sends: packets, flows and transfers, without losses or congestion. An upper
//! estimate.

use roundelay::Rate;

/// What one source sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Load {
    /// Packets sent. Over TCP these are packets with data, plus one each way to open the
    /// connection.
    pub(crate) packets: Amount,
    /// Flows opened.
    pub(crate) flows: Amount,
    /// Transfers begun.
    pub(crate) transfers: Amount,
    /// On-times that are drawn but have no packet.
    pub(crate) idle_rounds: f64,
}

impl Load {
    /// The packets in a single flow.
    pub(crate) const fn of_flow(packets: Amount) -> Self {
        let one = Amount::exact(1.0);
        Self {
            packets,
            flows: one,
            transfers: one,
            idle_rounds: 0.0,
        }
    }
}

/// An amount for one source: its mean, and its variance if it is random.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Amount {
    mean: f64,
    variance: f64,
    /// The most that one source may have.
    most: f64,
}

impl Amount {
    pub(crate) const fn exact(mean: f64) -> Self {
        Self {
            mean,
            variance: 0.0,
            most: f64::INFINITY,
        }
    }

    /// A random amount.
    pub(crate) const fn random(mean: f64, variance: f64) -> Self {
        Self {
            variance,
            ..Self::exact(mean)
        }
    }

    /// `times` random events that each count `each` and are independent of each other.
    pub(crate) fn drawn(times: f64, each: f64) -> Self {
        Self::random(times * each, times * each * each)
    }

    /// At most `most`, if set.
    pub(crate) fn up_to(self, most: Option<u64>) -> Self {
        Self {
            most: most.map_or(f64::INFINITY, |most| most as f64),
            ..self
        }
    }

    pub(crate) const fn mean(self) -> f64 {
        self.mean
    }

    /// An upper estimate for `sources` sources: four standard deviations above the mean.
    pub(crate) fn of(self, sources: f64) -> f64 {
        // Exact amounts do not deviate, and they may be infinite.
        let drawn = if self.variance == 0.0 {
            0.0
        } else {
            4.0 * (self.variance * sources).sqrt()
        };
        (self.mean * sources + drawn).min(self.most * sources)
    }
}

/// Packets of `len` bytes that a rate gives in `seconds`.
pub(crate) fn at_rate(rate: Rate, len: f64, seconds: f64) -> f64 {
    rate.bits_per_second() as f64 / (8.0 * len.max(1.0)) * seconds
}
