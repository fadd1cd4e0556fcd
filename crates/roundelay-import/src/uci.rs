//! OpenWrt's configuration of SQM, `/etc/config/sqm`, as the commands of tc that SQM runs for it.
//!
//! The words are those of SQM's page. A section becomes commands on its first line, so that remarks
//! have lines of the file. A word that we do not know, or that changes nothing here, is a remark.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use roundelay::Fault;

/// The commands, on the lines of their sections, and remarks with their lines.
pub(crate) struct Translated {
    pub(crate) script: String,
    pub(crate) remarks: Vec<(usize, String)>,
    /// Names of classes, by interface and class.
    pub(crate) names: BTreeMap<[String; 2], String>,
}

/// Whether a text is such a file.
pub(crate) fn is_one(text: &str) -> bool {
    text.lines()
        .any(|line| words(line).starts_with(&["config", "queue"]))
}

/// A section: its line, and its options with their lines.
struct Section<'a> {
    line: usize,
    options: BTreeMap<&'a str, (usize, &'a str)>,
}

/// Options that change nothing of the queues.
const QUIET: [&str; 7] = [
    "debug_logging",
    "verbosity",
    "qdisc_advanced",
    "qdisc_really_really_advanced",
    "linklayer_advanced",
    "tcMTU",
    "tcTSIZE",
];

/// Options that [`Section::commands`] reads.
const READ: [&str; 20] = [
    "enabled",
    "interface",
    "download",
    "upload",
    "script",
    "qdisc",
    "squash_dscp",
    "squash_ingress",
    "ingress_ecn",
    "egress_ecn",
    "ilimit",
    "elimit",
    "itarget",
    "etarget",
    "iqdisc_opts",
    "eqdisc_opts",
    "linklayer",
    "overhead",
    "tcMPU",
    "linklayer_adaptation_mechanism",
];

/// The words of a line of UCI, without quotes and comments.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '#' => break,
            '\'' | '"' => {
                rest = &rest[1..];
                rest.find(first)
            }
            _ => rest.find(char::is_whitespace),
        };
        let end = end.unwrap_or(rest.len());
        words.push(&rest[..end]);
        rest = rest[end..].trim_start_matches(['\'', '"']).trim_start();
    }
    words
}

/// Reads the file.
///
/// # Errors
/// A section has no interface, a rate is none, or its script is not one that is the same everywhere.
pub(crate) fn translated(text: &str) -> Result<Translated, Fault> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    let mut remarks = Vec::new();
    let mut is_queue = false;
    for (line, written) in (1..).zip(text.lines()) {
        match words(written)[..] {
            ["config", kind, ..] => {
                is_queue = kind == "queue";
                if is_queue {
                    let options = BTreeMap::new();
                    sections.push(Section { line, options });
                }
            }
            ["option", name, value] if is_queue => {
                if let Some(section) = sections.last_mut() {
                    section.options.insert(name, (line, value));
                }
                if !QUIET.contains(&name) && !READ.contains(&name) {
                    remarks.push((
                        line,
                        format!("SQM has no option '{name}' that is known here"),
                    ));
                }
            }
            [] => {}
            [word, ..] if is_queue => {
                remarks.push((line, format!("left out: '{word}' is no option of UCI")));
            }
            _ => {}
        }
    }
    let mut script = String::new();
    let mut sections = sections.into_iter().peekable();
    for (line, _) in (1..).zip(text.lines()) {
        if let Some(section) = sections.next_if(|section| section.line == line) {
            script += &section.commands(&mut remarks)?;
        }
        script.push('\n');
    }
    remarks.sort_by_key(|(line, _)| *line);
    Ok(Translated {
        script,
        remarks,
        names: BTreeMap::new(),
    })
}

/// What differs between the two directions.
struct Way<'a> {
    device: String,
    rate: u64,
    /// The option with the qdisc's words, and those for its limit and its target.
    words: [&'a str; 3],
    ecn: bool,
    is_ingress: bool,
}

impl<'a> Section<'a> {
    fn text(&self, name: &str) -> &'a str {
        self.options.get(name).map_or("", |(_, value)| *value)
    }

    fn line_of(&self, name: &str) -> usize {
        self.options.get(name).map_or(self.line, |(line, _)| *line)
    }

    /// An option of a group that only counts if the option above it is 1.
    fn advanced(&self, switch: &str, name: &str) -> &'a str {
        if self.text(switch) == "1" {
            self.text(name)
        } else {
            ""
        }
    }

    fn kilobits(&self, name: &str) -> Result<u64, Fault> {
        let text = self.text(name);
        if text.is_empty() {
            return Ok(0);
        }
        text.parse().map_err(|_| {
            let fault = Fault::wanted("kilobits per second, as in 20000").with_given(text);
            fault
                .behind(format_args!("option {name} '{text}': "))
                .in_file("", self.line_of(name))
        })
    }

    fn commands(&self, remarks: &mut Vec<(usize, String)>) -> Result<String, Fault> {
        let interface = self.text("interface");
        if interface.is_empty() {
            let fault = Fault::wanted("option interface 'eth1'");
            return Err(fault
                .behind("a queue without an interface; ")
                .in_file("", self.line));
        }
        if self.text("enabled") == "0" {
            let off = format!("{interface} is not enabled: all of this is left out by SQM");
            remarks.push((self.line_of("enabled"), off));
        }
        let deep = "qdisc_really_really_advanced";
        let ecn = |name: &str, usual: bool| match self.advanced("qdisc_advanced", name) {
            "ECN" => true,
            "NOECN" => false,
            _ => usual,
        };
        let ways = [
            Way {
                device: interface.to_owned(),
                rate: self.kilobits("upload")?,
                words: ["eqdisc_opts", "elimit", "etarget"],
                ecn: ecn("egress_ecn", false),
                is_ingress: false,
            },
            Way {
                device: format!("ifb4{interface}"),
                rate: self.kilobits("download")?,
                words: ["iqdisc_opts", "ilimit", "itarget"],
                ecn: ecn("ingress_ecn", true),
                is_ingress: true,
            },
        ];
        let mut all = String::new();
        for way in &ways {
            if way.rate == 0 {
                let unshaped = format!("{}: a rate of 0 or none leaves it unshaped", way.device);
                remarks.push((self.line, unshaped));
                continue;
            }
            let extra = self.advanced(deep, way.words[0]);
            all += &self.way(way, extra, remarks)?;
            if way.is_ingress {
                write!(
                    all,
                    "tc qdisc add dev {interface} ingress; tc filter add dev {interface} parent \
                     ffff: protocol all matchall action mirred egress redirect dev {}; ",
                    way.device
                )
                .unwrap_or_default();
            }
        }
        Ok(all)
    }

    /// The commands for one direction.
    fn way(
        &self,
        way: &Way<'_>,
        extra: &str,
        remarks: &mut Vec<(usize, String)>,
    ) -> Result<String, Fault> {
        let Way { device, rate, .. } = way;
        let script = self.text("script");
        let root = format!("tc qdisc add dev {device} root");
        let mut text = String::new();
        match script {
            "piece_of_cake.qos" | "layer_cake.qos" => {
                let is_layered = script == "layer_cake.qos";
                // Code points count only if they are not ignored, which they are by default.
                let ignores =
                    way.is_ingress && self.advanced("qdisc_advanced", "squash_ingress") != "0";
                let tins = if is_layered && !ignores {
                    "diffserv3"
                } else {
                    "besteffort"
                };
                let washes =
                    way.is_ingress && self.advanced("qdisc_advanced", "squash_dscp") != "0";
                let wash = if washes { " wash" } else { "" };
                let lengths = self.lengths();
                write!(
                    text,
                    "{root} cake bandwidth {rate}kbit {tins}{wash}{lengths} {extra}; "
                )
                .unwrap_or_default();
            }
            "simplest.qos" => {
                let leaf = self.leaf(way, extra);
                self.remark_on_lengths(remarks);
                write!(
                    text,
                    "{root} handle 1: htb default 10; \
                     tc class add dev {device} parent 1: classid 1:10 htb rate {rate}kbit ceil \
                     {rate}kbit; tc qdisc add dev {device} parent 1:10 {leaf}; "
                )
                .unwrap_or_default();
            }
            "simplest_tbf.qos" => {
                let leaf = self.leaf(way, extra);
                self.remark_on_lengths(remarks);
                // A burst of about a millisecond, and of a full packet at least.
                let burst = (rate / 8).max(1514);
                write!(
                    text,
                    "{root} handle 1: tbf rate {rate}kbit burst {burst}b latency 300ms; \
                     tc qdisc add dev {device} parent 1:1 {leaf}; "
                )
                .unwrap_or_default();
            }
            other => {
                let fault = Fault::new(format!(
                    "option script '{other}': what it sets up is not told by this file; run it: \
                     roundelay import --run -- SCRIPT start"
                ));
                return Err(fault.with_given(other).in_file("", self.line_of("script")));
            }
        }
        Ok(text)
    }

    /// The qdisc in the shaper, with its words.
    fn leaf(&self, way: &Way<'_>, extra: &str) -> String {
        let deep = "qdisc_really_really_advanced";
        let qdisc = match self.text("qdisc") {
            "" => "fq_codel",
            qdisc => qdisc,
        };
        let mut leaf = qdisc.to_owned();
        let [_, limit, target] = way.words;
        for (word, name) in [("limit", limit), ("target", target)] {
            match self.advanced(deep, name) {
                "" | "default" | "auto" => {}
                value => leaf += &format!(" {word} {value}"),
            }
        }
        if ["fq_codel", "codel", "pie"].contains(&qdisc) {
            leaf += if way.ecn { " ecn" } else { " noecn" };
        }
        format!("{leaf} {extra}")
    }

    /// cake's words for the lengths on the link.
    fn lengths(&self) -> String {
        let mut words = String::new();
        match self.text("linklayer") {
            "ethernet" | "atm" => {}
            _ => return words,
        }
        if self.text("linklayer") == "atm" {
            words += " atm";
        }
        for (word, value) in [
            ("overhead", self.text("overhead")),
            ("mpu", self.advanced("linklayer_advanced", "tcMPU")),
        ] {
            if !value.is_empty() && value != "0" {
                words += &format!(" {word} {value}");
            }
        }
        words
    }

    /// Without cake the lengths are a table at the root, which is an option of other commands here.
    fn remark_on_lengths(&self, remarks: &mut Vec<(usize, String)>) {
        let lengths = self.lengths();
        if !lengths.is_empty() {
            remarks.push((
                self.line_of("linklayer"),
                format!(
                    "left out: lengths on the link are options of compare:{}",
                    lengths
                        .replace(" atm", " --framing atm")
                        .replace(" overhead", " --overhead")
                        .replace(" mpu", " --mpu")
                ),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_or_not() {
        assert_eq!(
            words("\toption iqdisc_opts 'nat dual-dsthost' # words"),
            ["option", "iqdisc_opts", "nat dual-dsthost"]
        );
        assert_eq!(words("config queue \"eth1\""), ["config", "queue", "eth1"]);
        assert_eq!(words("option elimit ''"), ["option", "elimit", ""]);
        assert!(words("# config queue").is_empty());
    }
}
