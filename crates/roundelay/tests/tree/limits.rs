//! The limit of the buffer in front of a tree.

use roundelay::Limit;
use roundelay::author::Discipline as _;
use roundelay::tree::Config;

use super::plans::node;

/// Formerly 1000 packets were the limit of all leaves together, however many a leaf could hold.
#[test]
fn leaves_keep_their_own_limits() {
    let limit_of = |leaves: &[&str]| {
        let mut plan = Config::new(node("link", "drr")).expect("a root");
        for (number, text) in leaves.iter().enumerate() {
            let leaf = node(&format!("leaf {number}"), text);
            plan.add_leaf("link", leaf).expect("a leaf");
        }
        plan.default_limit()
    };
    assert_eq!(limit_of(&["fifo"]), Limit::of_packets(1000));
    assert_eq!(limit_of(&["fifo limit 5000"]), Limit::of_packets(5000));
    let together = limit_of(&["fifo limit 5000", "sfq", "drr", "fifo limit 20"]);
    assert_eq!(together, Limit::of_packets(6020));
    let cake = limit_of(&["cake limit 4mb", "fifo limit 10"]);
    assert_eq!(cake, Limit::of_bytes((4 << 20) + 10 * 2048));
}
