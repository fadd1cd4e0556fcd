//! Chooses prio's or ets's band where no filter does: by priority, which Linux takes from an IPv4
//! packet's code point when it forwards the packet (tc-prio(8)).

/// Priorities by the two bits that count in the old type of service: none, bulk, interactive, both.
const PRIORITIES: [usize; 4] = [0, 2, 6, 4];

/// All code points, each with its band.
pub(super) fn code_points(priomap: &[u16; 16]) -> Vec<(Vec<u8>, u16)> {
    let mut all = Vec::new();
    for (bits, priority) in PRIORITIES.iter().enumerate() {
        let mut points = Vec::new();
        for point in 0..64_u8 {
            if usize::from(point >> 1 & 3) == bits {
                points.push(point);
            }
        }
        all.push((points, priomap[*priority]));
    }
    all
}

/// A remark, unless all packets go to one band. `has_ef` says that a filter sends EF somewhere.
pub(super) fn remark(priomap: &[u16; 16], has_ef: bool) -> Option<String> {
    let is_one = PRIORITIES
        .iter()
        .all(|priority| priomap[*priority] == priomap[0]);
    if is_one {
        return None;
    }
    let mut text =
        "priomap: a packet that no filter matches goes by its code point, as Linux does with IPv4 \
         packets that it forwards; others, such as IPv6 packets, go to the band of priority 0"
            .to_owned();
    if !has_ef && priomap[PRIORITIES[3]] > 0 {
        text += ". EF (46) counts as interactive bulk there, so it is not in the first band";
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_the_type_of_service_choose_the_band() {
        let mut priomap = [1_u16; 16];
        priomap[6] = 0;
        priomap[2] = 2;
        let all = code_points(&priomap);
        let band = |point: u8| {
            let found = all.iter().find(|(points, _)| points.contains(&point));
            found.expect("all are there").1
        };
        // Type of service 0x10, 0x08, 0, and EF.
        assert_eq!([band(4), band(2), band(0), band(46)], [0, 2, 1, 1]);
        let has_ef = |told| remark(&priomap, told).expect("a remark").contains("EF");
        assert!(has_ef(false) && !has_ef(true));
    }
}
