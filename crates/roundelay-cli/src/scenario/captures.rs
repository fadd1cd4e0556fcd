//! Reads captures for the simulator, which has no code for capture formats.

use std::cell::RefCell;
use std::path::Path;

use roundelay::{Duration, Fault, FlowConfig, Instant};
use roundelay_metrics::units::in_number;
use roundelay_report::sentences::{
    CUT_OFF, CUT_SILENCES, ENCRYPTED, LARGE_FRACTIONS, LONG_PACKETS, NOT_IP, RAISED_LENGTHS,
    SKIPPED_BLOCKS, SORTED, TRUNCATED_COMPRESSION, UNCUT, UNREADABLE, WITHOUT_PORTS,
    counted_sentences, sent_of, sent_together,
};
use roundelay_sim::scenario;
use roundelay_sim::sources::trace::{Captured, Entry};
use roundelay_trace::{
    Arrivals, Capture, Classifier, DirectionChoice, FlowBy, Mending, Selection, Stop,
};

use crate::live;
use crate::progress::BarOfReadings;

/// Most packets of a capture, because all are kept in memory.
const MOST_PACKETS: usize = 100_000_000;

/// Reads a capture's packets before `end`. These are the packets that `roundelay compare` would
/// replay, with the same lengths, flows and times. What was chosen, mended or odd goes to `notes`.
pub(super) fn read(
    path: &Path,
    captured: &Captured,
    end: Duration,
    stop: &Stop,
    notes: &RefCell<Vec<String>>,
) -> Result<Vec<Entry>, Fault> {
    let by = match captured.flow_by {
        scenario::FlowBy::FiveTuple => FlowBy::FiveTuple,
        scenario::FlowBy::Source => FlowBy::Source,
        scenario::FlowBy::Destination => FlowBy::Destination,
        scenario::FlowBy::Dscp => FlowBy::Dscp,
    };
    let mending = mending(path, captured);
    let mut capture = Capture::open(path)?;
    if live::is_record(path) {
        capture.skip_interface(live::NOTES);
    }
    let mut observer = BarOfReadings::new(None, true, stop);
    let arrivals = Arrivals::of(capture, &mending, Classifier::new(by), &mut observer);
    let mut arrivals = arrivals?;
    let mut packets = Vec::new();
    let mut lengths = Lengths::default();
    while let Some(arrival) = arrivals.next()? {
        if arrival.at >= Instant::ZERO + end {
            break;
        }
        for len in arrival.lens {
            if packets.len() == MOST_PACKETS {
                let legal = format_args!("up to {MOST_PACKETS} packets within the run");
                let fault = Fault::of_range(legal);
                return Err(fault.behind(format_args!("{}: ", path.display())));
            }
            let len = lengths.legal(len);
            packets.push(Entry::new(arrival.at, arrival.flow.0, len));
        }
    }
    if packets.is_empty() {
        let why = match arrivals.read() {
            (0, _) => "no packet in it".to_owned(),
            (all, _) => in_number(all, "{packet|packets} in it, but none of this direction"),
        };
        return Err(format!("{}: {why}", path.display()).into());
    }
    let mut texts = Vec::new();
    if captured.direction == DirectionChoice::Auto {
        texts.extend(match arrivals.chosen() {
            Some(chosen) => Some(sent_of(&chosen)),
            None => sent_together(&arrivals.mixed()),
        });
    }
    texts.extend(split(&arrivals, &mending));
    texts.extend(odd(&arrivals, &lengths));
    for text in texts {
        let note = format!("{}: {text}", path.display());
        notes.borrow_mut().push(note);
    }
    Ok(packets)
}

/// Mends a capture as `roundelay compare` does, but sends a direction of a record of `roundelay live`
/// as it is.
fn mending(path: &Path, captured: &Captured) -> Mending {
    if live::is_record(path) {
        return Mending {
            selection: captured.direction.clone().choose(Selection::default()),
            ..Mending::default()
        };
    }
    Mending {
        selection: captured.direction.clone().choose(Selection::default()),
        adapts: true,
        mtu: captured.mtu.0,
        ..Mending::default()
    }
}

fn split(arrivals: &Arrivals, mending: &Mending) -> Option<String> {
    let oddities = arrivals.oddities();
    let mtu = mending.mtu.filter(|_| oddities.split > 0)?;
    let pieces = oddities.pieces;
    Some(in_number(
        oddities.split,
        &format!(
            "{{packet is|packets are}} longer than {mtu} bytes, as offloading makes them, and \
             {{was|were}} split into {pieces} as on the wire (mtu = \"none\" splits none)."
        ),
    ))
}

/// A sentence for each oddity found, as `roundelay compare` reports it.
fn odd(arrivals: &Arrivals, lengths: &Lengths) -> Vec<String> {
    let capture = arrivals.file_notes();
    let unparsable = arrivals.unparsable();
    let oddities = arrivals.oddities();
    counted_sentences(&[
        (unparsable.not_ip, NOT_IP),
        (unparsable.unreadable(), UNREADABLE),
        // They are among the unreadable ones, and the sentence begins with "of these packets".
        (unparsable.encrypted, ENCRYPTED),
        (unparsable.no_ports, WITHOUT_PORTS),
        (oddities.sorted, SORTED),
        (
            oddities.strays,
            "{packet has a time|packets have times} that all others contradict by more than a \
             second; {it is|they are} sent together with the packet before",
        ),
        (
            oddities.backward_steps,
            "{packet has|packets have} an earlier time than the packet before; {it is|they are} \
             sent at the time of that packet",
        ),
        (oddities.uncut, UNCUT),
        (oddities.cut_gaps, CUT_SILENCES),
        (oddities.superframes, LONG_PACKETS),
        (
            lengths.cut,
            "{packet is longer than 65,535 bytes and was|packets are longer than 65,535 bytes and \
             were} taken for so many",
        ),
        (
            lengths.raised,
            "{packet has no bytes and was|packets have no bytes and were} taken for one",
        ),
        (capture.truncated_tail_bytes, CUT_OFF),
        (capture.truncated_compression, TRUNCATED_COMPRESSION),
        (
            capture.without_time,
            "{packet carries no time and is sent together with the one ahead of it|packets carry \
             no time and are sent together with the one ahead of them}",
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

/// Counts packets whose length is illegal.
#[derive(Debug, Default)]
struct Lengths {
    cut: u64,
    raised: u64,
}

impl Lengths {
    fn legal(&mut self, len: u32) -> u32 {
        self.cut += u64::from(len > LONGEST);
        self.raised += u64::from(len == 0);
        len.clamp(1, LONGEST)
    }
}
