//! Jain's fairness index, over given numbers and over continuously backlogged flows.
//!
//! R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness and Discrimination for Resource
//! Allocation in Shared Computer Systems", DEC Research Report TR-301, 1984.

use roundelay::{Duration, FlowId, Instant};

use crate::table::FlowTable;

/// Jain's index (sum x)^2 / (n * sum x^2): 1 if all are equal, 1/n if one has everything. None if
/// there are no numbers or all are zero.
pub fn jain_index(values: &[f64]) -> Option<f64> {
    let sum = values.iter().sum();
    let squares = values.iter().map(|value| value * value).sum();
    index_of(values.len() as u64, sum, squares)
}

fn index_of(count: u64, sum: f64, squares: f64) -> Option<f64> {
    (count > 0 && squares > 0.0).then(|| sum * sum / (count as f64 * squares))
}

/// Jain's index of service per weight over the flows backlogged throughout a window, for
/// consecutive windows.
///
/// A fair queue owes equal service only to flows with packets to send. So a flow that was idle at
/// any time within a window is left out, unless one of its packets was dropped within the window
/// for lack of buffer space, because the flow then wanted more than its service. Flows without
/// service count as zero. Windows start at multiples of their length. A window counts with at least
/// two such flows, one of them served.
///
/// A packet counts at the start of its service. Windows should be long in comparison with the time
/// to serve each flow once: with n packets per flow and window the index of a perfect scheduler may
/// be as low as about 1 - 1 / (4 n^2).
///
/// Memory is bounded by the number of flows. A packet costs O(1), because the end of a window
/// touches only the flows served in it, and windows without events cost nothing.
#[derive(Debug, Clone)]
pub struct JainWhileBacklogged {
    window: Duration,
    /// When the current window ends.
    end: Instant,
    /// The current window's number, counted from 1 over windows with events.
    window_number: u64,
    flows: FlowTable<FlowService>,
    /// Flows backlogged now.
    backlogged: u64,
    /// Flows backlogged since before the current window.
    backlogged_since_before: u64,
    /// Flows served in the current window.
    served: Vec<FlowId>,
    /// Flows that had packets dropped for lack of space in the current window.
    deprived: Vec<FlowId>,
    index_sum: f64,
    minimum: f64,
    windows: u64,
}

#[derive(Debug, Clone)]
struct FlowService {
    weight: u32,
    backlog: u64,
    /// Window in which the flow became backlogged.
    since_window: u64,
    /// The window in which `service` was received.
    served_in: u64,
    /// Bytes served in that window.
    service: u64,
    /// The last window in which a packet of the flow was dropped for lack of space.
    deprived_in: u64,
}

impl FlowService {
    /// Whether the flow is backlogged, and was when the window with this number began.
    const fn is_backlogged_since_before(&self, window_number: u64) -> bool {
        self.backlog > 0 && self.since_window < window_number
    }
}

impl Default for FlowService {
    fn default() -> Self {
        Self {
            weight: 1,
            backlog: 0,
            since_window: 0,
            served_in: 0,
            service: 0,
            deprived_in: 0,
        }
    }
}

impl Default for JainWhileBacklogged {
    /// Windows that are 100 ms long.
    fn default() -> Self {
        Self::new(Duration::from_millis(100))
    }
}

impl JainWhileBacklogged {
    /// Windows with this length.
    ///
    /// # Panics
    /// If the length is zero.
    pub fn new(window: Duration) -> Self {
        assert!(window > Duration::ZERO, "a window has a length");
        Self {
            window,
            end: Instant::ZERO + window,
            window_number: 1,
            flows: FlowTable::default(),
            backlogged: 0,
            backlogged_since_before: 0,
            served: Vec::new(),
            deprived: Vec::new(),
            index_sum: 0.0,
            minimum: f64::INFINITY,
            windows: 0,
        }
    }

    /// Sets a flow's weight from the current window on. The default weight is 1.
    ///
    /// # Panics
    /// If the weight is zero.
    pub fn set_weight(&mut self, flow: FlowId, weight: u32) {
        assert!(weight > 0, "a weight of zero is due no service");
        self.flows.entry(flow).weight = weight;
    }

    /// Asks for the memory that holds the flow's record, for a packet that arrives soon.
    #[inline]
    pub fn prefetch(&self, flow: FlowId) {
        self.flows.prefetch(flow);
    }

    /// A packet with `bytes` bytes has been accepted.
    #[inline]
    pub fn arrive(&mut self, now: Instant, flow: FlowId, bytes: u32) {
        self.advance(now);
        let state = self.flows.entry(flow);
        if state.backlog == 0 {
            state.since_window = self.window_number;
            self.backlogged += 1;
        }
        state.backlog += u64::from(bytes);
    }

    /// A packet with `bytes` bytes leaves for the link.
    #[inline]
    pub fn serve(&mut self, now: Instant, flow: FlowId, bytes: u32) {
        self.advance(now);
        let state = self.flows.entry(flow);
        if state.served_in != self.window_number {
            state.served_in = self.window_number;
            state.service = 0;
            self.served.push(flow);
        }
        state.service += u64::from(bytes);
        self.leave_backlog(flow, bytes);
    }

    /// An accepted packet with `bytes` bytes is dropped despite free space, for example to signal
    /// congestion.
    pub fn withdraw(&mut self, now: Instant, flow: FlowId, bytes: u32) {
        self.advance(now);
        self.leave_backlog(flow, bytes);
    }

    /// An accepted packet with `bytes` bytes is dropped for lack of space, so the flow wants more
    /// than its service.
    pub fn deny(&mut self, now: Instant, flow: FlowId, bytes: u32) {
        self.advance(now);
        let state = self.flows.entry(flow);
        if state.deprived_in != self.window_number {
            state.deprived_in = self.window_number;
            self.deprived.push(flow);
        }
        self.leave_backlog(flow, bytes);
    }

    /// Closes the windows that have ended by `now`. Events call this themselves, so you need to
    /// call it only at the end of a run.
    #[inline]
    pub fn advance(&mut self, now: Instant) {
        if now >= self.end {
            self.close(now);
        }
    }

    /// Discards closed windows, for example after a warm-up. The current window counts at its end.
    pub const fn forget(&mut self) {
        (self.index_sum, self.minimum, self.windows) = (0.0, f64::INFINITY, 0);
    }

    /// Mean index over the counted windows. None without such a window.
    pub fn mean(&self) -> Option<f64> {
        (self.windows > 0).then(|| self.index_sum / self.windows as f64)
    }

    /// Smallest index in a counted window. None without such a window.
    pub fn minimum(&self) -> Option<f64> {
        (self.windows > 0).then_some(self.minimum)
    }

    /// How many windows were counted.
    pub fn windows(&self) -> u64 {
        self.windows
    }

    /// A packet with `bytes` bytes leaves the flow's backlog.
    fn leave_backlog(&mut self, flow: FlowId, bytes: u32) {
        let state = self.flows.entry(flow);
        debug_assert!(
            state.backlog >= u64::from(bytes),
            "more leaves than has arrived"
        );
        let was_backlogged = state.backlog > 0;
        state.backlog = state.backlog.saturating_sub(u64::from(bytes));
        if was_backlogged && state.backlog == 0 {
            self.backlogged -= 1;
            let was_since_before = state.since_window < self.window_number;
            self.backlogged_since_before -= u64::from(was_since_before);
        }
    }

    #[cold]
    fn close(&mut self, now: Instant) {
        let mut sum = 0.0;
        let mut squares = 0.0;
        let window_number = self.window_number;
        // Flows that wanted service all the time: those backlogged throughout, and those with drops
        // for lack of space.
        let mut wanting = self.backlogged_since_before;
        for flow in self.deprived.drain(..) {
            let state = self.flows.entry(flow);
            wanting += u64::from(!state.is_backlogged_since_before(window_number));
        }
        for flow in self.served.drain(..) {
            let state = self.flows.entry(flow);
            let is_wanting = state.is_backlogged_since_before(window_number)
                || state.deprived_in == window_number;
            if is_wanting {
                let share = state.service as f64 / f64::from(state.weight);
                sum += share;
                squares += share * share;
            }
        }
        if wanting >= 2
            && let Some(index) = index_of(wanting, sum, squares)
        {
            self.index_sum += index;
            self.minimum = self.minimum.min(index);
            self.windows += 1;
        }
        self.open(now);
    }

    /// Opens the window that contains `now`. Windows in between had no event, hence no service.
    fn open(&mut self, now: Instant) {
        let length = self.window.as_picos();
        let start = Instant::from_picos(now.as_picos() / length * length);
        self.end = start + self.window;
        self.window_number += 1;
        self.backlogged_since_before = self.backlogged;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: FlowId = FlowId(0);
    const B: FlowId = FlowId(1);
    const C: FlowId = FlowId(2);

    const fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn backlogged(flows: &[FlowId]) -> JainWhileBacklogged {
        let mut jain = JainWhileBacklogged::new(Duration::from_nanos(100));
        flows
            .iter()
            .for_each(|&flow| jain.arrive(at(50), flow, 1_000_000));
        jain
    }

    #[test]
    fn a_flow_that_is_locked_out_counts_though_it_never_waits() {
        let mut jain = backlogged(&[A]);
        for nanos in 100..200 {
            jain.arrive(at(nanos), B, 10);
            jain.deny(at(nanos), B, 10);
            jain.serve(at(nanos), A, 10);
        }
        jain.advance(at(200));
        assert_eq!((jain.mean(), jain.windows()), (Some(0.5), 1));
    }

    #[test]
    fn the_index_lies_between_one_flow_and_all() {
        assert_eq!(jain_index(&[5.0, 5.0, 5.0]), Some(1.0));
        assert_eq!(jain_index(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain_index(&[1.0, 2.0, 3.0]), Some(36.0 / 42.0));
        assert_eq!((jain_index(&[]), jain_index(&[0.0])), (None, None));
    }

    #[test]
    fn starved_flows_count_as_zero() {
        let mut jain = backlogged(&[A, B]);
        jain.serve(at(60), B, 1_000);
        assert_eq!(jain.mean(), None);
        jain.serve(at(110), A, 1_000);
        assert_eq!(
            jain.windows(),
            0,
            "nobody was backlogged all through the first window"
        );
        jain.advance(at(200));
        assert_eq!(
            (jain.windows(), jain.mean(), jain.minimum()),
            (1, Some(0.5), Some(0.5))
        );
    }

    #[test]
    fn service_is_measured_by_weight() {
        let mut jain = backlogged(&[A, B]);
        jain.set_weight(B, 3);
        jain.serve(at(110), A, 1_000);
        jain.serve(at(120), B, 3_000);
        jain.serve(at(210), A, 3_000);
        jain.serve(at(220), B, 3_000);
        jain.advance(at(300));
        assert_eq!(
            (jain.windows(), jain.minimum(), jain.mean()),
            (2, Some(0.8), Some(0.9))
        );
    }

    #[test]
    fn a_flow_that_paused_is_left_out() {
        let mut jain = backlogged(&[A, B]);
        jain.arrive(at(50), C, 500);
        jain.serve(at(110), A, 100);
        jain.serve(at(110), B, 100);
        jain.serve(at(120), C, 500);
        jain.arrive(at(130), C, 500);
        jain.advance(at(200));
        assert_eq!((jain.windows(), jain.mean()), (1, Some(1.0)));
        jain.serve(at(210), C, 500);
        jain.serve(at(210), B, 999_900);
        jain.serve(at(220), A, 100);
        jain.advance(at(300));
        assert_eq!(jain.windows(), 1, "one flow alone has nobody to share with");
    }

    #[test]
    fn windows_without_service_do_not_count_and_cost_nothing() {
        let mut jain = backlogged(&[A, B]);
        jain.advance(Instant::MAX);
        assert_eq!(jain.windows(), 0);
    }

    #[derive(Debug, Clone, Copy)]
    enum Event {
        Arrive,
        Serve,
        Withdraw,
    }

    type Log = Vec<(u64, Event, u32, u32)>;

    /// Converts random choices to a valid history: only waiting packets leave.
    fn history(choices: &[(u64, u8, u32, u32)]) -> Log {
        let mut backlog = [0u32; 4];
        let mut now = 0;
        let mut log = Log::new();
        for &(gap, kind, flow, bytes) in choices {
            // Large arrivals keep flows backlogged for a while.
            let bytes = if kind == 0 { 8 * bytes } else { bytes };
            now += gap;
            let waiting = &mut backlog[flow as usize];
            let leaving = bytes.min(*waiting);
            match kind {
                0 => *waiting += bytes,
                _ if leaving == 0 => continue,
                _ => *waiting -= leaving,
            }
            log.push(match kind {
                0 => (now, Event::Arrive, flow, bytes),
                1..4 => (now, Event::Serve, flow, leaving),
                _ => (now, Event::Withdraw, flow, leaving),
            });
        }
        log
    }

    /// The definition, window by window and flow by flow.
    fn by_definition(log: &Log, window: u64, weights: [u32; 4]) -> Vec<f64> {
        let end = log.last().map_or(0, |event| event.0);
        let index = |number: u64| {
            let start = number * window;
            let end = (number + 1) * window;
            let shares: Vec<f64> = (0..4u32)
                .filter_map(|flow| share(log, flow, start, end, weights[flow as usize]))
                .collect();
            if shares.len() < 2 {
                None
            } else {
                jain_index(&shares)
            }
        };
        (0..end / window).filter_map(index).collect()
    }

    /// Bytes served per weight in [start, end), if the flow was backlogged throughout or lost a
    /// packet by a drop.
    fn share(log: &Log, flow: u32, start: u64, end: u64, weight: u32) -> Option<f64> {
        let mut backlog = 0;
        let mut service = 0;
        let mut throughout = true;
        let mut entered = false;
        let mut deprived = false;
        for &(time, event, _, bytes) in log.iter().filter(|event| event.2 == flow && event.0 < end)
        {
            if time >= start && !entered {
                entered = true;
                throughout &= backlog > 0;
            }
            match event {
                Event::Arrive => backlog += bytes,
                Event::Serve | Event::Withdraw => backlog -= bytes,
            }
            if entered {
                throughout &= backlog > 0;
                deprived |= matches!(event, Event::Withdraw);
                service += if matches!(event, Event::Serve) {
                    bytes
                } else {
                    0
                };
            }
        }
        (throughout && backlog > 0 || deprived).then(|| f64::from(service) / f64::from(weight))
    }

    proptest! {
        #[test]
        fn windows_are_those_of_the_definition(
            choices in prop::collection::vec((0u64..40, 0u8..5, 0u32..4, 1u32..100), 0..300), weights in prop::array::uniform4(1u32..5),
        ) {
            let log = history(&choices);
            let mut jain = JainWhileBacklogged::new(Duration::from_nanos(100));
            (0..4).for_each(|flow| jain.set_weight(FlowId(flow), weights[flow as usize]));
            for &(time, event, flow, bytes) in &log {
                match event {
                    Event::Arrive => jain.arrive(at(time), FlowId(flow), bytes),
                    Event::Serve => jain.serve(at(time), FlowId(flow), bytes),
                    Event::Withdraw => jain.deny(at(time), FlowId(flow), bytes),
                }
            }
            let expected = by_definition(&log, 100, weights);
            prop_assert_eq!(jain.windows(), expected.len() as u64);
            let close = |one: f64, two: f64| (one - two).abs() < 1e-9;
            prop_assert!(close(jain.minimum().unwrap_or(f64::INFINITY).min(9.0), expected.iter().copied().fold(9.0, f64::min)));
            prop_assert!(close(jain.mean().unwrap_or(0.0) * expected.len() as f64, expected.iter().sum()));
        }
    }
}
