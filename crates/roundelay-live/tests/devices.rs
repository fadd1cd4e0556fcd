//! Faults of devices and clocks, at a fake clock: an interface goes down, vanishes, takes no frame for
//! a while, refuses frames for good; slots run out; the clock is set; stamps are missing. Books
//! balance at each turn, frames stay in order, and departures are those of a plain port.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use roundelay::Instant;
use roundelay_live::{
    Bottleneck, Clock, Device, Driver, End, Fate, LostOutside, QueueText, Received, Recorder,
    Recording, Slots, Way, replay,
};
use roundelay_trace::Capture;

use crate::fake::{Entry, Frame, Kept, frames, random};
use crate::worlds::{RATE, WEIGHTS, became, disciplines, plain, rate, settings};

/// The start of the run on the clock of the stamps.
const START: i64 = 1_790_000_000_000_000_000;

/// A clock that is moved by hand, and set at will.
#[derive(Clone, Default)]
struct Hand {
    now: Rc<Cell<u64>>,
    /// What the clock of the stamps was set by, in all.
    set_by: Rc<Cell<i64>>,
}

impl Clock for Hand {
    fn now(&self) -> u64 {
        self.now.get()
    }

    fn unix_nanos(&self) -> i64 {
        START + self.set_by.get() + self.now.get() as i64
    }
}

/// How often each fault happens: one in so many calls. Zero for never.
#[derive(Clone, Copy, Default)]
struct Faults {
    down: u32,
    full: u32,
    refuses: u32,
    takes_some: u32,
    no_stamp: u32,
}

/// Frames that were handed over, and whether they were taken.
type Out = Rc<RefCell<Vec<(Vec<u8>, bool)>>>;

/// An interface without a wire.
struct Interface {
    clock: Hand,
    coming: VecDeque<Frame>,
    /// Frames in the kernel, with their stamps.
    ring: VecDeque<(Vec<u8>, i64)>,
    ring_size: usize,
    lost_outside: LostOutside,
    faults: Faults,
    random: Pcg64Mcg,
    is_gone: bool,
    out: Out,
    received: Rc<Cell<u64>>,
}

impl Interface {
    fn happens(&mut self, one_in: u32) -> bool {
        one_in > 0 && self.random.random_range(0..one_in) == 0
    }

    /// The kernel receives what has come by now.
    fn fill(&mut self) {
        let now = Instant::from_nanos(self.clock.now());
        while self.coming.front().is_some_and(|frame| frame.stamp <= now) {
            let Some(frame) = self.coming.pop_front() else {
                return;
            };
            if self.ring.len() == self.ring_size {
                self.lost_outside.ring += 1;
                continue;
            }
            let nanos = (frame.stamp.as_picos() / 1000) as i64;
            let stamp = START + self.clock.set_by.get() + nanos;
            self.ring.push_back((frame.bytes, stamp));
        }
    }
}

impl Device for Interface {
    fn name(&self) -> &str {
        "fake0"
    }

    fn receive(&mut self, slots: &mut Slots, received: &mut Vec<Received>) -> io::Result<()> {
        self.fill();
        if self.is_gone || self.happens(self.faults.down) {
            return Err(io::Error::from_raw_os_error(libc::ENETDOWN));
        }
        for _ in 0..64 {
            if self.ring.is_empty() {
                break;
            }
            let Some(slot) = slots.take() else { break };
            let Some((bytes, stamp)) = self.ring.pop_front() else {
                break;
            };
            slots.room(slot)[..bytes.len()].copy_from_slice(&bytes);
            slots.set_len(slot, bytes.len());
            let has_stamp = !self.happens(self.faults.no_stamp);
            received.push(Received {
                slot,
                unix_nanos: has_stamp.then_some(stamp),
            });
            self.received.set(self.received.get() + 1);
        }
        Ok(())
    }

    fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize> {
        if self.is_gone || self.happens(self.faults.refuses) {
            self.out.borrow_mut().push((frames[0].to_vec(), false));
            return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
        }
        // A device over a packet socket says so after ENOBUFS, too.
        if self.happens(self.faults.full) {
            return Ok(0);
        }
        let mut taken = frames.len();
        if self.happens(self.faults.takes_some) {
            taken = self.random.random_range(0..=frames.len());
        }
        for frame in &frames[..taken] {
            self.out.borrow_mut().push((frame.to_vec(), true));
        }
        Ok(taken)
    }

    fn is_gone(&self) -> bool {
        self.is_gone
    }

    fn lost_outside(&mut self) -> LostOutside {
        self.lost_outside
    }
}

/// What a run does beside its faults.
#[derive(Clone, Copy)]
struct Plan {
    faults: Faults,
    slots: u32,
    ring: usize,
    /// The clock is set in one of so many turns.
    set_clock: u32,
    /// The far interface vanishes after so many turns.
    vanishes: Option<u64>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            faults: Faults::default(),
            slots: 4096,
            ring: 4096,
            set_clock: 0,
            vanishes: None,
        }
    }
}

/// What a run left.
struct Ran {
    sent: u64,
    driver: Driver<Interface, Hand>,
    entries: Vec<Entry>,
    out: [Out; 2],
    received: [u64; 2],
    record: Vec<u8>,
    steps: u64,
}

fn run(queue: &str, frames: &[Frame], plan: Plan, random: &mut Pcg64Mcg) -> Ran {
    let clock = Hand::default();
    let settings = settings(QueueText::Discipline(queue.to_owned()), &WEIGHTS);
    let mut bottleneck =
        Bottleneck::new(&settings, Slots::new(plan.slots, 2048)).expect("legal settings");
    let entries = Arc::default();
    let recorder = Arc::new(Mutex::new(Recorder::in_memory(START, &settings)));
    bottleneck.set_journal(Box::new(Kept {
        entries: Arc::clone(&entries),
        next: Arc::clone(&recorder),
    }));
    let (outs, received) = (<[Rc<_>; 2]>::default(), <[Rc<Cell<u64>>; 2]>::default());
    let device = |way: Way| Interface {
        clock: clock.clone(),
        coming: frames
            .iter()
            .filter(|frame| frame.way == way)
            .cloned()
            .collect(),
        ring: VecDeque::new(),
        ring_size: plan.ring,
        lost_outside: LostOutside::default(),
        faults: plan.faults,
        random: crate::fake::random(way.index() as u64 + 77),
        is_gone: false,
        // What leaves here has come the other way.
        out: Rc::clone(&outs[1 - way.index()]),
        received: Rc::clone(&received[way.index()]),
    };
    let devices = [device(Way::Up), device(Way::Down)];
    let mut driver = Driver::new(devices, bottleneck, clock.clone());
    let last = frames.last().expect("frames").stamp.as_picos() / 1000;
    let (mut turns, mut steps) = (0, 0);
    loop {
        driver.turn().expect("legal frames");
        turns += 1;
        for way in Way::BOTH {
            let books = driver.bottleneck().books(way);
            assert!(books.balance(), "{queue} {way}: {books:?}");
            let flows = driver.bottleneck().flow_books(way).iter();
            let waiting: u64 = flows.map(|flow| flow.waiting).sum();
            assert_eq!(waiting, books.waiting, "{queue} {way}");
            assert_eq!(books.arrived, received[way.index()].get(), "{queue} {way}");
        }
        let inside = |way: Way| {
            let books = driver.bottleneck().books(way);
            books.waiting + books.on_the_way
        };
        let is_empty = Way::BOTH.into_iter().all(|way| inside(way) == 0);
        let has_work = |device: &Interface| {
            let is_idle = device.ring.is_empty() && device.coming.is_empty();
            !device.is_gone && !is_idle
        };
        let waits = driver.devices_mut().iter().any(has_work);
        if is_empty && !waits && clock.now() > last {
            break;
        }
        assert!(turns < 3_000_000, "the run comes to an end");
        if plan.vanishes == Some(turns) {
            driver.devices_mut()[1].is_gone = true;
        }
        if plan.set_clock > 0 && random.random_range(0..plan.set_clock) == 0 {
            let by = random.random_range(-3_600_000_000_000..3_600_000_000_000_i64);
            clock.set_by.set(clock.set_by.get() + by);
            steps += 1;
        }
        let late = [0, 0, random.random_range(0..5_000_000)][random.random_range(0..3)];
        // A driver without work sleeps until a frame comes.
        let coming = driver.devices_mut().iter().filter_map(|device| {
            let stamp = device.coming.front()?.stamp.as_picos() / 1000;
            Some(stamp.saturating_sub(clock.now()))
        });
        let next = coming.min().unwrap_or(u64::MAX);
        let idle = driver.idle(5_000_000).min(next);
        clock.now.set(clock.now() + idle.max(1) + late);
    }
    let books = Way::BOTH.map(|way| driver.bottleneck().books(way).clone());
    let until = Way::BOTH.map(|way| driver.bottleneck().decided(way).as_picos());
    drop(driver.bottleneck_mut().take_journal());
    let recorder = Arc::into_inner(recorder).expect("the run is over");
    let record = recorder.into_inner().unwrap().into_bytes(&End {
        until,
        books,
        lost_outside: [LostOutside::default(); 2],
        verdict: String::new(),
    });
    let entries = std::mem::take(&mut *entries.lock().unwrap());
    Ran {
        sent: frames.len() as u64,
        driver,
        entries,
        out: outs,
        received: received.map(|count| count.get()),
        record,
        steps,
    }
}

/// Each frame is in the books, in order, and as a plain port and a replay have it.
fn holds(mut ran: Ran, queue: &str) -> Driver<Interface, Hand> {
    let (mut lost, mut left) = (0, 0);
    for device in ran.driver.devices_mut() {
        lost += device.lost_outside.ring;
        left += device.ring.len() + device.coming.len();
    }
    let received: u64 = ran.received.iter().sum();
    assert_eq!(received + lost + left as u64, ran.sent, "{queue}");
    for (way, text) in [(Way::Up, RATE), (Way::Down, "4mbit")] {
        let (mut frames, mut expected, mut at_last) = (Vec::new(), Vec::new(), Instant::ZERO);
        for entry in &ran.entries {
            match entry {
                Entry::Arrived {
                    way: of, at, frame, ..
                } if *of == way => {
                    assert!(*at >= at_last, "{queue}: time never goes back");
                    at_last = *at;
                    frames.push(frame.clone());
                }
                Entry::Fate {
                    way: of,
                    number,
                    fate:
                        Fate::Sent {
                            lost: false,
                            marked,
                            ..
                        },
                    ..
                } if *of == way => expected.push((*number as usize, *marked)),
                _ => (),
            }
        }
        let out = ran.out[way.index()].borrow();
        assert_eq!(out.len(), expected.len(), "{queue} {way}");
        for ((bytes, _), (number, marked)) in out.iter().zip(expected) {
            let tos = frames[number][15];
            assert_eq!(bytes[15], if marked { tos | 3 } else { tos }, "{queue}");
            // Addresses and ports: the frame is the one whose turn it is.
            assert_eq!(bytes[26..60], frames[number][26..60], "{queue}");
            assert!(bytes.len() >= 60 && bytes[..14] == frames[number][..14]);
        }
        let books = ran.driver.bottleneck().books(way);
        let refused = out.iter().filter(|(_, is_taken)| !is_taken).count();
        assert_eq!(books.refused, refused as u64, "{queue} {way}");
        let run = crate::fake::Run {
            entries: std::mem::take(&mut ran.entries),
            bottleneck: Bottleneck::new(
                &settings(QueueText::Discipline(queue.to_owned()), &[]),
                Slots::new(1, 64),
            )
            .expect("legal settings"),
            out: Default::default(),
        };
        assert_eq!(
            became(&run, way),
            plain(&run, queue, rate(text), way),
            "{queue} {way}"
        );
        ran.entries = run.entries;
    }
    let capture = Capture::from_reader("run.pcapng", io::Cursor::new(ran.record)).expect("pcapng");
    let replayed = replay(Recording::read(capture).expect("a record")).expect("a whole record");
    for way in &replayed.ways {
        assert!(way.is_equal(), "{queue}: {:?}", way.first_difference);
    }
    assert_eq!(ran.driver.clock_steps(), ran.steps, "{queue}");
    ran.driver
}

#[test]
fn faults_by_the_hundred_thousand_leave_the_books_balanced_and_the_order_as_it_was() {
    let (mut arrived, mut refused, mut down, mut full, mut steps) = (0, 0, 0, 0, 0);
    for (number, queue) in disciplines().iter().enumerate() {
        for with_few_slots in [false, true] {
            let mut random = random(900 + number as u64);
            let frames = frames(2_000, &mut random);
            let plan = Plan {
                faults: Faults {
                    down: 50,
                    full: 4,
                    refuses: 30,
                    takes_some: 4,
                    no_stamp: 10,
                },
                slots: if with_few_slots { 12 } else { 4096 },
                ring: if with_few_slots { 40 } else { 4096 },
                set_clock: 300,
                vanishes: None,
            };
            let ran = run(queue, &frames, plan, &mut random);
            let driver = holds(ran, queue);
            for way in Way::BOTH {
                let books = driver.bottleneck().books(way);
                arrived += books.arrived;
                refused += books.refused;
            }
            down += driver.went_down().iter().sum::<u64>();
            full += driver.full_turns();
            steps += driver.clock_steps();
        }
    }
    assert!(arrived > 90_000, "{arrived}");
    assert!(
        refused > 1_000 && down > 1_000 && full > 100 && steps > 100,
        "{refused} refused, {down} times down, {full} times full, set {steps} times"
    );
}

/// A run with one kind of fault.
fn with(plan: Plan) -> Driver<Interface, Hand> {
    let mut random = random(5);
    let frames = frames(1_000, &mut random);
    let queue = "fifo limit 2000";
    let ran = run(queue, &frames, plan, &mut random);
    holds(ran, queue)
}

#[test]
fn without_faults_nothing_is_lost() {
    let driver = with(Plan::default());
    let books = Way::BOTH.map(|way| driver.bottleneck().books(way).clone());
    let [up, down] = books;
    assert_eq!(up.delivered + down.delivered + down.lost, 1_000);
    assert_eq!((driver.full_turns(), driver.went_down()), (0, [0; 2]));
}

#[test]
fn a_device_that_is_full_for_a_while_loses_nothing() {
    let faults = Faults {
        full: 2,
        takes_some: 2,
        ..Faults::default()
    };
    let driver = with(Plan {
        faults,
        ..Plan::default()
    });
    for way in Way::BOTH {
        let books = driver.bottleneck().books(way);
        assert_eq!((books.refused, books.all_dropped()), (0, 0));
        assert_eq!(books.delivered + books.lost, books.arrived);
    }
}

#[test]
fn a_refused_frame_is_counted_and_the_next_ones_go_on() {
    let faults = Faults {
        refuses: 3,
        ..Faults::default()
    };
    let driver = with(Plan {
        faults,
        ..Plan::default()
    });
    for way in Way::BOTH {
        let books = driver.bottleneck().books(way);
        assert!(
            books.refused > 50 && books.delivered > 50,
            "{way}: {books:?}"
        );
    }
}

#[test]
fn frames_wait_in_the_kernel_while_all_slots_are_taken() {
    let driver = with(Plan {
        slots: 8,
        ..Plan::default()
    });
    assert!(driver.full_turns() > 10, "{}", driver.full_turns());
    let books = Way::BOTH.map(|way| driver.bottleneck().books(way).clone());
    let [up, down] = books;
    assert_eq!(up.delivered + down.delivered + down.lost, 1_000);
}

#[test]
fn a_step_of_the_clock_moves_arrivals_and_loses_nothing() {
    let driver = with(Plan {
        set_clock: 10,
        ..Plan::default()
    });
    assert!(driver.clock_steps() > 20, "{}", driver.clock_steps());
    for way in Way::BOTH {
        let books = driver.bottleneck().books(way);
        assert_eq!(books.delivered + books.lost, books.arrived);
    }
}

#[test]
fn an_interface_that_vanishes_refuses_the_rest_and_is_told() {
    let driver = with(Plan {
        vanishes: Some(200),
        ..Plan::default()
    });
    assert_eq!(driver.gone(), [false, true]);
    assert_eq!(driver.went_down(), [0, 1]);
    let up = driver.bottleneck().books(Way::Up);
    assert!(up.refused > 100 && up.delivered > 10, "{up:?}");
    assert_eq!(up.refused + up.delivered, up.arrived);
}
