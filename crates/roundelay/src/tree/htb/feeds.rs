//! Feeds: the classes that take turns at one priority, in a level's row or below an inner class.

use alloc::vec::Vec;

/// Classes that take turns, in the order of their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Feed {
    /// Sorted: to shift thousands of numbers takes less than to keep them in a tree.
    members: Vec<u32>,
    /// Whose turn it is. None: the round is over, or has not begun.
    turn: Option<u32>,
    /// The class whose turn it was when it left the feed.
    left: Option<u32>,
}

impl Feed {
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(super) fn has(&self, number: u32) -> bool {
        self.members.binary_search(&number).is_ok()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.members.iter().copied()
    }

    pub(super) fn insert(&mut self, number: u32) {
        if let Err(place) = self.members.binary_search(&number) {
            self.members.insert(place, number);
        }
    }

    /// The class whose turn it is. A class that left during its turn has it again if it is back,
    /// else the next one has it.
    pub(super) fn turn(&mut self) -> Option<u32> {
        let left = self.left.take();
        if let (None, Some(left)) = (self.turn, left) {
            self.turn = self.first_from(left);
        }
        self.turn
    }

    /// Begins a round.
    pub(super) fn rewind(&mut self) {
        self.turn = self.members.first().copied();
    }

    /// Ends a turn.
    pub(super) fn advance(&mut self) {
        if let Some(turn) = self.turn {
            self.turn = self.first_from(turn + 1);
        }
    }

    /// Removes a class. The feed remembers whose turn it was.
    pub(super) fn remove(&mut self, number: u32) {
        if self.turn == Some(number) {
            self.turn = None;
            self.left = Some(number);
        }
        self.take_out(number);
    }

    /// Removes a class and ends its turn, if it has it.
    pub(super) fn remove_in_turn(&mut self, number: u32) {
        if self.turn == Some(number) {
            self.advance();
        }
        self.take_out(number);
    }

    fn take_out(&mut self, number: u32) {
        if let Ok(place) = self.members.binary_search(&number) {
            self.members.remove(place);
        }
    }

    fn first_from(&self, number: u32) -> Option<u32> {
        let place = self.members.partition_point(|member| *member < number);
        self.members.get(place).copied()
    }

    /// The turn is a member's.
    pub(super) fn check(&self) {
        let is_member = self.turn.is_none_or(|turn| self.has(turn));
        assert!(is_member, "the turn is a member's");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_by_number_and_a_class_that_comes_back_has_its_turn() {
        let mut feed = Feed::default();
        for number in [5, 2, 9] {
            feed.insert(number);
        }
        assert_eq!(feed.turn(), None, "no round has begun");
        feed.rewind();
        assert_eq!(feed.turn(), Some(2));
        feed.advance();
        assert_eq!(feed.turn(), Some(5));
        feed.remove(5);
        feed.insert(5);
        assert_eq!(feed.turn(), Some(5), "it is back before anyone asks");
        feed.remove(5);
        assert_eq!(feed.turn(), Some(9), "the next has its turn");
        feed.insert(5);
        feed.advance();
        assert_eq!(feed.turn(), None, "the round is over");
        feed.rewind();
        feed.remove_in_turn(2);
        assert_eq!(feed.turn(), Some(5));
        feed.check();
    }
}
