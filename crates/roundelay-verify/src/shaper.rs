//! What shapers promise: how much they send at most, and for how long they may let a link rest.

use roundelay::Rate;
use roundelay::schedulers::AnyDiscipline;
use roundelay::tree::{self, Service};

use crate::log::{MostRecord, ShaperRecord};

/// The longest packet that a shaper may send beyond its tokens, bytes.
const LONGEST_PACKET: u64 = 65_536;

impl ShaperRecord {
    /// What a discipline promises that may let a link of this rate rest. None: it never does.
    pub fn of(discipline: &AnyDiscipline, link: Rate) -> Option<Self> {
        match discipline {
            AnyDiscipline::Tbf(config) => {
                let burst = u64::from(config.burst);
                let is_alone = config.peakrate.is_none();
                Some(Self {
                    most: Some(MostRecord {
                        rate: config.rate.unwrap_or(link).bits_per_second(),
                        burst,
                    }),
                    prompt: is_alone.then_some(burst),
                })
            }
            // Lateness is made up, so a packet may follow the one before at once. A cake may count
            // more bytes than a packet has on this link, so nothing is said of how long it rests.
            AnyDiscipline::Cake(config) => Some(Self {
                most: Some(MostRecord {
                    rate: config.bandwidth?.bits_per_second(),
                    burst: 2 * LONGEST_PACKET,
                }),
                prompt: None,
            }),
            AnyDiscipline::Fq(config) => config.maxrate.map(|_| Self::NOTHING),
            AnyDiscipline::Tree(tree) => of_tree(tree, link),
            _ => None,
        }
    }

    /// It may rest, and promises nothing for all packets together.
    const NOTHING: Self = Self {
        most: None,
        prompt: None,
    };
}

/// What a tree promises. HTB's leaves send at their own rates whatever their parents have, so all
/// that holds for the sum is the sum of the leaves' ceils.
fn of_tree(tree: &tree::Config, link: Rate) -> Option<ShaperRecord> {
    let mut is_shaped = false;
    let mut is_htb = true;
    let mut most = MostRecord { rate: 0, burst: 0 };
    for (number, node) in tree.nodes().enumerate() {
        let of_itself = ShaperRecord::of(&node.spec.discipline, link);
        is_shaped |= of_itself.is_some() || node.service != Service::Shared;
        let Service::Htb(class) = node.service else {
            // The root has no class, and what is below a class is shaped with it.
            is_htb &= number == 0;
            continue;
        };
        if tree.children_of(&node.name).is_empty() {
            most.rate += class.ceil().bits_per_second();
        }
        most.burst += u64::from(class.burst()) + u64::from(class.cburst()) + LONGEST_PACKET;
    }
    let has_sum = is_htb && most.rate > 0;
    is_shaped.then_some(ShaperRecord {
        most: has_sum.then_some(most),
        prompt: None,
    })
}
