//! What must hold for any text that is read as a scenario. The fuzzer runs it, and the tests run it
//! on the corpus.

use std::path::Path;

use roundelay_sim::scenario::{Estimate, Scenario};

/// An error points into the text, and the announced work of a legal scenario is a number. No file
/// is read: the folder does not exist.
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    match Scenario::from_toml("fuzz.toml", text, Path::new("/no/such/folder")) {
        Ok(scenario) => {
            let Estimate { events, memory, .. } = Estimate::of(&scenario);
            assert!(events >= 0.0 && memory >= 0.0, "{events} events, {memory}");
        }
        Err(error) => assert!(
            error.line().unwrap_or(0) <= text.lines().count() + 1,
            "{error}"
        ),
    }
}
