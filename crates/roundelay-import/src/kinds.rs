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

/// Refuses a kind that is nearly one of Linux's, because it is mistyped. Any other unknown kind may
/// be a module of the user's own, or of a kernel after this list.
pub(crate) fn check(kind: &str) -> Result<(), Fault> {
    // teql's names end with the number of its interface.
    let name = kind.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if KINDS.contains(&kind) || name == "teql" {
        return Ok(());
    }
    let fault = Fault::unknown(kind, &KINDS, |meant| {
        format!("no qdisc of Linux is called '{kind}'{meant}")
    });
    if fault.meant().is_some() {
        return Err(fault);
    }
    Ok(())
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
    fn a_name_like_none_of_linux_may_be_a_module() {
        for kind in ["my_shaper", "bpf_fq", "fq_codel_fast"] {
            assert!(check(kind).is_ok(), "{kind}");
        }
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
