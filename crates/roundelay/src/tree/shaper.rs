//! A shaper below the root: a class that may wait although its children have packets.
//!
//! A class of `tbf`, `htb` or `hfsc` is asked for a packet as the link asks the root, and its
//! scheduler decides at that moment. While it gives none, it does not count in the backlog of the
//! class above, whose other children go on, and the tree keeps the time at which it is asked again.
//! An arrival below it asks again at once.
//!
//! A class above must know the length of a child's next packet, so a shaper differs from a root in
//! how it offers one: see [`Offer`].

use super::asleep::Wake;
use super::class::Class;
use super::config::{Config, ROOT};
use super::stand_in::StandIn;
use crate::control::Footprint;
use crate::limit::Backlog;
use crate::packet::Packet;
use crate::scheduler::Scheduler;
use crate::schedulers::AnyDiscipline;
use crate::time::Instant;

/// What the class above learns about a shaper's next packet, and when the packet is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offer {
    /// `tbf`: its only child's packet, as soon as the buckets hold its length. They are charged
    /// when it leaves.
    OfChild,
    /// `htb` and `hfsc`: a packet is chosen and taken out ahead, because the class above asks for
    /// its length. Linux's qdiscs do so where the one above peeks.
    Ahead,
    /// A class right below a token bucket that is asked late (see [`First`](Self::First)): chosen and
    /// taken out when the bucket is asked for a packet, and kept until the bucket holds its length,
    /// as Linux's tbf peeks. The bucket has no other child, so nobody takes the class's place.
    Peeked,
    /// `htb` and `hfsc` right below a root of `priority`, which reads no lengths: chosen when it is
    /// the shaper's turn, as Linux's prio does.
    InTurn,
    /// `priority` right below a token bucket, which waits for the length of the packet that is
    /// first now. Another one may be first by the time at which the bucket holds it. The bucket is
    /// the root, or right below a root of `priority`. Elsewhere the class above has already counted
    /// on the first packet, and the class chooses ahead as others do.
    First,
}

/// A shaper at work.
pub(super) struct Shaper<T, I> {
    /// Taken out while it is asked for a packet.
    pub(super) class: Option<Class<I>>,
    pub(super) offer: Offer,
    /// The packet of [`Offer::Ahead`].
    pub(super) head: Option<Packet<T>>,
    /// The class above has its stand-in, or has chosen it.
    pub(super) is_offered: bool,
    /// When it is asked again, while it has packets and offers none.
    pub(super) asleep_until: Option<Wake>,
}

impl<T, I: Scheduler<StandIn>> Shaper<T, I> {
    pub(super) const fn new(offer: Offer, scheduler: I) -> Self {
        Self {
            class: Some(Class::new(scheduler)),
            offer,
            head: None,
            is_offered: false,
            asleep_until: None,
        }
    }

    pub(super) const fn class(&self) -> Option<&Class<I>> {
        self.class.as_ref()
    }

    pub(super) const fn class_mut(&mut self) -> Option<&mut Class<I>> {
        self.class.as_mut()
    }

    pub(super) fn footprint(&self) -> Footprint {
        let mut sum = self
            .class
            .as_ref()
            .map_or(Footprint::default(), Class::footprint);
        sum.fixed_bytes += size_of::<Self>();
        sum
    }

    pub(super) const fn offer(&self) -> Offer {
        self.offer
    }

    pub(super) fn backlog(&self) -> Backlog {
        self.class
            .as_ref()
            .map_or(Backlog::default(), |class| class.scheduler.backlog())
    }

    /// When the scheduler gives a packet. None: now.
    pub(super) fn ready_at(&self) -> Option<Instant> {
        self.class.as_ref()?.scheduler.ready_at()
    }

    /// Whether a packet that was offered must leave next. Only a token bucket has no other choice.
    pub(super) fn is_bound(&self) -> bool {
        self.offer == Offer::OfChild && self.is_offered
    }
}

impl Config {
    /// How a class offers its packets, if it is a shaper below the root.
    pub(super) fn offer_of(&self, number: usize) -> Option<Offer> {
        let entry = self.entry(number)?;
        if number == ROOT || !entry.is_class || entry.is_inner {
            return None;
        }
        let is_peeked = self.is_bucket_asked_late(entry.server);
        match &entry.node.spec.discipline {
            AnyDiscipline::Tbf(_) => Some(Offer::OfChild),
            AnyDiscipline::Htb(_) | AnyDiscipline::Hfsc(_) if is_peeked => Some(Offer::Peeked),
            AnyDiscipline::Htb(_) | AnyDiscipline::Hfsc(_) => {
                let root = &self.node(ROOT)?.spec.discipline;
                let in_turn = entry.server == ROOT && matches!(root, AnyDiscipline::Priority(_));
                Some(if in_turn { Offer::InTurn } else { Offer::Ahead })
            }
            AnyDiscipline::Priority(_) if is_peeked => Some(Offer::First),
            AnyDiscipline::Drr(_) | AnyDiscipline::Ets(_) if is_peeked => Some(Offer::Peeked),
            AnyDiscipline::QfqPlus(config) if is_peeked && config.linux => Some(Offer::Peeked),
            _ => None,
        }
    }

    /// Whether this is a token bucket whose next packet no class above knows before it leaves: the
    /// root, or right below a root of `priority`, which reads no lengths.
    fn is_bucket_asked_late(&self, number: usize) -> bool {
        let (Some(entry), Some(root)) = (self.entry(number), self.node(ROOT)) else {
            return false;
        };
        let is_late = number == ROOT || matches!(root.spec.discipline, AnyDiscipline::Priority(_));
        let is_bucket = matches!(entry.node.spec.discipline, AnyDiscipline::Tbf(_));
        is_bucket && is_late && entry.server == ROOT
    }
}
