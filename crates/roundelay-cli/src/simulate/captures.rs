//! Captures for the simulator, which does not know their formats.

use std::path::Path;

use roundelay::{Duration, FlowConfig, Instant};
use roundelay_sim::scenario;
use roundelay_sim::sources::trace::Entry;
use roundelay_trace::{Capture, Classifier, FlowBy, parse};

/// Most packets of a capture, which are kept in memory.
const MOST_PACKETS: usize = 100_000_000;

/// A capture's packets before `end`: lengths, flows and times are those of `roundelay compare`, but long silences last as long as they did.
pub(super) fn read(path: &Path, by: scenario::FlowBy, end: Duration) -> Result<Vec<Entry>, String> {
    let by = match by {
        scenario::FlowBy::FiveTuple => FlowBy::FiveTuple,
        scenario::FlowBy::Source => FlowBy::Source,
        scenario::FlowBy::Destination => FlowBy::Destination,
        scenario::FlowBy::Dscp => FlowBy::Dscp,
    };
    let (mut capture, mut classifier) = (Capture::open(path).map_err(|error| error.to_string())?, Classifier::new(by));
    let (mut packets, mut clock) = (Vec::new(), Clock::default());
    while let Some(frame) = capture.next().map_err(|error| error.to_string())? {
        let since = clock.read(frame.time_nanos);
        if since >= end {
            break;
        }
        if packets.len() == MOST_PACKETS {
            return Err(format!("{}: legal range up to {MOST_PACKETS} packets within the run", path.display()));
        }
        let headers = parse(frame.link, frame.bytes);
        let flow = classifier.classify(headers.as_ref().map_err(|reason| *reason)).0;
        packets.push(Entry { at: Instant::ZERO + since, flow, len: frame.original_len.clamp(1, LONGEST) });
    }
    if packets.is_empty() { Err(format!("{}: no packet in it", path.display())) } else { Ok(packets) }
}

/// The longest packet that the simulator sends.
const LONGEST: u32 = FlowConfig::MAX_PACKET_LEN - 1;

/// A capture's clock: it starts at zero and does not run backwards.
#[derive(Debug, Default)]
struct Clock {
    first: Option<i64>,
    since: Duration,
}

impl Clock {
    fn read(&mut self, nanos: i64) -> Duration {
        let first = *self.first.get_or_insert(nanos);
        let since = u64::try_from(i128::from(nanos) - i128::from(first)).unwrap_or(0);
        self.since = self.since.max(Duration::from_picos(since.saturating_mul(1_000)));
        self.since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_starts_at_zero_and_never_runs_back() {
        let mut clock = Clock::default();
        let times = [7_000, 9_000, 8_000, 10_000, i64::MAX].map(|nanos| clock.read(nanos).as_nanos());
        assert_eq!(times[..4], [0, 2_000, 2_000, 3_000]);
        assert!(times[4] > 1 << 53);
    }
}
