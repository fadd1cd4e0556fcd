//! The scenarios of RFC 7928, the figures that count in each, and the thresholds of these.

use roundelay::Fault;
use serde::Serialize;

/// A scenario.
#[derive(Debug)]
pub struct Scenario {
    /// The file's name: the section, with a variant behind a hyphen.
    pub name: &'static str,
    /// What is in the network, in words.
    pub title: &'static str,
    /// The file, as `roundelay simulate` reads it.
    pub text: &'static str,
    /// Keys and values of a short run for tests, as `roundelay sweep` takes them.
    pub quick: &'static [(&'static str, &'static str)],
    /// The loss that the RFC intends under fifo.
    pub loss: Option<Loss>,
    /// What counts.
    pub measures: &'static [Measure],
}

impl Scenario {
    /// The section of RFC 7928.
    pub fn section(&self) -> &'static str {
        match self.name.split_once('-') {
            Some((section, _)) => section,
            None => self.name,
        }
    }
}

/// The loss that a level of congestion means under fifo: section 8.2.
#[derive(Debug, Clone, Copy)]
pub struct Loss {
    /// The source.
    pub source: &'static str,
    /// The part of its packets.
    pub intended: f64,
}

impl Loss {
    /// Under fifo the loss may differ from the intended one by this factor.
    pub const FACTOR: f64 = 1.5;

    /// Whether a loss under fifo is about the intended one.
    pub fn is_met(&self, loss: f64) -> bool {
        loss < self.intended * Self::FACTOR && loss * Self::FACTOR > self.intended
    }
}

/// A figure that counts.
#[derive(Debug, Clone, Copy)]
pub struct Measure {
    /// The identifier in JSON: the same for the same quantity in all scenarios.
    pub id: &'static str,
    /// In words.
    pub label: &'static str,
    /// The unit.
    pub unit: Unit,
    /// The source in the scenario; `all` is all together.
    pub source: &'static str,
    /// The figure in a sweep's dataset.
    pub figure: &'static str,
    /// How the value follows from it.
    pub of: Of,
    /// Which values are better.
    pub better: Better,
    /// From where on it is good or bad. None: it has no mark.
    pub thresholds: Option<Thresholds>,
}

/// How a value follows from a source's figure.
#[derive(Debug, Clone, Copy)]
pub enum Of {
    /// It is the figure.
    Figure,
    /// Less this.
    Less(f64),
    /// Divided by this.
    Over(f64),
    /// Divided by the same figure of another source.
    OverSource(&'static str),
}

/// A value's unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// A part of 1.
    Part,
    /// A ratio without unit.
    Ratio,
}

/// Which of two values is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// The smaller one.
    Less,
    /// The larger one.
    More,
    /// The one nearer to 1, by factors.
    Even,
}

impl Better {
    /// How bad a value is: the larger the worse.
    pub fn badness(self, value: f64) -> f64 {
        match self {
            Self::Less => value,
            Self::More => -value,
            Self::Even if value > 0.0 => value.max(1.0 / value),
            Self::Even => f64::INFINITY,
        }
    }
}

/// From where on a value is good or bad.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Thresholds {
    /// This value and all better ones are good.
    pub good: f64,
    /// All worse ones are bad. What lies between is fair.
    pub bad: f64,
}

/// The rate of the bottleneck, bits a second.
const RATE: f64 = 10e6;
/// One way, from sender to receiver, where the round trip is 100 ms.
const HALF_ROUND_TRIP: f64 = 0.05;

/// What packets wait beyond the propagation delay, at the 99th percentile. The packet delay
/// variation of RFC 5481 is the same but for the transmission times on the path, 1.4 ms.
const fn delay(source: &'static str, propagation: f64) -> Measure {
    Measure {
        id: "queueing_delay_p99",
        label: "p99 queueing delay",
        unit: Unit::Seconds,
        source,
        figure: "delay_p99",
        of: Of::Less(propagation),
        better: Better::Less,
        // A call's jitter buffer takes 20 ms; 50 ms are half of the usual round trip.
        thresholds: Some(Thresholds {
            good: 0.02,
            bad: 0.05,
        }),
    }
}

impl Measure {
    /// What stands beneath it: beneath the p99 delay its median and its maximum, because RFC 7928
    /// asks for the distribution (2.6). They have no marks, so that a delay counts once.
    pub(crate) fn beneath(&self) -> Vec<Self> {
        let mut beneath = Vec::new();
        if self.figure == "delay_p99" {
            for (id, label, figure) in [
                ("queueing_delay_p50", "median queueing delay", "delay_p50"),
                ("queueing_delay_max", "largest queueing delay", "delay_max"),
            ] {
                beneath.push(without_thresholds(Self {
                    id,
                    label,
                    figure,
                    ..*self
                }));
            }
        }
        beneath
    }
}

/// What arrives, as a part of the capacity, headers and retransmissions included.
const fn link_use(source: &'static str, capacity: f64) -> Measure {
    Measure {
        id: "link_use",
        label: "link use",
        unit: Unit::Part,
        source,
        figure: "throughput",
        of: Of::Over(capacity),
        better: Better::More,
        thresholds: Some(Thresholds {
            good: 0.95,
            bad: 0.8,
        }),
    }
}

/// The part of the packets that is lost, for any reason. Without a mark: senders find their rate by
/// losses.
const fn loss(source: &'static str) -> Measure {
    Measure {
        id: "loss_ratio",
        label: "loss",
        unit: Unit::Part,
        source,
        figure: "loss",
        of: Of::Figure,
        better: Better::Less,
        thresholds: None,
    }
}

/// Goodput of one flow over that of another: section 6.3.
const fn ratio(
    id: &'static str,
    label: &'static str,
    source: &'static str,
    other: &'static str,
) -> Measure {
    Measure {
        id,
        label,
        unit: Unit::Ratio,
        source,
        figure: "throughput",
        of: Of::OverSource(other),
        better: Better::Even,
        thresholds: Some(Thresholds {
            good: 2.0,
            bad: 5.0,
        }),
    }
}

/// Jain's index of the flows' throughputs.
const fn jain(source: &'static str) -> Measure {
    Measure {
        id: "jain",
        label: "Jain's index",
        unit: Unit::Ratio,
        source,
        figure: "jain",
        of: Of::Figure,
        better: Better::More,
        thresholds: Some(Thresholds {
            good: 0.95,
            bad: 0.8,
        }),
    }
}

/// Mean flow completion time; of web pages, the time until all objects are there.
const fn completion(label: &'static str, source: &'static str, good: f64, bad: f64) -> Measure {
    Measure {
        id: "flow_completion_time",
        label,
        unit: Unit::Seconds,
        source,
        figure: "completion_mean",
        of: Of::Figure,
        better: Better::Less,
        thresholds: Some(Thresholds { good, bad }),
    }
}

/// How many times as long pages take as on an idle link, where they take 1.2 s: twice is fair.
const fn pages(source: &'static str) -> Measure {
    completion("page load time", source, 1.8, 3.0)
}

const fn without_thresholds(measure: Measure) -> Measure {
    Measure {
        thresholds: None,
        ..measure
    }
}

/// One set of figures for bulk flows.
const BULK: &[Measure] = &[
    delay("bulk", HALF_ROUND_TRIP),
    link_use("bulk", RATE),
    loss("bulk"),
];
const BULKS: &[Measure] = &[
    delay("bulk", HALF_ROUND_TRIP),
    link_use("bulk", RATE),
    loss("bulk"),
    jain("bulk"),
];
/// A short flow of 60 packets takes four or five round trips on an idle link.
const SHORT: &[Measure] = &[
    completion("short flows", "short", 0.7, 1.2),
    delay("bulk", HALF_ROUND_TRIP),
    link_use("all", RATE),
];
const WEB: &[Measure] = &[pages("web"), delay("cbr", HALF_ROUND_TRIP)];
const WEB_AND_BULK: &[Measure] = &[
    pages("web"),
    delay("cbr", HALF_ROUND_TRIP),
    link_use("all", RATE),
];

const fn two_flows(half_round_trip: f64) -> [Measure; 4] {
    [
        ratio("rtt_ratio", "throughput II / I", "II", "I"),
        delay("II", half_round_trip),
        link_use("all", RATE),
        loss("II"),
    ]
}

/// A run of 10 s that counts from the second second on.
const TEN_SECONDS: &[(&str, &str)] = &[("duration", "10s"), ("warmup", "2s")];
const SHORT_SOON: &[(&str, &str)] = &[
    ("duration", "10s"),
    ("warmup", "2s"),
    ("source.short.start", "3s"),
    ("source.short.start_step", "500ms"),
    ("source.short.start_jitter", "100ms"),
];
const PHASES_SOON: &[(&str, &str)] = &[
    ("duration", "10s"),
    ("warmup", "2s"),
    ("source.second.start", "4s"),
    ("source.third.start", "7s"),
];

macro_rules! scenario {
    ($name:literal, $title:literal, $quick:expr, $loss:expr, $measures:expr) => {
        Scenario {
            name: $name,
            title: $title,
            text: include_str!(concat!("../scenarios/", $name, ".toml")),
            quick: $quick,
            loss: $loss,
            measures: $measures,
        }
    };
}

/// The bulk flows of sections 8.2.2 to 8.2.4 lose this part under fifo.
const fn loses(intended: f64) -> Option<Loss> {
    Some(Loss {
        source: "bulk",
        intended,
    })
}

/// All scenarios, in the RFC's order.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(
        "4.4",
        "packets of 500 and 1,500 bytes",
        TEN_SECONDS,
        None,
        &[
            delay("all", HALF_ROUND_TRIP),
            link_use("all", RATE),
            without_thresholds(ratio(
                "small_to_large",
                "throughput 500 / 1,500 bytes",
                "short",
                "long"
            )),
        ]
    ),
    scenario!(
        "4.5-5ms",
        "ECN, round trips of 100 and 5 ms",
        TEN_SECONDS,
        None,
        &two_flows(0.0025)
    ),
    scenario!(
        "4.5-560ms",
        "ECN, round trips of 100 and 560 ms",
        TEN_SECONDS,
        None,
        &two_flows(0.28)
    ),
    scenario!("5.1.1", "one NewReno flow", TEN_SECONDS, None, BULK),
    scenario!(
        "5.1.2-iw3",
        "short flows with IW 3 beside NewReno",
        SHORT_SOON,
        None,
        SHORT
    ),
    scenario!(
        "5.1.2-iw10",
        "short flows with IW 10 beside NewReno",
        SHORT_SOON,
        None,
        SHORT
    ),
    scenario!("5.2", "one CUBIC flow", TEN_SECONDS, None, BULK),
    scenario!(
        "5.3-alone",
        "UDP above the capacity",
        TEN_SECONDS,
        None,
        &[
            delay("udp", HALF_ROUND_TRIP),
            link_use("udp", RATE),
            loss("udp"),
        ]
    ),
    scenario!(
        "5.3-mixed",
        "UDP of 7.5 Mbit/s beside NewReno",
        TEN_SECONDS,
        None,
        &[
            delay("bulk", HALF_ROUND_TRIP),
            link_use("all", RATE),
            Measure {
                label: "NewReno's part of its half",
                ..link_use("bulk", RATE / 2.0)
            },
        ]
    ),
    scenario!(
        "5.4",
        "LEDBAT beside NewReno",
        TEN_SECONDS,
        None,
        &[
            without_thresholds(ratio(
                "less_than_best_effort",
                "throughput LEDBAT / NewReno",
                "ledbat",
                "bulk"
            )),
            delay("bulk", HALF_ROUND_TRIP),
            link_use("all", RATE),
        ]
    ),
    scenario!(
        "6.2-5ms",
        "round trips of 100 and 5 ms",
        TEN_SECONDS,
        None,
        &two_flows(0.0025)
    ),
    scenario!(
        "6.2-20ms",
        "round trips of 100 and 20 ms",
        TEN_SECONDS,
        None,
        &two_flows(0.01)
    ),
    scenario!(
        "6.2-200ms",
        "round trips of 100 and 200 ms",
        TEN_SECONDS,
        None,
        &two_flows(0.1)
    ),
    scenario!(
        "6.2-560ms",
        "round trips of 100 and 560 ms",
        TEN_SECONDS,
        None,
        &two_flows(0.28)
    ),
    scenario!("7.2-web", "web and CBR", TEN_SECONDS, None, WEB),
    scenario!(
        "7.2-bulk",
        "web and CBR beside NewReno",
        TEN_SECONDS,
        None,
        WEB_AND_BULK
    ),
    scenario!(
        "7.2-video",
        "web and CBR beside video",
        TEN_SECONDS,
        None,
        WEB
    ),
    scenario!(
        "7.2-all",
        "web and CBR beside NewReno and video",
        TEN_SECONDS,
        None,
        WEB_AND_BULK
    ),
    scenario!("8.2.2", "mild congestion", TEN_SECONDS, loses(0.001), BULKS),
    scenario!(
        "8.2.3",
        "medium congestion",
        TEN_SECONDS,
        loses(0.005),
        BULKS
    ),
    scenario!("8.2.4", "heavy congestion", TEN_SECONDS, loses(0.01), BULKS),
    scenario!(
        "8.2.5",
        "mild, medium, heavy after each other",
        PHASES_SOON,
        None,
        &[
            delay("all", HALF_ROUND_TRIP),
            link_use("all", RATE),
            loss("all"),
        ]
    ),
    scenario!(
        "8.2.6-20s",
        "capacity changes each 20 s",
        TEN_SECONDS,
        None,
        &[delay("bulk", HALF_ROUND_TRIP), link_use("bulk", 55e6)]
    ),
    scenario!(
        "8.2.6-100ms",
        "capacity changes each 100 ms",
        TEN_SECONDS,
        None,
        &[delay("bulk", HALF_ROUND_TRIP), link_use("bulk", 55e6)]
    ),
    scenario!(
        "9.1",
        "traffic mix in both directions",
        TEN_SECONDS,
        None,
        &[
            delay("voice down", HALF_ROUND_TRIP),
            loss("voice down"),
            pages("web down"),
            Measure {
                label: "link use of both directions",
                ..link_use("all", 2.0 * RATE)
            },
        ]
    ),
    scenario!(
        "9.2-one-way",
        "bulk both ways, the queue in one",
        TEN_SECONDS,
        None,
        &[
            delay("down", HALF_ROUND_TRIP),
            link_use("down", RATE),
            loss("down"),
        ]
    ),
    scenario!(
        "9.2-both-ways",
        "bulk both ways, the queue in both",
        TEN_SECONDS,
        None,
        &[
            delay("down", HALF_ROUND_TRIP),
            link_use("down", RATE),
            loss("down"),
        ]
    ),
    scenario!(
        "10.2",
        "two queues in a row",
        TEN_SECONDS,
        None,
        &[
            delay("A", HALF_ROUND_TRIP),
            ratio("hops_ratio", "throughput two queues / one", "A", "B"),
            link_use("all", RATE),
        ]
    ),
];

/// The scenarios of these sections: `5`, `8.2`, `6.2-560ms`. All if none is named.
///
/// # Errors
/// No scenario is of a section. The fault lists those that there are.
pub fn chosen(sections: &[String]) -> Result<Vec<&'static Scenario>, Fault> {
    for section in sections {
        if !SCENARIOS.iter().any(|scenario| is_of(scenario, section)) {
            let names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
            return Err(Fault::no_such("section", section, &names));
        }
    }
    let mut all = Vec::new();
    for scenario in SCENARIOS {
        if sections.is_empty() || sections.iter().any(|section| is_of(scenario, section)) {
            all.push(scenario);
        }
    }
    Ok(all)
}

/// Whether a scenario's name begins with a section's parts.
fn is_of(scenario: &Scenario, section: &str) -> bool {
    let Some(rest) = scenario.name.strip_prefix(section) else {
        return false;
    };
    !section.is_empty() && (rest.is_empty() || rest.starts_with(['.', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(sections: &[&str]) -> Vec<&'static str> {
        let sections: Vec<String> = sections.iter().map(|text| (*text).to_owned()).collect();
        let chosen = chosen(&sections).unwrap_or_else(|fault| panic!("{fault}"));
        chosen.iter().map(|scenario| scenario.name).collect()
    }

    #[test]
    fn a_section_has_its_scenarios_and_those_of_its_parts() {
        assert_eq!(names(&["8.2.6", "5.1"]).len(), 5);
        assert_eq!(names(&["6.2-5ms"]), ["6.2-5ms"]);
        assert_eq!(names(&["8.2.4", "4.4"]), ["4.4", "8.2.4"], "in order");
        assert_eq!(names(&[]).len(), SCENARIOS.len());
        assert_eq!(SCENARIOS[1].section(), "4.5");
        for wrong in ["1", "8.2.", "6.2-5", "", "8.2.22"] {
            let fault = chosen(&[wrong.to_owned()]).expect_err(wrong).to_string();
            assert!(fault.contains("no section is called"), "{fault}");
            assert!(fault.contains("8.2.6-100ms"), "{fault}");
        }
    }

    #[test]
    fn a_loss_is_met_within_a_factor() {
        let loss = loses(0.001).expect("a loss");
        assert!(loss.is_met(0.001) && loss.is_met(0.0014) && loss.is_met(0.0007));
        assert!(!loss.is_met(0.0016) && !loss.is_met(0.0006) && !loss.is_met(0.0));
    }

    #[test]
    fn even_ratios_are_near_one() {
        assert_eq!(Better::Even.badness(0.25), Better::Even.badness(4.0));
        assert!(Better::Even.badness(0.0) > Better::Even.badness(0.01));
        assert!(Better::More.badness(0.9) < Better::More.badness(0.8));
    }
}
