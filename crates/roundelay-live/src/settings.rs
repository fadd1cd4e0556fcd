//! A run's settings. They are texts as the user wrote them, so that a record keeps them that way.

use std::fmt;

use roundelay::{Billionths, Duration, Fault, Framing, LinkLayer, QueueSpec, Rate};
use roundelay_trace::{FlowBy, LinkTrace, Queue, TracedLink, TreeFile, WeightRules};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A direction of the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// From the near side to the far side.
    Up,
    /// From the far side to the near side.
    Down,
}

impl Way {
    /// Both directions.
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// 0 for up, 1 for down.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// `up` or `down`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A run's settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The seed for hashes, losses and jitter.
    pub seed: u64,
    /// What makes a flow, as in `--flow-by`.
    pub flow_by: String,
    /// The most distinct flows.
    pub max_flows: u32,
    /// How many bytes of a frame are looked at and recorded.
    pub snap: u32,
    /// The queue decides this long after the fact, in picoseconds, so that a frame whose arrival is
    /// told late is still in time for the decision. A whole number of nanoseconds.
    pub guard: u64,
    /// Weights of flows.
    pub weights: WeightTexts,
    /// How the link changes lengths.
    pub link: LinkText,
    /// The way up.
    pub up: WaySettings,
    /// The way down.
    pub down: WaySettings,
}

/// A direction's settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaySettings {
    /// Bits per second.
    pub rate: u64,
    /// The queue.
    pub queue: QueueText,
    /// Delay of the wire behind the link, picoseconds.
    pub delay: u64,
    /// Upper bound on a random delay added to it, picoseconds. Frames keep their order.
    pub jitter: u64,
    /// Frames lost on the wire, in billionths.
    pub loss: u64,
    /// A link trace that replaces the rate until the rate first changes: its file's name and text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<(String, String)>,
}

/// A queue, as the user wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueueText {
    /// A discipline: `fq_codel target 5ms`.
    Discipline(String),
    /// A tree: the content of its file.
    Tree {
        /// The file's name.
        name: String,
        /// The file's text.
        text: String,
    },
}

/// Weight rules, as the user wrote them. Rules from options come before those from a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightTexts {
    /// The rules from options.
    pub rules: Vec<String>,
    /// The name and text of a file with rules.
    pub file: Option<(String, String)>,
}

/// A link layer in words and numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkText {
    /// Lengths count the frame as it is.
    pub raw: bool,
    /// Bytes added.
    pub overhead: i32,
    /// The shortest packet, bytes.
    pub mpu: u32,
    /// `none`, `atm` or `ptm`.
    pub framing: String,
}

/// A change of a direction while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Bits per second.
    Rate(u64),
    /// Another queue. Waiting frames move over in the order of their arrival, as if they arrived
    /// now.
    Queue(QueueText),
    /// Other weights.
    Weights(WeightTexts),
}

/// A setting that is impossible.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SettingsError(pub Fault);

impl From<SettingsError> for Fault {
    fn from(error: SettingsError) -> Self {
        error.0
    }
}

/// The longest delay and the longest jitter that a wire may have.
pub const LONGEST_DELAY: Duration = Duration::from_secs(60);

pub(crate) fn wrong(error: impl Into<Fault>) -> SettingsError {
    SettingsError(error.into())
}

impl Settings {
    /// The same settings in both directions: this rate and queue, no delay, equal weights.
    pub fn new(rate: Rate, queue: QueueText) -> Self {
        let way = WaySettings {
            rate: rate.bits_per_second(),
            queue,
            delay: 0,
            jitter: 0,
            loss: 0,
            trace: None,
        };
        Self {
            seed: 1,
            flow_by: FlowBy::default().to_string(),
            max_flows: 65_536,
            snap: 256,
            guard: Duration::from_micros(100).as_picos(),
            weights: WeightTexts::default(),
            link: LinkText::from(LinkLayer::NONE),
            up: way.clone(),
            down: way,
        }
    }

    /// A direction's settings.
    pub const fn way(&self, way: Way) -> &WaySettings {
        match way {
            Way::Up => &self.up,
            Way::Down => &self.down,
        }
    }

    /// A direction's settings, for you to change them.
    pub const fn way_mut(&mut self, way: Way) -> &mut WaySettings {
        match way {
            Way::Up => &mut self.up,
            Way::Down => &mut self.down,
        }
    }

    /// Replaces a direction's rate by a link trace. The rate becomes the trace's mean.
    ///
    /// # Errors
    /// A line in the trace is wrong. The error names the file, the line, and what is legal.
    pub fn follow(&mut self, way: Way, name: &str, text: &str) -> Result<(), SettingsError> {
        let trace = LinkTrace::parse(name, text).map_err(wrong)?;
        let rate = trace.mean_rate(self.link.layer()?);
        let own = self.way_mut(way);
        own.rate = rate.bits_per_second();
        own.trace = Some((name.to_owned(), text.to_owned()));
        Ok(())
    }

    /// A direction's link, if it follows a trace.
    pub(crate) fn trace(&self, way: Way) -> Result<Option<TracedLink>, SettingsError> {
        let Some((name, text)) = &self.way(way).trace else {
            return Ok(None);
        };
        let trace = LinkTrace::parse(name, text).map_err(wrong)?;
        Ok(Some(trace.link(self.link.layer()?)))
    }

    pub(crate) fn flow_by(&self) -> Result<FlowBy, SettingsError> {
        self.flow_by.parse().map_err(wrong)
    }
}

impl WaySettings {
    pub(crate) fn rate(&self) -> Result<Rate, SettingsError> {
        rate(self.rate)
    }

    /// # Errors
    /// A delay or a loss is out of range.
    pub(crate) fn check_wire(&self) -> Result<(), SettingsError> {
        let longest = LONGEST_DELAY.as_picos();
        for (name, span) in [("delay", self.delay), ("jitter", self.jitter)] {
            if span > longest {
                let span = Duration::from_picos(span);
                let legal = format_args!("0s to {LONGEST_DELAY}");
                return Err(wrong(
                    Fault::range(span, legal).behind(format_args!("{name} of ")),
                ));
            }
        }
        let whole = Billionths::ONE.0;
        if self.loss > whole {
            let loss = self.loss;
            let fault = Fault::range(
                format_args!("{loss} billionths"),
                format_args!("0 to {whole}"),
            );
            return Err(wrong(fault.behind("loss of ").with_given(loss)));
        }
        Ok(())
    }
}

pub(crate) fn rate(bits: u64) -> Result<Rate, SettingsError> {
    Rate::from_bits_per_second(bits)
        .ok_or_else(|| wrong("a rate of 0: legal is one bit per second and more"))
}

impl QueueText {
    /// Reads the queue.
    ///
    /// # Errors
    /// The text is not a queue.
    pub fn queue(&self) -> Result<Queue, SettingsError> {
        match self {
            Self::Discipline(text) => {
                let spec: QueueSpec = text.parse().map_err(wrong)?;
                if spec.discipline.preempts() {
                    return Err(wrong(format!(
                        "{text}: no real link interrupts a packet, so leave out preempt"
                    )));
                }
                Ok(Queue::Discipline(spec))
            }
            Self::Tree { name, text } => TreeFile::from_toml(name, text)
                .map(|tree| Queue::Tree(Box::new(tree)))
                .map_err(wrong),
        }
    }
}

impl fmt::Display for QueueText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Discipline(text) => f.write_str(text),
            Self::Tree { name, .. } => write!(f, "tree {name}"),
        }
    }
}

impl WeightTexts {
    /// Reads the rules, in the order in which they are tried.
    ///
    /// # Errors
    /// A rule or the file is wrong.
    pub fn rules(&self) -> Result<WeightRules, SettingsError> {
        let mut rules = match &self.file {
            Some((name, text)) => WeightRules::from_toml(name, text).map_err(wrong)?,
            None => WeightRules::default(),
        };
        for text in self.rules.iter().rev() {
            rules.push_first(text.parse().map_err(wrong)?);
        }
        Ok(rules)
    }
}

impl From<LinkLayer> for LinkText {
    fn from(layer: LinkLayer) -> Self {
        Self {
            raw: layer.raw,
            overhead: layer.overhead,
            mpu: layer.mpu,
            framing: layer.framing.to_string(),
        }
    }
}

impl LinkText {
    /// Reads the link layer.
    ///
    /// # Errors
    /// The framing is unknown, or a number is out of range.
    pub fn layer(&self) -> Result<LinkLayer, SettingsError> {
        let framing: Framing = self.framing.parse().map_err(wrong)?;
        let LinkText {
            raw, overhead, mpu, ..
        } = *self;
        if !LinkLayer::OVERHEAD.contains(&overhead) || !LinkLayer::MPU.contains(&mpu) {
            return Err(wrong(format!(
                "overhead {overhead}, mpu {mpu}: legal ranges {} to {} and {} to {}",
                LinkLayer::OVERHEAD.start(),
                LinkLayer::OVERHEAD.end(),
                LinkLayer::MPU.start(),
                LinkLayer::MPU.end()
            )));
        }
        Ok(LinkLayer {
            raw,
            overhead,
            mpu,
            framing,
        })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(bits) => match Rate::from_bits_per_second(*bits) {
                Some(rate) => write!(f, "rate {rate}"),
                None => f.write_str("rate 0"),
            },
            Self::Queue(queue) => write!(f, "queue {queue}"),
            Self::Weights(texts) => write!(f, "weights {}", texts.rules.join("; ")),
        }
    }
}
