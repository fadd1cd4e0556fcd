//! A discipline in `tc` syntax: its name, parameters and limit.

use roundelay::schedulers::{AnyDiscipline, Linux, cake, choke, ets, pie, red, sfb, sfq, tbf};
use roundelay::{Billionths, Bytes, Duration, Limit, QueueSpec, Rate};

use super::early_detection::EarlyDetection;
use super::numbers::{FULL_PACKET, Reason, at_least_a_byte, in_packets, number};

const SECOND: u64 = 1_000_000_000_000;
const MILLISECOND: u64 = 1_000_000_000;
const MICROSECOND: u64 = 1_000_000;
/// The longest queue of Linux's choke, packets.
const MOST_IN_CHOKE: u64 = (1 << 17) - 1;
/// Levels, and bins in each of them, that Linux's sfb has.
const LEVELS_AND_BINS: (u32, u32) = (8, 16);
/// The step of probabilities in Linux's sfb: 1 / 65535, rounded up.
const STEP: Billionths = Billionths(15_260);

/// Class of packets without a code point.
const BEST_EFFORT: u32 = 7;

/// The discipline in `tc` syntax.
///
/// # Errors
/// Linux lacks the discipline, or tc cannot write it with these parameters.
pub(super) fn leaf(spec: &QueueSpec, limit: Limit, link: Option<Rate>) -> Result<String, Reason> {
    if let Some(reason) = unwritable(&spec.discipline) {
        return Err(reason);
    }
    match &spec.discipline {
        AnyDiscipline::Fifo(_) => Ok(fifo(limit)),
        AnyDiscipline::Drr(_) => Ok("drr".to_owned()),
        AnyDiscipline::Qfq(_) | AnyDiscipline::QfqPlus(_) => Ok("qfq".to_owned()),
        // A band for each class. Packets without a matching filter or a code point go to the last.
        AnyDiscipline::Priority(_) => Ok(prio(BEST_EFFORT as usize + 1)),
        AnyDiscipline::Ets(config) => {
            let last = config.number_of_bands() - 1;
            let best_effort = config.band_of(BEST_EFFORT);
            let mut words = ets(config);
            if best_effort != last {
                words += " priomap";
                words += &format!(" {best_effort}").repeat(16);
            }
            Ok(words)
        }
        AnyDiscipline::Sfq(config) => Ok(sfq(config, limit)),
        AnyDiscipline::Red(config) => red(config, limit, link),
        AnyDiscipline::Choke(config) => choke(config, limit, link),
        AnyDiscipline::Sfb(config) => Ok(sfb(config, limit)),
        AnyDiscipline::Tbf(config) => tbf(config, limit, link),
        AnyDiscipline::Cake(config) => Ok(cake(config, limit)),
        AnyDiscipline::FqCodel(_) | AnyDiscipline::FqPie(_) => {
            let words = tc_words(&spec.discipline);
            let mut text = format!("{words}{}", packets(limit));
            if limit.bytes != u64::MAX {
                text += &format!(" memory_limit {}", number(limit.bytes));
            }
            Ok(text)
        }
        other => match other.info().linux {
            // The others have the same names for parameters as tc, and a limit in packets.
            Linux::Qdisc { .. } => {
                let words = tc_words(&spec.discipline);
                Ok(format!("{words} limit {}", in_packets(limit)))
            }
            Linux::Absent => Err(absent(other)),
        },
    }
}

/// Why tc, which has the discipline, cannot write it with these parameters.
fn unwritable(discipline: &AnyDiscipline) -> Option<Reason> {
    match discipline {
        AnyDiscipline::Sfq(config) if config.depth * config.flows < 2 => {
            Some("Linux's sfq needs room for two packets".to_owned())
        }
        AnyDiscipline::Sfb(config) if (config.levels, config.bins) != LEVELS_AND_BINS => {
            Some(format!(
                "Linux's sfb has {} levels of {} bins",
                LEVELS_AND_BINS.0, LEVELS_AND_BINS.1
            ))
        }
        AnyDiscipline::Pie(config) if !is_tcs(config) => Some(NO_PIE.to_owned()),
        AnyDiscipline::FqPie(config) if config.alpha == 0 || config.beta == 0 => {
            Some("tc's fq_pie takes zeros for its defaults".to_owned())
        }
        AnyDiscipline::Fq(config) if config.low_rate_threshold.is_none() => {
            Some("tc's fq has no unlimited low_rate_threshold".to_owned())
        }
        _ => None,
    }
}

pub(super) fn absent(discipline: &AnyDiscipline) -> Reason {
    format!("Linux has no {}", discipline.name())
}

/// Packets that no filter matches go to the last band.
pub(super) fn prio(bands: usize) -> String {
    format!(
        "prio bands {bands} priomap{}",
        format!(" {}", bands - 1).repeat(16)
    )
}

/// The bands, with quanta for those that are not strict. Packets that no filter matches go to the
/// last band.
pub(super) fn ets(config: &ets::Config) -> String {
    let bands = config.number_of_bands();
    let mut words = format!("ets bands {bands}");
    if config.strict > 0 {
        words += &format!(" strict {}", config.strict);
    }
    for band in config.strict..bands {
        if band == config.strict {
            words += " quanta";
        }
        let quantum = config.quantum_of(band).unwrap_or(ets::Config::QUANTUM);
        words += &format!(" {quantum}");
    }
    words
}

pub(super) fn fifo(limit: Limit) -> String {
    if limit.bytes == u64::MAX {
        format!("pfifo{}", packets(limit))
    } else {
        format!("bfifo limit {}", number(limit.bytes))
    }
}

/// tc does not know the link's rate, so the commands name it. The limit is in bytes: a full packet
/// for each packet.
fn tbf(config: &tbf::Config, limit: Limit, link: Option<Rate>) -> Result<String, Reason> {
    let Some(rate) = config.rate.or(link) else {
        return Err("Linux's tbf needs a rate: write it, as in tbf rate 20mbit".to_owned());
    };
    let bytes = limit.bytes.min(limit.packets.saturating_mul(FULL_PACKET));
    let mut words = format!(
        "tbf rate {} burst {} limit {}",
        at_least_a_byte(rate),
        config.burst,
        number(bytes).max(1)
    );
    if let Some(peak) = config.peakrate {
        words += &format!(" peakrate {peak} mtu {}", config.mtu);
    }
    Ok(words)
}

/// `tc` has no `gentle`. `harddrop` needs `ecn`, as here.
fn red(config: &red::Config, limit: Limit, link: Option<Rate>) -> Result<String, Reason> {
    if config.gentle {
        return Err("tc has no `gentle`".to_owned());
    }
    let words = EarlyDetection::of_red(config, link).words()?;
    let limit = limit
        .bytes
        .min(limit.packets.saturating_mul(config.avpkt.into()));
    let switches = [
        (config.ecn, " ecn"),
        (config.ecn && config.harddrop, " harddrop"),
        (config.nodrop, " nodrop"),
        (config.adaptive, " adaptive"),
    ];
    let mut words_of_switches = String::new();
    for (is_on, word) in switches {
        if is_on {
            words_of_switches += word;
        }
    }
    Ok(format!(
        "red limit {} {words}{words_of_switches}",
        number(limit).max(1)
    ))
}

fn choke(config: &choke::Config, limit: Limit, link: Option<Rate>) -> Result<String, Reason> {
    let detection = EarlyDetection::of_choke(config, link);
    let limit = in_packets(limit).min(MOST_IN_CHOKE);
    let words = detection.words()?;
    if detection.max > limit {
        return Err(format!(
            "Linux's choke needs a buffer of max packets, {}, and at most {MOST_IN_CHOKE}",
            detection.max
        ));
    }
    let ecn = if config.ecn { " ecn" } else { "" };
    Ok(format!("choke limit {limit} {words}{ecn}"))
}

/// cake's words in `tc` syntax. The header is left out because a device knows its own. The buffer
/// is too where it is the default, because the kernel derives it as we do.
pub(super) fn cake(config: &cake::Config, limit: Limit) -> String {
    let config = cake::Config {
        header: cake::Config::default().header,
        ..*config
    };
    let discipline = AnyDiscipline::Cake(config);
    let words = tc_words(&discipline);
    let bytes = limit.bytes.min(limit.packets.saturating_mul(FULL_PACKET));
    if bytes == discipline.default_limit().bytes {
        words
    } else {
        format!("{words} memlimit {}", number(bytes))
    }
}

/// Writes the numbers that Linux puts in force. It takes a depth above 127 for 127, and a limit
/// above depth times flows for this product. With a limit above 127 it has 128 flows unless told
/// otherwise.
fn sfq(config: &sfq::Config, limit: Limit) -> String {
    let config = sfq::Config {
        depth: config.depth.min(sfq::Config::LINUX_DEPTH),
        ..*config
    };
    let most = u64::from(config.depth) * u64::from(config.flows.min(config.divisor));
    let limit = in_packets(limit).min(most).max(2);
    let words = tc_words(&AnyDiscipline::Sfq(config));
    let has_flows = config.flows != sfq::Config::default().flows || limit <= config.flows.into();
    format!(
        "{words}{} limit {limit}",
        if has_flows {
            String::new()
        } else {
            format!(" flows {}", config.flows)
        }
    )
}

/// Why there are no commands for some configurations of pie.
pub(super) const NO_PIE: &str =
    "tc's pie has no `burst`, takes zeros for its defaults, and targets below 4.3 s";

/// Whether tc can write these values. It has no `burst` and takes zeros for its defaults. The
/// kernel counts the target's nanoseconds in 32 bits.
fn is_tcs(config: &pie::Config) -> bool {
    let has_values =
        config.alpha > 0 && config.beta > 0 && config.target < Duration::from_nanos(1 << 32);
    has_values && config.burst == pie::Config::default().burst
}

/// sfb's times are whole milliseconds.
fn sfb(config: &sfb::Config, limit: Limit) -> String {
    let (target, max) = config.bin_sizes();
    let sfb::Config {
        penalty_rate,
        penalty_burst,
        ..
    } = config;
    format!(
        "sfb rehash {} db {} limit {} max {max} target {target} increment {} decrement {} \
         penalty_rate {penalty_rate} penalty_burst {penalty_burst}",
        millis(config.rehash),
        millis(config.db),
        in_packets(limit),
        step(config.increment),
        step(config.decrement),
    )
}

fn millis(time: Duration) -> u64 {
    time.as_picos().div_ceil(MILLISECOND)
}

/// The probability as the kernel rounds it, but never zero.
fn step(probability: Billionths) -> Billionths {
    if probability.0 == 0 {
        probability
    } else {
        probability.max(STEP)
    }
}

fn packets(limit: Limit) -> String {
    if limit.packets == u64::MAX {
        String::new()
    } else {
        format!(" limit {}", number(limit.packets))
    }
}

/// A discipline's parameters, written so that every parser in `tc` accepts them: sizes in bytes and
/// times in microseconds, without fractions. This is needed because some parsers accept no units
/// (`fq_codel quantum`), and one only whole seconds (`sfq perturb`).
pub(super) fn tc_words(discipline: &AnyDiscipline) -> String {
    let written = discipline.to_string();
    let mut previous = "";
    let mut words = Vec::new();
    for word in written.split_whitespace() {
        let is_version = match discipline {
            // A word of its own.
            AnyDiscipline::Cake(_) => ["6.1", "7.3"].contains(&word),
            _ => previous == "linux" && word.starts_with(|first: char| first.is_ascii_digit()),
        };
        // The kernel follows its own rules anyway, those of its version.
        if word != "linux" && !is_version {
            words.push(tc_word(previous, word).unwrap_or_else(|| word.to_owned()));
        }
        previous = word;
    }
    words.join(" ")
}

/// The word in `tc` syntax. None if it stays as it is.
fn tc_word(parameter: &str, word: &str) -> Option<String> {
    if !word.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    if word.ends_with('b') {
        return Some(number(word.parse::<Bytes>().ok()?.0).to_string());
    }
    if !word.ends_with('s') {
        return None;
    }
    let picos = word.parse::<Duration>().ok()?.as_picos();
    Some(if parameter == "perturb" {
        picos.div_ceil(SECOND).to_string()
    } else {
        format!("{}us", number(picos.div_ceil(MICROSECOND)))
    })
}
