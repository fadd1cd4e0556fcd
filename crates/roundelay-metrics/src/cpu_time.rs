//! The clock by which all costs are measured.

/// Seconds of processor time that this thread has used. Unlike the time that passes, they do not
/// grow while other programs have the processor. Where the system counts no such time (it is no
/// Unix), the time that passes since the first call.
pub fn cpu_seconds() -> f64 {
    clock::seconds()
}

#[cfg(unix)]
mod clock {
    use rustix::time::{ClockId, clock_gettime};

    pub(super) fn seconds() -> f64 {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
    }
}

#[cfg(not(unix))]
mod clock {
    use std::sync::LazyLock;
    use std::time::Instant;

    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);

    pub(super) fn seconds() -> f64 {
        FIRST.elapsed().as_secs_f64()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn sleep_costs_nothing() {
        let began = cpu_seconds();
        std::thread::sleep(Duration::from_millis(50));
        let slept = cpu_seconds() - began;
        assert!((0.0..0.05).contains(&slept), "{slept}");
    }
}
