//! What the figures of senders that react rest on, and what stays open.

/// One end of the range of something that no capture shows, and the verdict there.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenEnd {
    /// What is open: congestion control, round trips.
    pub parameter: &'static str,
    /// Its value at this end.
    pub value: String,
    /// The best discipline there: an index into the disciplines.
    pub best: usize,
    /// Its loss.
    pub loss: f64,
    /// The 99th percentile of the delay of light flows' packets under it, seconds.
    pub light_p99: Option<f64>,
}

/// What a capture tells of its applications. All parts are of the bytes over the link, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Basis {
    /// In TCP connections, which react.
    pub tcp: f64,
    /// In TCP connections of which one direction was captured.
    pub half: f64,
    /// In QUIC, which would react but is sent as recorded.
    pub quic: f64,
    /// In all else, sent as recorded.
    pub recorded: f64,
    /// In connections that wanted more than they got.
    pub endless: f64,
    /// In messages of which the network was the limit, with an end or without.
    pub limited: f64,
}

/// Part of the bytes that counts as something that would go faster.
const NOTABLE: f64 = 0.05;

impl Basis {
    /// Whether something in the capture would go faster on a faster link: transfers without end, or
    /// enough bytes that have one.
    pub fn wants_more(&self) -> bool {
        self.endless > 0.0 || self.limited >= NOTABLE
    }
}
