//! Which header fields a discipline reads (priority, slack, deadline), and whether it reads flow
//! weights.

use roundelay::schedulers::{AnyDiscipline, DisciplineInfo, Priority, Times};

/// What a discipline reads: header fields and weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FieldsRead {
    /// The discipline's name.
    pub(crate) name: &'static str,
    /// Whether the discipline reads weights.
    pub(crate) weight: bool,
    /// What a packet's priority means to the discipline.
    pub(crate) priority: Priority,
    /// Whether the discipline reads slack or the deadline.
    pub(crate) times: Times,
    /// Whether all packets may start with the same slack. FIFO+ allows this because its packets
    /// differ by how long they have waited.
    pub(crate) takes_equal_slack: bool,
}

impl FieldsRead {
    /// What `discipline` reads with its parameters.
    pub(crate) fn of(discipline: &AnyDiscipline) -> Self {
        let DisciplineInfo {
            name,
            weighted: weight,
            priority,
            times,
            ..
        } = discipline.info();
        Self {
            name,
            weight,
            priority,
            times,
            takes_equal_slack: matches!(discipline, AnyDiscipline::FifoPlus(_)),
        }
    }
}

#[cfg(test)]
mod tests {
    use roundelay::QueueSpec;

    use super::*;

    #[test]
    fn fields_are_those_of_the_discipline_and_its_parameters() {
        let of = |text: &str| FieldsRead::of(&text.parse::<QueueSpec>().unwrap().discipline);
        assert_eq!(
            (of("sjf").priority, of("edf").times, of("lstf").times),
            (Priority::FlowSize, Times::Deadline, Times::Slack)
        );
        assert!(of("fifo_plus").takes_equal_slack && !of("lstf").takes_equal_slack);
        assert!(of("wf2q_plus").weight && !of("fifo").weight);
        assert_eq!(of("fifo").name, "fifo");
    }
}
