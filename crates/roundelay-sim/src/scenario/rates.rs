//! Rates over time: how many bytes each flow receives in equal intervals, and Jain's index in each
//! interval (`[meter] rates`).

use roundelay::{Duration, Instant};

use super::ratio::ratio;

/// Bytes that flows received in equal intervals, from time 0 on, warm-up included. Packets count
/// when they reach the end of their route, with headers and retransmissions. Replies do not count.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rates {
    /// The length of an interval, which includes its start but not its end. The last interval ends
    /// with the run.
    pub interval: Duration,
    /// Intervals in the run.
    pub intervals: u32,
    /// All flows that began within the run, in the order of their numbers.
    pub flows: Vec<FlowRates>,
    /// Jain's index by weight in each interval: for each group, in the order of the results, and
    /// last for all groups together if there are several. Flows count as 0 before they start and
    /// after they end. None if no bytes were received, or if there are fewer than two flows.
    /// Request-response sources count only with their responses.
    pub jain: Vec<Vec<Option<f64>>>,
}

/// Bytes that a flow received.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FlowRates {
    /// The flow's number.
    pub flow: u64,
    /// The index that the flow's group has in the scenario and in the results.
    pub group: u32,
    /// Each interval in which the flow received bytes, and how many. Intervals count from 0 and
    /// rise.
    pub bytes: Vec<(u32, u64)>,
    /// Whether an agent has reported on the flow.
    is_told: bool,
}

impl Rates {
    /// When an interval starts.
    pub fn start(&self, interval: u32) -> Instant {
        Instant::from_picos(self.interval.as_picos().saturating_mul(interval.into()))
    }

    /// Bytes that a flow received in each interval of the run.
    pub fn series(&self, flow: &FlowRates) -> Vec<u64> {
        let mut series = vec![0; self.intervals as usize];
        for (interval, bytes) in &flow.bytes {
            series[*interval as usize] = *bytes;
        }
        series
    }

    /// Jain's index for one group, or for all.
    fn jain_of(&self, group: Option<u32>, weights: &[u32]) -> Vec<Option<f64>> {
        let mut tells = vec![false; weights.len()];
        for flow in &self.flows {
            tells[flow.group as usize] |= flow.is_told;
        }
        let mut flows = 0_u64;
        let mut sums = vec![(0.0, 0.0); self.intervals as usize];
        for flow in &self.flows {
            // If a group's agents report on flows, then flows without reports carry requests.
            let is_data = flow.is_told || !tells[flow.group as usize];
            if !is_data || group.is_some_and(|group| group != flow.group) {
                continue;
            }
            flows += 1;
            for (interval, bytes) in &flow.bytes {
                let share = *bytes as f64 / f64::from(weights[flow.group as usize]);
                let (sum, squares) = &mut sums[*interval as usize];
                *sum += share;
                *squares += share * share;
            }
        }
        let mut indices = Vec::new();
        for (sum, squares) in sums {
            indices.push(if flows > 1 {
                ratio(sum * sum, flows as f64 * squares)
            } else {
                None
            });
        }
        indices
    }
}

/// Counts bytes by flow and interval.
#[derive(Debug)]
pub(super) struct RateMeter {
    rates: Rates,
}

impl RateMeter {
    /// For a run of this `duration`. Both are more than 0.
    pub(super) fn new(interval: Duration, duration: Duration) -> Self {
        let intervals = duration.as_picos().div_ceil(interval.as_picos().max(1)) as u32;
        Self {
            rates: Rates {
                interval,
                intervals,
                ..Rates::default()
            },
        }
    }

    /// The next flow starts.
    pub(super) fn open(&mut self, group: u32) {
        let flow = self.rates.flows.len() as u64;
        self.rates.flows.push(FlowRates {
            flow,
            group,
            ..FlowRates::default()
        });
    }

    /// A packet of `len` bytes has reached the end of its route.
    pub(super) fn receive(&mut self, now: Instant, flow: u64, len: u32) {
        let interval = (now.as_picos() / self.rates.interval.as_picos().max(1)) as u32;
        let Some(flow) = self.rates.flows.get_mut(flow as usize) else {
            return;
        };
        match flow.bytes.last_mut() {
            Some((last, bytes)) if *last == interval => *bytes += u64::from(len),
            _ => flow.bytes.push((interval, len.into())),
        }
    }

    /// An agent reports on a flow.
    pub(super) fn tell(&mut self, flow: u64) {
        if let Some(flow) = self.rates.flows.get_mut(flow as usize) {
            flow.is_told = true;
        }
    }

    /// `weights` has the flows' weight in each group.
    pub(super) fn finish(self, weights: &[u32]) -> Rates {
        let mut rates = self.rates;
        for flow in &mut rates.flows {
            flow.bytes.shrink_to_fit();
        }
        for group in 0..weights.len() as u32 {
            rates.jain.push(rates.jain_of(Some(group), weights));
        }
        if weights.len() > 1 {
            rates.jain.push(rates.jain_of(None, weights));
        }
        rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter() -> RateMeter {
        RateMeter::new(Duration::from_millis(10), Duration::from_millis(35))
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn an_interval_has_its_start_and_not_its_end() {
        let mut meter = meter();
        meter.open(0);
        for (millis, len) in [(0, 1), (9, 2), (10, 4), (34, 8)] {
            meter.receive(at(millis), 0, len);
        }
        meter.receive(at(10), 7, 1);
        let rates = meter.finish(&[1]);
        assert_eq!((rates.intervals, rates.start(3)), (4, at(30)));
        assert_eq!(rates.flows[0].bytes, [(0, 3), (1, 4), (3, 8)]);
        assert_eq!(rates.series(&rates.flows[0]), [3, 4, 0, 8]);
        assert_eq!(rates.jain, [vec![None; 4]], "of one flow there is none");
    }

    /// 4 and 4, then 6 and 2, with a third flow at 0: 64 / (3 x 32) and 64 / (3 x 40). With weights
    /// 3 and 1, 6 and 2 become 2 and 2.
    #[test]
    fn flows_that_have_not_begun_count_as_zero() {
        let mut meter = meter();
        [0, 0, 0].into_iter().for_each(|group| meter.open(group));
        for (millis, flow, len) in [(0, 0, 4), (0, 1, 4), (10, 0, 6), (10, 1, 2), (30, 2, 5)] {
            meter.receive(at(millis), flow, len);
        }
        assert_eq!(
            meter.finish(&[1]).jain,
            [[Some(2.0 / 3.0), Some(64.0 / 120.0), None, Some(1.0 / 3.0)]]
        );
        let mut meter = self::meter();
        [0, 1].into_iter().for_each(|group| meter.open(group));
        meter.receive(at(0), 0, 6);
        meter.receive(at(0), 1, 2);
        let jain = meter.finish(&[3, 1]).jain;
        assert_eq!(
            (jain.len(), &jain[0], jain[2][0]),
            (3, &vec![None; 4], Some(1.0))
        );
    }

    #[test]
    fn flows_that_are_not_told_of_are_requests() {
        let mut meter = meter();
        [0, 0, 0, 0].into_iter().for_each(|group| meter.open(group));
        (0..4).for_each(|flow| meter.receive(at(0), flow, if flow % 2 == 0 { 1000 } else { 1 }));
        [0, 2].into_iter().for_each(|flow| meter.tell(flow));
        assert_eq!(meter.finish(&[1]).jain[0][0], Some(1.0));
    }
}
