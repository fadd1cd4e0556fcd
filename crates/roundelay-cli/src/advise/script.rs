//! Commands and configuration for the rates.

use roundelay::Rate;
use roundelay_sim::topologies::Line;

use super::household::{Way, lengths};

/// The commands of a Linux router. Rates are down and up. They can be given again, with other rates.
pub(super) fn commands(device: &str, [down, up]: [Rate; 2], line: Line) -> Vec<String> {
    let down = Way::Down.queue(down, line);
    let up = Way::Up.queue(up, line);
    vec![
        format!("tc qdisc replace dev {device} root {up} nat dual-srchost"),
        format!("ip link show ifb4{device} > /dev/null 2>&1 || ip link add ifb4{device} type ifb"),
        format!("ip link set ifb4{device} up"),
        format!("tc qdisc del dev {device} ingress 2> /dev/null || true"),
        format!("tc qdisc add dev {device} handle ffff: ingress"),
        format!(
            "tc filter add dev {device} parent ffff: protocol all matchall action mirred egress \
             redirect dev ifb4{device}"
        ),
        format!("tc qdisc replace dev ifb4{device} root {down} nat dual-dsthost"),
    ]
}

/// A section of `/etc/config/sqm`. Rates are down and up.
pub(super) fn sqm(device: &str, [down, up]: [Rate; 2], line: Line) -> Vec<String> {
    let lengths = lengths(line);
    let mut lines = vec!["config queue".to_owned()];
    for (name, value) in [
        ("enabled", "1".to_owned()),
        ("interface", device.to_owned()),
        ("download", kilobits(down)),
        ("upload", kilobits(up)),
        ("qdisc", "cake".to_owned()),
        ("script", "piece_of_cake.qos".to_owned()),
        // cake's own keyword for the line is a word of its options.
        ("linklayer", "none".to_owned()),
        ("qdisc_advanced", "1".to_owned()),
        ("qdisc_really_really_advanced", "1".to_owned()),
        ("iqdisc_opts", format!("nat dual-dsthost ingress{lengths}")),
        (
            "eqdisc_opts",
            format!("nat dual-srchost ack-filter{lengths}"),
        ),
    ] {
        lines.push(format!("\toption {name} '{value}'"));
    }
    lines
}

fn kilobits(rate: Rate) -> String {
    (rate.bits_per_second() / 1000).to_string()
}
