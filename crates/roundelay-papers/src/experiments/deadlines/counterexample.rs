//! Counterexample: a flow with a negative startup latency and late packets.
//!
//! The startup latency takes only a flow's last packet into account. A backlog earlier in the
//! flow's life can be gone by then, for instance because other flows have ended.

use super::figures::flows;
use super::meter::Meter;
use super::plan::Deadlines;
use super::sources::Sources;

/// The first such flow, if any: its packets' latency at each tenth of its life.
pub(super) fn late_with_negative_startup_latency(
    plan: &Deadlines,
    sources: &Sources,
    meter: &Meter,
) -> Vec<String> {
    let lifetime = sources.lifetime().as_secs_f64();
    let flows = flows(sources, meter);
    let mut numbered = (0_u32..).zip(&flows);
    let found = numbered.find(|(_, flow)| flow.startup < 0.0 && flow.longest > lifetime);
    let Some((number, flow)) = found else {
        return Vec::new();
    };
    let looks = meter.looks.iter().filter(|look| look.flow == number);
    let looks: Vec<_> = looks.collect();
    let mut trace = vec![format!(
        "flow {number} ({}): packets are due {lifetime} s after they are made",
        plan.types[flow.media].name
    )];
    for tenth in looks.chunks(looks.len().div_ceil(10).max(1)) {
        let look = tenth[tenth.len() - 1];
        trace.push(format!(
            "packet {} of {} is received {:.3} s after it was made",
            look.packets,
            sources.packets,
            look.latency.as_secs_f64()
        ));
    }
    trace.push(format!(
        "its longest latency is {:.3} s, its startup latency {:.4} s",
        flow.longest, flow.startup
    ));
    trace
}
