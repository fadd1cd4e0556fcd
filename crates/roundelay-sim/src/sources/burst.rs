//! Source `burst`: a whole flow at once. All packets arrive at the sending host's queue in one
//! instant; the flow ends when the last packet has left the network. UPS's flows over UDP work this
//! way (R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, with the authors' packets of
//! 1460 bytes).

use roundelay::FlowId;

use crate::agent::{Agent, Context, Outgoing};
use crate::sources::outlet::{Outlet, Terms, Turn};
use crate::sources::stamp::Stamp;
use crate::sources::{Check, SourceError};

/// Parameters of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Hosts, times and urgency.
    pub terms: Terms,
    /// Bytes of the flow, 1 to 2^40.
    pub size_bytes: u64,
    /// Bytes of a packet, 1 to 65,535; the last packet has the rest.
    pub packet_len: u32,
}

/// The source.
#[derive(Debug)]
pub struct Burst {
    outlet: Outlet,
    config: Config,
}

impl Burst {
    /// # Errors
    /// A parameter is out of range.
    pub fn new(config: Config) -> Result<Self, SourceError> {
        let check = Check("burst");
        config.terms.check(check)?;
        check.range("size_bytes", config.size_bytes, 1..=LARGEST_FLOW)?;
        check.packet_len(config.packet_len)?;
        Ok(Self { outlet: Outlet::new(config.terms.clone(), config.size_bytes, config.packet_len), config })
    }
}

impl Agent for Burst {
    fn wake(&mut self, context: &mut Context<'_>) {
        let Turn::Start(flow) = self.outlet.turn(context) else { return };
        let Config { ref terms, size_bytes, packet_len } = self.config;
        send_all(flow, size_bytes, packet_len, &mut terms.stamp(size_bytes, packet_len), context);
        self.outlet.finish(context);
    }
}

/// The largest flow, in bytes.
pub(crate) const LARGEST_FLOW: u64 = 1 << 40;

/// Sends `size_bytes` in packets of `packet_len`, the last one shorter.
pub(crate) fn send_all(flow: FlowId, size_bytes: u64, packet_len: u32, stamp: &mut Stamp, context: &mut Context<'_>) {
    let mut left = size_bytes;
    while left > 0 {
        let len = left.min(packet_len.into());
        let mut packet = Outgoing::new(flow, len as u32);
        stamp.mark(&mut packet, context.now(), left);
        context.send(packet);
        left -= len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::Urgency;
    use crate::sources::bench::{Bench, seconds};
    use roundelay::Duration;

    #[test]
    fn a_flow_leaves_at_once_and_is_over() {
        let bench = Bench::default();
        let mut terms = bench.terms();
        (terms.start, terms.urgency) = (seconds(3), Urgency::Remaining(Duration::from_secs(1)));
        let log = bench.run(1, 10, [Burst::new(Config { terms, size_bytes: 3000, packet_len: 1460 }).unwrap()]);
        let lens: Vec<_> = log.sent.iter().map(|packet| (packet.now, packet.len, packet.priority)).collect();
        assert_eq!(lens, [(seconds(3), 1460, 3000), (seconds(3), 1460, 1540), (seconds(3), 80, 80)]);
        let [(closed, _, counts)] = log.closed[..] else { panic!("one flow: {:?}", log.closed) };
        assert_eq!((counts.delivered, counts.bytes), (3, 3000));
        assert_eq!(closed, seconds(3) + Duration::from_nanos(240) + Duration::from_micros(1), "3000 bytes at 100 Gbit/s, and the wire");
    }

    #[test]
    fn errors_name_parameter_and_range() {
        let terms = Bench::default().terms();
        let error = Burst::new(Config { terms, size_bytes: 0, packet_len: 1 }).unwrap_err();
        assert_eq!(error.to_string(), "burst: size_bytes 0: legal range 1 to 1099511627776");
    }
}
