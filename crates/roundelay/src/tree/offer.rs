//! How a class below the root gives its packets to the class above: see [`Offer`].
//!
//! A class whose parent asks it when the packet is sent is asked as the link asks the root. Where
//! the parent must know a length first, the class has to decide before its packet leaves. `tbf`,
//! `htb` and `hfsc` may give nothing then although their children have packets. While a class gives
//! nothing, it does not count in the backlog of the class above, whose other children go on, and the
//! tree keeps the time at which it is asked again. An arrival below it asks again at once.

use super::asleep::Wake;
use super::class::Class;
use super::config::{Config, ROOT};
use super::stand_in::StandIn;
use crate::control::Footprint;
use crate::packet::Packet;
use crate::scheduler::Scheduler;
use crate::schedulers::AnyDiscipline;
use crate::time::Instant;

/// When a class below the root decides about its next packet, and where this packet is until it
/// leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offer {
    /// The class above (`priority`, `packet_fq`, `htb`) asks when the packet is sent, so the class
    /// decides at this moment, as the root does.
    WhenSent,
    /// Decides when the class above must know a length. The packet stays in its leaf, and a place
    /// holder keeps the child's position among the other children.
    Chosen,
    /// Decides when the class above must know a length, and holds the packet itself until it leaves,
    /// as Linux's qdiscs do where the one above peeks: `htb` and `hfsc`, and right below a token
    /// bucket also `drr`, `ets` and `qfq_plus linux`.
    Held,
    /// `tbf`: its only child's packet, as soon as the buckets hold its length. They are charged
    /// when it leaves.
    OfChild,
    /// `priority` right below a token bucket, which waits for the length of the packet that is
    /// first now. Another one may be first by the time at which the bucket holds it. The bucket is
    /// the root, or is asked when its packet is sent. Elsewhere the class above has already counted
    /// on the first packet, and the class chooses as others do.
    First,
}

/// A class below the root.
pub(super) struct Inner<T, I> {
    /// Taken out while it is asked for a packet.
    pub(super) class: Option<Class<I>>,
    pub(super) offer: Offer,
    /// The child of [`Offer::Chosen`], as its stand-in.
    pub(super) chosen: Option<Packet<StandIn>>,
    /// The packet of [`Offer::Held`].
    pub(super) held: Option<Packet<T>>,
    /// The class above has its stand-in, or has chosen it.
    pub(super) is_offered: bool,
    /// When it is asked again, while it has packets and gives none.
    pub(super) asleep_until: Option<Wake>,
}

impl<T, I: Scheduler<StandIn>> Inner<T, I> {
    pub(super) const fn new(offer: Offer, scheduler: I) -> Self {
        Self {
            class: Some(Class::new(scheduler)),
            offer,
            chosen: None,
            held: None,
            is_offered: false,
            asleep_until: None,
        }
    }

    /// Whether some packet below could be given now or later, as far as the class knows.
    pub(super) fn has_packets(&self) -> bool {
        let waits = self
            .class
            .as_ref()
            .is_some_and(|class| class.stand_ins() > 0);
        waits || self.chosen.is_some() || self.held.is_some()
    }

    /// When the scheduler gives a packet. None: now.
    pub(super) fn ready_at(&self) -> Option<Instant> {
        if self.chosen.is_some() || self.held.is_some() {
            return None;
        }
        self.class.as_ref()?.scheduler.ready_at()
    }

    pub(super) fn footprint(&self) -> Footprint {
        self.class
            .as_ref()
            .map_or(Footprint::default(), Class::footprint)
    }
}

impl Config {
    /// How a class below the root gives its packets to the class above.
    pub(super) fn offer_of(&self, number: usize) -> Offer {
        let Some(entry) = self.entry(number) else {
            return Offer::Chosen;
        };
        let is_asked_late = self.asks_when_sent(entry.server);
        let is_peeked = self.is_bucket_asked_late(entry.server);
        match &entry.node.spec.discipline {
            _ if is_asked_late => Offer::WhenSent,
            AnyDiscipline::Tbf(_) => Offer::OfChild,
            AnyDiscipline::Htb(_) | AnyDiscipline::Hfsc(_) => Offer::Held,
            AnyDiscipline::Priority(_) if is_peeked => Offer::First,
            AnyDiscipline::Drr(_) | AnyDiscipline::Ets(_) if is_peeked => Offer::Held,
            AnyDiscipline::QfqPlus(config) if is_peeked && config.linux => Offer::Held,
            _ => Offer::Chosen,
        }
    }

    /// Whether a class takes its children's packets out when it is asked itself, in place of
    /// choosing a child whose packet stays where it is.
    fn takes_out(&self, number: usize) -> bool {
        number == ROOT || !matches!(self.offer_of(number), Offer::Chosen | Offer::First)
    }

    /// Whether a class asks a child when the child's packet is sent.
    pub(super) fn asks_when_sent(&self, number: usize) -> bool {
        let Some(entry) = self.entry(number) else {
            return false;
        };
        let reads_no_lengths = matches!(
            entry.node.spec.discipline,
            AnyDiscipline::Priority(_) | AnyDiscipline::PacketFq(_) | AnyDiscipline::Htb(_)
        );
        reads_no_lengths && self.takes_out(number)
    }

    /// Whether this is a token bucket whose next packet no class above knows before it leaves.
    fn is_bucket_asked_late(&self, number: usize) -> bool {
        let Some(entry) = self.entry(number) else {
            return false;
        };
        let is_late = number == ROOT || self.asks_when_sent(entry.server);
        is_late && matches!(entry.node.spec.discipline, AnyDiscipline::Tbf(_))
    }
}
