//! Edge-CoDel in a scenario: a source over TCP has `edge_codel = { target = "5ms" }`.

use roundelay::{ConfigError, Duration, Fault, edge_codel};
use roundelay_files::Maybe;
use serde::Deserialize;

use crate::edge::EdgeControl;

/// Signal rate when packets wait too long again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum Resume {
    /// As in RFC 8289.
    #[default]
    Rfc8289,
    /// At the rate of two signals earlier: CoDel before the RFC, as in ns-2 and the UPS
    /// experiments.
    TwoLess,
}

/// Parameters of Edge-CoDel; defaults from UPS (R. Mittal et al., NSDI 2016), section 4.2.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a table, as in edge_codel = { target = \"5ms\" }"
)]
pub(super) struct EdgeCodel {
    /// Target for the time in all queues together: 1 us to 1 hour.
    #[serde(with = "Maybe::<Duration>")]
    target: Option<Duration>,
    /// How long packets may wait longer than `target`: 1 us to 1 hour.
    #[serde(with = "Maybe::<Duration>")]
    interval: Option<Duration>,
    /// A gap between packets longer than this starts a new interval: more than `target`, to 1 hour.
    #[serde(with = "Maybe::<Duration>")]
    refresh: Option<Duration>,
    /// Signal rate when packets wait too long again.
    resume: Resume,
    /// Whether packets are marked instead of dropped: needs `tcp = { ecn = true }`.
    mark: bool,
}

impl EdgeCodel {
    /// # Errors
    /// A parameter is out of range: its key, and the message.
    pub(super) fn control(
        &self,
        is_ecn_capable: Option<bool>,
    ) -> Result<EdgeControl, (String, Fault)> {
        let wrong = |key: &str, message: &str| Err((format!("edge_codel.{key}"), message.into()));
        match is_ecn_capable {
            None => {
                return Err((
                    "edge_codel".to_owned(),
                    "edge_codel is for sources over TCP: others react to no loss".into(),
                ));
            }
            Some(false) if self.mark => {
                return wrong(
                    "mark",
                    "mark = true: needs tcp = { ecn = true }, or no packet can be marked",
                );
            }
            Some(_) => {}
        }
        let plain = edge_codel::Config::default();
        let codel = edge_codel::Config {
            target: self.target.unwrap_or(plain.target),
            interval: self.interval.unwrap_or(plain.interval),
            refresh: self.refresh.unwrap_or(plain.refresh),
            resume: match self.resume {
                Resume::Rfc8289 => roundelay::Resume::Rfc8289,
                Resume::TwoLess => roundelay::Resume::TwoLess,
            },
        };
        codel
            .check()
            .map_err(|error| self.of_range(&codel, error))?;
        Ok(EdgeControl {
            codel,
            marks: self.mark,
        })
    }

    /// The key that is out of range, and the message. Whichever of the two is written, the range of
    /// `refresh` depends on `target`.
    fn of_range(&self, codel: &edge_codel::Config, error: ConfigError) -> (String, Fault) {
        let ConfigError::OutOfRange {
            parameter,
            value,
            min,
            max,
            ..
        } = error
        else {
            return ("edge_codel".to_owned(), error.into());
        };
        let fault = match parameter {
            "refresh" => {
                let default = if self.refresh.is_none() {
                    " (default)"
                } else {
                    ""
                };
                let legal = format_args!("above target, {}, to {max}", codel.target);
                let shown = format_args!("{value}{default}");
                Fault::range(shown, legal)
                    .behind("refresh ")
                    .with_given(&value)
            }
            _ => Fault::range(value, format_args!("{min} to {max}"))
                .behind(format_args!("{parameter} ")),
        };
        (format!("edge_codel.{parameter}"), fault)
    }
}
