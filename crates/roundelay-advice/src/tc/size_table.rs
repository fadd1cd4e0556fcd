//! Linux's size table (`stab`): the link's overhead and framing in `tc` commands (tc-stab(8)).
//!
//! `stab` starts from the packet with the interface's link header, 14 bytes on Ethernet. It does
//! not know PTM, so the rate in the commands is 64/65 of the link's instead.

use roundelay::{Framing, LinkLayer, Rate};

/// Bytes of an Ethernet header, which Linux counts in on an Ethernet interface.
const ETHERNET_HEADER: i32 = 14;
/// The words before the handle in the command of the qdisc that gets the size table.
const ROOT: &str = " root handle ";
/// One slot for each byte up to 2,048, so lengths are exact.
const SLOTS: &str = "mtu 2047 tsize 2048";

/// The commands with a size table at the root, if the link changes lengths and there are commands.
pub(crate) fn with_size_table(mut lines: Vec<String>, link: LinkLayer) -> Vec<String> {
    if link.keeps_lengths() && link.raw {
        return lines;
    }
    let mut has_table = false;
    for line in &mut lines {
        // cake needs no table because it has words of its own for the link.
        if let Some((add, qdisc)) = line.split_once(ROOT)
            && let Some((handle, qdisc)) = qdisc.split_once(": ")
            && !qdisc.starts_with("cake ")
        {
            *line = format!("{add}{ROOT}{handle}: stab {} {qdisc}", words(link));
            has_table = true;
        }
    }
    if !has_table {
        return lines;
    }
    if !link.raw {
        lines.push(format!(
            "# stab's overhead is for an Ethernet interface, whose header of {ETHERNET_HEADER} \
            bytes Linux counts; \
             on one without a header, as ppp0, it is {}",
            link.overhead
        ));
    }
    if link.framing == Framing::Ptm {
        let has_own_rates = lines.iter().any(|line| has_own_rate(line));
        let rates = if has_own_rates {
            "multiply the rates that you wrote by 64/65"
        } else {
            "the rates below are 64/65 of the link's"
        };
        lines.insert(0, format!("# stab has no ptm: {rates}"));
    }
    lines
}

/// Whether the command states a rate that comes from a tree's file or a tbf.
fn has_own_rate(line: &str) -> bool {
    let is_class = line.contains("htb rate ") && !line.contains(" classid 1:1 ");
    is_class || line.contains(" hfsc ") || line.contains(" tbf ")
}

/// The rate to write in commands. PTM's share is taken off because the size table lacks it.
pub(crate) fn rate_in_commands(rate: Rate, link: LinkLayer) -> Rate {
    let bits = u128::from(rate.bits_per_second()) * 64 / 65;
    let lower = u64::try_from(bits)
        .ok()
        .and_then(Rate::from_bits_per_second);
    match lower {
        Some(lower) if link.framing == Framing::Ptm => lower,
        _ => rate,
    }
}

fn words(link: LinkLayer) -> String {
    let overhead = if link.raw {
        link.overhead
    } else {
        link.overhead - ETHERNET_HEADER
    };
    let framing = if link.framing == Framing::Atm {
        "atm"
    } else {
        "ethernet"
    };
    // Linux makes no table unless there is a minimum or there are cells.
    let slots = if link.mpu > 0 || link.framing == Framing::Atm {
        format!(" {SLOTS}")
    } else {
        String::new()
    };
    let mpu = if link.mpu > 0 {
        format!(" mpu {}", link.mpu)
    } else {
        String::new()
    };
    format!("overhead {overhead}{mpu} linklayer {framing}{slots}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(link: &str) -> Vec<String> {
        let lines = [
            "tc qdisc add dev $DEV root handle 1: htb default 1",
            "tc class add dev $DEV parent 1: classid 1:1 htb rate 1mbit",
        ];
        with_size_table(lines.map(str::to_owned).to_vec(), link.parse().unwrap())
    }

    #[test]
    fn the_root_has_the_size_table() {
        assert_eq!(commands("raw").len(), 2);
        let root = |link| commands(link)[0].clone();
        assert_eq!(
            root("pppoe-llcsnap"),
            "tc qdisc add dev $DEV root handle 1: stab overhead 26 linklayer atm mtu 2047 tsize \
            2048 htb default 1"
        );
        assert_eq!(
            root("raw docsis"),
            "tc qdisc add dev $DEV root handle 1: stab overhead 18 mpu 64 linklayer ethernet mtu \
            2047 tsize 2048 htb default 1"
        );
        assert_eq!(
            root("ether-vlan"),
            "tc qdisc add dev $DEV root handle 1: stab overhead -10 linklayer ethernet htb \
            default 1"
        );
        assert!(commands("pppoe-ptm")[0].contains("no ptm: the rates below"));
        // A tree whose root is htb or hfsc, and cake.
        let of = |qdisc: &str| {
            let line = format!("tc qdisc add dev $DEV root handle 10: {qdisc}");
            with_size_table(vec![line], "pppoe-ptm".parse().unwrap())
        };
        assert_eq!(
            of("hfsc default 2 # link")[..2],
            [
                "# stab has no ptm: multiply the rates that you wrote by 64/65",
                "tc qdisc add dev $DEV root handle 10: stab overhead 16 linklayer ethernet hfsc \
                 default 2 # link"
            ]
        );
        let cake = "cake bandwidth 5mbit pppoe-ptm";
        assert_eq!(
            of(cake),
            [format!("tc qdisc add dev $DEV root handle 10: {cake}")]
        );
        assert_eq!(
            with_size_table(Vec::new(), "docsis".parse().unwrap()),
            Vec::<String>::new()
        );
    }

    #[test]
    fn ptm_takes_its_share_of_the_rate() {
        let rate = |link: &str| {
            rate_in_commands("65mbit".parse().unwrap(), link.parse().unwrap()).to_string()
        };
        assert_eq!(rate("pppoe-ptm"), "64mbit");
        assert_eq!(rate("docsis"), "65mbit");
    }
}
