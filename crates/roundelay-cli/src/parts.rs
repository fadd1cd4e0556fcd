//! Disciplines and congestion controls of a program in a sweep: code without a fingerprint, for
//! which the program states a version.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use roundelay::schedulers::AnyDiscipline;
use roundelay_tcp::CustomControl;

/// A program's disciplines and congestion controls for one run.
pub struct Parts {
    /// Disciplines, by their names in values of keys.
    pub disciplines: Vec<AnyDiscipline>,
    /// Congestion controls by names of sources, as in
    /// [`Host::controls`](crate::call::Host::controls).
    pub controls: Vec<(String, CustomControl)>,
    /// Message of a failure, asked after the run.
    pub failure: Box<dyn Fn() -> Option<String> + Send + Sync>,
}

/// A function that makes the parts of a run, and their versions.
#[derive(Clone)]
pub struct OwnParts {
    /// Makes parts for one run, whose failure is theirs alone.
    pub make: Arc<dyn Fn() -> Parts + Send + Sync>,
    /// Versions by `discipline.NAME` and `control.NAME`: part of a run's identity. The program
    /// changes the version with the behaviour.
    pub versions: BTreeMap<String, String>,
}

impl fmt::Debug for OwnParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnParts")
            .field("versions", &self.versions)
            .finish_non_exhaustive()
    }
}
