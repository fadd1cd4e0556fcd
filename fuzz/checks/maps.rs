//! What must hold for any text that is read as a map of a network, in every format. The fuzzer runs
//! it, and the tests run it on the corpus.

use roundelay_sim::topologies::Queues;
use roundelay_sim::topologies::files::{Format, FromFile, Text};

/// Files of this length are quick to read: others are left out.
const LONGEST: usize = 1 << 16;

/// An error points into the text, or to the file as a whole; a network has links between its nodes.
pub(crate) fn check(data: &[u8]) {
    let Some(text) = str::from_utf8(data).ok().filter(|_| data.len() < LONGEST) else {
        return;
    };
    for format in Format::ALL {
        let [first, second] = ["map", "second"].map(|name| Text { name, text });
        let second = format.second().map(|_| second);
        match FromFile::default().read(format, first, second, &Queues::default()) {
            Ok(topology) => {
                let network = &topology.network;
                assert!(!network.links().is_empty());
                let nodes = network.nodes() as u32;
                assert!(
                    network
                        .links()
                        .iter()
                        .all(|link| link.from.0 < nodes && link.to.0 < nodes)
                );
            }
            Err(error) => assert!(
                error.line().unwrap_or(0) <= text.lines().count() + 1,
                "{error}"
            ),
        }
    }
}
