//! Parameters of link models: reads them from words and checks them, with the core's units and
//! errors.

use std::collections::BTreeSet;

use rand_pcg::Pcg64Mcg;
use roundelay::author::Parameter;
use roundelay::suggestion::nearest;
use roundelay::{ConfigError, Duration, Rate};

/// A full packet's bits, as a link trace counts them.
pub(super) const PACKET_BITS: u64 = 1514 * 8;

/// The most times that a trace has on average. This many take some MB in memory, and as much in a
/// live run's record, for each direction of each link.
const MOST_TIMES: u64 = 800_000;

/// How short and how long a round may be.
pub(super) const SHORTEST: u64 = Duration::from_millis(100).as_picos();
pub(super) const LONGEST: u64 = Duration::from_secs(3600).as_picos();

/// What draws a link trace.
pub(super) trait Model: Clone + Default + 'static {
    const NAME: &'static str;
    const PARAMETERS: &'static [Parameter<Self>];

    /// The highest mean rate that the trace may have.
    ///
    /// # Errors
    /// Parameters that are legal alone do not go together.
    fn check(&self) -> Result<Rate, ConfigError>;

    /// How long a round is.
    fn length(&mut self) -> &mut Duration;

    /// The times in a round, in milliseconds. They never fall, and the last is above 0.
    fn times(&self, random: &mut Pcg64Mcg) -> Vec<u64>;
}

/// Reads parameters, each with a name and a value.
pub(super) fn read<M: Model>(words: &[&str]) -> Result<M, ConfigError> {
    let mut model = M::default();
    let mut written = BTreeSet::new();
    for pair in words.chunks(2) {
        let name = pair[0];
        let found = M::PARAMETERS.iter().find(|known| known.name == name);
        let parameter = found.ok_or_else(|| unknown::<M>(name))?;
        if !written.insert(name) {
            return Err(ConfigError::Repeated {
                discipline: M::NAME,
                first: name.to_owned(),
                second: name.to_owned(),
            });
        }
        let Some(text) = pair.get(1) else {
            return Err(bad(parameter, None, "a value after it"));
        };
        let value = parameter.kind.read(text);
        let value = value.map_err(|expected| bad(parameter, Some(text), &expected))?;
        parameter.write(&mut model, value);
        parameter.check(M::NAME, &model)?;
    }
    let rate = model.check()?;
    let most = longest(rate);
    if *model.length() <= most {
        return Ok(model);
    }
    if written.contains("length") {
        return Err(ConfigError::BadValue {
            discipline: M::NAME,
            parameter: "length".to_owned(),
            value: Some(model.length().to_string()),
            expected: format!("at most {most} at this rate, for {MOST_TIMES} packets"),
        });
    }
    *model.length() = most;
    Ok(model)
}

fn unknown<M: Model>(name: &str) -> ConfigError {
    let names = || M::PARAMETERS.iter().map(|parameter| parameter.name);
    ConfigError::UnknownParameter {
        discipline: M::NAME,
        parameter: name.to_owned(),
        meant: nearest(name, names()),
        known: names().collect::<Vec<_>>().join(", "),
    }
}

fn bad<M: Model>(parameter: &Parameter<M>, value: Option<&str>, expected: &str) -> ConfigError {
    let [min, max] = [parameter.min, parameter.max].map(|bound| parameter.kind.show(bound));
    ConfigError::BadValue {
        discipline: M::NAME,
        parameter: parameter.name.to_owned(),
        value: value.map(str::to_owned),
        expected: format!("{expected}, legal range {min} to {max}"),
    }
}

/// A rate for which the word `link` is not allowed.
pub(super) fn rate_of<M: Model>(name: &str, rate: Option<Rate>) -> Result<Rate, ConfigError> {
    let known = M::PARAMETERS.iter().find(|known| known.name == name);
    match (rate, known) {
        (Some(rate), _) => Ok(rate),
        (None, Some(known)) => Err(bad(known, Some("link"), "a rate")),
        (None, None) => Err(unknown::<M>(name)),
    }
}

/// The longest round at this rate, in whole milliseconds.
fn longest(rate: Rate) -> Duration {
    let millis = MOST_TIMES * PACKET_BITS * 1000 / rate.bits_per_second();
    Duration::from_millis(millis)
}
