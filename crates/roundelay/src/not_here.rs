//! Names of Linux qdiscs that are no disciplines here.

/// Linux qdiscs that have no discipline here, with the reason or what to do instead.
const NOT_HERE: [(&str, &str); 15] = [
    (
        "cbq",
        "Linux has it no longer; htb and hfsc are classes of a tree",
    ),
    ("clsact", FILTERS),
    (
        "etf",
        "it holds packets until times that their sender wrote, and no capture shows these",
    ),
    ("gred", "it is red with a queue for each class; compare red"),
    (
        "hhf",
        "it finds heavy flows; sfq, fq_codel and cake serve them no faster than others without finding them",
    ),
    ("ingress", FILTERS),
    ("mq", RINGS),
    ("mqprio", RINGS),
    ("multiq", RINGS),
    (
        "netem",
        "delay and loss belong to the link: the keys delay, jitter and loss of 'roundelay \
         simulate' and 'roundelay live'",
    ),
    (
        "noqueue",
        "nothing waits there, so nothing is in another order",
    ),
    ("plug", "it only holds packets until a program lets them go"),
    (
        "skbprio",
        "it is priority that pushes the last class out; compare priority",
    ),
    (
        "taprio",
        "its gates open by the clock, as a link trace does in 'roundelay simulate' and 'live'",
    ),
    (
        "teql",
        "it shares packets among links; each of them has a queue",
    ),
];

const RINGS: &str = "it has a queue for each ring of an interface; compare what is below it";
const FILTERS: &str = "it only holds filters; downloads are shaped at an ifb interface";

/// Why a Linux qdisc has no discipline here. None for other names.
pub(crate) fn reason(name: &str) -> Option<&'static str> {
    let (_, why) = NOT_HERE.iter().find(|(qdisc, _)| *qdisc == name)?;
    Some(why)
}
