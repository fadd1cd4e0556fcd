//! What a packet costs in a tree of `htb`, `hfsc` or `drr`, by the number of leaves and of levels:
//! enqueue and dequeue, all leaves backlogged. `drr+htb` is drr at the root and htb below, `drr+tbf+drr`
//! has a class of tbf in between. In `tbf-classes`, `tbf-leaves` and `htb-leaves` every leaf has a
//! bucket of its own, and all have half of the link together, so most sleep at any time. Counted from
//! outside, as the difference of two runs:
//!
//!     cargo build --release -p roundelay --example tree_costs
//!     valgrind --tool=callgrind target/release/examples/tree_costs htb 64 1 100000
//!     valgrind --tool=callgrind target/release/examples/tree_costs htb 64 1 200000

use std::env;
use std::error::Error;

use roundelay::schedulers::AnyDiscipline;
use roundelay::tree::{Config, Node, Service, hfsc, htb};
use roundelay::{FlowId, Instant, Packet, Rate, Scheduler as _, Seed};

const LEN: u32 = 1000;
const LINK: u64 = 1_000_000_000;

/// The service of a node with this part of the link.
fn service(kind: &str, part: u64) -> Service {
    let rate = Rate::from_bits_per_second((LINK / part).max(8));
    let rate = rate.expect("more than nothing");
    match kind {
        "htb" => {
            let mut class = htb::Class::new(rate);
            class.ceil = Rate::from_bits_per_second(LINK);
            class.burst = Some(10 * LEN);
            class.cburst = class.burst;
            class.quantum = Some(1514);
            Service::Htb(class)
        }
        "hfsc" => Service::Hfsc(hfsc::Class {
            rt: Some(hfsc::Curve::line(rate)),
            ls: Some(hfsc::Curve::line(rate)),
            ul: None,
        }),
        _ => Service::Shared,
    }
}

/// A class of this kind.
fn class(name: &str, kind: &str) -> Result<Node, Box<dyn Error>> {
    let mut node = Node::new(name, "drr".parse()?);
    match kind {
        "htb" => node.spec.discipline = AnyDiscipline::Htb(htb::Config::default()),
        "hfsc" => node.spec.discipline = AnyDiscipline::Hfsc(hfsc::Config),
        "drr" | "priority" | "tbf rate 1tbit burst 1mb" => node.spec = kind.parse()?,
        other => return Err(format!("'{other}': expected htb, hfsc, drr, priority or tbf").into()),
    }
    Ok(node)
}

/// `levels` - 1 classes, each below the one before, and the leaves below the last.
fn tree(kinds: &str, leaves: u32, levels: u32) -> Result<Config, Box<dyn Error>> {
    let mut of_levels = Vec::new();
    for kind in kinds.split('+') {
        of_levels.push(if kind == "tbf" {
            "tbf rate 1tbit burst 1mb"
        } else {
            kind
        });
    }
    let kind_of = |level: u32| of_levels[(level as usize).min(of_levels.len() - 1)];
    let mut tree = Config::new(class("0", kind_of(0))?)?;
    for level in 1..levels {
        let mut inner = class(&level.to_string(), kind_of(level))?;
        inner.service = service(kind_of(level - 1), 1);
        tree.add_class(&(level - 1).to_string(), inner)?;
    }
    let kind = kind_of(levels - 1);
    let parent = (levels - 1).to_string();
    // Below the root each leaf sends at its rate; below a class it borrows every second packet, or
    // gets it by sharing.
    let part = u64::from(leaves) * if levels == 1 { 1 } else { 2 };
    for flow in 0..leaves {
        let name = format!("leaf {flow}");
        let mut leaf = Node::new(&name, "fifo".parse()?);
        leaf.service = service(kind, part);
        tree.add_leaf(&parent, leaf)?;
        tree.assign(FlowId(flow), &name)?;
        tree.set_default(&name)?;
    }
    Ok(tree)
}

/// Leaves below the root that share half of the link by rates of their own: behind a class of tbf
/// each, as leaves of tbf, or of htb.
fn shaped(kind: &str, leaves: u32) -> Result<Config, Box<dyn Error>> {
    let root = if kind == "htb-leaves" { "htb" } else { "drr" };
    let mut tree = Config::new(class("link", root)?)?;
    let rate = LINK / 2 / u64::from(leaves);
    for flow in 0..leaves {
        let name = format!("leaf {flow}");
        let mut leaf = Node::new(&name, "fifo".parse()?);
        let mut parent = "link".to_owned();
        match kind {
            "tbf-classes" => {
                parent = format!("bucket {flow}");
                let bucket = format!("tbf rate {rate}bit burst 2000b");
                tree.add_class("link", Node::new(&parent, bucket.parse()?))?;
            }
            "tbf-leaves" => {
                leaf.spec = format!("tbf rate {rate}bit burst 2000b limit 1mb").parse()?;
            }
            _ => {
                let rate = Rate::from_bits_per_second(rate).ok_or("too many leaves")?;
                let mut class = htb::Class::new(rate);
                class.quantum = Some(1514);
                leaf.service = Service::Htb(class);
            }
        }
        tree.add_leaf(&parent, leaf)?;
        tree.assign(FlowId(flow), &name)?;
        tree.set_default(&name)?;
    }
    Ok(tree)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [kind, leaves, levels, packets] = &arguments[..] else {
        return Err("expected: kinds such as htb or drr+tbf; leaves; levels; packets".into());
    };
    let (leaves, levels): (u32, u32) = (leaves.parse()?, levels.parse()?);
    let packets: u64 = packets.parse()?;
    let is_shaped = kind.ends_with("-classes") || kind.ends_with("-leaves");
    let plan = if is_shaped {
        shaped(kind, leaves)?
    } else {
        tree(kind, leaves, levels)?
    };
    let mut tree = plan.build_tree::<u32>(Seed::new(1))?;
    let link = Rate::from_bits_per_second(LINK).expect("more than nothing");
    let time = link.time_of(LEN.into());
    let mut now = Instant::ZERO;
    for flow in (0..3).flat_map(|_| 0..leaves) {
        let packet = Packet::new(FlowId(flow), LEN, 0);
        tree.enqueue(now, packet).map_err(|_| "the leaf is full")?;
        // A bucket begins with two packets. So the leaves' times are apart by two packets on the
        // link, which rests after each one.
        while is_shaped && let Some(packet) = tree.dequeue(now) {
            tree.enqueue(now, packet).map_err(|_| "the leaf is full")?;
            now += time;
        }
    }
    let mut sent = 0;
    let mut waits = 0_u64;
    while sent < packets {
        let Some(packet) = tree.dequeue(now) else {
            waits += 1;
            now = tree.ready_at().ok_or("packets wait for nothing")?;
            continue;
        };
        let next = Packet::new(packet.flow, LEN, 0);
        tree.enqueue(now, next).map_err(|_| "the leaf is full")?;
        now += time;
        sent += 1;
    }
    assert_eq!(tree.backlog().packets, 3 * u64::from(leaves));
    println!("{kind}, {leaves} leaves, {levels} levels: {sent} packets, {waits} waits");
    Ok(())
}
