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
use super::below::{Below, State};
use super::class::{Class, StandIn};
use super::config::{Config, ROOT};
use crate::control::Footprint;
use crate::limit::Backlog;
use crate::packet::Packet;
use crate::scheduler::Scheduler;
use crate::schedulers::AnyDiscipline;
use crate::time::{Instant, Slack};

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
    class: Option<Class<I>>,
    offer: Offer,
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
        let placed = self.placed(number)?;
        if number == ROOT || !placed.is_class || placed.is_inner {
            return None;
        }
        let is_peeked = self.is_bucket_asked_late(placed.server);
        match &placed.node.spec.discipline {
            AnyDiscipline::Tbf(_) => Some(Offer::OfChild),
            AnyDiscipline::Htb(_) | AnyDiscipline::Hfsc(_) if is_peeked => Some(Offer::Peeked),
            AnyDiscipline::Htb(_) | AnyDiscipline::Hfsc(_) => {
                let root = &self.node(ROOT)?.spec.discipline;
                let in_turn = placed.server == ROOT && matches!(root, AnyDiscipline::Priority(_));
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
        let (Some(placed), Some(root)) = (self.placed(number), self.node(ROOT)) else {
            return false;
        };
        let is_late = number == ROOT || matches!(root.spec.discipline, AnyDiscipline::Priority(_));
        let is_bucket = matches!(placed.node.spec.discipline, AnyDiscipline::Tbf(_));
        is_bucket && is_late && placed.server == ROOT
    }
}

impl<T, L: Scheduler<T>, I: Scheduler<StandIn>> Below<T, L, I> {
    pub(super) fn shaper(&self, number: usize) -> Option<&Shaper<T, I>> {
        match self.nodes.get(number) {
            Some(State::Shaper(shaper)) => Some(shaper),
            _ => None,
        }
    }

    fn shaper_mut(&mut self, number: usize) -> Option<&mut Shaper<T, I>> {
        match self.nodes.get_mut(number) {
            Some(State::Shaper(shaper)) => Some(shaper),
            _ => None,
        }
    }

    /// Length, slack and deadline of the packet that a shaper offers.
    #[cold]
    pub(super) fn offered(&self, shaper: &Shaper<T, I>) -> Option<(u32, Slack, Instant)> {
        if !shaper.is_offered {
            return None;
        }
        match shaper.offer {
            Offer::Ahead | Offer::Peeked => {
                let head = shaper.head.as_ref()?;
                Some((head.len, head.slack, head.deadline))
            }
            Offer::OfChild => {
                let children = &shaper.class.as_ref()?.children;
                children
                    .iter()
                    .find_map(|child| self.next_of(child.node as usize))
            }
            Offer::InTurn => Some((0, Slack::ZERO, Instant::MAX)),
            Offer::First => {
                let len = shaper.class.as_ref()?.scheduler.next_len()?;
                Some((len, Slack::ZERO, Instant::MAX))
            }
        }
    }

    /// Asks a shaper for a packet, as the link asks the root.
    fn ask(&mut self, number: usize) -> Option<Packet<T>> {
        let now = self.now;
        let mut class = self.shaper_mut(number)?.class.take()?;
        let mut sent = None;
        loop {
            let children = &class.children;
            let chosen = class.scheduler.dequeue_refilled(now, &mut |flow| {
                let child = children.get(flow.index())?.node as usize;
                sent = self.take_head(child);
                self.stand_in(child)
            });
            if sent.is_some() || chosen.is_none() {
                break;
            }
        }
        self.shaper_mut(number)?.class = Some(class);
        sent
    }

    /// Has a shaper that offers nothing offer its next packet, if it gives one now.
    pub(super) fn prepare(&mut self, number: usize) {
        let now = self.now;
        let Some(shaper) = self.shaper(number) else {
            return;
        };
        let has_packets = !shaper.backlog().is_empty();
        let offers = match shaper.offer {
            Offer::InTurn | Offer::First => has_packets,
            Offer::OfChild => has_packets && shaper.ready_at().is_none_or(|ready| ready <= now),
            Offer::Ahead | Offer::Peeked => {
                let packet = self.ask(number);
                self.hold(number, packet)
            }
        };
        self.set_offered(number, offers);
    }

    /// Keeps a packet that was taken out ahead. True if there is one.
    fn hold(&mut self, number: usize, packet: Option<Packet<T>>) -> bool {
        let Some(packet) = packet else {
            return false;
        };
        self.backlog.packets = self.backlog.packets.wrapping_add(1);
        self.backlog.bytes = self.backlog.bytes.wrapping_add(packet.len.into());
        if let Some(shaper) = self.shaper_mut(number) {
            shaper.head = Some(packet);
        }
        true
    }

    /// Notes whether a shaper offers a packet. One that has packets and offers none sleeps.
    pub(super) fn set_offered(&mut self, number: usize, is_offered: bool) {
        self.offer_or_sleep(number, is_offered, None);
    }

    /// [`set_offered`](Self::set_offered), for a shaper that is asked again `at` this time, or else
    /// when its scheduler is ready.
    fn offer_or_sleep(&mut self, number: usize, is_offered: bool, at: Option<Instant>) {
        let Some(shaper) = self.shaper_mut(number) else {
            return;
        };
        let before = shaper.asleep_until;
        shaper.is_offered = is_offered;
        shaper.asleep_until = None;
        if !is_offered && !shaper.backlog().is_empty() {
            let at = at.or_else(|| shaper.ready_at());
            shaper.asleep_until = Some(Wake::At(at.unwrap_or(Instant::MAX)));
        }
        let after = shaper.asleep_until;
        self.asleep.change(number, before, after);
    }

    /// Has a shaper choose when the tree is asked for a packet the next time.
    pub(super) fn put_off(&mut self, number: usize) {
        let now = self.now;
        self.offer_or_sleep(number, false, Some(now));
        self.has_put_off = true;
    }

    /// Takes the packet that a shaper offers. The shaper then prepares the next one.
    #[cold]
    pub(super) fn take_offered(&mut self, number: usize) -> Option<Packet<T>> {
        let shaper = self.shaper_mut(number)?;
        if !shaper.is_offered {
            return None;
        }
        match shaper.offer {
            Offer::Ahead | Offer::Peeked => {
                let is_peeked = shaper.offer == Offer::Peeked;
                let packet = shaper.head.take()?;
                self.backlog.packets = self.backlog.packets.wrapping_sub(1);
                self.backlog.bytes = self.backlog.bytes.wrapping_sub(packet.len.into());
                // A scheduler that gives nothing is often ready when the packet has been sent, so
                // the time at which it is need not be found before.
                let next = if is_peeked { None } else { self.ask(number) };
                if self.hold(number, next) {
                    self.set_offered(number, true);
                } else {
                    self.put_off(number);
                }
                Some(packet)
            }
            Offer::OfChild | Offer::First => {
                let packet = self.ask(number);
                self.prepare(number);
                packet
            }
            Offer::InTurn => {
                let packet = self.ask(number);
                if packet.is_some() {
                    self.prepare(number);
                } else {
                    self.set_offered(number, false);
                }
                packet
            }
        }
    }
}

/// The longest packet that a node's buckets ever let pass.
pub(super) fn longest_through(discipline: &AnyDiscipline) -> Option<u32> {
    match discipline {
        AnyDiscipline::Tbf(config) => Some(config.longest()),
        _ => None,
    }
}

/// Whether this is a discipline of leaves that is also a class of a single child.
pub(super) const fn has_one_child(discipline: &AnyDiscipline) -> bool {
    matches!(discipline, AnyDiscipline::Tbf(_))
}
