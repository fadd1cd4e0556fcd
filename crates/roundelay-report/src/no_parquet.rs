//! Build without the feature `parquet`: refuses files of sweeps and of schedules.

use std::path::Path;

use roundelay::Fault;
use roundelay_sim::replay::Line;

use crate::{SweepFile, SweepRuns};

const REASON: &str = "this program was built without Parquet; expected the feature 'parquet'";

/// # Errors
/// Always.
pub fn read_schedule(path: &Path) -> Result<Vec<Line>, Fault> {
    Err(Fault::new(REASON).in_file(path.display().to_string(), 0))
}

macro_rules! refused {
    ($($file:ident)*) => {$(
impl $file {
    /// # Errors
    /// Always.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        Err(REASON.to_owned())
    }

    /// # Errors
    /// Always.
    pub fn read(path: &Path) -> Result<Self, String> {
        Err(format!("{}: {REASON}", path.display()))
    }
}
    )*};
}

refused!(SweepFile SweepRuns);
