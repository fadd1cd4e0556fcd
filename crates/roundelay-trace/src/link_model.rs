//! Models of links: `wifi`, `lte` and `starlink` draw a link trace from a seed, for when none is
//! recorded, and `steps` has a rate that changes at even intervals.
//!
//! You write a model like a discipline, `wifi stations 5`, instead of a trace's file.

mod draw;
mod lte;
mod settings;
mod starlink;
mod steps;
mod wifi;

use std::sync::Arc;

use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use roundelay::{ConfigError, Seed};

use lte::Lte;
use settings::Model;
use starlink::Starlink;
use steps::Steps;
use wifi::Wifi;

/// A link model and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkModel {
    text: Arc<str>,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Wifi(Wifi),
    Lte(Lte),
    Starlink(Starlink),
    Steps(Steps),
}

impl LinkModel {
    /// Reads a model: its name, then names and values of parameters. None if the first word names
    /// no model, because then the text is a file's name.
    ///
    /// # Errors
    /// A parameter is unknown, written twice, or out of range. The error says what is legal.
    pub fn read(text: &str) -> Result<Option<Self>, ConfigError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let kind = match words.split_first() {
            Some((&Wifi::NAME, rest)) => Kind::Wifi(settings::read(rest)?),
            Some((&Lte::NAME, rest)) => Kind::Lte(settings::read(rest)?),
            Some((&Starlink::NAME, rest)) => Kind::Starlink(settings::read(rest)?),
            Some((&Steps::NAME, rest)) => Kind::Steps(settings::read(rest)?),
            _ => return Ok(None),
        };
        let text = words.join(" ").into();
        Ok(Some(Self { text, kind }))
    }

    /// The model as written, with single blanks between words.
    pub const fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The model's name, without parameters.
    pub const fn name(&self) -> &'static str {
        match &self.kind {
            Kind::Wifi(_) => Wifi::NAME,
            Kind::Lte(_) => Lte::NAME,
            Kind::Starlink(_) => Starlink::NAME,
            Kind::Steps(_) => Steps::NAME,
        }
    }

    /// The times of one round in milliseconds, as in a link trace. Equal seeds give equal times.
    pub(crate) fn times(&self, seed: Seed) -> Vec<u64> {
        let mut random = Pcg64Mcg::from_seed(seed.to_bytes());
        match &self.kind {
            Kind::Wifi(wifi) => wifi.times(&mut random),
            Kind::Lte(lte) => lte.times(&mut random),
            Kind::Starlink(starlink) => starlink.times(&mut random),
            Kind::Steps(steps) => steps.times(&mut random),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> LinkModel {
        let model = LinkModel::read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        model.unwrap_or_else(|| panic!("{text}: a file"))
    }

    fn rows<M: Model>(page: &str) {
        let heading = format!("**`{}`**:", M::NAME);
        let (_, rest) = page.split_once(&heading).expect("a heading");
        let table = rest.split("\n**`").next().unwrap_or(rest);
        for parameter in M::PARAMETERS {
            let [min, max] = [parameter.min, parameter.max].map(|bound| parameter.kind.show(bound));
            let start = format!("| `{}` |", parameter.name);
            let row = table.lines().find(|line| line.starts_with(&start));
            let row = row.unwrap_or_else(|| panic!("no row for {}", parameter.name));
            assert!(row.contains(&format!("| {min} to {max} |")), "{row}");
            let default = row.split('|').nth(4).unwrap_or_default();
            let default = parameter.kind.read(default.trim().trim_matches('`'));
            assert_eq!(default, Ok(parameter.read(&M::default())), "{row}");
        }
    }

    #[test]
    fn the_page_has_each_parameter_with_its_range_and_default() {
        let page = include_str!("../../../docs/simulator/scenarios.md");
        rows::<Wifi>(page);
        rows::<Lte>(page);
        rows::<Starlink>(page);
        rows::<Steps>(page);
    }

    #[test]
    fn the_page_has_the_mean_rates_of_wifi() {
        let page = include_str!("../../../docs/simulator/scenarios.md");
        let (_, rest) = page.split_once("analysis of contention").expect("a table");
        let mut rows = Vec::new();
        for line in rest.lines().filter(|line| line.starts_with('|')).take(3) {
            let cells = line.split('|').skip(2);
            rows.push(cells.filter_map(|cell| cell.trim().parse::<f64>().ok()));
        }
        let told = rows.pop().expect("rates");
        let mut count = 0;
        for (stations, told) in rows.remove(0).zip(told) {
            let length = 60.0 * (stations + 1.0);
            let model = read(&format!("wifi stations {stations} length {length}"));
            let times = model.times(Seed::new(1));
            let bits = times.len() as f64 * 1514.0 * 8.0;
            let rate = bits / times[times.len() - 1] as f64 / 1e3;
            assert!(
                (rate / told - 1.0).abs() < 0.05,
                "{stations}: {rate}, {told}"
            );
            count += 1;
        }
        assert_eq!(count, 5);
    }

    #[test]
    fn a_seed_decides_all() {
        for text in [
            "wifi",
            "lte",
            "wifi stations 0",
            "lte users 0 errors 0",
            "starlink",
        ] {
            let model = read(text);
            let times = model.times(Seed::new(7));
            assert_eq!(times, model.times(Seed::new(7)), "{text}");
            assert_ne!(times, model.times(Seed::new(8)), "{text}");
            assert!(times.is_sorted(), "{text}");
        }
    }

    #[test]
    fn a_text_is_a_model_if_its_first_word_is_a_models_name() {
        for file in [
            "",
            "x.trace",
            "wifi.trace",
            "./wifi",
            "WiFi",
            "a wifi",
            "lte2",
        ] {
            assert_eq!(LinkModel::read(file), Ok(None), "{file}");
        }
        let model = read("  wifi   stations\t3 ");
        assert_eq!((model.name(), &**model.text()), ("wifi", "wifi stations 3"));
        assert_eq!(model.kind, read("wifi").kind, "3 is the default");
        assert_ne!(model.kind, read("wifi stations 4").kind);
        assert_eq!(read("lte").name(), "lte");
    }

    /// A length that is not written never is too long.
    #[test]
    fn a_round_is_shorter_where_a_minute_would_have_too_many_packets() {
        for (text, millis) in [("lte", 60_000), ("lte rate 1gbit", 9_689)] {
            assert_eq!(
                read(text).times(Seed::new(1)).last(),
                Some(&millis),
                "{text}"
            );
        }
        let times = read("wifi phy_rate 10gbit stations 0").times(Seed::new(1));
        assert!((968..972).contains(&times[times.len() - 1]), "{times:?}");
    }

    #[test]
    fn wrong_parameters_are_told_with_what_is_legal() {
        for (text, expected) in [
            (
                "wifi station 3",
                "wifi: no parameter is called 'station' (did you mean 'stations'?): phy_rate, \
                 other_rate, stations, frames, size, airtime, preamble, length",
            ),
            (
                "wifi home.trace",
                "wifi: no parameter is called 'home.trace': ",
            ),
            (
                "wifi stations",
                "wifi: stations: expected a value after it, legal range 0 to 250",
            ),
            (
                "wifi stations 251",
                "wifi: stations 251: legal range 0 to 250",
            ),
            (
                "wifi stations -1",
                "wifi: stations -1: expected a whole number, legal range 0 to 250",
            ),
            (
                "wifi frames 3 frames 4",
                "wifi: frames is written twice; expected it once",
            ),
            (
                "wifi airtime 6ms",
                "wifi: airtime 6ms: legal range 100us to 5484us",
            ),
            (
                "wifi phy_rate link",
                "wifi: phy_rate link: expected a rate, legal range 1mbit to 10gbit",
            ),
            ("lte rate 5", "lte: rate 5bit: legal range 100kbit to 1gbit"),
            ("lte rate link", "lte: rate link: expected a rate"),
            ("lte walk 11", "lte: walk 11: legal range 0 to 10"),
            ("lte errors .6", "lte: errors 0.6: legal range 0 to 0.5"),
            (
                "lte interval 2500us",
                "lte: interval 2500us: expected whole milliseconds, 1ms to 80ms",
            ),
            (
                "lte rate 1gbit length 3600",
                "lte: length 3600s: expected at most 9689ms at this rate, for 800000 packets",
            ),
            (
                "wifi phy_rate 10gbit stations 9 length 60s",
                "wifi: length 60s: expected at most 9689ms at this rate, for 800000 packets",
            ),
            // Others that send fast leave more of the channel's time.
            (
                "wifi phy_rate 100mbit other_rate 10gbit stations 9 length 960s",
                "wifi: length 960s: expected at most 112155ms at this rate, for 800000 packets",
            ),
            (
                "lte length 50ms",
                "lte: length 50ms: legal range 100ms to 3600s",
            ),
            (
                "starlink gap 0.5ms",
                "starlink: gap 500us: expected whole milliseconds, 0ms to 1s",
            ),
            (
                "starlink step 1000500us",
                "starlink: step 1000500us: expected whole milliseconds, 100ms to 60s",
            ),
            (
                "starlink step 100ms gap 200ms",
                "starlink: gap 200ms: expected less than the step of 100ms",
            ),
        ] {
            let error = LinkModel::read(text).expect_err(text).to_string();
            assert!(error.starts_with(expected), "{error}\nexpected {expected}");
        }
    }
}
