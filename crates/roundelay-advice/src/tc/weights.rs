//! Classes and filters for weights of flows (tc-flow(8)).
//!
//! Each rule has classes with its weight. The rule's flower filter continues in a chain, and there
//! a flow filter hashes flows into these classes. Filters come in the order of the rules, and the
//! first match decides, as in the comparison.

use roundelay_trace::WeightRule;

use super::flower;

/// Flows are hashed into this many classes, in qdiscs that have classes.
pub(super) const CLASSES: u32 = 64;
/// A rule's flows are hashed into this many classes.
pub(super) const CLASSES_A_RULE: u32 = 16;
/// The largest sum of weights that Linux's qfq allows.
pub(super) const MOST_WEIGHT: u64 = 1 << 16;
/// The most rules possible, because numbers of classes and priorities of filters have 16 bits.
pub(super) const MOST_RULES: usize = 200;

/// Commands for the classes of all rules, with their filters. `class` gives a class's words for a
/// weight, and `hash` the flow filter's keys.
pub(super) fn commands(
    handle: u32,
    rules: &[WeightRule],
    default: u32,
    class: impl Fn(u32) -> String,
    hash: &str,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut priority = 0;
    for (rule, number) in rules.iter().zip(1_u32..) {
        let base = 256 * number;
        let class = class(rule.weight().unwrap_or(default));
        lines.push(format!(
            "for i in $(seq {} {}); do tc class add dev $DEV parent {handle:x}: classid \
            {handle:x}:$(printf %x $i) {class}; done",
            base + 1,
            base + CLASSES_A_RULE
        ));
        lines.push(format!(
            "tc filter add dev $DEV parent {handle:x}: chain {number} protocol all prio 1 handle \
            1 flow hash keys {hash} divisor \
             {CLASSES_A_RULE} baseclass {handle:x}:{:x}",
            base + 1
        ));
        for (family, words) in flower::filters(rule) {
            priority += 1;
            lines.push(format!(
                "tc filter add dev $DEV parent {handle:x}: protocol {family} prio {priority} \
                {words} action goto chain {number}"
            ));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_has_classes_and_a_chain() {
        let lines = commands(
            0x10,
            &["udp = 7".parse().unwrap()],
            1,
            |weight| format!("drr quantum {}", 1500 * weight),
            "src,dst",
        );
        assert_eq!(
            lines[..2],
            [
                "for i in $(seq 257 272); do tc class add dev $DEV parent 10: classid \
                10:$(printf %x $i) drr quantum 10500; done",
                "tc filter add dev $DEV parent 10: chain 1 protocol all prio 1 handle 1 flow \
                hash keys src,dst divisor 16 baseclass 10:101",
            ]
        );
    }
}
