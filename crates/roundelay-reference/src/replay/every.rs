//! Enumerates all replays of a network in which no node idles and no packet is interrupted.

use super::{Action, Network, Schedule, record};

/// Error: there are more replays than the limit allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany;

/// Visits each replay once.
///
/// # Errors
/// If there are more than `most`. The first `most` were visited.
pub fn each_replay(
    network: &Network,
    most: u64,
    mut visit: impl FnMut(&Schedule),
) -> Result<(), TooMany> {
    // For each decision in a replay, what was chosen and from how many. If we read the choices as
    // the digits of a number, the next number gives the next replay.
    let mut choices: Vec<[usize; 2]> = Vec::new();
    for _ in 0..most {
        let mut decisions = 0;
        let replay = record(network, |_, _, waiting| {
            if choices.len() == decisions {
                choices.push([0, waiting.len()]);
            }
            decisions += 1;
            Action::Send(choices[decisions - 1][0])
        });
        visit(&replay);
        choices.truncate(decisions);
        while choices
            .pop_if(|[choice, choices]| *choice + 1 == *choices)
            .is_some()
        {}
        match choices.last_mut() {
            Some([choice, _]) => *choice += 1,
            None => return Ok(()),
        }
    }
    Err(TooMany)
}
