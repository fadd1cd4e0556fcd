//! Commands for cake: a single qdisc at the root, because cake has the shaper and the link's
//! overhead built in.

use roundelay::schedulers::{AnyDiscipline, cake};
use roundelay::{Limit, LinkLayer, Rate};

use super::distinctions::Distinctions;
use super::leaf;
use super::numbers::at_least_a_byte;
use super::qdisc::{HANDLE, delete_root};
use super::remarks::{comment, remarks};

/// The commands on a link of this rate. A cake without a rate gets the link's, so that the queue
/// builds up here instead of in the device behind.
pub(super) fn commands(
    config: &cake::Config,
    limit: Limit,
    rate: Rate,
    link: LinkLayer,
    distinctions: &Distinctions<'_>,
) -> Vec<String> {
    let bandwidth = config.bandwidth.unwrap_or(rate).min(rate);
    let shaped = cake::Config {
        bandwidth: Some(at_least_a_byte(bandwidth)),
        ..*config
    };
    let mut words = leaf::cake(&shaped, limit);
    let has_link = !(link.keeps_lengths() && link.raw);
    if has_link && config.overhead == 0 {
        words += &format!(" {link}");
    }
    let mut lines = delete_root().to_vec();
    lines.push(format!(
        "tc qdisc add dev $DEV root handle {HANDLE:x}: {words}"
    ));
    for remark in remarks(&AnyDiscipline::Cake(*config), limit, distinctions) {
        lines.push(comment(remark));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use roundelay::QueueSpec;

    fn command(spec: &str, link: LinkLayer) -> String {
        let spec: QueueSpec = spec.parse().unwrap();
        let AnyDiscipline::Cake(config) = &spec.discipline else {
            panic!("{}", spec.discipline);
        };
        let rate = "20mbit".parse().unwrap();
        let limit = spec.limit_or_default();
        let lines = commands(config, limit, rate, link, &Distinctions::default());
        let start = "tc qdisc add dev $DEV root handle 10: ";
        let mut added = lines.iter().filter_map(|line| line.strip_prefix(start));
        added.next().unwrap().to_owned()
    }

    #[test]
    fn the_shaper_and_the_link_are_cake_s_own() {
        for (spec, link, expected) in [
            ("cake bandwidth 18mbit", "", "cake bandwidth 18mbit"),
            (
                "cake bandwidth 50mbit diffserv4 rtt 30ms nat",
                "docsis",
                "cake bandwidth 20mbit rtt 30000us diffserv4 nat overhead 18 mpu 64",
            ),
            (
                "cake bandwidth 10mbit overhead 30 ptm header 0b",
                "docsis",
                "cake bandwidth 10mbit overhead 30 ptm",
            ),
            (
                "cake bandwidth 10mbit ingress memlimit 1mb",
                "raw",
                "cake bandwidth 10mbit ingress memlimit 1048576",
            ),
        ] {
            let link = link.parse().unwrap_or(LinkLayer::NONE);
            assert_eq!(command(spec, link), expected, "{spec}");
        }
    }

    #[test]
    fn an_unlimited_cake_gets_the_rate_of_the_link() {
        let command = command("cake dual-dsthost", LinkLayer::NONE);
        assert!(
            command.starts_with("cake bandwidth 20mbit dual-dsthost"),
            "{command}"
        );
    }
}
