//! A comparison with advice in sentences: what the table, the page and the JSON show.

use std::borrow::Cow;

use roundelay_advice::advise;
use roundelay_trace::arguments::shell_word;
use roundelay_trace::reaction::Reaction;
use roundelay_trace::{
    CaptureSummary, Comparison, DisciplineResult, FlowSummary, HostsSummary, KindOutcome, Options,
    Outcome,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use crate::json::Printed;
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
#[derive(Serialize, JsonSchema)]
struct Whole<'a> {
    /// Version of Roundelay.
    version: &'static str,
    capture: Capture<'a>,
    link_rate: u64,
    /// The smallest rate that shapes all packets, bits per second: the link's, or a shaper's.
    reference_rate: u64,
    seed: u64,
    flows: &'a [FlowSummary],
    /// The flows' hosts, where a discipline shares the link by host.
    #[serde(skip_serializing_if = "Option::is_none")]
    hosts: Option<&'a HostsSummary>,
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
#[derive(Serialize, JsonSchema)]
struct Seeded<'a> {
    seed: u64,
    /// The best discipline with this seed: an index. None if the verdict names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<usize>,
    /// Every discipline. Those that neither draw nor hash are as with the first seed.
    disciplines: Vec<Replayed<'a>>,
}

/// A discipline, where senders react with intervals over replicas.
#[derive(Serialize, JsonSchema)]
struct Discipline<'a> {
    #[serde(flatten)]
    result: &'a DisciplineResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    intervals: Option<Intervals>,
}

#[derive(Serialize, JsonSchema)]
struct Reacting<'a> {
    replicas: usize,
    control: &'static str,
    tcp: f64,
    half: f64,
    quic: f64,
    recorded: f64,
    endless: f64,
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
#[derive(Serialize, JsonSchema)]
struct End<'a> {
    parameter: &'a str,
    value: &'a str,
    /// The best discipline there: an index.
    best: usize,
    loss: f64,
    light_p99: Option<f64>,
}

/// A discipline in short.
#[derive(Serialize, JsonSchema)]
struct Replayed<'a> {
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

#[derive(Serialize, JsonSchema)]
struct Capture<'a> {
    #[serde(flatten)]
    summary: &'a CaptureSummary,
    notes: &'a [String],
}

impl Printed for Advised {
    const SCHEMA: &'static str = "compare/1";
}

impl JsonSchema for Advised {
    fn schema_name() -> Cow<'static, str> {
        Whole::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
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
