//! The kinds of qdiscs that Linux has.

use roundelay::suggestion::nearest;

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

/// The qdisc of Linux that was probably meant by a kind that Linux does not have. The kind may also
/// be a module of the user's own, because tc takes any name.
pub(crate) fn meant(kind: &str) -> Option<&'static str> {
    // teql's names end with the number of its interface.
    let name = kind.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if KINDS.contains(&kind) || name == "teql" {
        return None;
    }
    nearest(kind, KINDS.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use roundelay::schedulers::{AnyDiscipline, Linux};

    #[test]
    fn linux_has_what_disciplines_say_that_it_has() {
        for discipline in AnyDiscipline::all() {
            if let Linux::Qdisc { name, .. } = discipline.info().linux {
                assert_eq!(meant(name), None, "{name}");
            }
        }
        assert!(KINDS.is_sorted());
    }

    #[test]
    fn a_kind_that_linux_does_not_have_may_be_mistyped() {
        assert_eq!(meant("htbb"), Some("htb"));
        assert_eq!(meant("fq_codell"), Some("fq_codel"));
        for kind in ["my_shaper", "bpf_fq", "teql7", "quark"] {
            assert_eq!(meant(kind), None, "{kind}");
        }
    }
}
