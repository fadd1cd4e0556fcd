//! How a tree asks its shapers for packets, and keeps those that they offer.

use super::asleep::Wake;
use super::below::{Below, State};
use super::shaper::{Offer, Shaper};
use super::stand_in::StandIn;
use crate::packet::Packet;
use crate::scheduler::Scheduler;
use crate::time::{Instant, Slack};

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
