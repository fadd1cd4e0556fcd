//! Guarantees for a tree's leaves, whatever the other classes do: by the classes' shares, by
//! `hfsc`'s service curves, by `htb`'s rates. The proofs are in `tree.rs` and docs/bounds.md.

use super::config::{Config, PlanEntry, ROOT};
use super::{TreeError, hfsc};
use crate::guarantees::{Bound, Guarantees, LeastService, Share};
use crate::schedulers::AnyDiscipline;
use crate::service::Service;
use crate::time::Duration;
use crate::units::Rate;

const BY_CURVE: &str = "Stoica, Zhang and Ng 1997, Theorem 2: deadlines are met but for one packet \
    (docs/bounds.md, Trees)";
const BY_RATE: &str = "htb: a leaf within its rate goes before all that borrows (docs/bounds.md, \
    Trees)";

impl Config {
    /// Proven guarantees for a leaf on a link with this rate, whatever siblings and other classes
    /// do: for its service, and in a first-in-first-out leaf also for its packets' delay. They hold
    /// for packets that stay in the tree, because a packet pushed out after its leaf was chosen
    /// counts as sent. The proof is in `tree.rs`.
    ///
    /// # Errors
    /// There is no such leaf.
    pub fn leaf_guarantees(&self, leaf: &str, rate: Rate) -> Result<Guarantees, TreeError> {
        let number = self.leaf(leaf)?;
        if let Some(service) = self.least_service(number, rate) {
            return Ok(Guarantees {
                service: Some(service),
                ..Guarantees::default()
            });
        }
        let Some(worst_lag_bytes) = self.b_wfi(number, rate) else {
            return Ok(Guarantees::default());
        };
        let source =
            "Bennett and Zhang 1997, H-PFQ's B-WFI, and a packet more a class below the root";
        let b_wfi = Bound {
            value: worst_lag_bytes,
            source,
        };
        let mut guarantees = Guarantees {
            b_wfi: Some(b_wfi),
            ..Guarantees::default()
        };
        let node = self.node(number);
        if node.is_some_and(|node| matches!(node.spec.discipline, AnyDiscipline::Fifo(_))) {
            // B over the leaf's rate, so the share of each node on the way to the root counts.
            let mut bytes = worst_lag_bytes;
            for node in self.path(number) {
                bytes = self.share(node, rate).per_share(bytes);
            }
            guarantees.t_wfi = Some(Bound {
                value: rate.time_of(bytes),
                source,
            });
        }
        Ok(guarantees)
    }

    /// B(n) = alpha(n) + phi(n) (B(m) + L(m)) with m the parent. For the root's children, alpha(n)
    /// alone.
    fn b_wfi(&self, number: usize, rate: Rate) -> Option<u64> {
        let PlanEntry { parent, .. } = *self.entry(number)?;
        let share = self.share(number, rate);
        let class = self.entry(parent)?;
        let own = class.node.spec.discipline.guarantees(&share).b_wfi?.value;
        if parent == ROOT {
            return Some(own);
        }
        // B(m) + L(m)
        let of_class = self.b_wfi(parent, rate)?;
        let of_class = of_class.saturating_add(class.node.max_packet_len.into());
        Some(own.saturating_add(share.of(of_class)))
    }

    /// A node's share in its parent.
    fn share(&self, number: usize, rate: Rate) -> Share {
        let own = self.flow_config(number);
        let parent = self.entry(number).map_or(ROOT, |entry| entry.parent);
        let mut share = Share {
            weight: own.weight,
            total_weight: 0,
            least_weight: u32::MAX,
            flows: 0,
            max_packet_len: own.max_packet_len,
            link_max_packet_len: 0,
            rate,
        };
        for sibling in self.children(parent) {
            let sibling = self.flow_config(sibling);
            share.total_weight += u64::from(sibling.weight);
            share.least_weight = share.least_weight.min(sibling.weight);
            share.flows += 1;
            share.link_max_packet_len = share.link_max_packet_len.max(sibling.max_packet_len);
        }
        if share.flows == 0 {
            share.least_weight = 1;
        }
        share
    }

    /// What a leaf gets from a root with `hfsc` or `htb`, whatever is below its siblings. None: the
    /// root has another discipline, or a class in between has, or the classes together are promised
    /// more than the link has.
    fn least_service(&self, number: usize, link: Rate) -> Option<Bound<LeastService>> {
        if self.entry(number)?.server != ROOT {
            return None;
        }
        let of = &self.node(number)?.service;
        match (&self.node(ROOT)?.spec.discipline, of) {
            (AnyDiscipline::Hfsc(_), Service::Hfsc(class)) => self.by_curve(class, link),
            (AnyDiscipline::Htb(_), Service::Htb(_)) => self.by_rate(number, link),
            _ => None,
        }
    }

    fn longest_packet(&self) -> u32 {
        let lens = self
            .served_by(ROOT)
            .map(|served| self.flow_config(served).max_packet_len);
        lens.max().unwrap_or(0)
    }

    /// The real-time curve, if those of all leaves together are below the link's line. They are
    /// straight between the ends of their first pieces, so these points and the last slope decide.
    fn by_curve(&self, class: &hfsc::Class, link: Rate) -> Option<Bound<LeastService>> {
        let curve = class.rt?;
        let mut curves = alloc::vec::Vec::new();
        for served in self.served_by(ROOT) {
            match self.node(served)?.service {
                Service::Hfsc(class) => curves.extend(class.rt),
                _ => return None,
            }
        }
        let rate = u128::from(link.bits_per_second());
        let mut last = 0;
        for other in &curves {
            last += other.slopes().1;
            let mut promised = 0_u128;
            for curve in &curves {
                promised = promised.saturating_add(curve.bits(other.d));
            }
            if promised > rate * u128::from(other.d.as_picos()) {
                return None;
            }
        }
        // Before the shortest first piece ends, the sum of the first slopes.
        let mut first = 0;
        for curve in &curves {
            let (m1, m2) = curve.slopes();
            first += if curve.d == Duration::ZERO { m2 } else { m1 };
        }
        // A packet that the link sends, and what fixed point adds.
        let curve = hfsc::kept(&curve);
        let byte = curve.m2.or(curve.m1)?.time_of(1);
        let late = link.time_of(self.longest_packet().into()) + byte + hfsc::TICK;
        (first <= rate && last <= rate).then_some(Bound {
            value: LeastService { curve, late },
            source: BY_CURVE,
        })
    }

    /// A leaf's rate, after what others may do before: see docs/bounds.md. All leaves' rates are
    /// within the link's, and the leaf's buckets hold what builds up in that time.
    fn by_rate(&self, number: usize, link: Rate) -> Option<Bound<LeastService>> {
        let Service::Htb(own) = self.node(number)?.service else {
            return None;
        };
        let longest = u64::from(self.flow_config(number).max_packet_len);
        let rate = own.rate.bits_per_second();
        // X, and what the others leave of the link.
        let mut before = u64::from(self.longest_packet());
        let mut left = link.bits_per_second();
        for served in self.served_by(ROOT) {
            let Service::Htb(other) = self.node(served)?.service else {
                return None;
            };
            if served != number {
                let packet = u64::from(self.flow_config(served).max_packet_len);
                before += u64::from(other.burst()) + packet;
                left = left.checked_sub(other.rate.min(other.ceil()).bits_per_second())?;
            }
        }
        if own.ceil() < own.rate || rate > left {
            return None;
        }
        let behind = (u128::from(before) * u128::from(rate)).div_ceil(u128::from(left));
        // At most `before`, because the rate is at most what is left.
        let behind = behind as u64;
        if u64::from(own.burst().min(own.cburst())) <= behind + longest {
            return None;
        }
        let curve = hfsc::Curve {
            m1: None,
            d: own.rate.time_of(behind + 2 * longest),
            m2: Some(own.rate),
        };
        let late = Duration::ZERO;
        Some(Bound {
            value: LeastService { curve, late },
            source: BY_RATE,
        })
    }
}
