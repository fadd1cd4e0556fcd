//! `[meter]` in a scenario: which transfers count, and measurements on request.

use roundelay::{Bytes, Duration, Fault, Instant};
use roundelay_files::{Maybe, Reader, list, some_two};
use serde::{Deserialize, Serialize};

use super::ScenarioError;
use crate::sources::LARGEST_FLOW;

/// The most size classes that there may be.
const MOST_SIZES: usize = 1_000;
/// The most intervals that a run may have.
const MOST_INTERVALS: u64 = 1_000_000;

/// Measurements on request, and counted transfers. Each measurement costs memory and time.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Measures {
    /// Each flow over its own life: throughput, reordering, round trips, Bennett and Zhang's ratio,
    /// startup latency; starved flows and ranks.
    pub flows: bool,
    /// B-WFI and T-WFI of each flow and Jain's index while backlogged, at core links, or at edge
    /// links if there is no core.
    pub wfi: bool,
    /// Flows with less than this fraction of their fair share are starved: above 0, below 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub starved_below: f64,
    /// A list of all counted transfers: 104 bytes each.
    pub transfers: bool,
    /// Transfers count if they start at the first of these times or later and before the second;
    /// for bursts, so do the packets' delays. Left out: from the warm-up to the end.
    #[serde(deserialize_with = "some_two")]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<[roundelay_files::InWords<Duration>; 2]>")
    )]
    pub started: Option<[Duration; 2]>,
    /// When a transfer is complete.
    pub complete: Completion,
    /// The largest transfers of each size class in bytes, rising; larger transfers are a class of
    /// their own. Left out: powers of ten.
    #[serde(deserialize_with = "list")]
    #[cfg_attr(
        feature = "schema",
        schemars(
            with = "Vec<roundelay_files::InWords<Bytes>>",
            length(min = 1, max = 1_000)
        )
    )]
    pub sizes: Vec<Bytes>,
    /// Bytes received by each flow in intervals of this length from time 0 on, and Jain's index in
    /// each: from a millionth of the duration to the whole duration.
    #[serde(with = "Maybe::<Duration>")]
    pub rates: Option<Duration>,
    /// Links and sources over time, in two hundred steps: utilisation, drops, backlog, throughput,
    /// delay.
    pub over_time: bool,
    /// Packets whose delay is longer are late: results then have the part of the packets that
    /// arrive in time. Left out: none is late.
    #[serde(with = "Maybe::<Duration>")]
    pub late: Option<Duration>,
}

/// The end of a transfer's completion time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// The receiver has all data.
    #[default]
    Delivered,
    /// The sender knows of the delivery, as in ns-2; as `delivered` for senders without reports
    /// (bursts, responses, video).
    Acknowledged,
}

impl Default for Measures {
    fn default() -> Self {
        let started = None;
        let complete = Completion::Delivered;
        let sizes = Vec::new();
        Self {
            flows: false,
            wfi: false,
            starved_below: 0.1,
            transfers: false,
            started,
            complete,
            sizes,
            rates: None,
            over_time: false,
            late: None,
        }
    }
}

impl Measures {
    /// Transfers count if they start at the first instant or later, but before the second.
    pub(super) fn window(&self, warmup: Duration, duration: Duration) -> [Instant; 2] {
        self.started
            .unwrap_or([warmup, duration])
            .map(|time| Instant::ZERO + time)
    }

    pub(super) fn check(
        &self,
        reader: &Reader<'_>,
        warmup: Duration,
        duration: Duration,
    ) -> Result<(), ScenarioError> {
        let part = self.starved_below;
        if !(part > 0.0 && part < 1.0) {
            return Err(reader.at(
                "meter.starved_below",
                Fault::range(part, "above 0, below 1").behind("starved_below "),
            ));
        }
        if !self.flows && reader.has("meter.starved_below") {
            return Err(reader.at(
                "meter.starved_below",
                "starved_below: flows are looked at one by one with flows = true",
            ));
        }
        let [from, until] = self.started.unwrap_or([warmup, duration]);
        if from < warmup || until <= from || until > duration {
            let legal = format_args!(
                "from the warm-up at {warmup} to the duration {duration}, the first before the \
                 second"
            );
            let fault = Fault::range(format_args!("{from} to {until}"), legal).behind("started ");
            return Err(reader.at("meter.started", fault));
        }
        self.check_sizes(reader)?;
        self.check_rates(reader, duration)
    }

    fn check_rates(&self, reader: &Reader<'_>, duration: Duration) -> Result<(), ScenarioError> {
        let least = Duration::from_picos(duration.as_picos().div_ceil(MOST_INTERVALS));
        match self.rates {
            Some(interval) if !(least..=duration).contains(&interval) => Err(reader.at(
                "meter.rates",
                Fault::range(interval, format_args!("{least} to the duration {duration}"))
                    .behind("rates "),
            )),
            _ => Ok(()),
        }
    }

    fn check_sizes(&self, reader: &Reader<'_>) -> Result<(), ScenarioError> {
        let most = MOST_SIZES;
        if self.sizes.len() > most || self.sizes.is_empty() && reader.has("meter.sizes") {
            let count = self.sizes.len();
            let fault = Fault::range(format_args!("{count} sizes"), format_args!("1 to {most}"));
            return Err(reader.at("meter.sizes", fault.with_given(count)));
        }
        let mut least = 1;
        for (number, Bytes(size)) in self.sizes.iter().enumerate() {
            if !(least..=LARGEST_FLOW).contains(size) {
                let why = if number > 0 {
                    ", more than the one before"
                } else {
                    ""
                };
                let legal = format_args!("{least} to {LARGEST_FLOW}{why}");
                let fault = Fault::range(format_args!("{size} bytes"), legal)
                    .behind("sizes: ")
                    .with_given(size);
                return Err(reader.at(&format!("meter.sizes.{number}"), fault));
            }
            least = size + 1;
        }
        Ok(())
    }
}
