//! Size table (`stab`) of Linux: the link's overhead and framing in `tc` commands (tc-stab(8)).
//!
//! `stab` counts from the packet with the interface's link header, 14 bytes on Ethernet; it has no
//! PTM, whose share of 1/64 goes into the rate instead.

use roundelay::{Framing, LinkLayer, Rate};

/// Bytes of an Ethernet header, which Linux counts on an Ethernet interface.
const ETHERNET_HEADER: i32 = 14;
/// End of the words to which the size table is added.
const ROOT: &str = " root handle 1:";
/// Packets up to 2,048 bytes, one slot a byte: exact lengths.
const SLOTS: &str = "mtu 2047 tsize 2048";

/// The commands with a size table at the root, if the link changes lengths and there are commands.
pub(crate) fn with_size_table(mut lines: Vec<String>, link: LinkLayer) -> Vec<String> {
    if link.keeps_lengths() && link.raw {
        return lines;
    }
    let Some(root) = lines.iter_mut().find(|line| line.contains(ROOT)) else {
        return lines;
    };
    *root = root.replacen(ROOT, &format!("{ROOT} stab {}", words(link)), 1);
    if !link.raw {
        lines.push(format!(
            "# stab's overhead is for an Ethernet interface, whose header of {ETHERNET_HEADER} \
            bytes Linux counts; \
             on one without a header, as ppp0, it is {}",
            link.overhead
        ));
    }
    if link.framing == Framing::Ptm {
        lines.insert(
            0,
            "# stab has no ptm: the rates below are 64/65 of the link's".to_owned(),
        );
    }
    lines
}

/// The rate to write in commands: without the share of PTM, which the size table lacks.
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
    // Without a minimum and without cells Linux makes no table.
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
        assert!(commands("pppoe-ptm")[0].contains("no ptm"));
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
