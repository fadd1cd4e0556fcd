//! Source `burst`: a whole flow at once. All packets arrive at the sending host's queue in one
//! instant, and the flow ends when the last packet has left the network. UPS's flows over UDP work
//! this way (R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, with the authors' packets
//! of 1460 bytes).

use roundelay::{Bytes, FlowId};
use roundelay_files::InWords;
use serde::Deserialize;

use crate::agent::{Agent, Context, Outgoing};
use crate::sources::load::{Amount, Load};
use crate::sources::source::{Conditions, Ending, Facts, Site, Source};
use crate::sources::source_flow::{SourceFlow, Terms, Turn};
use crate::sources::stamp::Stamp;
use crate::sources::{Check, LARGEST_FLOW, SourceError, packet_len};

#[cfg(feature = "schema")]
pub(super) const SENDS: &str = "A whole flow at once, as UPS's flows over UDP.";
pub(super) const EXAMPLES: [&str; 2] = ["size = '30kb'", "size = '5kb'\nstart = '1s'"];

/// Parameters of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Bytes of the flow: 1 to 2^40.
    #[serde(with = "InWords::<Bytes>")]
    pub size: Bytes,
    /// Bytes of a packet: 1 to 65,535; the last packet has the rest.
    #[serde(default = "packet_len", with = "InWords::<u32>")]
    pub packet_len: u32,
}

impl Source for Config {
    fn facts(&self) -> Facts<'_> {
        Facts::datagrams(self.packet_len, Ending::Silent)
    }

    fn load(&self, _: &Conditions) -> Load {
        Load::of_flow(Amount::exact(self.facts().segments(self.size.0)))
    }

    fn agent(&self, terms: Terms, _: &Site<'_>) -> Result<Box<dyn Agent>, SourceError> {
        Ok(Box::new(Burst::new(terms, *self)?))
    }
}

/// The source.
#[derive(Debug)]
pub struct Burst {
    source_flow: SourceFlow,
    terms: Terms,
    config: Config,
}

impl Burst {
    /// # Errors
    /// A parameter is out of range.
    pub fn new(terms: Terms, config: Config) -> Result<Self, SourceError> {
        let check = Check("burst");
        terms.check(check)?;
        check.range("size", config.size.0, 1..=LARGEST_FLOW)?;
        check.packet_len(config.packet_len)?;
        Ok(Self {
            source_flow: SourceFlow::new(terms.clone(), config.size.0, config.packet_len),
            terms,
            config,
        })
    }
}

impl Agent for Burst {
    fn wake(&mut self, context: &mut Context<'_>) {
        let Turn::Start(flow) = self.source_flow.turn(context) else {
            return;
        };
        let Config {
            size: Bytes(size),
            packet_len,
        } = self.config;
        send_all(
            flow,
            size,
            packet_len,
            &mut self.terms.stamp(size, packet_len),
            context,
        );
        self.source_flow.finish(context);
    }
}

/// Sends `size_bytes` in packets of `packet_len`. The last one may be shorter.
pub(crate) fn send_all(
    flow: FlowId,
    size_bytes: u64,
    packet_len: u32,
    stamp: &mut Stamp,
    context: &mut Context<'_>,
) {
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
        let log = bench.run(
            1,
            10,
            [Burst::new(
                terms,
                Config {
                    size: Bytes(3000),
                    packet_len: 1460,
                },
            )
            .unwrap()],
        );
        let lens: Vec<_> = log
            .sent
            .iter()
            .map(|packet| (packet.now, packet.len, packet.priority))
            .collect();
        assert_eq!(
            lens,
            [
                (seconds(3), 1460, 3000),
                (seconds(3), 1460, 1540),
                (seconds(3), 80, 80)
            ]
        );
        let [(closed, _, counts)] = log.closed[..] else {
            panic!("one flow: {:?}", log.closed)
        };
        assert_eq!((counts.delivered, counts.bytes), (3, 3000));
        assert_eq!(
            closed,
            seconds(3) + Duration::from_nanos(240) + Duration::from_micros(1),
            "3000 bytes at 100 Gbit/s, and the wire"
        );
    }

    #[test]
    fn errors_name_parameter_and_range() {
        let terms = Bench::default().terms();
        let error = Burst::new(
            terms,
            Config {
                size: Bytes(0),
                packet_len: 1,
            },
        )
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "burst: size 0: legal range 1 to 1099511627776"
        );
    }
}
