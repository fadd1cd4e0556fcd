//! Pages: connections that begin when an answer on another connection has come.
//!
//! A browser asks for the parts of a page when it has the page, and its user for the next page after
//! reading this one. Over another link they wait longer or shorter, so the parts and the next page
//! come later or sooner. Other connections have a clock of their own.
//!
//! A client's connections are taken for pages if many of them begin just when an answer has come,
//! and far more than by chance. A page is a connection that others follow at once. Captures do not
//! tell users of one client apart, but each page is followed by one at most, so there are as many
//! users as in the capture. If many pages begin the same time after another one, this is how long
//! a user reads, and tells which page was before. Otherwise the page that came first is read first.

use std::collections::HashMap;
use std::net::IpAddr;

use roundelay::Duration;

use super::{Connection, Follows};

/// A connection that begins this long after an answer has come, at most, follows it at once,
/// nanoseconds: hosts answer within milliseconds.
const AT_ONCE: u64 = 5_000_000;
/// Connections of a client that follow at once, at least, what part of all that is, and how many
/// times as many as by chance.
const LEAST: usize = 4;
const PART: usize = 4;
const BEYOND_CHANCE: f64 = 3.0;
/// Who reads for longer has begun anew, nanoseconds.
const LONGEST_READING: u64 = 60_000_000_000;
/// Pages before another one that are looked at: a client has fewer users.
const MOST_USERS: usize = 256;
/// Readings are alike if they differ by this, nanoseconds, or by this part. So many pages with
/// readings that are alike, and so many times as many as by chance, tell a user's habit, and so does
/// this part of the pages of which none is known yet.
const ALIKE: u64 = 10_000_000;
const PART_ALIKE: u64 = 50;
const LEAST_ALIKE: usize = 3;
const PART_OF_PAGES: usize = 4;

/// When an answer had come whole, nanoseconds since the capture's start, and the index of its last
/// message in its connection.
pub(super) type Answer = (u64, usize);

/// An answer with its connection: time, connection, message.
type Told = (u64, usize, usize);

/// A page with its parts.
#[derive(Debug)]
struct Page {
    /// The connection that its parts follow, and when it began.
    number: usize,
    begins: u64,
    /// The last answer, if all have come.
    last: Option<Told>,
    /// The page before it, by its place among the pages.
    before: Option<usize>,
    /// Whether another page follows it.
    is_read: bool,
}

/// How long a user may have read a page before another one: nanoseconds, and the places of both.
type Reading = (u64, usize, usize);

/// A client's connections in the order of their beginnings, and all answers in the order in which
/// they came: time, connection, message.
#[derive(Debug, Default)]
struct Client {
    connections: Vec<usize>,
    answers: Vec<Told>,
}

/// Tells connections which answer they follow. `answers`: those of each connection.
pub(super) fn link(connections: &mut [Connection], answers: &[Vec<Answer>]) {
    let mut clients: HashMap<IpAddr, Client> = HashMap::new();
    for (number, connection) in connections.iter().enumerate() {
        let client = clients.entry(connection.client.ip()).or_default();
        client.connections.push(number);
        for (at, message) in &answers[number] {
            client.answers.push((*at, number, *message));
        }
    }
    for client in clients.values_mut() {
        client.answers.sort_unstable();
        let begins = |number: &usize| connections[*number].start;
        client.connections.sort_by_key(begins);
        let follows = client.follow(connections, answers);
        for (number, follows) in follows {
            connections[number].follows = Some(follows);
        }
    }
}

impl Client {
    /// Which connections follow an answer.
    fn follow(&self, connections: &[Connection], answers: &[Vec<Answer>]) -> Vec<(usize, Follows)> {
        let mut at_once = HashMap::new();
        for number in &self.connections {
            if let Some(answer) = self.answer_before(&connections[*number]) {
                at_once.insert(*number, answer);
            }
        }
        if !self.is_browser(connections, at_once.len()) {
            return Vec::new();
        }
        let mut follows = Vec::new();
        let mut page_of: HashMap<usize, usize> = HashMap::new();
        let mut pages: Vec<Page> = Vec::new();
        for number in &self.connections {
            let Some((at, followed, message)) = at_once.get(number).copied() else {
                continue;
            };
            let page = *page_of.entry(followed).or_insert_with(|| {
                pages.push(Page {
                    number: followed,
                    begins: connections[followed].start.as_nanos(),
                    last: last_answer(followed, answers),
                    before: None,
                    is_read: false,
                });
                pages.len() - 1
            });
            page_of.insert(*number, page);
            pages[page].last = match (pages[page].last, last_answer(*number, answers)) {
                (Some(last), Some(of_part)) => Some(last.max(of_part)),
                _ => None,
            };
            let late = connections[*number].start.as_nanos() - at;
            follows.push((*number, Follows::of(followed, message, late)));
        }
        pages.sort_by_key(|page| page.begins);
        read_in_turn(&mut pages);
        for page in &pages {
            if let Some(before) = page.before
                && let Some((at, followed, message)) = pages[before].last
            {
                let read = page.begins - at;
                follows.push((page.number, Follows::of(followed, message, read)));
            }
        }
        follows
    }

    /// The last answer on another connection that had come just before this connection began.
    fn answer_before(&self, connection: &Connection) -> Option<Told> {
        let begins = connection.start.as_nanos();
        let before = self.answers.partition_point(|(at, ..)| *at <= begins);
        let answer = *self.answers.get(before.checked_sub(1)?)?;
        if connection.has_opening && begins - answer.0 <= AT_ONCE {
            return Some(answer);
        }
        None
    }

    /// Whether so many connections that follow at once are no chance.
    fn is_browser(&self, connections: &[Connection], at_once: usize) -> bool {
        let (Some(first), Some(last)) = (self.connections.first(), self.connections.last()) else {
            return false;
        };
        let lasted = connections[*last].start - connections[*first].start;
        let covered = self.answers.len() as f64 * AT_ONCE as f64;
        let chance = (covered / lasted.as_nanos().max(1) as f64).min(1.0);
        let by_chance = chance * self.connections.len() as f64;
        let is_many = at_once >= LEAST && at_once * PART >= self.connections.len();
        is_many && at_once as f64 >= BEYOND_CHANCE * by_chance
    }
}

/// The last answer of a connection.
fn last_answer(number: usize, answers: &[Vec<Answer>]) -> Option<Told> {
    let (at, message) = *answers[number].last()?;
    Some((at, number, message))
}

/// Finds the page before each one: by the habits of users, if most pages have one, and for all others
/// in the order in which pages came.
fn read_in_turn(pages: &mut [Page]) {
    let mut left = pages.len();
    while let Some(habit) = habit(&readings(pages), left) {
        let mut readings = readings(pages);
        readings.sort_by_key(|(read, ..)| read.abs_diff(habit));
        for (read, before, next) in readings {
            let is_free = pages[next].before.is_none() && !pages[before].is_read;
            if is_free && is_alike(read, habit) {
                follow(pages, before, next);
                left -= 1;
            }
        }
    }
    let has_habits = left * 2 <= pages.len();
    if !has_habits {
        for page in pages.iter_mut() {
            (page.before, page.is_read) = (None, false);
        }
    }
    for next in 0..pages.len() {
        let mut longest: Option<usize> = None;
        for before in next.saturating_sub(MOST_USERS)..next {
            let is_longer = longest.is_none_or(|known| pages[before].last < pages[known].last);
            if is_longer && may_follow(pages, before, next) {
                longest = Some(before);
            }
        }
        if let Some(before) = longest {
            follow(pages, before, next);
        }
    }
}

fn follow(pages: &mut [Page], before: usize, next: usize) {
    pages[next].before = Some(before);
    pages[before].is_read = true;
}

/// Whether a page that is free may have been read before another one that is.
fn may_follow(pages: &[Page], before: usize, next: usize) -> bool {
    let page = &pages[next];
    if pages[before].is_read || page.before.is_some() {
        return false;
    }
    let Some((came, ..)) = pages[before].last else {
        return false;
    };
    came + AT_ONCE < page.begins && page.begins - came <= LONGEST_READING
}

/// All readings of pages that are free, the shortest first.
fn readings(pages: &[Page]) -> Vec<Reading> {
    let mut readings = Vec::new();
    for next in 0..pages.len() {
        for before in next.saturating_sub(MOST_USERS)..next {
            if let Some((came, ..)) = pages[before].last
                && may_follow(pages, before, next)
            {
                readings.push((pages[next].begins - came, before, next));
            }
        }
    }
    readings.sort_unstable();
    readings
}

/// The reading that most pages may have, if so many are no chance.
fn habit(readings: &[Reading], left: usize) -> Option<u64> {
    let mut most = 0;
    let mut found = 0;
    let mut end = 0;
    for (begin, (read, ..)) in readings.iter().enumerate() {
        while end < readings.len() && is_alike(readings[end].0, *read) {
            end += 1;
        }
        if end - begin > most {
            most = end - begin;
            found = readings[begin + (end - begin) / 2].0;
        }
    }
    let width = (ALIKE + found / PART_ALIKE) as f64;
    let by_chance = readings.len() as f64 * width / LONGEST_READING as f64;
    let is_many = most >= LEAST_ALIKE && most * PART_OF_PAGES >= left;
    if is_many && most as f64 >= BEYOND_CHANCE * by_chance {
        return Some(found);
    }
    None
}

const fn is_alike(one: u64, other: u64) -> bool {
    let (short, long) = if one < other {
        (one, other)
    } else {
        (other, one)
    };
    long - short <= ALIKE + short / PART_ALIKE
}

impl Follows {
    fn of(connection: usize, message: usize, after: u64) -> Self {
        Self {
            connection,
            message,
            after: Duration::from_nanos(after),
        }
    }
}
