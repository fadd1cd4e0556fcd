//! Sets up subjects under a load.

use std::marker::PhantomData;

use roundelay::Seed;
use roundelay::author::Leaving;
use roundelay::schedulers::{Discipline, Visitor};
use roundelay::{ConfigError, Departure, FlowConfig, FlowId, Handle, Packet, Scheduler};

use crate::controller::Controller;
use crate::generator::{Generator, Number, Numbered, Source, Turn, Turns};
use crate::load::{Load, Order};
use crate::memory;
use crate::nothing::Nothing;
use crate::subject::{LoadRefused, Passed, Running, Subject};

/// Sets up a subject under a load, so that [`Running::run`] does no setup.
///
/// # Errors
/// The load does not fit the discipline's ranges or the machine's memory.
pub fn prepare(subject: &Subject, load: &Load) -> Result<Box<dyn Running>, LoadRefused> {
    memory::check(subject, load)?;
    match (subject, load.order) {
        (Subject::Generator, Order::Shortest) => Ok(under::<Generator, u32, Packet<u32>>(
            Nothing::new(load.most_packets()),
            load,
        )),
        (Subject::Generator, Order::Turns) => Ok(under::<Turns, u32, Packet<u32>>(
            Nothing::new(load.most_packets()),
            load,
        )),
        (Subject::Discipline(discipline), Order::Shortest) => {
            discipline.visit(ByValue::<Generator, u32>(load, PhantomData))
        }
        (Subject::Discipline(discipline), Order::Turns) => {
            discipline.visit(ByValue::<Turns, Turn>(load, PhantomData))
        }
        (Subject::ByHandle(discipline), Order::Shortest) => {
            discipline.visit(ByHandle::<Generator>(load, PhantomData))
        }
        (Subject::ByHandle(discipline), Order::Turns) => {
            discipline.visit(ByHandle::<Turns>(load, PhantomData))
        }
        (Subject::Tree(tree), Order::Shortest) => {
            let tree = tree.with_flows(load.flows.flows());
            tree.visit(ByValue::<Generator, u32>(load, PhantomData))
        }
        (Subject::Tree(tree), Order::Turns) => {
            let tree = tree.with_flows(load.flows.flows());
            tree.visit(ByValue::<Turns, Turn>(load, PhantomData))
        }
    }
}

/// A scheduler under a load.
fn under<G, N, L>(scheduler: impl Scheduler<N, L> + 'static, load: &Load) -> Box<dyn Running>
where
    G: Source + 'static,
    N: Number + 'static,
    L: Leaving + Numbered + 'static,
{
    Box::new(Controller::<_, G, N, L>::new(scheduler, load))
}

/// Sets up a subject and sends `pairs` packets through it.
///
/// # Errors
/// As [`prepare`].
pub fn run_pairs(subject: &Subject, load: &Load, pairs: u64) -> Result<Passed, LoadRefused> {
    Ok(prepare(subject, load)?.run(pairs))
}

struct ByValue<'a, G, N>(&'a Load, PhantomData<(G, N)>);

impl<G: Source + 'static, N: Number + Send + 'static> Visitor for ByValue<'_, G, N> {
    type Output = Result<Box<dyn Running>, LoadRefused>;

    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output {
        let mut scheduler = discipline.build::<N>(Seed::new(1))?;
        set_flows::<N, Packet<N>>(&mut scheduler, self.0)?;
        Ok(under::<G, N, Packet<N>>(scheduler, self.0))
    }
}

struct ByHandle<'a, G>(&'a Load, PhantomData<G>);

impl<G: Source + 'static> Visitor for ByHandle<'_, G> {
    type Output = Result<Box<dyn Running>, LoadRefused>;

    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output {
        let mut scheduler = discipline.build_by_handle(Seed::new(1))?;
        set_flows::<Handle, Departure>(&mut scheduler, self.0)?;
        Ok(under::<G, Handle, Departure>(scheduler, self.0))
    }
}

/// Sets a load's flows in a scheduler.
fn set_flows<T, L: Leaving>(
    scheduler: &mut impl Scheduler<T, L>,
    load: &Load,
) -> Result<(), ConfigError> {
    let max_packet_len = load.lengths.longest().max(FlowConfig::MIN_MAX_PACKET_LEN);
    let mut flows = (0..).map(FlowId).zip(load.flows.weights());
    flows.try_for_each(|(flow, weight)| {
        scheduler.set_flow(
            flow,
            FlowConfig {
                weight,
                max_packet_len,
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use roundelay::schedulers::AnyDiscipline;

    use super::*;
    use crate::load::{Lengths, Memory, Pattern};
    use crate::subject::BY_HANDLE;

    fn load(pattern: Pattern, memory: Memory, burst: u32) -> Load {
        let order = Order::Shortest;
        Load {
            flows: "64".parse().unwrap(),
            pattern,
            order,
            lengths: Lengths::Fixed(1000),
            memory,
            burst,
        }
    }

    fn passed(subject: &str, pattern: Pattern, pairs: u64) -> Passed {
        run_pairs(
            &subject.parse().unwrap(),
            &load(pattern, Memory::Packed, 0),
            pairs,
        )
        .unwrap()
    }

    #[test]
    fn what_is_sent_is_counted_once() {
        for pattern in Pattern::ALL {
            let (least, most) = pattern.backlog_per_flow();
            for (memory, burst) in [
                (Memory::Packed, 0),
                (Memory::Scattered, 0),
                (Memory::Packed, 32),
                (Memory::Scattered, 1),
            ] {
                for (order, subject) in [
                    (Order::Shortest, "drr"),
                    (Order::Turns, "drr"),
                    (Order::Turns, "drr by handle"),
                    (Order::Turns, "none"),
                ] {
                    let load = Load {
                        order,
                        ..load(pattern, memory, burst)
                    };
                    let passed = run_pairs(&subject.parse().unwrap(), &load, 1).unwrap();
                    let packets = 64 * (most - least);
                    assert_eq!(
                        passed,
                        Passed {
                            offered: packets,
                            sent: packets
                        },
                        "{subject} under {load}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_discipline_runs_by_handle() {
        for discipline in AnyDiscipline::all() {
            let load = Load {
                order: Order::Turns,
                ..load(Pattern::Small, Memory::Scattered, 0)
            };
            let [by_value, by_handle] = [
                Subject::Discipline(discipline.clone()),
                Subject::ByHandle(discipline),
            ]
            .map(|subject| run_pairs(&subject, &load, 1_000).unwrap());
            assert_eq!(by_value, by_handle);
            assert!(by_value.offered >= 320, "{by_value:?}");
        }
    }

    #[test]
    fn subjects_read_as_reports_write_them() {
        for name in [
            "none",
            "drr",
            "qfq_plus aggregate 2",
            "qfq_plus aggregate 2 by handle",
        ] {
            assert_eq!(name.parse::<Subject>().unwrap().name(), name);
        }
        assert!(
            "qfq_plus aggregate 0".parse::<Subject>().is_err()
                && "cakes".parse::<Subject>().is_err()
        );
    }

    #[test]
    fn what_is_refused_or_dropped_is_not_sent() {
        for spec in [
            "sfq flows 4",
            "sfq depth 1",
            "mqfq buffer 100",
            "red",
            "choke",
        ] {
            for pattern in Pattern::ALL {
                for (memory, burst) in [(Memory::Packed, 0), (Memory::Scattered, 32)] {
                    for order in Order::ALL {
                        for by in ["", BY_HANDLE] {
                            let load = Load {
                                order,
                                ..load(pattern, memory, burst)
                            };
                            let passed =
                                run_pairs(&format!("{spec}{by}").parse().unwrap(), &load, 5_000)
                                    .unwrap();
                            assert!(passed.share() < 0.9, "{spec}{by} under {load}: {passed:?}");
                        }
                    }
                }
            }
        }
        assert_eq!(passed("drr", Pattern::Small, 20_000).share(), 1.0);
    }

    #[test]
    fn what_lets_nothing_through_ends() {
        let passed = passed(
            "red min 1b max 2b burst 1 probability 1 avpkt 1000b",
            Pattern::Full,
            10_000,
        );
        assert!(passed.sent < passed.offered / 2, "{passed:?}");
    }
}
