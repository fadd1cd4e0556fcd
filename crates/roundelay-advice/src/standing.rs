//! Standing: whether the verdict may recommend a discipline for a real port, whatever its results.
//!
//! Two sorts are not recommended: disciplines that use fields which a port or this capture lacks,
//! and baselines. Their results are shown like all others.

use roundelay::QueueSpec;
use roundelay::schedulers::{AnyDiscipline, DisciplineInfo, Priority, Queues, Times};

use roundelay_trace::{Carried, Comparison, Options, TreeFile};

/// What the verdict must know about a discipline beside its results.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    /// Linux has the discipline, so there are `tc` commands.
    pub(crate) on_linux: bool,
    /// Packets of one flow leave in the order in which they came.
    pub(crate) keeps_order: bool,
    /// All flows share one queue, first in, first out.
    pub(crate) one_queue: bool,
    /// It is `fifo`, which most links have.
    pub(crate) is_fifo: bool,
    /// Reason against a recommendation.
    pub(crate) obstacle: Option<Obstacle>,
}

/// Why a discipline is not suitable for a port with these packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// It is there for others to be compared with.
    Yardstick,
    /// It needs the sizes of flows in advance.
    Sizes,
    /// It orders by class, but all packets have the same.
    Classes,
    /// It orders by slack, and no packet has any.
    Slack,
    /// It orders by deadline, and no packet has one.
    Deadlines,
}

impl Standing {
    /// The standings of all disciplines and trees, in the order of the comparison. A discipline has
    /// commands if Linux has it.
    pub(crate) fn of_all<C, E>(
        comparison: &Comparison,
        options: &Options,
        commands: &[Result<C, E>],
    ) -> Vec<Self> {
        let carried = comparison.observed.carried;
        let mut on_linux = commands.iter().map(Result::is_ok);
        let mut next_is_on_linux = || on_linux.next().unwrap_or(false);
        let mut standings = Vec::new();
        for spec in &options.specs {
            standings.push(Self::of_spec(spec, carried, next_is_on_linux()));
        }
        for tree in &options.trees {
            standings.push(Self::of_tree(tree, carried, next_is_on_linux()));
        }
        standings
    }

    pub(crate) fn of_spec(spec: &QueueSpec, carried: Carried, on_linux: bool) -> Self {
        let info = spec.discipline.info();
        Self {
            on_linux,
            keeps_order: !info.reorders,
            one_queue: info.queues == Queues::One,
            is_fifo: matches!(spec.discipline, AnyDiscipline::Fifo(_)),
            obstacle: Obstacle::of(&spec.discipline, carried),
        }
    }

    /// A tree's standing follows from its leaves, because its classes use fields of the nodes, not
    /// of packets.
    pub(crate) fn of_tree(tree: &TreeFile, carried: Carried, on_linux: bool) -> Self {
        let mut keeps_order = true;
        let mut obstacle = None;
        for spec in tree.leaves() {
            keeps_order &= !spec.discipline.info().reorders;
            obstacle = obstacle.or(Obstacle::of(&spec.discipline, carried));
        }
        Self {
            on_linux,
            keeps_order,
            one_queue: false,
            is_fifo: false,
            obstacle,
        }
    }
}

impl Obstacle {
    /// The field that a discipline needs and packets do not carry.
    pub(crate) fn of(discipline: &AnyDiscipline, carried: Carried) -> Option<Self> {
        let DisciplineInfo {
            yardstick,
            priority,
            times,
            ..
        } = discipline.info();
        match (priority, times) {
            _ if yardstick => Some(Self::Yardstick),
            (Priority::FlowSize | Priority::Remaining, _) => Some(Self::Sizes),
            (Priority::Class, _) if !carried.classes => Some(Self::Classes),
            (_, Times::Slack) if !carried.slack => Some(Self::Slack),
            (_, Times::Deadline) if !carried.deadlines => Some(Self::Deadlines),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn obstacles(carried: Carried) -> Vec<(&'static str, Obstacle)> {
        AnyDiscipline::all()
            .iter()
            .filter_map(|discipline| Some((discipline.name(), Obstacle::of(discipline, carried)?)))
            .collect()
    }

    #[test]
    fn what_packets_carry_may_be_gone_by() {
        let never = [
            ("lifo", Obstacle::Yardstick),
            ("random", Obstacle::Yardstick),
            ("sjf", Obstacle::Sizes),
            ("srpt", Obstacle::Sizes),
        ];
        assert_eq!(
            obstacles(Carried {
                classes: true,
                slack: true,
                deadlines: true
            }),
            never
        );
        let mut bare = obstacles(Carried::default());
        bare.retain(|entry| !never.contains(entry));
        let slack = Obstacle::Slack;
        let deadlines = Obstacle::Deadlines;
        let priority = ("priority", Obstacle::Classes);
        let aifo = ("aifo", Obstacle::Classes);
        let by_slack = ["lstf", "lstf_levels", "sp_pifo"].map(|name| (name, slack));
        let [lstf, lstf_levels, sp_pifo] = by_slack;
        assert_eq!(
            bare,
            [
                priority,
                ("ets", Obstacle::Classes),
                ("fifo_plus", slack),
                ("edf", deadlines),
                lstf,
                lstf_levels,
                sp_pifo,
                ("afq", deadlines),
                aifo
            ]
        );
    }

    #[test]
    fn a_parameter_may_say_what_is_gone_by() {
        let of = |text: &str| {
            Obstacle::of(
                &text.parse::<QueueSpec>().expect("legal").discipline,
                Carried::default(),
            )
        };
        let written = [
            "sp_pifo rank priority",
            "sp_pifo rank deadline",
            "aifo rank slack",
        ]
        .map(of);
        assert_eq!(
            written,
            [
                Some(Obstacle::Classes),
                Some(Obstacle::Deadlines),
                Some(Obstacle::Slack)
            ]
        );
    }

    /// A tree keeps the order of packets if each of its leaves does.
    #[test]
    fn a_tree_stands_as_its_leaves_do() {
        let of = |leaves: [&str; 2]| {
            let text = format!(
                "[[node]]\nname = 'link'\ndiscipline = 'drr'\n[[node]]\nname = 'a'\nparent = \
                 'link'\ndiscipline = '{}'\nflows = ['dscp ef']\n[[node]]\nname = 'b'\nparent = \
                 'link'\ndiscipline = '{}'\ndefault = true\n",
                leaves[0], leaves[1]
            );
            let tree = TreeFile::from_toml("tree.toml", &text).unwrap();
            let standing = Standing::of_tree(&tree, Carried::default(), true);
            (standing.keeps_order, standing.obstacle)
        };
        assert_eq!(of(["fifo", "qfq"]), (true, None));
        let yardstick = Some(Obstacle::Yardstick);
        assert_eq!(of(["random", "fifo"]), (false, yardstick));
        assert_eq!(of(["fifo", "random"]), (false, yardstick));
        assert_eq!(of(["fifo", "lstf"]).1, Some(Obstacle::Slack));
    }
}
