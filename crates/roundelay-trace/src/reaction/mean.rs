//! Means of a discipline's figures over replicas.

use crate::comparison::{DisciplineResult, FlowResult, Jain};
use crate::kind::{KindOutcome, Served};
use crate::outcome::{Delay, Drops, Outcome};

/// The means, together with each replica's figures. The curves are the first replica's.
pub(super) fn of(mut replicas: Vec<DisciplineResult>) -> DisciplineResult {
    let mut result = replicas[0].clone();
    result.total = outcome(&each(&replicas, |replica| &replica.total));
    result.light = outcome(&each(&replicas, |replica| &replica.light));
    result.light_p99 = mean(replicas.iter().map(|replica| replica.light_p99));
    for (number, kind) in result.kinds.iter_mut().enumerate() {
        *kind = of_kind(&each(&replicas, |replica| &replica.kinds[number]));
    }
    result.jain = jain(&replicas);
    result.worst_lag = average(&replicas, |replica| replica.worst_lag);
    for (number, flow) in result.flows.iter_mut().enumerate() {
        *flow = of_flow(flow, &each(&replicas, |replica| &replica.flows[number]));
    }
    for replica in &mut replicas {
        replica.flows = Vec::new();
        replica.leave_curves_out();
    }
    result.replicas = replicas;
    result
}

fn each<T>(replicas: &[DisciplineResult], of: impl Fn(&DisciplineResult) -> &T) -> Vec<&T> {
    replicas.iter().map(of).collect()
}

/// The mean over those that have a value.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let mut sum = 0.0;
    let mut count = 0;
    for value in values.flatten() {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

/// The mean of a figure that every replica has.
fn average<T>(replicas: &[T], of: impl Fn(&T) -> f64) -> f64 {
    replicas.iter().map(of).sum::<f64>() / replicas.len() as f64
}

fn average_count<T>(replicas: &[T], of: impl Fn(&T) -> u64) -> u64 {
    average(replicas, |replica| of(replica) as f64).round() as u64
}

fn outcome(all: &[&Outcome]) -> Outcome {
    let drops = Drops {
        full: average_count(all, |one| one.drops.full),
        pushed_out: average_count(all, |one| one.drops.pushed_out),
        early: average_count(all, |one| one.drops.early),
        refused: average_count(all, |one| one.drops.refused),
        filtered: average_count(all, |one| one.drops.filtered),
    };
    Outcome {
        packets: average_count(all, |one| one.packets),
        bytes: average_count(all, |one| one.bytes),
        throughput: average(all, |one| one.throughput),
        drops,
        loss: average(all, |one| one.loss),
        marked: average_count(all, |one| one.marked),
        delay: delay(all),
        reordered: average_count(all, |one| one.reordered),
    }
}

fn delay(all: &[&Outcome]) -> Option<Delay> {
    Some(Delay {
        mean: of_delay(all, |delay| delay.mean)?,
        p50: of_delay(all, |delay| delay.p50)?,
        p99: of_delay(all, |delay| delay.p99)?,
        p999: of_delay(all, |delay| delay.p999)?,
        max: of_delay(all, |delay| delay.max)?,
    })
}

fn of_delay(all: &[&Outcome], figure: fn(&Delay) -> f64) -> Option<f64> {
    mean(all.iter().map(|one| one.delay.as_ref().map(figure)))
}

/// We look for the worst flow again, among the means.
fn of_kind(all: &[&KindOutcome]) -> KindOutcome {
    KindOutcome {
        p99: mean(all.iter().map(|one| one.p99)),
        loss: average(all, |one| one.loss),
        least_share: mean(all.iter().map(|one| one.least_share)),
        served: Some(served(all)),
        ..all[0].clone()
    }
}

fn served(all: &[&KindOutcome]) -> Served {
    let mut every = Vec::new();
    for one in all {
        every.extend(one.served);
    }
    Served {
        throughput: average(&every, |one| one.throughput),
        transfers: average(&every, |one| one.transfers),
        unfinished: average(&every, |one| one.unfinished),
        mean: mean(every.iter().map(|one| one.mean)),
        p50: mean(every.iter().map(|one| one.p50)),
        p99: mean(every.iter().map(|one| one.p99)),
    }
}

fn jain(replicas: &[DisciplineResult]) -> Option<Jain> {
    let first = replicas.iter().find_map(|replica| replica.jain)?;
    Some(Jain {
        mean: mean(replicas.iter().map(|one| Some(one.jain?.mean)))?,
        min: mean(replicas.iter().map(|one| Some(one.jain?.min)))?,
        ..first
    })
}

fn of_flow(first: &FlowResult, all: &[&FlowResult]) -> FlowResult {
    let mut outcomes = Vec::new();
    for one in all {
        outcomes.push(&one.outcome);
    }
    FlowResult {
        outcome: outcome(&outcomes),
        bytes_in_time: average_count(all, |one| one.bytes_in_time),
        data_loss: average(all, |one| one.data_loss),
        lag: average(all, |one| one.lag),
        b_wfi: average(all, |one| one.b_wfi),
        t_wfi: average(all, |one| one.t_wfi),
        latency: average(all, |one| one.latency),
        fairness: average(all, |one| one.fairness),
        ..first.clone()
    }
}
