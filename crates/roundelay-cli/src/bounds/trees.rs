//! Delays in a tree's leaves, if its classes have curves (`hfsc`) or rates (`htb`) of their own.
//! For the proofs see docs/bounds.md, "Trees".

use roundelay::{Duration, Fault, Rate};
use roundelay_trace::TreeFile;

use super::plan::{Flow, Plan};

/// A flow's delay in its leaf, and its source. None: nothing is proven.
///
/// # Errors
/// The tree has no such leaf, or the leaf does not take the flow's packets.
pub(super) fn delay(
    plan: &Plan,
    tree: &TreeFile,
    flow: &Flow,
) -> Result<Option<(Duration, &'static str)>, Fault> {
    let [hop] = &plan.hops[..] else {
        return Err("a tree has bounds for one link: leave --hops out".into());
    };
    let leaf = find(tree, flow)?;
    let guarantees = tree.config().leaf_guarantees(&leaf.name, hop.rate);
    let guarantees = guarantees?;
    let (Some(service), "fifo") = (guarantees.service, leaf.spec.discipline.name()) else {
        return Ok(None);
    };
    // Flows in one leaf are one flow behind the sum of their buckets.
    let mut rate: u64 = 0;
    let mut burst: u64 = 0;
    for other in plan
        .flows
        .iter()
        .filter(|other| other.leaf() == flow.leaf())
    {
        let Some(own) = other.rate.filter(|_| other.has_bucket) else {
            return Ok(None);
        };
        rate = rate.saturating_add(own.bits_per_second());
        burst = burst.saturating_add(other.burst);
    }
    let Some(rate) = Rate::from_bits_per_second(rate) else {
        return Ok(None);
    };
    let delay = service.value.delay(rate, burst);
    Ok(delay.map(|delay| (delay + hop.delay, service.source)))
}

/// The flow's leaf.
fn find<'a>(tree: &'a TreeFile, flow: &Flow) -> Result<&'a roundelay::tree::Node, Fault> {
    let config = tree.config();
    let mut leaves = Vec::new();
    for node in config.nodes() {
        if config.children_of(&node.name).is_empty() {
            leaves.push(node);
        }
    }
    let Some(leaf) = leaves.iter().find(|leaf| leaf.name == flow.leaf()) else {
        let names: Vec<&str> = leaves.iter().map(|leaf| leaf.name.as_str()).collect();
        let legal = names.join(", ");
        let message = format!(
            "flow '{}': the tree '{}' has no leaf '{}': give the flow a `leaf`, one of {legal}",
            flow.name,
            tree.name(),
            flow.leaf(),
        );
        let fault = Fault::new(message).with_given(flow.leaf());
        return Err(fault.with_legal(legal));
    };
    if flow.max_packet_len > leaf.max_packet_len {
        return Err(format!(
            "flow '{}': leaf '{}' takes packets of up to {} bytes, the flow has {}: write \
             `maxpkt` at the leaf",
            flow.name, leaf.name, leaf.max_packet_len, flow.max_packet_len
        )
        .into());
    }
    Ok(leaf)
}
