//! Numbers for hosts, for disciplines that share a link among hosts. Each address gets a number.

use std::collections::HashMap;
use std::net::IpAddr;

use roundelay::Hosts;

use crate::headers::Headers;

/// Addresses with their numbers, in order of first appearance.
#[derive(Debug, Default)]
pub(crate) struct HostNumbers {
    numbers: HashMap<IpAddr, u32>,
}

impl HostNumbers {
    /// The hosts at both ends of a flow with these headers.
    pub(crate) fn of(&mut self, headers: &Headers) -> Hosts {
        Hosts {
            source: self.number(headers.source),
            destination: self.number(headers.destination),
        }
    }

    fn number(&mut self, address: IpAddr) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(address).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::Ports;
    use roundelay::Ecn;

    #[test]
    fn an_address_has_one_number_on_both_ends() {
        let mut numbers = HostNumbers::default();
        let mut hosts = |source: u8, destination: u8| {
            let hosts = numbers.of(&Headers {
                source: IpAddr::from([10, 0, 0, source]),
                destination: IpAddr::from([10, 0, 0, destination]),
                protocol: 6,
                source_port: 1,
                destination_port: 2,
                ports: Ports::Present,
                dscp: 0,
                ecn: Ecn::NotCapable,
            });
            (hosts.source, hosts.destination)
        };
        assert_eq!(hosts(1, 2), (0, 1));
        assert_eq!(hosts(3, 1), (2, 0));
        assert_eq!(hosts(1, 2), (0, 1));
    }
}
