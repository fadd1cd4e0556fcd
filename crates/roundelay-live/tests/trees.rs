//! A class does not change its leaf, as in the core's `tree/law.rs`: at the bottleneck, a tree with one
//! leaf does to every frame what the leaf does alone.

use std::sync::{Arc, Mutex};

use roundelay::{Duration, Instant};
use roundelay_live::{NoJournal, QueueText, Way};

use crate::fake::{Run, frames, random, run};
use crate::worlds::{RATE, became, plain_as_node, rate, settings};

/// Leaves that drop at the tail and elsewhere, take turns, hash, draw and mark, all with small buffers.
const LEAVES: [&str; 6] = [
    "fifo limit 25p",
    "fq_codel limit 25p target 1ms interval 5ms ecn",
    "cake limit 25p besteffort",
    "codel limit 25p target 1ms interval 5ms ecn",
    "pie limit 25p target 1ms ecn",
    "pie linux limit 25p target 1ms tupdate 1ms",
];

struct Class {
    discipline: &'static str,
    /// What its child has beside its discipline.
    keys: &'static str,
    /// Whether it asks a child without packets when the link becomes free, as the link itself does.
    asks_idle: bool,
}

/// Classes that give their child the whole rate.
const CLASSES: [Class; 4] = [
    Class {
        discipline: "priority",
        keys: "",
        asks_idle: true,
    },
    Class {
        discipline: "drr",
        keys: "",
        asks_idle: false,
    },
    Class {
        discipline: "htb",
        keys: "rate = \"1gbit\"\n",
        asks_idle: false,
    },
    Class {
        discipline: "tbf rate 1gbit burst 4000b",
        keys: "",
        asks_idle: true,
    },
];

fn only_child(class: &Class, leaf: &str) -> QueueText {
    let Class {
        discipline, keys, ..
    } = class;
    QueueText::Tree {
        name: "only.toml".to_owned(),
        text: format!(
            "[[node]]\nname = \"link\"\ndiscipline = \"{discipline}\"\n\
             [[node]]\nname = \"all\"\nparent = \"link\"\ndiscipline = \"{leaf}\"\n{keys}default = true\n"
        ),
    }
}

/// What came of the frames, of all leaves and classes.
#[derive(Default)]
struct Seen {
    dropped: u64,
    marked: u64,
    pauses: u64,
}

/// Compares what became of the frames of a direction with what the leaf does to them alone.
fn compare(run: &Run, leaf: &str, way: Way, text: &str, what: &str, seen: &mut Seen) {
    let found = became(run, way);
    let expected = plain_as_node(run, leaf, rate(text), way, 1);
    assert!(found.len() == expected.len(), "{what}: as many frames");
    let mut free_at = Instant::ZERO;
    for (found, expected) in found.iter().zip(&expected) {
        assert!(found == expected, "{what}: {found:?} for {expected:?}");
        if let Some((start, end, _)) = found.1 {
            seen.pauses += u64::from(start > free_at);
            free_at = end;
        }
    }
    let books = run.bottleneck.books(way);
    seen.dropped += books.all_dropped();
    seen.marked += books.marked;
}

/// On the way up, of 10 Mbit/s, the queue is often empty. On the way down, of 4 Mbit/s, it never is
/// while frames come.
#[test]
fn an_only_child_is_the_leaf_alone() {
    let mut seen = Seen::default();
    for (seed, leaf) in (0..).zip(LEAVES) {
        for class in &CLASSES {
            let mut random = random(seed);
            let mut frames = frames(2_000, &mut random);
            if !class.asks_idle
                && let Some(first) = frames.iter_mut().find(|frame| frame.way == Way::Down)
            {
                // Nor does it ask before the first frame, as a link does.
                first.stamp = Instant::ZERO;
            }
            let settings = settings(only_child(class, leaf), &[]);
            let late = Duration::from_millis(5);
            let no_journal = Arc::new(Mutex::new(NoJournal));
            let run = run(&settings, &frames, &[], late, &mut random, no_journal);
            let what = format!("{leaf} below {}", class.discipline);
            // A queue that knows whether it was asked while empty.
            let knows = leaf.starts_with("fq_codel") || leaf.starts_with("pie");
            if class.asks_idle || !knows {
                compare(&run, leaf, Way::Up, RATE, &what, &mut seen);
            }
            compare(&run, leaf, Way::Down, "4mbit", &what, &mut seen);
        }
    }
    let Seen {
        dropped,
        marked,
        pauses,
    } = seen;
    assert!(
        dropped > 2_000 && marked > 500 && pauses > 500,
        "{dropped} dropped, {marked} marked, {pauses} pauses"
    );
}
