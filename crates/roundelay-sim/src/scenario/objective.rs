//! `[objective]` in a scenario: which figure to optimise, and which slack to use with least slack
//! time first (LSTF).
//!
//! R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, section 3: the network only runs
//! LSTF, and the slack that the ends write selects the objective.

use std::str::FromStr;

use roundelay::schedulers::{AnyDiscipline, Priority, Times};
use roundelay::{Billionths, Duration, Fault, QueueSpec};
use roundelay_files::{InWords, Maybe, Reader, Written};
use serde::{Deserialize, Serialize};

use super::{Group, GroupResult, Scenario, ScenarioError};
use crate::fields_read::FieldsRead;
use crate::sources::{SlackRule as _, Urgency};

/// UPS, sections 3.1 and 3.2: one second, which is longer than any time in queues.
const SECOND: Duration = Duration::from_secs(1);
/// In place of a slack, this word keeps each source's own urgency.
const OWN: &str = "own";
/// How much worse than the specialist LSTF may be by default: 5 %.
const THRESHOLD: Billionths = Billionths(50_000_000);

/// The figure to optimise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Mean flow completion time.
    Completion,
    /// Mean flow completion time weighted by the flows' bytes.
    CompletionByBytes,
    /// The 99th percentile of packets' delays.
    Tail,
    /// Jain's index of throughputs; where flows end, completion time by bytes.
    Fairness,
    /// Jain's index of throughputs by weight.
    WeightedFairness,
    /// The part of the packets that arrive within a time.
    Deadline,
}

impl Measure {
    /// All measures.
    pub const ALL: [Self; 6] = [
        Self::Completion,
        Self::CompletionByBytes,
        Self::Tail,
        Self::Fairness,
        Self::WeightedFairness,
        Self::Deadline,
    ];

    /// The name in commands and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completion => "completion",
            Self::CompletionByBytes => "completion-by-bytes",
            Self::Tail => "tail",
            Self::Fairness => "fairness",
            Self::WeightedFairness => "weighted-fairness",
            Self::Deadline => "deadline",
        }
    }

    /// The measure's figures. The first that all runs have counts.
    pub const fn figures(self) -> &'static [Figure] {
        match self {
            Self::Completion => &[Figure::Completion],
            Self::CompletionByBytes => &[Figure::CompletionByBytes],
            Self::Tail => &[Figure::DelayTail],
            Self::Fairness => &[Figure::Jain, Figure::CompletionByBytes],
            Self::WeightedFairness => &[Figure::Jain],
            Self::Deadline => &[Figure::InTime],
        }
    }

    /// The discipline that was made for the measure.
    pub const fn specialist(self) -> &'static str {
        match self {
            Self::Completion => "sjf",
            Self::Tail => "fifo_plus",
            Self::CompletionByBytes | Self::Fairness => "packet_fq",
            Self::WeightedFairness => "wf2q_plus",
            Self::Deadline => "edf",
        }
    }

    /// The slack that UPS uses for the measure. None if it depends on a flow's fair share of the
    /// rate, or on the deadline.
    pub const fn slack(self) -> Option<&'static str> {
        match self {
            Self::Completion => Some("size 1s"),
            Self::Tail => Some("slack 1s"),
            Self::CompletionByBytes | Self::Fairness | Self::WeightedFairness | Self::Deadline => {
                None
            }
        }
    }

    /// Which slack a measure needs if it has no usual one.
    const fn needed(self) -> &'static str {
        match self {
            Self::Deadline => "slack = \"deadline 10ms\": the longest delay that is in time",
            _ => {
                "slack = \"fair 10mbit\": the rate of a flow's fair share, or less (UPS, section 3.3)"
            }
        }
    }
}

impl FromStr for Measure {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        Self::from_text(text)
    }
}

impl Written for Measure {
    const EXPECTED: &'static str = "an objective: completion, completion-by-bytes, tail, fairness, \
        weighted-fairness or deadline";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let measure = Self::ALL.into_iter().find(|measure| measure.name() == text);
        measure.ok_or_else(|| {
            let fault = Fault::unknown(text, &Self::ALL.map(Self::name), |meant| {
                format!("'{text}'{meant}: expected {}", Self::EXPECTED)
            });
            fault.with_legal(Self::EXPECTED)
        })
    }
}

/// A figure of a run, over all groups of sources or over one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Mean flow completion time, seconds.
    Completion,
    /// Mean flow completion time weighted by bytes, seconds.
    CompletionByBytes,
    /// 99th percentile of packets' delays, seconds.
    DelayTail,
    /// Jain's index of throughputs by weight, 0 to 1.
    Jain,
    /// The part of the packets that arrive in time, 0 to 1.
    InTime,
}

impl Figure {
    /// All figures.
    pub const ALL: [Self; 5] = [
        Self::Completion,
        Self::CompletionByBytes,
        Self::DelayTail,
        Self::Jain,
        Self::InTime,
    ];

    /// The group's value. None if the group does not have the figure, as endless flows have no
    /// completion time.
    pub fn of(self, group: &GroupResult) -> Option<f64> {
        match self {
            Self::Completion => group.completion.mean,
            Self::CompletionByBytes => group.completion_by_bytes,
            Self::DelayTail => group.delay.p99,
            Self::Jain => group.jain,
            Self::InTime => group.in_time,
        }
    }

    /// Whether more is better.
    pub const fn is_better_if_larger(self) -> bool {
        matches!(self, Self::Jain | Self::InTime)
    }

    /// How much worse `value` is than `other`, as a fraction of `other`. Negative if it is better.
    /// None if `other` is zero.
    pub fn worse(self, value: f64, other: f64) -> Option<f64> {
        let change = (value - other) / other;
        let worse = if self.is_better_if_larger() {
            -change
        } else {
            change
        };
        worse.is_finite().then_some(worse)
    }
}

/// Which slack the sources write, as a rule and as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlackText {
    /// As in `size 1s`.
    pub text: String,
    /// The rule for all sources. None (`own`): each source keeps its own urgency.
    pub urgency: Option<Urgency>,
}

impl Written for SlackText {
    const EXPECTED: &'static str = "a slack: \"slack 1s\", \"size 1s\", \"remaining 1s\", \"fair \
        10mbit\", \"deadline 10ms\", or \"own\" for each source's own urgency";

    fn from_text(text: &str) -> Result<Self, Fault> {
        if text == OWN {
            return Ok(Self {
                text: text.to_owned(),
                urgency: None,
            });
        }
        let urgency = Urgency::from_text(text).map_err(|fault| {
            let hint = format!(": expected {}", Self::EXPECTED);
            fault
                .with_hint(&hint)
                .with_given(text)
                .with_legal(Self::EXPECTED)
        })?;
        // These rules write no slack, or change which packets are sent.
        let writes_none = matches!(urgency, Urgency::None | Urgency::Priority(_));
        if writes_none || urgency.is_cautious() {
            return Err(Fault::quoted(text, Self::EXPECTED));
        }
        Ok(Self {
            text: text.to_owned(),
            urgency: Some(urgency),
        })
    }
}

impl FromStr for SlackText {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        Self::from_text(text)
    }
}

/// The table `[objective]`, for `roundelay objective`; runs ignore the table.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// The figure to optimise.
    #[serde(deserialize_with = "InWords::deserialize")]
    pub measure: Measure,
    /// The source whose packets and flows count. Left out: all sources.
    #[serde(default)]
    pub source: Option<String>,
    /// The slack that all sources write for LSTF: a rule as in `urgency` of a source, or "own" for
    /// each source's own urgency. Left out: "size 1s" for completion, "slack 1s" for tail; the
    /// others need one: "fair 10mbit", "deadline 10ms".
    #[serde(default, deserialize_with = "Maybe::deserialize")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<InWords<Urgency>>"))]
    pub slack: Option<SlackText>,
    /// The discipline to compare LSTF with. Left out: sjf for completion, fifo_plus for tail,
    /// wf2q_plus for weighted-fairness, edf for deadline, else packet_fq.
    #[serde(default, deserialize_with = "Maybe::deserialize")]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<InWords<crate::written::Ordering>>")
    )]
    pub specialist: Option<DisciplineText>,
    /// How much worse than the specialist LSTF may be: a fraction of the specialist's figure, below
    /// 1.
    #[serde(default = "usual", with = "InWords::<Billionths>")]
    pub threshold: Billionths,
    /// The first line of the table in the file; 0 without a file.
    #[serde(skip)]
    pub line: usize,
}

/// A discipline (but not a tree), and how it was written.
#[derive(Debug, Clone)]
pub struct DisciplineText {
    /// As in `fifo limit 5`.
    pub text: String,
    /// The discipline and its limit.
    pub spec: QueueSpec,
}

impl Written for DisciplineText {
    const EXPECTED: &'static str = "a discipline as tc writes it, as in \"sjf\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let spec = text.parse()?;
        Ok(Self {
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
            spec,
        })
    }
}

impl FromStr for DisciplineText {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        Self::from_text(text)
    }
}

const fn usual() -> Billionths {
    THRESHOLD
}

impl Objective {
    /// An objective with defaults for everything but the measure.
    pub const fn new(measure: Measure) -> Self {
        Self {
            measure,
            source: None,
            slack: None,
            specialist: None,
            threshold: THRESHOLD,
            line: 0,
        }
    }

    /// The slack for LSTF.
    ///
    /// # Errors
    /// The slack depends on the network, but the objective does not give it.
    pub fn slack(&self) -> Result<SlackText, Fault> {
        if let Some(slack) = &self.slack {
            return Ok(slack.clone());
        }
        if let Some(usual) = self.measure.slack() {
            return Ok(usual.parse().expect("a slack"));
        }
        let measure = self.measure.name();
        let legal = self.measure.needed();
        Err(Fault::new(format!("slack: {measure} needs one, as in {legal}")).with_legal(legal))
    }

    /// The discipline to compare with LSTF.
    pub fn specialist(&self) -> DisciplineText {
        match &self.specialist {
            Some(specialist) => specialist.clone(),
            None => self.measure.specialist().parse().expect("a discipline"),
        }
    }

    /// # Errors
    /// A value is out of range.
    pub(super) fn check(&self, reader: &Reader<'_>) -> Result<(), ScenarioError> {
        if self.threshold >= Billionths::ONE {
            let fault = Fault::of_range("0 to less than 1").behind("threshold: ");
            return Err(reader.at("objective.threshold", fault.with_given(self.threshold)));
        }
        Ok(())
    }

    /// How long a packet may take and still be in time: as the slack says, or else the scenario's
    /// `[meter] late`.
    pub fn late(slack: &SlackText, scenario: &Scenario) -> Option<Duration> {
        match slack.urgency {
            Some(Urgency::Deadline(within)) => Some(within),
            _ => scenario.measures.late,
        }
    }

    /// # Errors
    /// The scenario has no source of this name.
    pub(super) fn check_source(
        &self,
        reader: &Reader<'_>,
        groups: &[Group],
    ) -> Result<(), ScenarioError> {
        if let Some(name) = &self.source {
            find(name, groups).map_err(|message| reader.at("objective.source", message))?;
        }
        Ok(())
    }
}

/// The urgency that a discipline needs in headers. None if it reads no field that an objective
/// sets.
fn headers(discipline: &AnyDiscipline, slack: &SlackText) -> Option<Urgency> {
    let reads = FieldsRead::of(discipline);
    match (reads.priority, reads.times) {
        (Priority::FlowSize, _) => Some(Urgency::FlowSize(SECOND)),
        (Priority::Remaining, _) => Some(Urgency::Remaining(SECOND)),
        (_, Times::Slack) if reads.takes_equal_slack => Some(Urgency::Constant(SECOND)),
        (_, Times::Slack) => slack.urgency.clone(),
        (_, Times::Deadline) => slack
            .urgency
            .clone()
            .filter(|urgency| urgency.written().deadline),
        _ => None,
    }
}

/// # Errors
/// No source has this name.
fn find<'a>(name: &str, groups: &'a [Group]) -> Result<&'a Group, Fault> {
    if let Some(group) = groups.iter().find(|group| group.name == name) {
        return Ok(group);
    }
    let names: Vec<_> = groups.iter().map(|group| group.name.as_str()).collect();
    Err(Fault::no_such("source", name, &names))
}

impl Scenario {
    /// The scenario with one discipline in all router queues, and with the header fields that this
    /// discipline reads: slack as given, flow sizes for `sjf`, remaining sizes for `srpt`. Under
    /// other disciplines the sources keep their own urgency.
    ///
    /// # Errors
    /// As of [`set_queues`](Self::set_queues).
    pub fn under(&self, queue: &QueueSpec, slack: &SlackText) -> Result<Self, super::RunError> {
        let mut scenario = self.clone();
        scenario.set_queues(queue)?;
        if let Some(urgency) = headers(&queue.discipline, slack) {
            scenario.set_urgency(&urgency);
        }
        Ok(scenario)
    }

    /// Whether a run may have the figure, judged by its sources: all of them, or the one with the
    /// given name.
    ///
    /// # Errors
    /// No source has this name.
    pub fn may_have(&self, figure: Figure, source: Option<&str>) -> Result<bool, Fault> {
        let groups = match source {
            Some(name) => std::slice::from_ref(find(name, &self.groups)?),
            None => &self.groups[..],
        };
        let mut sources = groups.iter().map(|group| group.source.source().facts());
        Ok(match figure {
            Figure::Completion | Figure::CompletionByBytes => {
                sources.any(|facts| facts.may_complete())
            }
            Figure::DelayTail | Figure::InTime => true,
            Figure::Jain => !sources.any(|facts| facts.always_ends()),
        })
    }

    /// Whether another version of the scenario has the same queues, and its sources the same
    /// urgency.
    pub fn orders_as(&self, other: &Self) -> bool {
        let links = self.topology.network.links();
        let other_links = other.topology.network.links();
        if links.len() != other_links.len() || self.groups.len() != other.groups.len() {
            return false;
        }
        for (link, other) in links.iter().zip(other_links) {
            let limits = [link, other].map(|link| link.queue.limit_or_default());
            if link.ordering() != other.ordering() || limits[0] != limits[1] {
                return false;
            }
        }
        let mut groups = self.groups.iter().zip(&other.groups);
        groups.all(|(own, other)| own.urgency == other.urgency)
    }

    /// A sentence on sources that had different urgencies, if the objective's single slack replaces
    /// these.
    pub fn flattened(&self, slack: &SlackText) -> Option<String> {
        slack.urgency.as_ref()?;
        let groups = self.groups.iter();
        let groups: Vec<_> = groups
            .filter(|group| !group.urgency.is_cautious())
            .collect();
        if groups
            .iter()
            .all(|group| group.urgency == groups[0].urgency)
        {
            return None;
        }
        let mut names = Vec::new();
        for group in groups {
            if group.urgency != Urgency::None {
                names.push(group.name.as_str());
            }
        }
        let slack = &slack.text;
        let names = names.join(", ");
        Some(format!(
            "Under lstf all sources write the slack '{slack}': the urgency of these, which differs \
             from others', does not count: {names}."
        ))
    }

    /// RC3 sources keep their urgency, because another one would change which packets are sent.
    fn set_urgency(&mut self, urgency: &Urgency) {
        for group in &mut self.groups {
            if !group.urgency.is_cautious() {
                group.urgency = urgency.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const NETWORK: &str = "duration = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 2\nrate = \"1mbit\"\n\
        [[source]]\nkind = \"cbr\"\nfrom = \"s*\"\nto = \"r*\"\nrate = \"1mbit\"\nweight = 3\n";

    fn scenario(objective: &str) -> Result<Scenario, ScenarioError> {
        Scenario::from_toml(
            "mine.toml",
            &format!("{NETWORK}[objective]\n{objective}"),
            Path::new(""),
        )
    }

    #[test]
    fn what_is_left_out_is_the_paper_s() {
        let objective = scenario("measure = \"completion\"")
            .unwrap()
            .objective
            .unwrap();
        assert_eq!(
            objective.slack().unwrap().urgency,
            Some(Urgency::FlowSize(SECOND))
        );
        assert_eq!(
            (objective.specialist().text.as_str(), objective.threshold),
            ("sjf", THRESHOLD)
        );
        let error = scenario("measure = \"fairness\"")
            .unwrap()
            .objective
            .unwrap()
            .slack()
            .unwrap_err();
        assert!(
            error
                .message()
                .contains("fairness needs one, as in slack = \"fair 10mbit\""),
            "{error}"
        );
        assert!(
            Scenario::from_toml("mine.toml", NETWORK, Path::new(""))
                .unwrap()
                .objective
                .is_none()
        );
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            (
                "measure = \"speed\"",
                "mine.toml:13: measure: 'speed': expected an objective: completion, completion-by-bytes, tail, fairness, weighted-fairness or deadline",
            ),
            (
                "measure = [1]",
                "mine.toml:13: measure [1]: expected an objective: completion, ",
            ),
            (
                "slack = \"slack 1s\"",
                "mine.toml:12: missing field `measure`",
            ),
            (
                "measure = \"tail\"\nslack = \"priority 1\"",
                "mine.toml:14: slack: 'priority 1': expected a slack: \"slack 1s\"",
            ),
            (
                "measure = \"tail\"\nslack = \"cautious 1s 1gbit plus 1s\"",
                "mine.toml:14: slack: 'cautious 1s 1gbit plus 1s': expected a slack",
            ),
            (
                "measure = \"tail\"\nspecialist = \"sjfx\"",
                "mine.toml:14: ",
            ),
            (
                "measure = \"tail\"\nthreshold = 1",
                "mine.toml:14: threshold: legal range 0 to less than 1",
            ),
            (
                "measure = \"tail\"\nthreshold = \"5x\"",
                "mine.toml:14: threshold: '5x': expected a share, legal range 0 to 1",
            ),
            (
                "measure = \"tail\"\nslak = 1",
                "mine.toml:14: unknown field `slak` (did you mean 'slack'?)",
            ),
            (
                "measure = \"completon\"",
                "mine.toml:13: measure: 'completon' (did you mean 'completion'?): expected an objective",
            ),
            (
                "measure = \"tail\"\nsource = \"cbr\"",
                "mine.toml:14: no source is called 'cbr' (did you mean 'cbr0'?): cbr0",
            ),
        ];
        for (text, expected) in cases {
            let error = scenario(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_list_is_no_table() {
        for table in ["objective", "meter", "queue", "routing"] {
            let text = format!("{NETWORK}[[{table}]]\nmeasure = \"tail\"");
            let error = Scenario::from_toml("mine.toml", &text, Path::new(""))
                .unwrap_err()
                .to_string();
            assert_eq!(
                error,
                format!("mine.toml:12: {table}: expected a table, as in [{table}]")
            );
        }
    }

    #[test]
    fn messages_name_all_measures() {
        assert!(
            Measure::ALL
                .iter()
                .all(|measure| Measure::EXPECTED.contains(measure.name()))
        );
    }

    #[test]
    fn headers_tell_each_discipline_what_it_goes_by() {
        let scenario = scenario("measure = \"tail\"").unwrap();
        let slack = "fair 1mbit".parse().unwrap();
        let rate = "1mbit".parse().unwrap();
        let under = |queue: &str| {
            scenario
                .under(&queue.parse().unwrap(), &slack)
                .unwrap()
                .groups[0]
                .urgency
                .clone()
        };
        assert_eq!(under("sjf"), Urgency::FlowSize(SECOND));
        assert_eq!(under("srpt"), Urgency::Remaining(SECOND));
        assert_eq!(under("fifo_plus"), Urgency::Constant(SECOND));
        assert_eq!(under("packet_fq"), Urgency::None);
        assert_eq!(under("lstf"), Urgency::Fair(rate));
    }

    /// RC3 changes which packets are sent, so no discipline's headers replace the urgency
    /// `cautious`, whether it adds a class's slack or not.
    #[test]
    fn cautious_sources_keep_their_rule() {
        for rule in ["cautious 1s 1gbit", "cautious 1s 1gbit plus 5s"] {
            let text = NETWORK
                .replace("kind = \"cbr\"", "kind = \"tcp\"")
                .replace("rate = \"1mbit\"\nweight = 3\n", "");
            let text = format!("{text}urgency = \"{rule}\"\n[objective]\nmeasure = \"tail\"");
            let scenario = Scenario::from_toml("mine.toml", &text, Path::new("")).unwrap();
            let under = scenario
                .under(&"sjf".parse().unwrap(), &"slack 1s".parse().unwrap())
                .unwrap();
            assert_eq!(
                under.groups[0].urgency, scenario.groups[0].urgency,
                "{rule}"
            );
            let unread = scenario
                .notes()
                .into_iter()
                .find(|note| note.starts_with("No queue looks at the urgency"));
            assert_eq!(unread, None, "{rule}");
        }
    }

    #[test]
    fn each_source_keeps_its_own_urgency_where_the_slack_says_so() {
        let text = format!(
            "{NETWORK}urgency = \"slack 1s plus 5s\"\n[objective]\nmeasure = \"tail\"\nslack = \"own\""
        );
        let scenario = Scenario::from_toml("mine.toml", &text, Path::new("")).unwrap();
        let slack = scenario.objective.as_ref().unwrap().slack().unwrap();
        let under = |queue: &str| scenario.under(&queue.parse().unwrap(), &slack).unwrap();
        assert_eq!(under("lstf").groups[0].urgency, scenario.groups[0].urgency);
        assert_eq!(under("sjf").groups[0].urgency, Urgency::FlowSize(SECOND));
        assert_eq!(scenario.flattened(&slack), None);
        assert!(
            under("fifo").orders_as(&scenario)
                == (under("fifo").topology.network.links()[0].ordering() == "fifo")
        );
        assert!(!under("lstf").orders_as(&scenario) && under("lstf").orders_as(&under("lstf")));
    }

    #[test]
    fn sources_show_which_figures_there_may_be() {
        let open = scenario("measure = \"tail\"").unwrap();
        let figures = |scenario: &Scenario, source: Option<&str>| {
            Figure::ALL.map(|figure| scenario.may_have(figure, source).unwrap())
        };
        assert_eq!(figures(&open, None), [false, false, true, true, true]);
        let text = format!(
            "{NETWORK}[[source]]\nkind = \"burst\"\nfrom = \"s0\"\nto = \"r0\"\nsize = 5000\n"
        );
        let ends = Scenario::from_toml("mine.toml", &text, Path::new("")).unwrap();
        assert_eq!(figures(&ends, None), [true, true, true, false, true]);
        assert_eq!(
            figures(&ends, Some("cbr0")),
            [false, false, true, true, true]
        );
        let unknown = ends.may_have(Figure::Jain, Some("cbr")).unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "no source is called 'cbr' (did you mean 'cbr0'?): cbr0, burst1"
        );
    }

    #[test]
    fn a_note_names_sources_whose_classes_are_flattened() {
        let more = "[[source]]\nname = \"voice\"\nkind = \"cbr\"\nfrom = \"s0\"\nto = \"r0\"\nrate = \"1mbit\"\n";
        let flattened = |own: &str, other: &str| {
            let text = format!("{NETWORK}{own}{more}{other}");
            Scenario::from_toml("mine.toml", &text, Path::new(""))
                .unwrap()
                .flattened(&"slack 1s".parse().unwrap())
        };
        let one = "urgency = \"slack 1s plus 5s\"\n";
        assert!(
            flattened("", one)
                .unwrap()
                .ends_with("does not count: voice.")
        );
        assert!(
            flattened("urgency = \"priority 1\"\n", one)
                .unwrap()
                .ends_with(": cbr0, voice.")
        );
        assert_eq!((flattened("", ""), flattened(one, one)), (None, None));
    }

    #[test]
    fn the_line_is_that_of_the_table_however_it_is_written() {
        let line = |text: &str| {
            Scenario::from_toml("mine.toml", text, Path::new(""))
                .unwrap()
                .objective
                .unwrap()
                .line
        };
        assert_eq!(line(&format!("objective.measure = \"tail\"\n{NETWORK}")), 1);
        assert_eq!(
            line(&format!("{NETWORK}\n[ objective ]\nmeasure = \"tail\"\n")),
            13
        );
    }

    #[test]
    fn worse_is_longer_or_less_even() {
        assert_eq!(Figure::Completion.worse(1.5, 1.0), Some(0.5));
        assert_eq!(Figure::Jain.worse(0.75, 1.0), Some(0.25));
        assert_eq!(Figure::Jain.worse(1.0, 0.0), None);
    }
}
