//! Congestion controls that a program sets for a scenario's sources.

use std::fmt;

use roundelay::Fault;
use roundelay::suggestion::nearest;
use roundelay_tcp::CustomControl;

use super::Scenario;
use super::group::ALL;

/// A name that no source over TCP has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ControlError {
    /// The name.
    pub given: String,
    /// Whether a source has this name, but does not use TCP.
    pub is_without_tcp: bool,
    /// The sources over TCP.
    pub known: Vec<String>,
}

impl ControlError {
    /// The name that was probably meant.
    pub fn meant(&self) -> Option<&str> {
        nearest(&self.given, self.known.iter().map(String::as_str))
    }

    /// The legal names.
    pub fn legal(&self) -> String {
        if self.known.is_empty() {
            "none, as no source uses TCP".to_owned()
        } else {
            format!("{}, or {ALL}", self.known.join(", "))
        }
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_without_tcp {
            true => write!(f, "source '{}' does not use TCP", self.given)?,
            false => write!(f, "no source is called '{}'", self.given)?,
        }
        if let Some(meant) = self.meant() {
            write!(f, " (did you mean '{meant}'?)")?;
        }
        write!(f, ": legal names {}", self.legal())
    }
}

impl From<ControlError> for Fault {
    fn from(error: ControlError) -> Self {
        Self::new(error.to_string())
            .with_given(&error.given)
            .with_legal(error.legal())
            .with_meant(error.meant())
    }
}

impl Scenario {
    /// Sets the congestion control for a source's connections, whatever the file says. `all` stands
    /// for all sources over TCP. Each connection has its own instance, and one for each direction
    /// with data, so requests and responses have two.
    ///
    /// ```
    /// # use std::path::Path;
    /// use roundelay_sim::scenario::Scenario;
    /// use roundelay_tcp::{CongestionControl, CustomControl, Feedback};
    ///
    /// /// One window for the whole connection.
    /// struct Fixed;
    ///
    /// impl CongestionControl for Fixed {
    ///     fn on_ack(&mut self, feedback: &Feedback) -> u64 {
    ///         20 * feedback.segment_len
    ///     }
    ///
    ///     fn on_loss(&mut self, feedback: &Feedback) -> u64 {
    ///         20 * feedback.segment_len
    ///     }
    /// }
    ///
    /// let text = r#"
    ///     duration = "1s"
    ///     topology = { template = "dumbbell", pairs = 1, rate = "100mbit", delay = "10ms" }
    ///     source = [{ name = "download", kind = "tcp", from = "s0", to = "r0" }]
    /// "#;
    /// let mut scenario = Scenario::from_toml("download.toml", text, Path::new("."))?;
    /// scenario.set_control("download", &CustomControl::new("fixed", |_| Fixed))?;
    /// let throughput = scenario.run(1, |_| ())?.flows[0].throughput;
    /// assert!(throughput < 20e6, "a window of 30 kB each round trip of 20 ms and more");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// No source over TCP has this name.
    pub fn set_control(
        &mut self,
        source: &str,
        control: &CustomControl,
    ) -> Result<(), ControlError> {
        let mut known = Vec::new();
        for group in &self.groups {
            if group.source.protocol().is_some() {
                known.push(group.name.clone());
            }
        }
        if known.is_empty() || source != ALL && !known.iter().any(|name| name == source) {
            let is_without_tcp = self.groups.iter().any(|group| group.name == source);
            return Err(ControlError {
                given: source.to_owned(),
                is_without_tcp,
                known,
            });
        }
        for group in &mut self.groups {
            let is_meant = source == ALL || group.name == source;
            if is_meant && group.source.protocol().is_some() {
                group.control = Some(control.clone());
            }
        }
        Ok(())
    }
}
