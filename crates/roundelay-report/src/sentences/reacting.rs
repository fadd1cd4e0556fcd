//! Sentences where senders react: what changes for users, and whether a replay agrees.

use roundelay_advice::{Change, Trust};
use roundelay_metrics::units::{counted, percent, rate, seconds};
use roundelay_trace::Kind;

/// Where nothing contends and nothing wanted more.
pub(super) const NOTHING_WANTED_MORE: &str = "But no transfer of this capture wanted more than it \
    got, so it cannot tell what a large download would do to the others: please take one capture \
    of a minute in which one runs, tcpdump -i INTERFACE -s 100 -w both.pcap.";

/// Losses and throughputs that differ by less than this part are about equal.
const LITTLE: f64 = 0.02;

/// `fq_codel in place of fifo: calls and games 99% within 9.00 ms in place of 230 ms; ..`.
pub(super) fn changes(
    spec: &str,
    other: &str,
    changes: &[Change],
    loss: [f64; 2],
    replicas: usize,
) -> String {
    if changes.is_empty() {
        return format!(
            "For users, {spec} and {other} differ by no more than {} of the same one do.",
            counted(replicas as u64, "run")
        );
    }
    let mut words = Vec::new();
    for change in changes {
        words.push(in_words(change));
    }
    let [ours, theirs] = loss.map(percent);
    if ours != theirs {
        words.push(format!("loss {ours} in place of {theirs}"));
    }
    format!("With {spec} in place of {other}: {}.", words.join("; "))
}

fn in_words(change: &Change) -> String {
    let mut words = Vec::new();
    if let Some([ours, theirs]) = change.p99 {
        words.push(format!(
            "99% of packets within {} in place of {}",
            seconds(ours),
            seconds(theirs)
        ));
    }
    if let Some([ours, theirs]) = change.done {
        words.push(format!(
            "complete in {} in place of {} on average",
            seconds(ours),
            seconds(theirs)
        ));
    }
    if let Some([ours, theirs]) = change.throughput {
        words.push(speed(ours, theirs));
    }
    format!("{} {}", who(change.kind), words.join(", "))
}

/// `4.0% slower (3.10 Mbit/s)`.
fn speed(ours: f64, theirs: f64) -> String {
    let part = ours / theirs - 1.0;
    let now = rate(ours);
    if part.abs() < LITTLE {
        format!("about as fast ({now})")
    } else if part < 0.0 {
        format!("{} slower ({now})", percent(-part))
    } else {
        format!("{} faster ({now})", percent(part))
    }
}

const fn who(kind: Kind) -> &'static str {
    match kind {
        Kind::Bulk => "downloads",
        Kind::Web => "web requests",
        Kind::Call | Kind::Dns | Kind::Other | Kind::Acknowledgements => kind.name(),
    }
}

pub(super) fn agrees(spec: &str, reacting: f64, replayed: f64) -> String {
    if (reacting - replayed).abs() < LITTLE {
        return format!("A replay of the packets as recorded chooses {spec} as well.");
    }
    format!(
        "A replay of the packets as recorded chooses {spec} as well, but with {} lost in place of \
         {}: trust these figures, because senders react here.",
        percent(replayed),
        percent(reacting)
    )
}

pub(super) fn parts(replayed: &str, spec: &str, trust: Trust, quic: f64) -> String {
    let advice = match trust {
        Trust::Reacting => format!(
            "trust {spec}, because here senders slow down after losses and use what others leave"
        ),
        Trust::Neither => format!(
            "trust neither much, because {} of the bytes are QUIC, which was sent as recorded in \
             both",
            percent(quic)
        ),
    };
    format!("A replay of the packets as recorded would choose {replayed}: {advice}.")
}

/// Whether the verdict depends on what no capture shows.
pub(super) fn open(spec: &str, ends: &[[String; 3]]) -> String {
    let mut same = Vec::new();
    let mut others = Vec::new();
    for [parameter, value, best] in ends {
        if best == spec {
            same.push(format!("{parameter} {value}"));
        } else {
            others.push(format!("with {parameter} {value} {best} is best"));
        }
    }
    if others.is_empty() {
        return format!(
            "The verdict does not depend on what no capture shows: {spec} is best with {}, too.",
            same.join(", ")
        );
    }
    format!(
        "The verdict depends on what no capture shows: {}.",
        others.join(", ")
    )
}

/// What the figures rest on.
pub(super) fn basis(control: &str, replicas: usize, tcp: f64, recorded: f64) -> String {
    format!(
        "Senders react: the applications behind the capture are offered to simulated TCP (preset \
         linux, {control}), with {} of the bytes, and {} are sent as recorded. Figures are means \
         of {}, with half of the 95% confidence interval below; done: the mean time from a request \
         until its answer is complete.",
        percent(tcp),
        percent(recorded),
        counted(replicas as u64, "run")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(kind: Kind) -> Change {
        Change {
            kind,
            p99: None,
            done: None,
            throughput: None,
            loss: None,
        }
    }

    /// What differs is told with both figures, and what differs as little as two runs do is not.
    #[test]
    fn users_read_what_changes_for_them() {
        let calls = Change {
            p99: Some([0.009, 0.23]),
            ..change(Kind::Call)
        };
        let pages = Change {
            done: Some([1.2, 2.9]),
            ..change(Kind::Web)
        };
        let mut downloads = change(Kind::Bulk);
        downloads.throughput = Some([9.6e6, 10e6]);
        let all = [calls, pages, downloads];
        assert_eq!(
            changes("fq_codel", "fifo", &all, [0.003, 0.02], 5),
            "With fq_codel in place of fifo: calls and games 99% of packets within 9.00 ms in place \
             of 230 ms; web requests complete in 1.20 s in place of 2.90 s on average; downloads \
             4.0% slower (9.60 Mbit/s); loss 0.30% in place of 2.0%."
        );
        assert_eq!(
            changes("fq_codel", "fifo", &[], [0.003, 0.02], 5),
            "For users, fq_codel and fifo differ by no more than 5 runs of the same one do."
        );
    }

    #[test]
    fn a_speed_is_slower_faster_or_about_the_same() {
        assert_eq!(speed(11e6, 10e6), "10.0% faster (11.0 Mbit/s)");
        assert_eq!(speed(9e6, 10e6), "10.0% slower (9.00 Mbit/s)");
        assert_eq!(speed(9.9e6, 10e6), "about as fast (9.90 Mbit/s)");
    }

    /// A replay that chooses the same may still lose far more, because nobody slows down in it.
    #[test]
    fn a_replay_that_agrees_may_lose_more() {
        assert_eq!(
            agrees("fq_codel", 0.01, 0.02),
            "A replay of the packets as recorded chooses fq_codel as well."
        );
        let text = agrees("fq_codel", 0.01, 0.4);
        assert!(
            text.contains("but with 40.0% lost in place of 1.0%"),
            "{text}"
        );
        assert!(text.contains("because senders react here"), "{text}");
    }

    /// Where a replay chooses another discipline, a sentence says which to trust, and why.
    #[test]
    fn a_replay_that_parts_is_trusted_or_not_for_a_reason() {
        let text = parts("drr", "fq_codel", Trust::Reacting, 0.1);
        assert_eq!(
            text,
            "A replay of the packets as recorded would choose drr: trust fq_codel, because here \
             senders slow down after losses and use what others leave."
        );
        let text = parts("drr", "fq_codel", Trust::Neither, 0.6);
        assert_eq!(
            text,
            "A replay of the packets as recorded would choose drr: trust neither much, because \
             60.0% of the bytes are QUIC, which was sent as recorded in both."
        );
    }

    #[test]
    fn a_verdict_that_depends_names_what_it_depends_on() {
        let end =
            |parameter: &str, value: &str, best: &str| [parameter, value, best].map(str::to_owned);
        let ends = [
            end("congestion control", "bbr", "drr"),
            end("round trips", "half", "fq_codel"),
        ];
        assert_eq!(
            open("fq_codel", &ends),
            "The verdict depends on what no capture shows: with congestion control bbr drr is best."
        );
        assert_eq!(
            open("fq_codel", &ends[1..]),
            "The verdict does not depend on what no capture shows: fq_codel is best with round \
             trips half, too."
        );
    }
}
