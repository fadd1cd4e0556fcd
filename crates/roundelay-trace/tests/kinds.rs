//! Kinds of captures that other projects publish or report: which load the first answer is of, and
//! what a call waits in it. What users read of it is judged by the command's tests.

use crate::common::load::{mending, replayed};
use crate::common::published::{Published, Right, published};
use roundelay_trace::{Comparison, Kind, Options, Selection};

/// The first answer: as the command gives it without options.
fn first_answer(bytes: Vec<u8>) -> Result<Comparison, String> {
    let options = Options {
        selection: Selection {
            chooses: true,
            ..Selection::default()
        },
        ..mending()
    };
    replayed(bytes, &options).map_err(|error| error.to_string())
}

fn judged(published: &Published) -> Result<(), String> {
    let comparison = first_answer(published.bytes.clone())?;
    let packets = comparison.capture.packets;
    let calls = comparison.flows_of(Kind::Call);
    let flows = &comparison.flows;
    let expected = match published.right {
        Right::OneFlow(label) => {
            let labels = Vec::from_iter(flows.iter().map(|flow| flow.label.as_str()));
            return (labels == [label])
                .then_some(())
                .ok_or(format!("flows {labels:?}"));
        }
        Right::NoCall(count) => {
            let is_right = calls.is_empty() && flows.len() == count;
            return is_right.then_some(()).ok_or(format!(
                "{} calls, {} flows",
                calls.len(),
                flows.len()
            ));
        }
        Right::Encrypted => {
            let encrypted = comparison.observed.unparsable.encrypted;
            return (encrypted == packets)
                .then_some(())
                .ok_or(format!("{encrypted} of {packets}"));
        }
        Right::Call | Right::CallOf(0) => None,
        Right::CallOf(packets) => Some(packets),
    };
    if expected.is_some_and(|expected| expected != packets) {
        return Err(format!("{packets} packets, expected {expected:?}"));
    }
    // ESP hides that it is a call: the flow with few packets is.
    let call = match calls[..] {
        [call] => call,
        _ if flows.len() == 2 => usize::from(flows[0].packets > flows[1].packets),
        _ => return Err(format!("{} calls among {} flows", calls.len(), flows.len())),
    };
    let mut waits = Vec::new();
    for result in &comparison.disciplines {
        let delay = result.flows[call].outcome.delay;
        let p99 = delay.ok_or("no packet of the call got through")?.p99;
        waits.push((p99 * 1e4).round() / 10.0);
    }
    // Under fifo, fq_codel and drr: 44.3, 1.7 and 2.6 ms in the plain capture.
    let is_right = waits[0] > 35.0 && waits[1] < 4.0 && waits[2] < 4.5;
    is_right.then_some(()).ok_or(format!("p99 {waits:?} ms"))
}

/// At least 47 of fifty kinds get the right first answer. Those that do not are listed, so that one
/// more is noticed, and one fewer.
#[test]
fn the_first_answer_is_right_for_published_kinds_of_captures() {
    let all = published();
    let mut wrong = Vec::new();
    for published in &all {
        if let Err(reason) = judged(published) {
            wrong.push((published.origin, reason));
        }
    }
    let names = Vec::from_iter(wrong.iter().map(|(origin, _)| *origin));
    let known: [&str; 2] = [
        "tcpdump LINKTYPE_PKTAP.pcap",
        "tcpdump arcnet-rfc1201-arp-icmp-http.pcap",
    ];
    assert_eq!(names, known, "{wrong:#?}");
    assert!(
        all.len() >= 50 && 50 * (all.len() - names.len()) >= 47 * all.len(),
        "{}",
        all.len()
    );
}
