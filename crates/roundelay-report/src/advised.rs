//! A comparison with advice in sentences: what the table, the page and the JSON show.

use roundelay_advice::advise;
use roundelay_trace::arguments::shell_word;
use roundelay_trace::reaction::Reaction;
use roundelay_trace::{
    CaptureSummary, Comparison, DisciplineResult, FlowSummary, HostsSummary, KindOutcome, Options,
    Outcome,
};
use serde::{Serialize, Serializer};

use crate::json::Printed;
use crate::plotted::DelayCurves;
use crate::recommendation::Recommendation;
use crate::sentences;
use crate::spread::Intervals;

/// A comparison and what is said about it.
#[derive(Debug, Clone)]
pub struct Advised {
    /// The figures.
    pub comparison: Comparison,
    /// Sentences on oddities of the capture: unparsable packets, clock steps, a truncated tail. The
    /// last one states the limitation of a replay.
    pub notes: Vec<String>,
    /// The best discipline for this traffic.
    pub verdict: Recommendation,
    /// The best discipline with each of [`Comparison::other_seeds`]: indices.
    pub with_other_seeds: Vec<usize>,
}

impl Advised {
    /// Advice on a comparison with these options. `command` is the comparison's command line, for a
    /// shell, to which the advice may add options. None: the capture and the rate.
    pub fn new(comparison: Comparison, options: &Options, command: Option<&str>) -> Self {
        let advice = advise(&comparison, options);
        let shortest = format!(
            "roundelay compare {} --rate {}",
            shell_word(&comparison.capture.name),
            options.rate
        );
        let command = command.unwrap_or(&shortest);
        Self {
            notes: sentences::notes(&advice.notes),
            with_other_seeds: advice.verdict.with_other_seeds.clone(),
            verdict: sentences::recommendation(&advice.verdict, comparison.link_rate, command),
            comparison,
        }
    }
}

/// A comparison as JSON, with notes and verdict where readers expect them.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Whole<'a> {
    /// Version of Roundelay.
    version: &'static str,
    capture: Capture<'a>,
    /// The link's rate, bits per second.
    link_rate: u64,
    /// The smallest rate that shapes all packets, bits per second: the link's, or a shaper's.
    reference_rate: u64,
    /// Seed of all hashes and random draws.
    seed: u64,
    flows: &'a [FlowSummary],
    /// The flows' hosts, where a discipline shares the link by host.
    #[serde(skip_serializing_if = "Option::is_none")]
    hosts: Option<&'a HostsSummary>,
    /// Flows with curves, as indices into `flows`, largest first.
    charted: &'a [usize],
    disciplines: Vec<Discipline<'a>>,
    verdict: &'a Recommendation,
    /// The results with further seeds, if some discipline draws or hashes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_seeds: Vec<Seeded<'a>>,
    /// What the figures rest on, where senders react.
    #[serde(skip_serializing_if = "Option::is_none")]
    reaction: Option<Reacting<'a>>,
}

/// The results with another seed.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Seeded<'a> {
    /// The other seed.
    seed: u64,
    /// The best discipline with this seed: an index. None if the verdict names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<usize>,
    /// Every discipline. Those that neither draw nor hash are as with the first seed.
    disciplines: Vec<Replayed<'a>>,
}

/// A discipline, where senders react with intervals over replicas.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Discipline<'a> {
    #[serde(flatten)]
    result: &'a DisciplineResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    intervals: Option<Intervals>,
    /// Delays of each kind of flows, to draw.
    delays: Vec<DelayCurves>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Reacting<'a> {
    /// Runs of each discipline.
    replicas: usize,
    /// Congestion control of the senders whose own the capture does not show.
    control: &'static str,
    /// The part of the bytes in TCP connections, which react.
    tcp: f64,
    /// The part of the bytes in TCP connections that were captured in only one direction.
    half: f64,
    /// The part of the bytes in QUIC, which would react but is sent as recorded.
    quic: f64,
    /// The part of the bytes in everything else, which is sent as recorded.
    recorded: f64,
    /// The part of the bytes in connections that wanted more than they got.
    endless: f64,
    /// The part of the bytes in messages that the network limited.
    limited: f64,
    /// The part of the bytes in connections whose congestion control the capture shows.
    shown: f64,
    /// The disciplines' results in the replay of the packets as recorded.
    replay: Vec<Replayed<'a>>,
    /// The ends of what no capture shows, if these were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    open: Vec<End<'a>>,
}

/// One end of a range.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct End<'a> {
    /// What no capture shows.
    parameter: &'a str,
    /// Its value at this end.
    value: &'a str,
    /// The best discipline there: an index.
    best: usize,
    /// Loss under the best discipline there: 0 to 1.
    loss: f64,
    /// 99th percentile of the delay of light flows under the best discipline there, seconds.
    light_p99: Option<f64>,
}

/// A discipline in short.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Replayed<'a> {
    /// The discipline with its parameters.
    spec: &'a str,
    total: &'a Outcome,
    kinds: &'a [KindOutcome],
}

fn replayed(results: &[DisciplineResult]) -> Vec<Replayed<'_>> {
    let mut replayed = Vec::new();
    for result in results {
        replayed.push(Replayed {
            spec: &result.spec,
            total: &result.total,
            kinds: &result.kinds,
        });
    }
    replayed
}

impl<'a> Reacting<'a> {
    fn of(reaction: &'a Reaction) -> Self {
        let mut open = Vec::new();
        for end in &reaction.open {
            open.push(End {
                parameter: end.parameter,
                value: &end.value,
                best: end.best,
                loss: end.loss,
                light_p99: end.light_p99,
            });
        }
        let basis = reaction.basis;
        Self {
            replicas: reaction.replicas,
            control: reaction.control,
            tcp: basis.tcp,
            half: basis.half,
            quic: basis.quic,
            recorded: basis.recorded,
            endless: basis.endless,
            limited: basis.limited,
            shown: basis.shown,
            replay: replayed(&reaction.replay.disciplines),
            open,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Capture<'a> {
    #[serde(flatten)]
    summary: &'a CaptureSummary,
    /// Sentences on oddities of the capture, and on what a replay cannot tell.
    notes: &'a [String],
}

impl Printed for Advised {
    const SCHEMA: &'static str = "compare/1";
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Advised {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Whole::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Whole::json_schema(generator)
    }
}

impl Serialize for Advised {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let comparison = &self.comparison;
        let mut disciplines = Vec::new();
        for result in &comparison.disciplines {
            disciplines.push(Discipline {
                result,
                intervals: Intervals::of(result),
                delays: DelayCurves::of_kinds(result),
            });
        }
        let mut other_seeds = Vec::new();
        for (index, other) in comparison.other_seeds.iter().enumerate() {
            other_seeds.push(Seeded {
                seed: other.seed,
                best: self.with_other_seeds.get(index).copied(),
                disciplines: replayed(&other.disciplines),
            });
        }
        let whole = Whole {
            version: comparison.version,
            capture: Capture {
                summary: &comparison.capture,
                notes: &self.notes,
            },
            link_rate: comparison.link_rate,
            reference_rate: comparison.reference_rate,
            seed: comparison.seed,
            flows: &comparison.flows,
            hosts: comparison.hosts.as_ref(),
            charted: &comparison.charted,
            disciplines,
            verdict: &self.verdict,
            other_seeds,
            reaction: comparison.reaction.as_deref().map(Reacting::of),
        };
        whole.serialize(serializer)
    }
}
