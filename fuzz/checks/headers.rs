//! What must hold for any bytes that are read as a frame. The fuzzer runs it, and the tests run it
//! on the corpus.

use roundelay_trace::{Classifier, FlowBy, LinkType, Ports, parse};

/// The links that are read, and one that is not; the first byte chooses.
const LINKS: [LinkType; 22] = [
    LinkType::ETHERNET,
    LinkType::RAW,
    LinkType::LINUX_SLL,
    LinkType::LINUX_SLL2,
    LinkType::NULL,
    LinkType::LOOP,
    LinkType::PPP,
    LinkType::PPP_HDLC,
    LinkType::CISCO_HDLC,
    LinkType::RAW_12,
    LinkType::RAW_14,
    LinkType::IPV4,
    LinkType::IPV6,
    LinkType::IEEE802_11,
    LinkType::RADIOTAP,
    LinkType::PPI,
    LinkType::PRISM,
    LinkType::AVS,
    LinkType::PPP_WITH_DIRECTION,
    LinkType::PPP_PPPD,
    LinkType::PPP_ETHERNET,
    LinkType(147),
];

/// Fields are in range, and the same headers find the same flow, which has a name.
pub(crate) fn check(data: &[u8]) {
    let Some((choice, frame)) = data.split_first() else {
        return;
    };
    let link = LINKS[usize::from(*choice) % LINKS.len()];
    let headers = parse(link, frame);
    if let Ok(headers) = &headers {
        assert!(headers.dscp < 64);
        assert!(
            headers.ports == Ports::Present
                || (headers.source_port, headers.destination_port) == (0, 0)
        );
    }
    for by in [
        FlowBy::FiveTuple,
        FlowBy::Source,
        FlowBy::Destination,
        FlowBy::Dscp,
    ] {
        let mut classifier = Classifier::with_max_flows(by, 1);
        let headers = headers.as_ref().map_err(|reason| *reason);
        let flow = classifier.classify(headers);
        assert_eq!(classifier.classify(headers), flow);
        assert!(!classifier.flows()[flow.index()].to_string().is_empty());
    }
}
