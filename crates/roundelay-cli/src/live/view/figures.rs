//! Figures of a running session: what has come to pass since the last look.

use std::collections::BTreeMap;

use roundelay::{Backlog, Rate};
use roundelay_live::{Bottleneck, FlowBooks, Way};

/// Most flows that are shown.
const SHOWN: usize = 100;

/// A session at some time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figures {
    pub(super) seconds: f64,
    /// Up and down.
    pub(super) ways: [WayFigures; 2],
}

/// A direction.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WayFigures {
    pub(super) link_rate: u64,
    /// The file of the link's trace, while the link follows one.
    pub(super) trace: Option<String>,
    pub(super) queue: String,
    /// Bits per second that got the link.
    pub(super) rate: f64,
    pub(super) backlog: Backlog,
    /// Mean time in queue and link, in seconds.
    pub(super) delay: Option<f64>,
    /// Since the start.
    pub(super) dropped: u64,
    pub(super) marked: u64,
    pub(super) lost: u64,
    pub(super) refused: u64,
    /// The number of all flows, and the flows that sent most or wait most.
    pub(super) all_flows: usize,
    pub(super) flows: Vec<FlowFigures>,
}

/// A flow.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FlowFigures {
    pub(super) flow: String,
    pub(super) rate: f64,
    /// Packets in the queue.
    pub(super) waiting: u64,
    pub(super) delay: Option<f64>,
    /// Since the start.
    pub(super) dropped: u64,
    pub(super) marked: u64,
}

impl WayFigures {
    /// The link's rate in words.
    pub(super) fn link(&self) -> String {
        match &self.trace {
            Some(trace) => format!("trace {trace}"),
            None => Rate::from_bits_per_second(self.link_rate)
                .map(|rate| rate.to_string())
                .unwrap_or_default(),
        }
    }
}

/// What was known at the last look.
#[derive(Debug, Default)]
pub(super) struct Gatherer {
    seconds: f64,
    flows: [Vec<FlowBooks>; 2],
}

impl Gatherer {
    /// The figures since the last look.
    pub(super) fn look(&mut self, bottleneck: &Bottleneck, seconds: f64) -> Figures {
        let since = (seconds - self.seconds).max(1e-3);
        let figures = Figures {
            seconds,
            ways: Way::BOTH.map(|way| self.way(bottleneck, way, since)),
        };
        self.seconds = seconds;
        for way in Way::BOTH {
            self.flows[way.index()] = bottleneck.flow_books(way).to_vec();
        }
        figures
    }

    fn way(&self, bottleneck: &Bottleneck, way: Way, since: f64) -> WayFigures {
        let before = &self.flows[way.index()];
        let mut sum = FlowBooks::default();
        // The busiest come last.
        let mut largest = BTreeMap::new();
        for (number, books) in bottleneck.flow_books(way).iter().enumerate() {
            let before = before.get(number).copied().unwrap_or_default();
            let new = FlowBooks {
                packets: books.packets - before.packets,
                bytes: books.bytes - before.bytes,
                delays: books.delays - before.delays,
                ..*books
            };
            sum.packets += new.packets;
            sum.bytes += new.bytes;
            sum.delays += new.delays;
            largest.insert((new.bytes, new.waiting, usize::MAX - number), new);
            if largest.len() > SHOWN {
                largest.pop_first();
            }
        }
        let mut flows = Vec::new();
        for ((.., number), new) in largest.into_iter().rev() {
            let flow = bottleneck.flows(way).get(usize::MAX - number);
            flows.push(FlowFigures {
                flow: flow.map(ToString::to_string).unwrap_or_default(),
                rate: new.bytes as f64 * 8.0 / since,
                waiting: new.waiting,
                delay: new.mean_delay(),
                dropped: new.dropped,
                marked: new.marked,
            });
        }
        let books = bottleneck.books(way);
        WayFigures {
            link_rate: bottleneck.rate(way).bits_per_second(),
            trace: bottleneck.trace(way).map(str::to_owned),
            queue: bottleneck.queue(way).to_owned(),
            rate: sum.bytes as f64 * 8.0 / since,
            backlog: bottleneck.backlog(way),
            delay: sum.mean_delay(),
            dropped: books.all_dropped(),
            marked: books.marked,
            lost: books.lost,
            refused: books.refused,
            all_flows: bottleneck.flow_books(way).len(),
            flows,
        }
    }
}

#[cfg(test)]
mod tests {
    use roundelay::Instant;
    use roundelay_live::{QueueText, Settings, Slots};

    use super::*;

    /// A datagram of 1,000 bytes from a port.
    fn datagram(port: u16) -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend([8, 0, 0x45, 0, 3, 0xda, 0, 0, 0x40, 0, 64, 17, 0, 0]);
        frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend(port.to_be_bytes());
        frame.extend([0, 9, 3, 0xc6, 0, 0]);
        frame.resize(1000, 0);
        frame
    }

    #[test]
    fn figures_are_those_since_the_last_look() {
        // A packet takes 1 ms.
        let rate = "8mbit".parse().expect("a rate");
        let fifo = QueueText::Discipline("fifo limit 20".to_owned());
        let settings = Settings::new(rate, fifo);
        let slots = Slots::new(100, 2048);
        let mut bottleneck = Bottleneck::new(&settings, slots).expect("legal settings");
        let mut gatherer = Gatherer::default();
        let send = |bottleneck: &mut Bottleneck, at: u64, port: u16, count: u32| {
            for _ in 0..count {
                let frame = datagram(port);
                let slots = bottleneck.slots_mut();
                let slot = slots.take().expect("a free slot");
                slots.room(slot)[..frame.len()].copy_from_slice(&frame);
                slots.set_len(slot, frame.len());
                let at = Instant::from_nanos(at * 1_000_000);
                bottleneck.arrive(Way::Up, at, slot).expect("a frame");
            }
        };
        send(&mut bottleneck, 0, 5, 10);
        send(&mut bottleneck, 0, 6, 20);
        // Up to just before 10 ms, without the guard of a driver.
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000 - 1000);
        bottleneck.settle(Way::Up, at(10)).expect("no change");
        let figures = gatherer.look(&bottleneck, 0.01);
        let up = &figures.ways[0];
        assert_eq!(
            (up.queue.as_str(), up.link()),
            ("fifo limit 20", "8mbit".to_owned())
        );
        assert_eq!(up.dropped, 10, "20 fit");
        assert_eq!(up.backlog.packets, 10);
        assert_eq!((up.all_flows, up.flows.len()), (2, 2));
        let first = &up.flows[0];
        assert!(first.flow.contains(":5 "), "{first:?}");
        assert_eq!((first.waiting, first.dropped), (0, 0));
        assert!((first.rate - 8e6).abs() < 1.0, "{first:?}");
        assert!(
            (first.delay.expect("packets") - 0.0055).abs() < 1e-6,
            "{first:?}"
        );
        assert_eq!((up.flows[1].waiting, up.flows[1].dropped), (10, 10));
        assert_eq!((up.flows[1].rate, up.flows[1].delay), (0.0, None));
        bottleneck.settle(Way::Up, at(30)).expect("no change");
        let up = &gatherer.look(&bottleneck, 0.03).ways[0];
        assert!(
            up.flows[0].flow.contains(":6 "),
            "the busiest first: {up:?}"
        );
        assert_eq!((up.flows[0].waiting, up.flows[1].rate), (0, 0.0));
        assert!(
            (up.flows[0].rate - 10.0 * 8000.0 / 0.02).abs() < 1.0,
            "{up:?}"
        );
        assert_eq!(figures.ways[1].all_flows, 0);
    }
}
