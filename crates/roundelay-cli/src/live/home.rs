//! Reads a scenario's bottleneck as settings for a live run.

use std::collections::BTreeMap;
use std::path::Path;

use roundelay::{Duration, Limit, LinkLayer, Rate};
use roundelay_live::{LinkText, QueueText, Settings, Way};
use roundelay_metrics::units::counted;
use roundelay_sim::scenario::Scenario;
use roundelay_sim::{LinkClass, LinkConfig, LinkId, Network, link_name};

use crate::failure::Failure;
use crate::host::Host;
use crate::scenario::Read;

/// What a live run takes from a scenario.
pub(crate) struct Home {
    pub(crate) settings: Settings,
    pub(crate) scenario: Scenario,
    /// The bottleneck's links, up and down.
    pub(crate) links: [LinkId; 2],
    /// What is left to reality, a line each.
    pub(crate) left: Vec<String>,
    /// What is taken and what is left to reality, a line each.
    pub(crate) lines: Vec<String>,
}

/// Reads a scenario's bottleneck: the slowest link that leaves a router, together with the link
/// back. The way up goes from the link's `from` to its `to`. Models of links draw with `seed`, or
/// with the scenario's seed if there is none.
///
/// # Errors
/// The file is not a scenario, or its bottleneck cannot be a live link.
pub(crate) fn read(path: &Path, seed: Option<u64>) -> Result<Home, Failure> {
    let Read {
        name,
        scenario,
        text,
        ..
    } = Read::network(path, &Host::default())?;
    let wrong = |message: String| Failure::usage(format!("{name}: {message}"));
    let network = &scenario.network(seed.unwrap_or(scenario.seed));
    let Some(links) = bottleneck(network) else {
        return Err(wrong(
            "no link with both directions leaves a router, so there is no bottleneck to take; \
             expected one, as in [topology] template = \"dumbbell\""
                .to_owned(),
        ));
    };
    let [up, down] = links.map(|link| &network.links()[link.0 as usize]);
    // A direction without any takes those of the other, because `applications` states them only for
    // the direction that is simulated.
    let layer = if down.layer == LinkLayer::NONE {
        up.layer
    } else {
        down.layer
    };
    if up.layer != layer && up.layer != LinkLayer::NONE {
        return Err(wrong(
            "the bottleneck's directions differ in link, overhead, mpu or framing; expected the \
             same in both, or none in one of them"
                .to_owned(),
        ));
    }
    let mut settings = Settings::new(up.rate, queue(up, &text).map_err(&wrong)?);
    settings.down.rate = down.rate.bits_per_second();
    settings.down.queue = queue(down, &text).map_err(&wrong)?;
    for (own, link) in [(&mut settings.up, up), (&mut settings.down, down)] {
        own.delay = link.delay.as_picos();
        own.jitter = link.jitter.as_picos();
        own.loss = link.loss.0;
    }
    settings.seed = scenario.hash_seed.unwrap_or(scenario.seed);
    settings.link = LinkText::from(layer);
    for (way, link) in [(Way::Up, up), (Way::Down, down)] {
        if let Some(trace) = &link.trace {
            let followed = settings.follow(way, trace.name(), &trace.text());
            followed.map_err(|error| wrong(error.to_string()))?;
        }
    }
    let ends = link_name(&network.name(up.from), &network.name(up.to));
    let mut lines = vec![format!(
        "{name}: the bottleneck is {ends}, which is the way up"
    )];
    let mut left = Left::default();
    weights(&scenario.groups, &mut settings, &mut left);
    left.sources(&scenario.groups);
    left.links(network, [up, down]);
    let decides = |link: &LinkConfig| link.decision_cost().is_ok_and(|cost| cost > Duration::ZERO);
    if decides(up) || decides(down) {
        left.0
            .push("decision: this machine's decisions take what they take".to_owned());
    }
    left.0
        .push("duration and warmup: --duration ends a run".to_owned());
    for line in &left.0 {
        lines.push(format!("  left to reality: {line}"));
    }
    Ok(Home {
        settings,
        scenario,
        links,
        left: left.0,
        lines,
    })
}

/// Both directions of the slowest link that leaves a router. If several are equally slow, the
/// first.
fn bottleneck(network: &Network) -> Option<[LinkId; 2]> {
    let mut found: Option<(u64, [LinkId; 2])> = None;
    for (number, link) in network.links().iter().enumerate() {
        let mut rest = network.links().iter().enumerate().skip(number + 1);
        let Some((other, back)) =
            rest.find(|(_, back)| (back.from, back.to) == (link.to, link.from))
        else {
            continue;
        };
        let Some(rate) = slowest([link, back]) else {
            continue;
        };
        if found.is_none_or(|(before, _)| rate < before) {
            found = Some((rate, [LinkId(number as u32), LinkId(other as u32)]));
        }
    }
    found.map(|(_, both)| both)
}

/// The rate of the slower direction. A host's own interface does not count.
fn slowest(both: [&LinkConfig; 2]) -> Option<u64> {
    let mut slowest: Option<u64> = None;
    for link in both {
        let rate = link.rate.bits_per_second();
        if link.class != LinkClass::Host {
            slowest = Some(slowest.map_or(rate, |other| other.min(rate)));
        }
    }
    slowest
}

/// The queue as a live run has it.
fn queue(link: &LinkConfig, text: &str) -> Result<QueueText, String> {
    let Some(tree) = &link.tree else {
        let mut words = link.queue.discipline.to_string();
        if let Some(limit) = link.queue.limit {
            words += &limit_words(limit);
        }
        return Ok(QueueText::Discipline(words));
    };
    let name = tree.name();
    let expected = || format!("tree {name}: a file of its own; write its nodes under [trees.NAME]");
    let file: toml::Table = text.parse().map_err(|_| expected())?;
    let trees = file.get("trees").and_then(toml::Value::as_table);
    let written = trees.into_iter().flatten().find(|(own, table)| {
        let given = table.get("name").and_then(toml::Value::as_str);
        given.unwrap_or(own) == name
    });
    let (_, table) = written.ok_or_else(expected)?;
    Ok(QueueText::Tree {
        name: name.to_owned(),
        text: toml::to_string(table).map_err(|_| expected())?,
    })
}

/// A limit as tc writes it.
fn limit_words(limit: Limit) -> String {
    match (limit.packets, limit.bytes) {
        (u64::MAX, u64::MAX) => String::new(),
        (packets, u64::MAX) => format!(" limit {packets}p"),
        (u64::MAX, bytes) => format!(" limit {bytes}b"),
        (packets, bytes) => format!(" limit {packets}p memory_limit {bytes}b"),
    }
}

/// What a live run does not take from the scenario.
#[derive(Default)]
struct Left(Vec<String>);

/// Takes the weights. A live run tells a source's flows by their code point alone.
fn weights(groups: &[roundelay_sim::scenario::Group], settings: &mut Settings, left: &mut Left) {
    let mut by_dscp: BTreeMap<u8, Vec<u32>> = BTreeMap::new();
    let weight = |group: &roundelay_sim::scenario::Group| group.flow.map_or(1, |flow| flow.weight);
    for group in groups {
        by_dscp.entry(group.dscp).or_default().push(weight(group));
    }
    for group in groups {
        let own = weight(group);
        let is_alone = by_dscp[&group.dscp].iter().all(|other| *other == own);
        if is_alone && group.dscp != 0 && own != 1 {
            let rule = format!("dscp {} = {own}", group.dscp);
            if !settings.weights.rules.contains(&rule) {
                settings.weights.rules.push(rule);
            }
        } else if own != 1 {
            left.0.push(format!(
                "weight {own} of {}: no code point of its own tells its packets from others; use \
                 --weight",
                group.name
            ));
        }
    }
}

impl Left {
    fn sources(&mut self, groups: &[roundelay_sim::scenario::Group]) {
        let names: Vec<_> = groups.iter().map(|group| group.name.as_str()).collect();
        if !names.is_empty() {
            self.0.push(format!(
                "the sources and their TCP ({}): your programs send",
                names.join(", ")
            ));
        }
    }

    fn links(&mut self, network: &Network, taken: [&LinkConfig; 2]) {
        let others = network.links().len() - taken.len();
        if others > 0 {
            let links = counted(others as u64, "other link");
            self.0.push(format!(
                "{links} with rates, delays and queues: --delay sets a longer way"
            ));
        }
    }
}

/// Whether an argument names a scenario.
pub(crate) fn is_scenario(text: &str) -> bool {
    Path::new(text).extension().is_some_and(|end| end == "toml")
}

/// Both directions' rates, in words for messages.
pub(crate) fn rates(settings: &Settings) -> String {
    let words = Way::BOTH.map(|way| {
        let own = settings.way(way);
        let rate = Rate::from_bits_per_second(own.rate).map(|rate| rate.to_string());
        let mut rate = rate.unwrap_or_default();
        if let Some((trace, _)) = &own.trace {
            rate = format!("by {trace}");
        }
        format!("{way} {rate} under {}", own.queue)
    });
    words.join(", ")
}
