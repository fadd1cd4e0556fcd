//! What the figures of senders that react rest on, and what stays open.

/// One end of a range that no capture shows, with the verdict there.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenEnd {
    /// What is open: congestion control or round trips.
    pub parameter: &'static str,
    /// Its value at this end.
    pub value: String,
    /// The best discipline there: an index into the disciplines.
    pub best: usize,
    /// Its loss.
    pub loss: f64,
    /// The 99th percentile of delay for light flows' packets under it, seconds.
    pub light_p99: Option<f64>,
}

/// What a capture tells about its applications. All parts are parts of the bytes over the link, 0
/// to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Basis {
    /// In TCP connections, which react.
    pub tcp: f64,
    /// In TCP connections that were captured in only one direction.
    pub half: f64,
    /// In QUIC, which would react but is sent as recorded.
    pub quic: f64,
    /// In everything else, which is sent as recorded.
    pub recorded: f64,
    /// In connections that wanted more than they got.
    pub endless: f64,
    /// In messages that the network limited, whether they ended or not.
    pub limited: f64,
    /// In TCP connections whose congestion control the capture shows.
    pub shown: f64,
}

/// From this part of the bytes on, something would go faster.
const NOTABLE: f64 = 0.05;

impl Basis {
    /// Whether something in the capture would go faster on a faster link. This is so for transfers
    /// without end, or if enough bytes are in transfers that do end.
    pub fn wants_more(&self) -> bool {
        self.endless > 0.0 || self.limited >= NOTABLE
    }
}
