//! Request from the compare page: texts for the arguments of `roundelay compare`. Checks and
//! messages are the command's.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use roundelay::{Framing, LinkLayer};
use roundelay_trace::arguments::{
    Mtu, chosen, parse_buffer, parse_choice, parse_mtu, parse_rate, whole,
};
use roundelay_trace::{
    DirectionChoice, Filter, FlowBy, InterfaceName, Options, Selection, Span, TreeFile,
    WeightRules, parse_length, parse_time,
};
use serde::Deserialize;

/// How many separate flows are legal, as for `--max-flows`.
const MAX_FLOWS: RangeInclusive<usize> = 1..=1_000_000;
/// How many runs with consecutive seeds are legal, as for `--seeds`.
const SEEDS: RangeInclusive<u16> = 1..=1000;

/// The arguments as texts, each written as for the command's option with the same name. If a text
/// is empty, the option is left out.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Request {
    /// The capture's file name.
    pub name: String,
    /// `--rate`.
    pub rate: String,
    /// The disciplines. If there are none and no trees either, those of Linux.
    pub disciplines: Vec<String>,
    /// Files of `--tree`.
    pub trees: Vec<File>,
    /// `--link`.
    pub link: String,
    /// `--overhead`.
    pub overhead: String,
    /// `--mpu`.
    pub mpu: String,
    /// `--framing`.
    pub framing: String,
    /// `--buffer`.
    pub buffer: String,
    /// `--filter`.
    pub filter: String,
    /// `--interface`.
    pub interface: String,
    /// `--direction`.
    pub direction: String,
    /// `--from`.
    pub from: String,
    /// `--to`.
    pub to: String,
    /// `--busiest`.
    pub busiest: String,
    /// `--mtu`.
    pub mtu: String,
    /// `--keep-duplicates`.
    pub keep_duplicates: bool,
    /// `--mirrored`.
    pub mirrored: bool,
    /// `--flow-by`.
    pub flow_by: String,
    /// Rules of `--weight`.
    pub weight: Vec<String>,
    /// File of `--weights`.
    pub weights: Option<File>,
    /// `--max-flows`.
    pub max_flows: String,
    /// `--seed`.
    pub seed: String,
    /// `--seeds`.
    pub seeds: String,
    /// `--wide`.
    pub wide: bool,
    /// The words of the command that does the same, but without the program's name. Empty if the
    /// page has none.
    pub words: Vec<String>,
    /// The table's columns, as the command reads them from `COLUMNS`. If None, 100.
    pub columns: Option<u16>,
}

/// A text file chosen on the page.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The file's name, for messages.
    pub name: String,
    /// The file's text.
    pub text: String,
}

impl Request {
    /// The comparison's options. Costs are not measured, because WebAssembly has no clock.
    ///
    /// # Errors
    /// An argument is wrong. The message is the command's.
    pub fn options(&self) -> Result<Options, String> {
        if self.rate.is_empty() {
            return Err(
                "the following required arguments were not provided:\n  --rate <RATE>".to_owned(),
            );
        }
        let rate = value("--rate <RATE>", &self.rate, parse_rate)?;
        let mut choices = Vec::new();
        for text in &self.disciplines {
            choices.push(value("[DISCIPLINES]...", text, parse_choice)?);
        }
        let has_trees = !self.trees.is_empty();
        let mut options = Options::new(rate, chosen(&choices, has_trees));
        options.link = self.link_layer()?;
        options.buffer = option("--buffer <LIMIT>", &self.buffer, parse_buffer)?;
        options.selection = self.selection()?;
        if let Some(flow_by) = option("--flow-by <WHAT>", &self.flow_by, parse::<FlowBy>)? {
            options.flow_by = flow_by;
        }
        options.max_flows = option("--max-flows <N>", &self.max_flows, whole(MAX_FLOWS))?;
        if let Some(seed) = option("--seed <N>", &self.seed, whole(0..=u64::MAX))? {
            options.seed = seed;
        }
        if let Some(seeds) = option("--seeds <N>", &self.seeds, whole(SEEDS))? {
            options.seeds = seeds;
        }
        options.weights = self.weight_rules()?;
        for file in &self.trees {
            let tree = TreeFile::from_toml(&file.name, &file.text);
            options.trees.push(tree.map_err(|error| error.to_string())?);
        }
        TreeFile::tell_apart(&mut options.trees, false);
        options.span = self.span()?;
        let Mtu(mtu) = option("--mtu <BYTES>", &self.mtu, parse_mtu)?.unwrap_or_default();
        options.mtu = mtu;
        // The command does the same: it sorts packets by time and mends impossible times and
        // lengths.
        options.adapts = true;
        options.measure_cost = false;
        Ok(options)
    }

    fn link_layer(&self) -> Result<LinkLayer, String> {
        let link = option("--link <NAME>", &self.link, parse::<LinkLayer>)?;
        let overhead = option(
            "--overhead <BYTES>",
            &self.overhead,
            whole(LinkLayer::OVERHEAD),
        )?;
        let mpu = option("--mpu <BYTES>", &self.mpu, whole(LinkLayer::MPU))?;
        let framing = option("--framing <NAME>", &self.framing, parse::<Framing>)?;
        Ok(LinkLayer::replaced(link, overhead, mpu, framing))
    }

    /// Which packets of the capture to replay.
    fn selection(&self) -> Result<Selection, String> {
        let direction = option(
            "--direction <DIRECTION>",
            &self.direction,
            parse::<DirectionChoice>,
        )?;
        let interface = option("--interface <NAME>", &self.interface, |text| {
            Ok::<_, String>(InterfaceName::from(text))
        })?;
        let filter = option("--filter <EXPR>", &self.filter, parse::<Filter>)?;
        let selection = Selection {
            interface,
            filter,
            keep_duplicates: self.keep_duplicates,
            mirrored: self.mirrored,
            ..Selection::default()
        };
        Ok(direction.unwrap_or_default().choose(selection))
    }

    /// The rules from `--weight` in their order, then those from the file, because the first match
    /// counts.
    fn weight_rules(&self) -> Result<WeightRules, String> {
        let mut rules = Vec::new();
        for text in &self.weight {
            rules.push(value("--weight <RULE>", text, WeightRules::parse_rule)?);
        }
        let mut weights = match &self.weights {
            Some(file) => {
                WeightRules::from_toml(&file.name, &file.text).map_err(|error| error.to_string())?
            }
            None => WeightRules::default(),
        };
        for rule in rules.into_iter().rev() {
            weights.push_first(rule);
        }
        Ok(weights)
    }

    /// Which part of the capture's time to replay.
    fn span(&self) -> Result<Span, String> {
        Ok(Span {
            from: option("--from <TIME>", &self.from, parse_time)?,
            to: option("--to <TIME>", &self.to, parse_time)?,
            busiest: option("--busiest <TIME>", &self.busiest, parse_length)?,
        })
    }
}

/// Parses an argument's value. The error is worded as on the command line.
fn value<T, E: Display>(
    argument: &str,
    text: &str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<T, String> {
    parse(text).map_err(|error| format!("invalid value '{text}' for '{argument}': {error}"))
}

fn option<T, E: Display>(
    argument: &str,
    text: &str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<T>, String> {
    if text.is_empty() {
        Ok(None)
    } else {
        value(argument, text, parse).map(Some)
    }
}

fn parse<T: FromStr>(text: &str) -> Result<T, T::Err> {
    text.parse()
}
