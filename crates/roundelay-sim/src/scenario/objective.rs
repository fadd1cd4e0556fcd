//! `[objective]` of a scenario: the figure that its user wants good, and the slack with which least slack time first (LSTF) is tried for it.
//!
//! R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, section 3: the network runs LSTF alone, and what the ends write into the slack decides
//! which objective it serves.

use std::str::FromStr;

use roundelay::schedulers::{AnyDiscipline, Priority, Spec, Times};
use roundelay::{Billionths, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reader::Reader;
use super::{Group, Results, Scenario, ScenarioError, SourceSpec};
use crate::fields_read::FieldsRead;
use crate::sources::Urgency;
use crate::written::{InWords, Ordering, Written, some};

/// UPS, sections 3.1 and 3.2: one second, which is more than queues ever take.
const SECOND: Duration = Duration::from_secs(1);
/// By how much LSTF may be worse than the specialist if nothing is said: 5 %.
const THRESHOLD: Billionths = Billionths(50_000_000);

/// The figure that is to be good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
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
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Completion, Self::CompletionByBytes, Self::Tail, Self::Fairness, Self::WeightedFairness];

    /// Its name in commands and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completion => "completion",
            Self::CompletionByBytes => "completion-by-bytes",
            Self::Tail => "tail",
            Self::Fairness => "fairness",
            Self::WeightedFairness => "weighted-fairness",
        }
    }

    /// Figures of results that tell it: the first that all runs have counts.
    pub const fn figures(self) -> &'static [Figure] {
        match self {
            Self::Completion => &[Figure::Completion],
            Self::CompletionByBytes => &[Figure::CompletionByBytes],
            Self::Tail => &[Figure::DelayTail],
            Self::Fairness => &[Figure::Jain, Figure::CompletionByBytes],
            Self::WeightedFairness => &[Figure::Jain],
        }
    }

    /// The discipline that is made for it.
    pub const fn specialist(self) -> &'static str {
        match self {
            Self::Completion => "sjf",
            Self::Tail => "fifo_plus",
            Self::CompletionByBytes | Self::Fairness => "fq",
            Self::WeightedFairness => "wf2q_plus",
        }
    }

    /// The slack that UPS gives it; none where that depends on the rate of a flow's fair share.
    pub const fn slack(self) -> Option<&'static str> {
        match self {
            Self::Completion => Some("size 1s"),
            Self::Tail => Some("slack 1s"),
            Self::CompletionByBytes | Self::Fairness | Self::WeightedFairness => None,
        }
    }
}

impl FromStr for Measure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::from_text(text)
    }
}

impl Written for Measure {
    const EXPECTED: &'static str = "an objective: completion, completion-by-bytes, tail, fairness or weighted-fairness";

    fn from_text(text: &str) -> Result<Self, String> {
        let measure = Self::ALL.into_iter().find(|measure| measure.name() == text);
        measure.ok_or_else(|| format!("'{text}': expected {}", Self::EXPECTED))
    }
}

/// A figure of a run, over all groups of sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Mean flow completion time, seconds.
    Completion,
    /// The same weighted by bytes.
    CompletionByBytes,
    /// 99th percentile of packets' delays, seconds.
    DelayTail,
    /// Jain's index of throughputs by weight, 0 to 1.
    Jain,
}

impl Figure {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Completion, Self::CompletionByBytes, Self::DelayTail, Self::Jain];

    /// Its value in a run; none if the run does not have it, as the completion time of flows without an end.
    pub fn of(self, results: &Results) -> Option<f64> {
        let all = results.groups.last()?;
        match self {
            Self::Completion => all.completion.mean,
            Self::CompletionByBytes => all.completion_by_bytes,
            Self::DelayTail => all.delay.p99,
            Self::Jain => all.jain,
        }
    }

    /// Whether more is better.
    pub const fn is_better_if_larger(self) -> bool {
        matches!(self, Self::Jain)
    }

    /// By how much `value` is worse than `other`, as a part of `other`; below zero if it is better. None if `other` is zero.
    pub fn worse(self, value: f64, other: f64) -> Option<f64> {
        let change = (value - other) / other;
        let worse = if self.is_better_if_larger() { -change } else { change };
        worse.is_finite().then_some(worse)
    }
}

/// The rule by which sources write slack, and how it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlackText {
    /// As in `size 1s`.
    pub text: String,
    /// The rule.
    pub urgency: Urgency,
}

impl Written for SlackText {
    const EXPECTED: &'static str = "a slack: \"slack 1s\", \"size 1s\", \"remaining 1s\" or \"fair 10mbit\"";

    fn from_text(text: &str) -> Result<Self, String> {
        let urgency = Urgency::from_text(text).map_err(|error| format!("{error}: expected {}", Self::EXPECTED))?;
        // These write no slack, or change what sources send.
        let writes_none = matches!(urgency, Urgency::None | Urgency::Priority(_) | Urgency::Deadline(_));
        if writes_none || urgency.is_cautious() {
            return Err(format!("'{text}': expected {}", Self::EXPECTED));
        }
        Ok(Self { text: text.to_owned(), urgency })
    }
}

impl FromStr for SlackText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::from_text(text)
    }
}

/// What `[objective]` says. `roundelay objective` reads it; runs do not.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// The figure that is to be good.
    #[serde(deserialize_with = "crate::written::read")]
    pub measure: Measure,
    /// The slack that all sources write for LSTF: a rule as in `urgency` of a source. Left out: "size 1s" for completion, "slack 1s" for tail; the others need one.
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "Option<InWords<Urgency>>")]
    pub slack: Option<SlackText>,
    /// The discipline that LSTF is compared with. Left out: sjf for completion, fifo_plus for tail, wf2q_plus for weighted-fairness, else fq.
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "Option<InWords<Ordering>>")]
    pub specialist: Option<DisciplineText>,
    /// By how much LSTF may be worse than the specialist and still do: a part of the specialist's figure, below 1.
    #[serde(default = "usual", deserialize_with = "crate::written::read")]
    #[schemars(with = "InWords<Billionths>")]
    pub threshold: Billionths,
    /// The line of the file where it begins; 0: it is of no file.
    #[serde(skip)]
    pub line: usize,
}

/// A discipline, which is no tree, and how it was written.
#[derive(Debug, Clone)]
pub struct DisciplineText {
    /// As in `fifo limit 5`.
    pub text: String,
    /// The discipline and its limit.
    pub spec: Spec,
}

impl Written for DisciplineText {
    const EXPECTED: &'static str = "a discipline as tc writes it, as in \"sjf\"";

    fn from_text(text: &str) -> Result<Self, String> {
        let spec = text.parse().map_err(|error: roundelay::ConfigError| error.to_string())?;
        Ok(Self { text: text.split_whitespace().collect::<Vec<_>>().join(" "), spec })
    }
}

impl FromStr for DisciplineText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::from_text(text)
    }
}

const fn usual() -> Billionths {
    THRESHOLD
}

impl Objective {
    /// An objective of which nothing else is said.
    pub const fn new(measure: Measure) -> Self {
        Self { measure, slack: None, specialist: None, threshold: THRESHOLD, line: 0 }
    }

    /// The slack for LSTF.
    ///
    /// # Errors
    /// It depends on the network, and nothing is said of it.
    pub fn slack(&self) -> Result<SlackText, String> {
        let usual = || self.measure.slack().map(|text| text.parse().expect("a slack"));
        self.slack.clone().or_else(usual).ok_or_else(|| {
            let measure = self.measure.name();
            format!(
                "slack: {measure} needs one, as in slack = \"fair 10mbit\": the rate of a flow's fair share, or less (UPS, section 3.3)"
            )
        })
    }

    /// The discipline that LSTF is compared with.
    pub fn specialist(&self) -> DisciplineText {
        self.specialist.clone().unwrap_or_else(|| self.measure.specialist().parse().expect("a discipline"))
    }

    /// # Errors
    /// A value out of its range.
    pub(super) fn check(&self, reader: &Reader<'_>) -> Result<(), ScenarioError> {
        if self.threshold >= Billionths::ONE {
            return Err(reader.at("objective.threshold", "threshold: legal range 0 to less than 1"));
        }
        Ok(())
    }
}

/// What headers have to tell a discipline. None: it reads nothing that an objective may set.
fn headers(discipline: &AnyDiscipline, slack: &SlackText) -> Option<Urgency> {
    let reads = FieldsRead::of(discipline);
    match (reads.priority, reads.times) {
        (Priority::FlowSize, _) => Some(Urgency::FlowSize(SECOND)),
        (Priority::Remaining, _) => Some(Urgency::Remaining(SECOND)),
        (_, Times::Slack) if reads.takes_equal_slack => Some(Urgency::Constant(SECOND)),
        (_, Times::Slack) => Some(slack.urgency.clone()),
        _ => None,
    }
}

impl Scenario {
    /// The scenario with a discipline in the queues of all routers and in headers what it goes by: slack as given, sizes for `sjf`, what is left for
    /// `srpt`. Disciplines that read none of these leave the sources' own urgency.
    ///
    /// # Errors
    /// As of [`set_queues`](Self::set_queues).
    pub fn under(&self, queue: &Spec, slack: &SlackText) -> Result<Self, super::RunError> {
        let mut scenario = self.clone();
        scenario.set_queues(queue)?;
        if let Some(urgency) = headers(&queue.discipline, slack) {
            scenario.set_urgency(&urgency);
        }
        Ok(scenario)
    }

    /// Whether a run may have the figure, as far as its sources show it.
    pub fn may_have(&self, figure: Figure) -> bool {
        let mut sources = self.groups.iter().map(|group| &group.source);
        match figure {
            Figure::Completion | Figure::CompletionByBytes => sources.any(SourceSpec::may_complete),
            Figure::DelayTail => true,
            Figure::Jain => !sources.any(SourceSpec::always_ends),
        }
    }

    /// A sentence on sources whose urgency tells them apart from others, which the one slack of an objective does not.
    pub fn flattened(&self, slack: &SlackText) -> Option<String> {
        let groups: Vec<_> = self.groups.iter().filter(|group| !group.urgency.is_cautious()).collect();
        let differ = groups.iter().any(|group| group.urgency != groups[0].urgency);
        let has_own = |group: &&&Group| !matches!(group.urgency, Urgency::None);
        let names: Vec<_> = groups.iter().filter(has_own).map(|group| group.name.as_str()).collect();
        differ.then(|| {
            let (slack, names) = (&slack.text, names.join(", "));
            format!("Under lstf all sources write the slack '{slack}': the urgency of these, which differs from others', does not count: {names}.")
        })
    }

    /// Sources that send by RC3 keep it: without, they would send something else.
    fn set_urgency(&mut self, urgency: &Urgency) {
        for group in self.groups.iter_mut().filter(|group| !group.urgency.is_cautious()) {
            group.urgency = urgency.clone();
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
        Scenario::from_toml("mine.toml", &format!("{NETWORK}[objective]\n{objective}"), Path::new(""))
    }

    #[test]
    fn what_is_left_out_is_the_paper_s() {
        let objective = scenario("measure = \"completion\"").unwrap().objective.unwrap();
        assert_eq!(objective.slack().unwrap().urgency, Urgency::FlowSize(SECOND));
        assert_eq!((objective.specialist().text.as_str(), objective.threshold), ("sjf", THRESHOLD));
        let error = scenario("measure = \"fairness\"").unwrap().objective.unwrap().slack().unwrap_err();
        assert!(error.contains("fairness needs one, as in slack = \"fair 10mbit\""), "{error}");
        assert!(Scenario::from_toml("mine.toml", NETWORK, Path::new("")).unwrap().objective.is_none());
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("measure = \"speed\"", "mine.toml:13: 'speed': expected an objective: completion, completion-by-bytes, tail, fairness or"),
            ("measure = [1]", "mine.toml:13: invalid type: sequence, expected an objective: completion, "),
            ("slack = \"slack 1s\"", "mine.toml:12: missing field `measure`"),
            ("measure = \"tail\"\nslack = \"deadline 1s\"", "mine.toml:14: 'deadline 1s': expected a slack: \"slack 1s\""),
            ("measure = \"tail\"\nslack = \"cautious 1s 1gbit plus 1s\"", "mine.toml:14: 'cautious 1s 1gbit plus 1s': expected a slack"),
            ("measure = \"tail\"\nspecialist = \"sjfx\"", "mine.toml:14: "),
            ("measure = \"tail\"\nthreshold = 1", "mine.toml:14: threshold: legal range 0 to less than 1"),
            ("measure = \"tail\"\nthreshold = \"5x\"", "mine.toml:14: '5x': expected a share, legal range 0 to 1"),
            ("measure = \"tail\"\nslak = 1", "mine.toml:14: unknown field `slak`"),
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
            let error = Scenario::from_toml("mine.toml", &text, Path::new("")).unwrap_err().to_string();
            assert_eq!(error, format!("mine.toml:12: {table}: expected a table, as in [{table}]"));
        }
    }

    #[test]
    fn messages_name_all_measures() {
        assert!(Measure::ALL.iter().all(|measure| Measure::EXPECTED.contains(measure.name())));
    }

    #[test]
    fn headers_tell_each_discipline_what_it_goes_by() {
        let scenario = scenario("measure = \"tail\"").unwrap();
        let (slack, rate) = ("fair 1mbit".parse().unwrap(), "1mbit".parse().unwrap());
        let under = |queue: &str| scenario.under(&queue.parse().unwrap(), &slack).unwrap().groups[0].urgency.clone();
        assert_eq!(under("sjf"), Urgency::FlowSize(SECOND));
        assert_eq!(under("srpt"), Urgency::Remaining(SECOND));
        assert_eq!(under("fifo_plus"), Urgency::Constant(SECOND));
        assert_eq!(under("fq"), Urgency::None);
        assert_eq!(under("lstf"), Urgency::Fair(rate));
    }

    /// RC3 changes what sources send: no discipline's headers replace it, with a class's slack or without.
    #[test]
    fn cautious_sources_keep_their_rule() {
        for rule in ["cautious 1s 1gbit", "cautious 1s 1gbit plus 5s"] {
            let text = NETWORK.replace("kind = \"cbr\"", "kind = \"tcp\"").replace("rate = \"1mbit\"\nweight = 3\n", "");
            let text = format!("{text}urgency = \"{rule}\"\n[objective]\nmeasure = \"tail\"");
            let scenario = Scenario::from_toml("mine.toml", &text, Path::new("")).unwrap();
            let under = scenario.under(&"sjf".parse().unwrap(), &"slack 1s".parse().unwrap()).unwrap();
            assert_eq!(under.groups[0].urgency, scenario.groups[0].urgency, "{rule}");
            let unread = scenario.notes().into_iter().find(|note| note.starts_with("No queue looks at the urgency"));
            assert_eq!(unread, None, "{rule}");
        }
    }

    #[test]
    fn sources_show_which_figures_there_may_be() {
        let open = scenario("measure = \"tail\"").unwrap();
        assert_eq!(Figure::ALL.map(|figure| open.may_have(figure)), [false, false, true, true]);
        let text = format!("{NETWORK}[[source]]\nkind = \"burst\"\nfrom = \"s0\"\nto = \"r0\"\nsize = 5000\n");
        let ends = Scenario::from_toml("mine.toml", &text, Path::new("")).unwrap();
        assert_eq!(Figure::ALL.map(|figure| ends.may_have(figure)), [true, true, true, false]);
    }

    #[test]
    fn a_note_names_sources_whose_classes_are_flattened() {
        let more = "[[source]]\nname = \"voice\"\nkind = \"cbr\"\nfrom = \"s0\"\nto = \"r0\"\nrate = \"1mbit\"\n";
        let flattened = |own: &str, other: &str| {
            let text = format!("{NETWORK}{own}{more}{other}");
            Scenario::from_toml("mine.toml", &text, Path::new("")).unwrap().flattened(&"slack 1s".parse().unwrap())
        };
        let one = "urgency = \"slack 1s plus 5s\"\n";
        assert!(flattened("", one).unwrap().ends_with("does not count: voice."));
        assert!(flattened("urgency = \"priority 1\"\n", one).unwrap().ends_with(": cbr0, voice."));
        assert_eq!((flattened("", ""), flattened(one, one)), (None, None));
    }

    #[test]
    fn the_line_is_that_of_the_table_however_it_is_written() {
        let line = |text: &str| Scenario::from_toml("mine.toml", text, Path::new("")).unwrap().objective.unwrap().line;
        assert_eq!(line(&format!("objective.measure = \"tail\"\n{NETWORK}")), 1);
        assert_eq!(line(&format!("{NETWORK}\n[ objective ]\nmeasure = \"tail\"\n")), 13);
    }

    #[test]
    fn worse_is_longer_or_less_even() {
        assert_eq!(Figure::Completion.worse(1.5, 1.0), Some(0.5));
        assert_eq!(Figure::Jain.worse(0.75, 1.0), Some(0.25));
        assert_eq!(Figure::Jain.worse(1.0, 0.0), None);
    }
}
