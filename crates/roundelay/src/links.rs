//! Links between handles: queues of packets that the caller keeps.
//!
//! A scheduler by handle copies no packets. You keep packets in an arena or a ring, and enqueue a
//! packet's description, a [`Packet`] with the handle as its payload. The handle is the packet's
//! index in your arena or ring. The description is read at arrival, and a [`Departure`] comes out.
//! Links lie in a table indexed by the handle, 12 bytes each, so handles should be dense: tables
//! cost 12 bytes x the largest handle x the number of schedulers.
//!
//! ```
//! use roundelay::schedulers::{Discipline, drr};
//! use roundelay::{FlowId, Handle, Instant, Packet, Scheduler, Seed};
//!
//! let arena = [(FlowId(0), "a"), (FlowId(0), "b"), (FlowId(1), "c")];
//! let mut drr = drr::Config { quantum: 1500 }.build_by_handle(Seed::new(1))?;
//! for (number, (flow, _)) in (0..).zip(arena) {
//!     drr.enqueue(Instant::ZERO, Packet::new(flow, 1500, Handle(number))).expect("DRR takes every packet");
//! }
//! let order: Vec<_> = std::iter::from_fn(|| drr.dequeue(Instant::ZERO)).map(|next| arena[next.handle.index()].1).collect();
//! assert_eq!(order, ["a", "c", "b"]);
//! # Ok::<(), roundelay::ConfigError>(())
//! ```

use alloc::vec::Vec;

use crate::handle::{Departure, Handle};
use crate::packet::{Ecn, FlowId, Packet};
use crate::pool::{Age, Link, NONE, Queue, Storage, sealed};
use crate::prefetch::prefetch;
use crate::time::Instant;

/// What a discipline records for each queued packet, beside its links.
pub trait Note: sealed::Sealed + Copy {
    /// The note for a handle that has not been queued.
    #[doc(hidden)]
    const NONE: Self;

    #[doc(hidden)]
    fn of(packet: &Packet<Handle>) -> Self;

    #[doc(hidden)]
    fn flow(self) -> Option<FlowId> {
        None
    }

    #[doc(hidden)]
    fn age(self) -> Option<Age> {
        None
    }
}

impl sealed::Sealed for () {}

/// Records nothing.
impl Note for () {
    const NONE: Self = ();

    #[inline(always)]
    fn of(_packet: &Packet<Handle>) -> Self {}
}

impl sealed::Sealed for FlowId {}

/// For disciplines that rehash flows while packets wait.
impl Note for FlowId {
    const NONE: Self = Self(0);

    #[inline]
    fn of(packet: &Packet<Handle>) -> Self {
        packet.flow
    }

    #[inline]
    fn flow(self) -> Option<FlowId> {
        Some(self)
    }
}

impl sealed::Sealed for Age {}

/// For active queue management.
impl Note for Age {
    const NONE: Self = Self {
        arrival: Instant::ZERO,
        ecn: Ecn::NotCapable,
    };

    #[inline]
    fn of(packet: &Packet<Handle>) -> Self {
        Self {
            arrival: packet.arrival,
            ecn: packet.ecn,
        }
    }

    #[inline]
    fn age(self) -> Option<Age> {
        Some(self)
    }
}

/// A packet's neighbours: 12 bytes.
#[derive(Debug, Clone, Copy)]
struct Neighbours {
    /// Towards the tail, with the length of the next packet.
    next: Link,
    /// Towards the head. Stale in the head itself.
    previous: u32,
}

/// Queued packets' links, in a table indexed by handle. A second table holds recorded data, if any.
#[derive(Debug, Clone)]
pub struct Links<N = ()> {
    links: Vec<Neighbours>,
    notes: Vec<N>,
    packets: u64,
    #[cfg(debug_assertions)]
    waits: Vec<bool>,
}

impl<N> Default for Links<N> {
    fn default() -> Self {
        Self {
            links: Vec::new(),
            notes: Vec::new(),
            packets: 0,
            #[cfg(debug_assertions)]
            waits: Vec::new(),
        }
    }
}

impl<N: Note> Links<N> {
    const UNLINKED: Neighbours = Neighbours {
        next: Link::NONE,
        previous: NONE,
    };

    /// Grows the table to the next power of two beyond the handle, so that growth is cheap on
    /// average. False if the handle is too large.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, handle: Handle) -> bool {
        if handle > Handle::LARGEST {
            return false;
        }
        let slots = (handle.index() + 1).next_power_of_two();
        self.links.resize(slots, Self::UNLINKED);
        self.notes.resize(slots, N::NONE);
        #[cfg(debug_assertions)]
        self.waits.resize(slots, false);
        true
    }

    #[inline(always)]
    fn link(&mut self, queue: &mut Queue, link: Link) {
        self.links[link.slot as usize] = Neighbours {
            next: Link::NONE,
            previous: queue.tail,
        };
        match self.links.get_mut(queue.tail as usize) {
            Some(tail) => tail.next = link,
            None => queue.head = link,
        }
        queue.tail = link.slot;
    }

    #[inline(always)]
    fn unlink_head(&self, queue: &mut Queue) -> Option<u32> {
        let slot = queue.head.slot;
        let next = self.links.get(slot as usize)?.next;
        // The count ends a queue, not its links: those of a handle that its owner has queued twice
        // may lead in a circle.
        queue.packets = queue.packets.checked_sub(1)?;
        queue.head = next;
        if queue.packets == 0 {
            queue.head = Link::NONE;
            queue.tail = NONE;
        }
        Some(slot)
    }

    #[inline(always)]
    fn note_waits(&mut self, slot: u32, waits: bool) {
        #[cfg(debug_assertions)]
        {
            let before = core::mem::replace(&mut self.waits[slot as usize], waits);
            assert!(
                before != waits,
                "handle {slot} is enqueued while it still waits, or leaves without having been enqueued"
            );
        }
        let _ = (slot, waits);
    }
}

impl<N> sealed::Sealed for Links<N> {}

impl<N: Note> Storage<Handle> for Links<N> {
    type Leaving = Departure;

    const BYTES_PER_PACKET: usize = size_of::<Neighbours>() + size_of::<N>();

    const BYTES_PER_SLOT: usize = size_of::<Neighbours>();

    #[inline]
    fn packets(&self) -> u64 {
        self.packets
    }

    #[inline]
    fn slots(&self) -> usize {
        self.links.len()
    }

    #[inline(always)]
    fn prefetch(&self, slot: u32) {
        prefetch(&self.links, slot as usize);
    }

    /// A packet's slot is its handle's.
    #[inline(always)]
    fn prefetch_free(&self, _packets: usize) {}

    #[inline(always)]
    fn neighbours(&self, slot: u32) -> Option<(Link, u32)> {
        self.links
            .get(slot as usize)
            .map(|links| (links.next, links.previous))
    }

    #[inline(always)]
    fn make_room(&mut self, packet: &Packet<Handle>) -> bool {
        packet.payload.index() < self.links.len() || self.grow(packet.payload)
    }

    #[inline(always)]
    fn push(&mut self, queue: &mut Queue, packet: Packet<Handle>) {
        let slot = packet.payload.0;
        self.note_waits(slot, true);
        if size_of::<N>() > 0 {
            self.notes[slot as usize] = N::of(&packet);
        }
        self.link(
            queue,
            Link {
                slot,
                len: packet.len,
            },
        );
        self.packets += 1;
    }

    #[inline(always)]
    fn pop(&mut self, queue: &mut Queue) -> Option<Departure> {
        let slot = self.unlink_head(queue)?;
        self.packets -= 1;
        self.note_waits(slot, false);
        Some(Departure {
            handle: Handle(slot),
            mark: false,
        })
    }

    #[inline]
    fn pop_tail(&mut self, queue: &mut Queue) -> Option<(Departure, u32)> {
        let slot = queue.tail;
        let previous = self.links.get(slot as usize)?.previous;
        queue.packets -= 1;
        let len = match self.links.get_mut(previous as usize) {
            Some(links) if queue.packets > 0 => {
                queue.tail = previous;
                core::mem::replace(&mut links.next, Link::NONE).len
            }
            _ => {
                queue.tail = NONE;
                core::mem::replace(&mut queue.head, Link::NONE).len
            }
        };
        self.packets -= 1;
        self.note_waits(slot, false);
        Some((
            Departure {
                handle: Handle(slot),
                mark: false,
            },
            len,
        ))
    }

    fn remove_inner(&mut self, queue: &mut Queue, slot: u32) -> Option<(Departure, u32)> {
        let Neighbours { next, previous } = *self.links.get(slot as usize)?;
        let before = &mut self.links[previous as usize].next;
        let len = core::mem::replace(before, next).len;
        self.links[next.slot as usize].previous = previous;
        queue.packets -= 1;
        self.packets -= 1;
        self.note_waits(slot, false);
        let handle = Handle(slot);
        Some((
            Departure {
                handle,
                mark: false,
            },
            len,
        ))
    }

    fn move_head(&mut self, from: &mut Queue, to: &mut Queue) -> bool {
        let link = from.head;
        let moves = self.unlink_head(from).is_some();
        if moves {
            self.link(to, link);
        }
        moves
    }

    #[inline]
    fn flow(&self, slot: u32) -> Option<FlowId> {
        self.notes.get(slot as usize)?.flow()
    }

    #[inline]
    fn age(&self, slot: u32) -> Option<Age> {
        self.notes.get(slot as usize)?.age()
    }

    fn check(&self, link: Link) {
        #[cfg(debug_assertions)]
        assert!(self.waits[link.slot as usize], "handle {} waits", link.slot);
        assert!(
            (link.slot as usize) < self.links.len(),
            "a link leads to a handle"
        );
    }
}
