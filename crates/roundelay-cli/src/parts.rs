//! A program's own disciplines and congestion controls in a sweep. Their code has no fingerprint,
//! so the program states a version.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use roundelay::schedulers::AnyDiscipline;
use roundelay_tcp::CustomControl;

/// A program's disciplines and congestion controls for one run.
pub struct Parts {
    /// Disciplines, by the names that keys' values give them.
    pub disciplines: Vec<AnyDiscipline>,
    /// Congestion controls by names of sources, as in
    /// [`Host::controls`](crate::call::Host::controls).
    pub controls: Vec<(String, CustomControl)>,
    /// Tells why the parts failed, if they did. Asked after the run.
    pub failure: Box<dyn Fn() -> Option<String> + Send + Sync>,
}

/// Makes the parts for a run, and knows their versions.
#[derive(Clone)]
pub struct OwnParts {
    /// Makes parts for one run. If they fail, no other run hears of it.
    pub make: Arc<dyn Fn() -> Parts + Send + Sync>,
    /// Versions by `discipline.NAME` and `control.NAME`. They are part of a run's identity, so
    /// change the version whenever you change the behaviour.
    pub versions: BTreeMap<String, String>,
}

impl fmt::Debug for OwnParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnParts")
            .field("versions", &self.versions)
            .finish_non_exhaustive()
    }
}
