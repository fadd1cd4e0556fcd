//! Costs as text: a row per subject, with packed and scattered memory side by side.

use roundelay_bench::Subject;
use roundelay_report::aligned;

use super::measured::{Measured, Row};

/// A subject that sends a smaller share of packets is mostly dropping, so a line below the table
/// says it.
const NEARLY_ALL: f64 = 0.99;

/// The table of costs under loads that differ in memory, with a warning for each subject that is
/// mostly dropping.
pub(super) fn text(measured: &[Measured]) -> String {
    let Some(first) = measured.first() else {
        return String::new();
    };
    let mut groups = vec![""];
    let mut head = vec!["a packet".to_owned()];
    for measured in measured {
        for (name, _) in columns(&measured.rows[0]) {
            groups.push(measured.load.memory.name());
            head.push(name.to_owned());
        }
    }
    let mut rows = vec![head];
    for (index, row) in first.rows.iter().enumerate() {
        let costs = measured
            .iter()
            .flat_map(|measured| costs(&measured.rows[index]));
        rows.push(std::iter::once(row.subject.clone()).chain(costs).collect());
    }
    let warnings: String = first.rows.iter().filter_map(warning).collect();
    format!(
        "{}\n{}{warnings}\n",
        first.load.but_memory(),
        aligned(&groups, &rows)
    )
}

fn costs(row: &Row) -> impl Iterator<Item = String> {
    let sends = row.sends();
    columns(row).into_iter().map(move |(_, value)| {
        if sends && !value.is_nan() {
            format!("{value:.2}")
        } else {
            "–".to_owned()
        }
    })
}

/// The figure to compare, its net value, the other figures, and the saved cost.
fn columns(row: &Row) -> Vec<(&'static str, f64)> {
    let mut columns = row.figures.clone();
    columns.insert(1, ("net", row.net));
    if let Some(saved) = row.saved {
        columns.extend([("was", saved), ("ratio", row.compared() / saved)]);
    }
    columns
}

fn warning(row: &Row) -> Option<String> {
    let subject = &row.subject;
    let share = row.passed.share();
    if share >= NEARLY_ALL || *subject == Subject::Generator.name() {
        return None;
    }
    if !row.sends() {
        return Some(format!("{subject} sent none of the packets.\n"));
    }
    Some(format!(
        "{subject} sent {:.1}% of the packets: the figures are not the cost of forwarding.\n",
        share * 100.0
    ))
}

/// Notes below the table: after one round the spread is unknown, and a net cost below zero is
/// noise. `rounds` is None for counts, which have no noise.
pub(super) fn hints(measured: &[Measured], rounds: Option<u16>) -> String {
    let is_below_zero = measured
        .iter()
        .flat_map(|measured| &measured.rows)
        .any(|row| row.sends() && row.net < 0.0);
    let hints = [
        (
            rounds == Some(1),
            "One round does not show how much figures scatter: --rounds 5 does.",
        ),
        (
            rounds.is_some() && is_below_zero,
            "A net cost below zero is noise that is larger than the cost: more --rounds, more \
             --pairs, or --instructions, where there is none.",
        ),
    ];
    hints
        .into_iter()
        .filter(|(is_due, _)| *is_due)
        .map(|(_, hint)| format!("{hint}\n"))
        .collect()
}

/// A line for each cost that differs from the saved one by more than `percent`, or has no saved
/// one.
pub(super) fn beyond(measured: &[Measured], percent: f64) -> Vec<String> {
    let mut lines = Vec::new();
    for Measured { load, rows } in measured {
        for row in rows {
            let now = row.compared();
            let saved = row.saved.unwrap_or(f64::NAN);
            let change = (now - saved) * 100.0 / saved;
            // NaN: there is no saved cost.
            if change.is_nan() || change.abs() > percent {
                lines.push(format!(
                    "{load}: {} was {saved:.2}, is {now:.2} ({change:+.1}%)",
                    row.subject
                ));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use roundelay_bench::{Lengths, Load, Memory, Order, Passed, Pattern};

    use super::*;

    fn measured(memory: Memory, saved: Option<f64>) -> Measured {
        let load = Load {
            flows: "512".parse().unwrap(),
            pattern: Pattern::Small,
            order: Order::Shortest,
            lengths: Lengths::Imix,
            memory,
            burst: 32,
        };
        let row = |subject: &str, gross: f64, sent| Row {
            subject: subject.to_owned(),
            figures: vec![
                ("ns", gross),
                ("least ns", gross - 1.0),
                ("most ns", gross + 1.0),
            ],
            net: gross - 10.0,
            passed: Passed {
                offered: 1000,
                sent,
            },
            saved,
        };
        Measured {
            load,
            rows: vec![row("none", 10.0, 1000), row("red", 14.0, 500)],
        }
    }

    #[test]
    fn both_memories_stand_side_by_side() {
        let text = text(&Memory::ALL.map(|memory| measured(memory, None)));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "512 flows, small, lengths imix, bursts of 32");
        assert!(
            lines[1].contains("packed") && lines[1].contains("scattered"),
            "{text}"
        );
        assert_eq!(lines[2].matches("net").count(), 2, "{text}");
        assert!(lines[4].contains(" 4.00"), "{text}");
        assert_eq!(
            lines[5],
            "red sent 50.0% of the packets: the figures are not the cost of forwarding."
        );
    }

    /// Without the check in `sends`, the printed cost was 525003 ns a packet.
    #[test]
    fn what_sends_nothing_has_no_cost() {
        let mut measured = measured(Memory::Packed, None);
        measured.rows[1].passed.sent = 0;
        let text = text(&[measured]);
        let words: Vec<_> = text
            .lines()
            .nth(4)
            .unwrap()
            .split_whitespace()
            .take(5)
            .collect();
        assert_eq!(words, ["red", "–", "–", "–", "–"], "{text}");
        assert!(
            text.ends_with("\nred sent none of the packets.\n\n"),
            "{text}"
        );
    }

    #[test]
    fn the_generator_is_compared_as_it_is_and_others_without_it() {
        // The generator cost 4 and now costs 10. RED cost 4 and still does.
        let measured = [measured(Memory::Packed, Some(4.0))];
        assert_eq!(
            beyond(&measured, 2.0),
            [
                "512 flows, small, lengths imix, bursts of 32, packed: none was 4.00, is 10.00 \
                 (+150.0%)"
            ]
        );
        assert!(beyond(&measured, 150.0).is_empty());
        assert!(text(&measured).contains("2.50"), "{}", text(&measured));
    }

    #[test]
    fn noise_is_told_as_such() {
        let mut all = [measured(Memory::Packed, None)];
        assert_eq!(hints(&all, Some(5)), "");
        assert!(hints(&all, Some(1)).starts_with("One round ") && hints(&all, None).is_empty());
        all[0].rows[1].net = -0.3;
        assert!(
            hints(&all, Some(5)).starts_with("A net cost below zero "),
            "{}",
            hints(&all, Some(5))
        );
        assert_eq!(hints(&all, None), "", "instructions are counted");
    }

    #[test]
    fn what_was_not_saved_is_beyond_any_bound() {
        assert_eq!(beyond(&[measured(Memory::Packed, None)], 1000.0).len(), 2);
        assert_eq!(
            beyond(&[measured(Memory::Packed, Some(f64::NAN))], 1000.0).len(),
            2
        );
        // A lower cost fails too, because the committed file must stay correct.
        assert_eq!(
            beyond(&[measured(Memory::Packed, Some(40.0))], 2.0).len(),
            2
        );
    }
}
