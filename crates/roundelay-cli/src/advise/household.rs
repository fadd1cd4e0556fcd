//! The scenario that is run: a household that fills its line one way, with and without a shaper.

use roundelay::Rate;
use roundelay_sim::topologies::Line;

/// A line, as its owner describes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access {
    pub(super) down: Rate,
    pub(super) up: Rate,
    pub(super) line: Line,
}

/// The direction that the household fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Down,
    Up,
}

impl Way {
    pub(super) const BOTH: [Self; 2] = [Self::Down, Self::Up];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }

    /// The queue for this direction, as tc writes it.
    pub(super) fn queue(self, rate: Rate, line: Line) -> String {
        let words = match self {
            Self::Down => "besteffort ingress",
            Self::Up => "besteffort ack-filter",
        };
        format!("cake bandwidth {rate} {words}{}", lengths(line))
    }
}

/// The line's keyword for cake's other words to end in.
pub(super) fn lengths(line: Line) -> String {
    match line.keyword() {
        "" => String::new(),
        keyword => format!(" {keyword}"),
    }
}

/// The names of the sources.
pub(super) const BULK: &str = "bulk";
pub(super) const BURSTS: &str = "bursts";
pub(super) const PAGES: &str = "pages";
pub(super) const PINGS: [(Way, &str); 2] = [(Way::Down, "ping down"), (Way::Up, "ping up")];

/// How many transfers come in bursts, and how often.
const BURSTING: u64 = 8;
/// The part of the line that the bursts take.
const PART_OF_BURSTS: f64 = 0.5;
/// The part of its rate to which the other direction is shaped.
const OTHER_WAY: f64 = 0.9;
/// Packets of a run that suffice.
const PACKETS: u64 = 120_000;

impl Access {
    pub(super) const fn rate(&self, way: Way) -> Rate {
        match way {
            Way::Down => self.down,
            Way::Up => self.up,
        }
    }

    /// A part of the line's rate, in whole kbit/s.
    pub(super) fn part(&self, way: Way, part: f64) -> Rate {
        let bits = self.rate(way).bits_per_second() as f64 * part;
        let rounded = ((bits / 1000.0).floor() * 1000.0).max(1000.0);
        Rate::from_bits_per_second(rounded as u64).unwrap_or(self.rate(way))
    }

    /// Seconds of a run: ten to sixty behind the warm-up.
    fn seconds(&self, way: Way) -> u64 {
        // Five satellites: three for all their 15 s, the first for 10 s and the last for 5 s. Above
        // about 150 Mbit/s the trace's round is shorter than the run, and they come again earlier.
        if self.line == Line::Starlink {
            return 60;
        }
        let packets_a_second = self.rate(way).bits_per_second() / (8 * 1514);
        (PACKETS / packets_a_second.max(1)).clamp(10, 60)
    }

    /// The scenario in which the direction is filled. `shaped` is the router's rate for it; None: the
    /// router does not shape.
    pub(super) fn scenario(&self, way: Way, shaped: Option<Rate>) -> String {
        let warmup = 5;
        let mut text = format!(
            "duration = \"{}s\"\nwarmup = \"{warmup}s\"\n\n[topology]\ntemplate = \"access\"\n\
             down = \"{}\"\nup = \"{}\"\nline = \"{}\"\n",
            warmup + self.seconds(way),
            self.down,
            self.up,
            self.line.name()
        );
        for (direction, from, to) in [(Way::Down, "router", "home"), (Way::Up, "router", "modem")] {
            let rate = match shaped {
                None => continue,
                Some(rate) if direction == way => rate,
                Some(_) => self.part(direction, OTHER_WAY),
            };
            let queue = direction.queue(rate, self.line);
            text += &format!("\n[[port]]\nfrom = \"{from}\"\nto = \"{to}\"\nqueue = \"{queue}\"\n");
        }
        let (from, to) = match way {
            Way::Down => ("server", "home"),
            Way::Up => ("home", "server"),
        };
        let bits = self.rate(way).bits_per_second() as f64 * PART_OF_BURSTS;
        let segment = ((bits / 8.0) as u64 / BURSTING).max(1000);
        text += &format!(
            "\n[[source]]\nname = \"{BULK}\"\nkind = \"tcp\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
             count = 2\ntcp = {{ preset = \"linux\" }}\n\
             \n[[source]]\nname = \"{BURSTS}\"\nkind = \"video\"\nfrom = \"{from}\"\n\
             to = \"{to}\"\ncount = {BURSTING}\nstart_step = \"7ms\"\nsegment = {segment}\n\
             interval = \"1s\"\ntcp = {{ preset = \"linux\" }}\n\
             \n[[source]]\nname = \"{PAGES}\"\nkind = \"web_page\"\nfrom = \"home\"\n\
             to = \"server\"\ndocument = \"50kb\"\nobject = \"15kb\"\nobjects = 20\n\
             think = \"1s\"\ntcp = {{ preset = \"linux\" }}\n"
        );
        for (direction, name) in PINGS {
            let (from, to) = match direction {
                Way::Down => ("server", "home"),
                Way::Up => ("home", "server"),
            };
            // Twenty a second.
            text += &format!(
                "\n[[source]]\nname = \"{name}\"\nkind = \"cbr\"\nfrom = \"{from}\"\n\
                 to = \"{to}\"\nrate = \"13440bit\"\npacket_len = 84\ngaps = \"random\"\n"
            );
        }
        text
    }
}
