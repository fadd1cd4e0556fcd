//! Schedulers of other programs: in place of a discipline, and found out where they break the
//! contract.

use std::collections::VecDeque;

use roundelay::schedulers::{AnyDiscipline, custom};
use roundelay::tree::{Config, Node};
use roundelay::{
    Arena, Backlog, Departure, DropReason, FlowId, Footprint, Handle, Instant, Limit, Observer,
    Packet, Port, QueueSpec, Refusal, Refused, Scheduler,
};
use roundelay::{Control, Seed};
use roundelay_conformance::{Broken, Mix, Violation, Way, check, check_run, operations, subjects};

use super::{LENGTH, audit};

/// The discipline's scheduler by handle, as if made by another program.
fn wrapped(discipline: &AnyDiscipline) -> AnyDiscipline {
    let (info, inner) = (discipline.info(), discipline.clone());
    let config = custom::Config::new("mine", move |seed| {
        inner.build_by_handle(seed).expect("legal parameters")
    });
    AnyDiscipline::Custom(custom::Config {
        weighted: info.weighted,
        reorders: info.reorders,
        interior: info.interior,
        ..config
    })
}

#[test]
fn a_custom_scheduler_gives_the_packets_of_the_scheduler_inside() {
    for discipline in subjects() {
        let custom = wrapped(&discipline);
        assert_eq!(
            (custom.name(), custom.to_string()),
            ("mine", "mine".to_owned())
        );
        assert_eq!(custom.info().reorders, discipline.info().reorders);
        for mix in Mix::ALL {
            let operations = operations(mix, 5, LENGTH);
            let run = |discipline: &AnyDiscipline| {
                audit(
                    discipline.build(Seed::new(5)).expect("legal parameters"),
                    true,
                    &operations,
                )
            };
            assert_eq!(run(&custom), run(&discipline), "{discipline}, {mix:?}");
        }
    }
}

/// First in, first out, with a fault.
#[derive(Default)]
struct Faulty {
    queue: VecDeque<(Handle, u32)>,
    bytes: u64,
    fault: Fault,
    served: u64,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Fault {
    #[default]
    None,
    NewestFirst,
    LosesPackets,
    Sleeps,
    NeverEvicts,
    CountsBytesTwice,
    KeepsRefused,
    CutsRefused,
    MarksAll,
    DrawsAtRandom,
    Panics,
}

impl Scheduler<Handle, Departure> for Faulty {
    fn enqueue(&mut self, _: Instant, packet: Packet<Handle>) -> Result<(), Refused<Handle>> {
        if packet.len > 1 << 16 {
            self.served += u64::from(self.fault == Fault::KeepsRefused);
            let len = packet.len - u32::from(self.fault == Fault::CutsRefused);
            return Err(Packet { len, ..packet }.refused(Refusal::Other));
        }
        self.queue.push_back((packet.payload, packet.len));
        self.bytes += u64::from(packet.len)
            * if self.fault == Fault::CountsBytesTwice {
                2
            } else {
                1
            };
        Ok(())
    }

    fn dequeue(&mut self, _: Instant) -> Option<Departure> {
        self.served += 1;
        assert!(
            self.fault != Fault::Panics || self.served < 50,
            "the 50th service"
        );
        if self.fault == Fault::Sleeps && self.served.is_multiple_of(50) {
            return None;
        }
        let newest = match self.fault {
            Fault::NewestFirst => true,
            Fault::KeepsRefused => self.served.is_multiple_of(2),
            _ => false,
        };
        if self.fault == Fault::LosesPackets && self.served.is_multiple_of(50) {
            let (_, len) = self.queue.pop_front()?;
            self.bytes -= u64::from(len);
        }
        let next = if newest {
            self.queue.pop_back()
        } else {
            self.queue.pop_front()
        };
        let (handle, len) = next?;
        self.bytes -= u64::from(len);
        Some(Departure {
            handle,
            mark: self.fault == Fault::MarksAll,
        })
    }

    fn evict(&mut self) -> Option<Departure> {
        if self.fault == Fault::NeverEvicts {
            return None;
        }
        let (handle, len) = self.queue.pop_back()?;
        self.bytes -= u64::from(len);
        Some(Departure {
            handle,
            mark: false,
        })
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.queue.len() as u64,
            bytes: self.bytes,
        }
    }
}

impl Control for Faulty {
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

fn faulty(fault: Fault) -> custom::Config {
    // Each scheduler gets another number: not a function of the seed.
    let made = std::sync::atomic::AtomicU64::new(0);
    custom::Config::new("faulty", move |_| {
        let number = made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let odd = fault == Fault::DrawsAtRandom && number % 2 == 1;
        Faulty {
            fault: if odd { Fault::NewestFirst } else { fault },
            ..Faulty::default()
        }
    })
}

#[test]
fn the_check_finds_each_fault() {
    let found = |fault| {
        check(&AnyDiscipline::Custom(custom::Config {
            reorders: fault == Fault::DrawsAtRandom,
            ..faulty(fault)
        }))
    };
    let violation = |fault| match found(fault) {
        Err(Broken::Contract { violation, .. }) => violation,
        other => panic!("{other:?}"),
    };
    let checked = found(Fault::None).expect("no fault");
    assert!(
        checked.refused > 100 && checked.dropped > 100,
        "{checked:?}"
    );
    assert!(matches!(
        violation(Fault::NewestFirst),
        Violation::Reordered { .. }
    ));
    assert!(matches!(
        violation(Fault::LosesPackets),
        Violation::WrongBacklog { .. }
    ));
    assert_eq!(violation(Fault::Sleeps), Violation::Idle);
    assert_eq!(violation(Fault::NeverEvicts), Violation::GaveNothingUp);
    assert!(matches!(
        violation(Fault::CountsBytesTwice),
        Violation::WrongBacklog { .. }
    ));
    assert!(matches!(
        violation(Fault::CutsRefused),
        Violation::AlteredRefused(_)
    ));
    assert!(
        matches!(violation(Fault::MarksAll), Violation::Altered(_)),
        "a packet whose sender does not use ECN"
    );
    let reordering = custom::Config {
        reorders: true,
        ..faulty(Fault::KeepsRefused)
    };
    let refusal = check(&AnyDiscipline::Custom(reordering));
    assert!(
        matches!(
            refusal,
            Err(Broken::Differs {
                other: Way::WithoutRefused,
                ..
            })
        ),
        "{refusal:?}"
    );
    let random = found(Fault::DrawsAtRandom);
    assert!(
        matches!(
            random,
            Err(Broken::Differs {
                other: Way::BuildAgain,
                ..
            })
        ),
        "{random:?}"
    );
    assert!(
        random
            .unwrap_err()
            .to_string()
            .starts_with("build and build again, mix FewFlows, seed 0: event ")
    );
    let panicked = found(Fault::Panics);
    let Err(Broken::Panicked {
        mix, seed, call, ..
    }) = panicked
    else {
        panic!("{panicked:?}")
    };
    assert!(
        panicked
            .unwrap_err()
            .to_string()
            .ends_with("panic: the 50th service")
    );
    let again = check_run(&AnyDiscipline::Custom(faulty(Fault::Panics)), mix, seed);
    assert!(
        matches!(again, Err(Broken::Panicked { call: repeated, .. }) if repeated == call),
        "{again:?}"
    );
}

#[test]
#[should_panic(expected = "returned handle 7, which does not wait")]
fn a_handle_that_does_not_wait_is_told() {
    let faulty = Faulty {
        queue: VecDeque::from([(Handle(7), 100)]),
        bytes: 100,
        ..Faulty::default()
    };
    let _ = Scheduler::<()>::dequeue(&mut Arena::new(faulty), Instant::ZERO);
}

struct Sent(Vec<u32>);

impl Observer<()> for Sent {
    fn sent(&mut self, packet: Packet<()>, _: Instant, _: Instant) {
        self.0.push(packet.flow.0);
    }

    fn dropped(&mut self, _: Packet<()>, _: Instant, _: DropReason) {}
}

/// A custom scheduler as a leaf and as the root of a tree, behind a port.
#[test]
fn a_custom_scheduler_stands_in_a_tree() {
    let custom = |text: &str| QueueSpec {
        discipline: wrapped(&text.parse::<QueueSpec>().unwrap().discipline),
        limit: None,
    };
    let spec = |text: &str| text.parse::<QueueSpec>().unwrap();
    let sent = |root: QueueSpec, leaf: fn(&str) -> QueueSpec| {
        let mut tree = Config::new(Node::new("link", root)).unwrap();
        tree.add_leaf(
            "link",
            Node {
                weight: 3,
                ..Node::new("calls", leaf("fifo"))
            },
        )
        .unwrap();
        tree.add_leaf("link", Node::new("rest", leaf("drr")))
            .unwrap();
        tree.set_default("rest").unwrap();
        tree.assign(FlowId(1), "calls").unwrap();
        let tree = tree.build_tree::<()>(Seed::new(1)).unwrap();
        let (mut port, mut sent) = (
            Port::new(tree, Limit::of_packets(100), "8mbit".parse().unwrap()),
            Sent(Vec::new()),
        );
        (0..60).for_each(|number| {
            port.arrive(
                Instant::ZERO,
                Packet::new(FlowId(number % 4), 500, ()),
                &mut sent,
            )
        });
        port.drain(&mut sent);
        sent.0
    };
    let expected = sent(spec("wf2q_plus"), |text| text.parse().unwrap());
    assert_eq!(expected.len(), 60);
    assert_eq!(
        sent(custom("wf2q_plus"), |text| text.parse().unwrap()),
        expected
    );
    assert_eq!(
        sent(spec("wf2q_plus"), |text| QueueSpec {
            discipline: wrapped(&text.parse::<QueueSpec>().unwrap().discipline),
            limit: None
        }),
        expected
    );
    let refused = Config::new(Node::new(
        "link",
        QueueSpec {
            discipline: AnyDiscipline::Custom(faulty(Fault::None)),
            limit: None,
        },
    ));
    assert!(
        refused.unwrap_err().to_string().contains("faulty"),
        "a class must be able to refill"
    );
}
