//! B-WFI computed by definition, in exact integers.

/// The largest rise of (due - got) over a backlogged period of each flow. Each packet costs a walk
/// over all flows.
#[derive(Debug, Clone)]
pub struct Lags {
    weights: Vec<u64>,
    total_weight: u64,
    lags: Vec<Lag>,
}

/// In bytes times the sum of weights.
#[derive(Debug, Clone, Copy, Default)]
struct Lag {
    is_backlogged: bool,
    now: i128,
    worst: i128,
}

impl Lags {
    /// Idle flows with these weights.
    pub fn new(weights: &[u64]) -> Self {
        Self {
            weights: weights.to_vec(),
            total_weight: weights.iter().sum(),
            lags: vec![Lag::default(); weights.len()],
        }
    }

    /// A flow becomes backlogged, `rest` bytes before the end of another flow's packet on the link.
    pub fn becomes_backlogged(&mut self, flow: usize, rest: u64) {
        let lag = &mut self.lags[flow];
        lag.is_backlogged = true;
        lag.now = i128::from(self.weights[flow]) * i128::from(rest);
    }

    /// A packet of `len` bytes of a flow is sent; `is_last` if the flow has no other packet.
    pub fn serve(&mut self, served: usize, len: u64, is_last: bool) {
        for (flow, lag) in self.lags.iter_mut().enumerate() {
            if !lag.is_backlogged {
                continue;
            }
            // A flow is furthest behind just before its own packet, and least just after.
            lag.worst = lag.worst.max(lag.now);
            let due = i128::from(self.weights[flow]) * i128::from(len);
            let got = if flow == served {
                i128::from(self.total_weight) * i128::from(len)
            } else {
                0
            };
            lag.now = (lag.now + due - got).max(0);
        }
        self.lags[served].is_backlogged = !is_last;
    }

    /// The lag of a flow in bytes; 0 for an idle flow.
    pub fn now(&self, flow: usize) -> f64 {
        if self.lags[flow].is_backlogged {
            self.lags[flow].now as f64 / self.total_weight as f64
        } else {
            0.0
        }
    }

    /// The largest lag of a flow, in bytes.
    pub fn worst(&self, flow: usize) -> f64 {
        self.lags[flow].worst as f64 / self.total_weight as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flow 0 has a quarter. While flow 1 sends 300 bytes, flow 0 falls behind by 75; its own 100
    /// bytes are 75 more than its share of them.
    #[test]
    fn a_lag_is_the_share_of_what_the_others_send() {
        let mut lags = Lags::new(&[1, 3]);
        lags.becomes_backlogged(0, 0);
        lags.becomes_backlogged(1, 0);
        (0..3).for_each(|_| lags.serve(1, 100, false));
        assert_eq!(
            (lags.now(0), lags.worst(0)),
            (75.0, 50.0),
            "the worst is taken as packets begin"
        );
        lags.serve(0, 100, true);
        assert_eq!((lags.now(0), lags.worst(0)), (0.0, 75.0));
    }

    #[test]
    fn the_rest_of_a_packet_on_the_link_counts() {
        let mut lags = Lags::new(&[1, 1]);
        lags.becomes_backlogged(0, 60);
        assert_eq!(lags.now(0), 30.0);
    }
}
