//! The memory that a run needs, and the memory that is available.

use std::fs;

use roundelay::author::Pool;
use roundelay::schedulers::AnyDiscipline;
use roundelay::{ConfigError, Footprint};

use crate::footprint::StatedFootprint;
use crate::generator::Generator;
use crate::load::Load;
use crate::subject::{LoadRefused, Subject};

/// Bytes that a run takes, approximately. Tables that grow are counted at twice the size of their
/// contents.
///
/// # Errors
/// A parameter of the discipline is out of its range.
pub fn needed(subject: &Subject, load: &Load) -> Result<u64, ConfigError> {
    let footprint = match subject {
        Subject::Generator => Footprint::default(),
        Subject::Discipline(discipline) | Subject::ByHandle(discipline) => {
            StatedFootprint::of(discipline)?.whole
        }
        Subject::Tree(tree) => {
            StatedFootprint::of(&AnyDiscipline::Tree(tree.config.clone()))?.whole
        }
    };
    let flows = u64::from(load.flows.flows()) * 2 * (footprint.bytes_per_flow as u64 + 1);
    let packets = load.most_packets()
        * (Generator::BYTES_PER_PACKET + Pool::<u32>::bytes_per_packet() as u64);
    Ok(footprint.fixed_bytes as u64 + flows + packets)
}

/// Refuses a load that needs more memory than is available.
pub(crate) fn check(subject: &Subject, load: &Load) -> Result<(), LoadRefused> {
    check_within(subject, load, available())
}

/// The same when `available` bytes are left. None: unknown.
fn check_within(subject: &Subject, load: &Load, available: Option<u64>) -> Result<(), LoadRefused> {
    const MB: u64 = 1 << 20;
    let needed = needed(subject, load)?;
    match available {
        Some(available) if needed > available => Err(LoadRefused::Memory {
            subject: subject.name(),
            load: load.to_string(),
            needed_mb: needed.div_ceil(MB),
            available_mb: available / MB,
        }),
        _ => Ok(()),
    }
}

/// Bytes available to this process, if the system reports them.
fn available() -> Option<u64> {
    [free(), allowed()].into_iter().flatten().min()
}

/// Bytes left below the resource limit on address space.
fn allowed() -> Option<u64> {
    let most = rustix::process::getrlimit(rustix::process::Resource::As).current?;
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().next()?.parse().ok()?;
    Some(most.saturating_sub(pages * rustix::param::page_size() as u64))
}

/// Bytes available without swapping.
fn free() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim()
        .strip_suffix(" kB")?
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Lengths, Memory, Order, Pattern};

    fn load(pattern: Pattern) -> Load {
        Load {
            flows: "1m".parse().unwrap(),
            pattern,
            order: Order::Shortest,
            lengths: Lengths::Fixed(1000),
            memory: Memory::Packed,
            burst: 0,
        }
    }

    #[test]
    fn thirty_million_packets_take_gigabytes() {
        let drr = Subject::Discipline(AnyDiscipline::named("drr").unwrap());
        let needed = [Pattern::Small, Pattern::Full]
            .map(|pattern| needed(&drr, &load(pattern)).unwrap() >> 20);
        assert!(needed[0] > 600 && needed[0] < 1200, "{needed:?}");
        assert!(needed[1] > 3500 && needed[1] < 6000, "{needed:?}");
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_it_takes() {
        let drr = Subject::Discipline(AnyDiscipline::named("drr").unwrap());
        assert!(check_within(&drr, &load(Pattern::Full), Some(100 << 30)).is_ok());
        assert!(check_within(&drr, &load(Pattern::Full), None).is_ok());
        let text = check_within(&drr, &load(Pattern::Full), Some(900 << 20))
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("drr under 1m flows, full, lengths 1000, packed takes about")
                && text.contains("900 MB are free"),
            "{text}"
        );
    }
}
