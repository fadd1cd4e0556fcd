//! Reads captures for the simulator, which has no code for capture formats.

use std::cell::RefCell;
use std::path::Path;

use roundelay::{Duration, FlowConfig, Instant};
use roundelay_report::sentences::{
    CUT_OFF, ENCRYPTED, LARGE_FRACTIONS, LONG_PACKETS, NOT_IP, RAISED_LENGTHS, SKIPPED_BLOCKS,
    TRUNCATED_COMPRESSION, UNREADABLE, counted_sentences,
};
use roundelay_sim::scenario;
use roundelay_sim::sources::trace::Entry;
use roundelay_trace::{Capture, CaptureNotes, Classifier, FlowBy, Frame, UnparsableCounts, parse};

/// Maximum number of packets of a capture: all are kept in memory.
const MOST_PACKETS: usize = 100_000_000;

/// Reads a capture's packets before `end`. Lengths, flows and times are the same as in
/// `roundelay compare`, but long silences keep their length. Oddities go to `notes`.
pub(super) fn read(
    path: &Path,
    by: scenario::FlowBy,
    end: Duration,
    notes: &RefCell<Vec<String>>,
) -> Result<Vec<Entry>, String> {
    let by = match by {
        scenario::FlowBy::FiveTuple => FlowBy::FiveTuple,
        scenario::FlowBy::Source => FlowBy::Source,
        scenario::FlowBy::Destination => FlowBy::Destination,
        scenario::FlowBy::Dscp => FlowBy::Dscp,
    };
    let mut capture = Capture::open(path).map_err(|error| error.to_string())?;
    let mut classifier = Classifier::new(by);
    let mut packets = Vec::new();
    let mut clock = Clock::default();
    let mut lengths = Lengths::default();
    while let Some(frame) = capture.next().map_err(|error| error.to_string())? {
        let since = clock.read(frame.time_nanos);
        if since >= end {
            break;
        }
        if packets.len() == MOST_PACKETS {
            return Err(format!(
                "{}: legal range up to {MOST_PACKETS} packets within the run",
                path.display()
            ));
        }
        let headers = parse(frame.link, frame.bytes);
        let flow = classifier
            .classify(headers.as_ref().map_err(|reason| *reason))
            .0;
        packets.push(Entry::new(
            Instant::ZERO + since,
            flow,
            lengths.legal(&frame),
        ));
    }
    if packets.is_empty() {
        return Err(format!("{}: no packet in it", path.display()));
    }
    let met = capture.notes();
    for note in odd(&met, classifier.unparsable(), &lengths) {
        let note = format!("{}: {note}", path.display());
        notes.borrow_mut().push(note);
    }
    Ok(packets)
}

/// A sentence for each oddity found, as `roundelay compare` reports them.
fn odd(capture: &CaptureNotes, unparsable: UnparsableCounts, lengths: &Lengths) -> Vec<String> {
    counted_sentences(&[
        (unparsable.not_ip, NOT_IP),
        (unparsable.total() - unparsable.not_ip, UNREADABLE),
        (unparsable.encrypted, ENCRYPTED),
        (
            capture.backwards,
            "{packet has|packets have} an earlier time than the packet before; {it is|they are} \
             sent at the time of that packet",
        ),
        (lengths.superframes, LONG_PACKETS),
        (
            lengths.cut,
            "{packet is longer than 65,535 bytes and was|packets are longer than 65,535 bytes and were} \
             taken for so many",
        ),
        (
            lengths.raised,
            "{packet has no bytes and was|packets have no bytes and were} taken for one",
        ),
        (capture.truncated_tail_bytes, CUT_OFF),
        (capture.truncated_compression, TRUNCATED_COMPRESSION),
        (
            capture.without_time,
            "{packet carries no time and is sent together with the one ahead of it|packets carry no time and are sent together with the one ahead of them}",
        ),
        (
            capture.wrong_times,
            "{packet has a time|packets have times} outside of the years 1677 to 2262; {it is|they \
             are} sent together with the packet before",
        ),
        (capture.raised_lengths, RAISED_LENGTHS),
        (capture.fractions_of_a_second_or_more, LARGE_FRACTIONS),
        (capture.skipped_blocks, SKIPPED_BLOCKS),
    ])
}

/// The longest packet that the simulator sends.
const LONGEST: u32 = FlowConfig::MAX_PACKET_LEN - 1;

/// Counters of packets with an illegal length, or longer than a frame.
#[derive(Debug, Default)]
struct Lengths {
    superframes: u64,
    cut: u64,
    raised: u64,
}

impl Lengths {
    fn legal(&mut self, frame: &Frame<'_>) -> u32 {
        let len = frame.len_on_link();
        self.superframes += u64::from(frame.exceeds_ethernet());
        self.cut += u64::from(len > LONGEST);
        self.raised += u64::from(len == 0);
        len.clamp(1, LONGEST)
    }
}

/// Clock of a capture: starts at zero and never runs backwards.
#[derive(Debug, Default)]
struct Clock {
    first: Option<i64>,
    since: Duration,
}

impl Clock {
    fn read(&mut self, nanos: i64) -> Duration {
        let first = *self.first.get_or_insert(nanos);
        let since = u64::try_from(i128::from(nanos) - i128::from(first)).unwrap_or(0);
        self.since = self
            .since
            .max(Duration::from_picos(since.saturating_mul(1_000)));
        self.since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_starts_at_zero_and_never_runs_back() {
        let mut clock = Clock::default();
        let times =
            [7_000, 9_000, 8_000, 10_000, i64::MAX].map(|nanos| clock.read(nanos).as_nanos());
        assert_eq!(times[..4], [0, 2_000, 2_000, 3_000]);
        assert!(times[4] > 1 << 53);
    }
}
