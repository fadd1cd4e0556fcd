//! The kinds of qdiscs that Linux has.

use roundelay::Fault;

/// Names of Linux's qdiscs, those that it has no longer too, and the offloaded ones of OpenWrt's
/// NSS builds.
const KINDS: [&str; 56] = [
    "atm",
    "bfifo",
    "blackhole",
    "cake",
    "cake_mq",
    "cbq",
    "cbs",
    "choke",
    "clsact",
    "codel",
    "csz",
    "drr",
    "dsmark",
    "dualpi2",
    "etf",
    "ets",
    "fq",
    "fq_codel",
    "fq_pie",
    "gred",
    "hfsc",
    "hhf",
    "htb",
    "ingress",
    "mq",
    "mqprio",
    "multiq",
    "netem",
    "noop",
    "noqueue",
    "nssbf",
    "nssbfifo",
    "nssblackhole",
    "nsscodel",
    "nssfq_codel",
    "nsshtb",
    "nsspfifo",
    "nssprio",
    "nsstbl",
    "nsswred",
    "nsswrr",
    "pfifo",
    "pfifo_fast",
    "pfifo_head_drop",
    "pie",
    "plug",
    "prio",
    "qfq",
    "red",
    "rr",
    "sfb",
    "sfq",
    "skbprio",
    "taprio",
    "tbf",
    "teql",
];

/// Checks that Linux has qdiscs of this kind.
pub(crate) fn check(kind: &str) -> Result<(), Fault> {
    // teql's names end with the number of its interface.
    let name = kind.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if KINDS.contains(&kind) || name == "teql" {
        return Ok(());
    }
    let all = KINDS.join(", ");
    Err(Fault::unknown(kind, &KINDS, |meant| {
        let problem = format!("no qdisc of Linux is called '{kind}'");
        if meant.is_empty() {
            format!("{problem}: {all}")
        } else {
            problem + meant
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use roundelay::schedulers::{AnyDiscipline, Linux};

    #[test]
    fn linux_has_what_disciplines_say_that_it_has() {
        for discipline in AnyDiscipline::all() {
            if let Linux::Qdisc { name, .. } = discipline.info().linux {
                assert!(check(name).is_ok(), "{name}");
            }
        }
        assert!(KINDS.is_sorted());
    }

    #[test]
    fn a_name_that_linux_does_not_have_is_data() {
        let fault = check("htbb").expect_err("no qdisc");
        assert_eq!((fault.given(), fault.meant()), (Some("htbb"), Some("htb")));
        assert!(
            fault
                .legal()
                .is_some_and(|legal| legal.starts_with("atm, bfifo"))
        );
    }
}
