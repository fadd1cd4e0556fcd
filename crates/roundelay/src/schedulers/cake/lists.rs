//! Lists of a tin's queues: new, old and decaying. A queue is in one of them at most, and can be
//! taken out of the middle.

use alloc::vec::Vec;

/// The end of a list.
const NONE: u16 = u16::MAX;

/// The three lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Queues that were idle, which are served first.
    New,
    /// Queues that have used a quantum.
    Old,
    /// Empty queues whose COBALT still remembers something.
    Decaying,
}

/// The lists of one tin, over queue numbers.
#[derive(Debug, Clone)]
pub(super) struct Lists {
    /// Head and tail of each list.
    ends: [(u16, u16); 3],
    links: Vec<Membership>,
}

#[derive(Debug, Clone, Copy)]
struct Membership {
    list: Option<Which>,
    previous: u16,
    next: u16,
}

impl Membership {
    const FREE: Self = Self {
        list: None,
        previous: NONE,
        next: NONE,
    };
}

impl Lists {
    /// Memory of a queue's links.
    pub(super) const BYTES_PER_QUEUE: usize = size_of::<Membership>();

    /// Empty lists for `queues` queues, fewer than 65,535.
    pub(super) fn new(queues: usize) -> Self {
        Self {
            ends: [(NONE, NONE); 3],
            links: alloc::vec![Membership::FREE; queues],
        }
    }

    pub(super) fn first(&self, which: Which) -> Option<usize> {
        let head = self.ends[which as usize].0;
        (head != NONE).then_some(head.into())
    }

    /// The list of a queue.
    pub(super) fn list_of(&self, queue: usize) -> Option<Which> {
        self.links[queue].list
    }

    /// Moves a queue to the end of a list, from wherever it is.
    pub(super) fn move_to(&mut self, queue: usize, which: Which) {
        self.remove(queue);
        let number = queue as u16;
        let (head, tail) = &mut self.ends[which as usize];
        let previous = core::mem::replace(tail, number);
        if previous == NONE {
            *head = number;
        } else {
            self.links[usize::from(previous)].next = number;
        }
        self.links[queue] = Membership {
            list: Some(which),
            previous,
            next: NONE,
        };
    }

    /// Takes a queue out of its list, if it is in one.
    pub(super) fn remove(&mut self, queue: usize) {
        let Membership {
            list: Some(which),
            previous,
            next,
        } = core::mem::replace(&mut self.links[queue], Membership::FREE)
        else {
            return;
        };
        let (head, tail) = &mut self.ends[which as usize];
        if previous == NONE {
            *head = next;
        } else {
            self.links[usize::from(previous)].next = next;
        }
        if next == NONE {
            *tail = previous;
        } else {
            self.links[usize::from(next)].previous = previous;
        }
    }

    /// Panics unless each queue that claims to be in a list is in it, once.
    pub(super) fn check(&self) {
        let mut seen = 0;
        for which in [Which::New, Which::Old, Which::Decaying] {
            let (mut at, tail) = self.ends[which as usize];
            let mut before = NONE;
            while at != NONE {
                let link = self.links[usize::from(at)];
                assert_eq!(
                    (link.list, link.previous),
                    (Some(which), before),
                    "lists: links agree in both directions"
                );
                seen += 1;
                (before, at) = (at, link.next);
            }
            assert_eq!(before, tail, "lists: a list ends at its tail");
        }
        let listed = self.links.iter().filter(|link| link.list.is_some());
        assert_eq!(
            listed.count(),
            seen,
            "lists: queues are in their list, once"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_move_between_lists_and_leave_the_middle() {
        let mut lists = Lists::new(5);
        for queue in 0..5 {
            lists.move_to(queue, Which::New);
        }
        lists.remove(2);
        lists.move_to(0, Which::Old);
        lists.move_to(4, Which::Decaying);
        lists.remove(2);
        lists.check();
        assert_eq!(lists.first(Which::New), Some(1));
        lists.move_to(1, Which::New);
        assert_eq!(lists.first(Which::New), Some(3));
        lists.move_to(3, Which::Old);
        lists.move_to(1, Which::Old);
        assert_eq!(lists.first(Which::New), None);
        lists.check();
        let mut order = [0; 3];
        for entry in &mut order {
            *entry = lists.first(Which::Old).expect("three are left");
            lists.remove(*entry);
        }
        assert_eq!(order, [0, 3, 1]);
        assert_eq!(lists.list_of(4), Some(Which::Decaying));
    }
}
