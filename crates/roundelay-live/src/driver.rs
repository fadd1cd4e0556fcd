//! Driver: moves frames between two devices and the bottleneck as time passes.

use std::io;

use roundelay::{Duration, Instant};
use roundelay_metrics::Delays;

use crate::books::LostOutside;
use crate::bottleneck::{Bottleneck, Due};
use crate::clock::{Clock, Stamps};
use crate::device::{Device, Received};
use crate::fidelity::{Measured, WayFidelity};
use crate::flows::largest_flows;
use crate::meter::BLUNT;
use crate::settings::Way;

/// How many frames one direction may send before the other gets its turn.
const BURST: usize = 64;

/// Two devices, and the bottleneck between them.
pub struct Driver<D, C> {
    /// Near and far. The way up goes from the first to the second.
    devices: [D; 2],
    bottleneck: Bottleneck,
    clock: C,
    stamps: Stamps,
    /// When each direction was last checked for due frames.
    last_check: [Instant; 2],
    /// When each device was last read, nanoseconds.
    read: [u64; 2],
    /// Whether frames came without stamps from each device.
    unstamped: [bool; 2],
    received: Vec<Received>,
    due: Vec<Due>,
    /// Which devices are down, and how often each went down.
    down: [bool; 2],
    went_down: [u64; 2],
    /// A device did not take all frames offered.
    is_blocked: bool,
    /// Turns that found no free slot.
    full: u64,
    wake_ups: WakeUps,
}

/// Why a run ended by itself: it could not sort a frame.
pub type DriverError = Box<dyn std::error::Error + Send + Sync>;

impl<D: Device, C: Clock> Driver<D, C> {
    /// A driver whose clock has just started.
    pub fn new(devices: [D; 2], bottleneck: Bottleneck, clock: C) -> Self {
        let stamps = Stamps::new(&clock);
        Self {
            devices,
            bottleneck,
            clock,
            stamps,
            last_check: [Instant::ZERO; 2],
            read: [0; 2],
            unstamped: [false; 2],
            received: Vec::with_capacity(BURST),
            due: Vec::with_capacity(BURST),
            down: [false; 2],
            went_down: [0; 2],
            is_blocked: false,
            full: 0,
            wake_ups: WakeUps::default(),
        }
    }

    /// From now on, wakes up a little before a frame is due and spends the rest of the time awake.
    /// This suits threads with real-time priority, because others lose their processor meanwhile.
    pub const fn wake_up_early(&mut self) {
        self.wake_ups.is_early = true;
    }

    /// The bottleneck.
    pub const fn bottleneck(&self) -> &Bottleneck {
        &self.bottleneck
    }

    /// The bottleneck, for you to change it.
    pub const fn bottleneck_mut(&mut self) -> &mut Bottleneck {
        &mut self.bottleneck
    }

    /// The devices, near and far.
    pub const fn devices_mut(&mut self) -> &mut [D; 2] {
        &mut self.devices
    }

    /// The clock.
    pub const fn clock(&self) -> &C {
        &self.clock
    }

    /// Nanoseconds since 1970 when the clock started.
    pub const fn start_unix_nanos(&self) -> i64 {
        self.stamps.offset()
    }

    /// How long after their due time frames left at the end of a direction.
    pub const fn lateness(&self, way: Way) -> &Delays {
        self.bottleneck.lateness(way)
    }

    /// A direction's fidelity so far: its counts, its delays and how punctual it was.
    pub(crate) fn way_fidelity(&self, way: Way, lost_outside: LostOutside) -> WayFidelity {
        let bottleneck = &self.bottleneck;
        // Frames that became due since the last turn are not late.
        let last_check = self.last_check[way.index()];
        WayFidelity::of(Measured {
            way,
            queue: bottleneck.queue(way).to_owned(),
            rate: bottleneck.rate(way),
            full_packet: bottleneck.full_packet(way),
            trace: bottleneck.trace(way).map(str::to_owned),
            books: bottleneck.books(way),
            lost_outside,
            punctuality: bottleneck.punctuality(way, last_check),
            delays: &bottleneck.delays(way),
            kinds: bottleneck.kinds(way),
            phases: bottleneck.phases(way, Instant::from_nanos(self.clock.now())),
            all_flows: bottleneck.flow_books(way).len(),
            flows: largest_flows(bottleneck.flows(way), bottleneck.flow_books(way)),
        })
    }

    /// How often the stamps' clock was set.
    pub const fn clock_steps(&self) -> u64 {
        self.stamps.steps
    }

    /// How often the near and the far interface went down.
    pub const fn went_down(&self) -> [u64; 2] {
        self.went_down
    }

    /// Whether the near and the far interface no longer exist.
    pub fn gone(&self) -> [bool; 2] {
        [0, 1].map(|index| self.went_down[index] > 0 && self.devices[index].is_gone())
    }

    /// Frames lost in each direction where no queue saw them: before the queue, or after the device
    /// at the other end had taken them.
    pub fn lost_outside(&mut self) -> [LostOutside; 2] {
        let [near, far] = &mut self.devices;
        let mut up = near.lost_outside();
        let mut down = far.lost_outside();
        std::mem::swap(&mut up.unsent, &mut down.unsent);
        [up, down]
    }

    /// Turns in which frames had to stay in the kernel because no slot was free.
    pub const fn full_turns(&self) -> u64 {
        self.full
    }

    /// Receives, decides and sends whatever there is now.
    ///
    /// # Errors
    /// The discipline cannot take a frame's flow.
    pub fn turn(&mut self) -> Result<(), DriverError> {
        self.stamps.measure(&self.clock);
        for way in Way::BOTH {
            self.receive(way)?;
        }
        self.bottleneck
            .advance(Instant::from_nanos(self.clock.now()))?;
        self.is_blocked = false;
        for way in Way::BOTH {
            self.send(way);
        }
        for device in &mut self.devices {
            self.is_blocked |= device.flush();
        }
        Ok(())
    }

    /// Gives the devices a moment to send what they took. What is left after that counts as lost.
    pub fn close(&mut self) {
        const TRIES: u32 = 100;
        const BETWEEN: std::time::Duration = std::time::Duration::from_millis(1);
        for _ in 0..TRIES {
            let mut is_left = false;
            for device in &mut self.devices {
                is_left |= device.flush();
            }
            if !is_left {
                break;
            }
            std::thread::sleep(BETWEEN);
        }
        for device in &mut self.devices {
            device.close();
        }
    }

    /// Nanoseconds until the next turn if nothing comes before. At most `most`.
    pub fn idle(&self, most: u64) -> u64 {
        // A full device does not say when it has room again, so we try soon.
        if self.is_blocked {
            return most.min(BLOCKED);
        }
        let Some(next) = self.bottleneck.next_event() else {
            return most;
        };
        let next = next.as_picos().div_ceil(1000);
        next.saturating_sub(self.clock.now()).min(most)
    }

    fn receive(&mut self, way: Way) -> Result<(), DriverError> {
        let index = way.index();
        let slots = self.bottleneck.slots_mut();
        self.full += u64::from(slots.free() == 0);
        let read = self.clock.now();
        let outcome = self.devices[index].receive(slots, &mut self.received);
        let is_down = outcome.is_err();
        self.went_down[index] += u64::from(is_down && !self.down[index]);
        // An interface tells its error once. When it comes up again, it goes on.
        self.down[index] = is_down;
        let now = self.clock.now();
        let gap = Duration::from_nanos(now - self.read[index]);
        self.read[index] = read;
        // Before the first such frame, nobody knew that this device must be read often.
        let is_read_often = self.unstamped[index];
        let mut received = std::mem::take(&mut self.received);
        for frame in received.drain(..) {
            if frame.unix_nanos.is_none() {
                self.unstamped[index] = true;
                if is_read_often {
                    self.bottleneck.note_unstamped(way, gap);
                }
            }
            let stamp = self.stamps.time(frame.unix_nanos, now);
            let stamp = Instant::from_nanos(stamp);
            self.bottleneck.arrive(way, stamp, frame.slot)?;
        }
        self.received = received;
        Ok(())
    }

    fn send(&mut self, way: Way) {
        let now = Instant::from_nanos(self.clock.now());
        self.last_check[way.index()] = now;
        let mut due = std::mem::take(&mut self.due);
        self.bottleneck.due(way, now, BURST, &mut due);
        let device = &mut self.devices[1 - way.index()];
        let mut frames: [&[u8]; BURST] = [&[]; BURST];
        for (frame, (slot, _)) in frames.iter_mut().zip(&due) {
            *frame = self.bottleneck.slots().frame(*slot);
        }
        let mut taken = 0;
        if !due.is_empty() {
            taken = match device.send(&frames[..due.len()]) {
                Ok(taken) => taken,
                Err(_) => {
                    self.bottleneck.give_up(way);
                    due.clear();
                    0
                }
            };
            self.is_blocked |= taken < due.len();
        }
        let after = Instant::from_nanos(self.clock.now());
        due.clear();
        self.due = due;
        for _ in 0..taken {
            self.bottleneck.hand_over_at(way, after);
        }
    }

    /// Gives devices and bottleneck back.
    pub fn into_parts(self) -> ([D; 2], Bottleneck) {
        (self.devices, self.bottleneck)
    }
}

/// How late we wake from sleeps, and what to do about it.
#[derive(Debug, Default)]
struct WakeUps {
    /// Whether to end sleeps early.
    is_early: bool,
    /// How late we wake, nanoseconds. In this mean the last eight sleeps count most.
    late: u64,
    /// The last pause was spent awake.
    was_awake: bool,
}

/// How to pass a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pause {
    Sleep(u64),
    Awake(u64),
}

impl WakeUps {
    /// The longest time to spend awake, nanoseconds. It is less than the guard, so that no arrival
    /// comes too late.
    const AWAKE: u64 = 60_000;
    /// The shortest sleep in which others get something done, nanoseconds.
    const REST: u64 = 5_000;

    /// How to spend this many nanoseconds. We never spend two pauses in a row awake, so that a fast
    /// link leaves time to other threads.
    fn pass(&mut self, nanos: u64) -> Pause {
        let early = if self.is_early {
            (2 * self.late).min(Self::AWAKE)
        } else {
            0
        };
        if nanos > early {
            return Pause::Sleep(nanos - early);
        }
        if self.was_awake {
            return Pause::Sleep(nanos);
        }
        self.was_awake = true;
        Pause::Awake(nanos)
    }

    /// Notes that a sleep meant for `asked` nanoseconds took `took`. Returns whether others had the
    /// processor meanwhile: they had not if a waiting frame ended the sleep at once.
    fn slept(&mut self, asked: u64, took: u64) -> bool {
        if let Some(late) = took.checked_sub(asked) {
            // A sleep that ends milliseconds late shows a busy machine rather than a slow timer, so
            // it counts only this much.
            self.late = (7 * self.late + late.min(Self::AWAKE)) / 8;
        }
        let is_rest = took >= Self::REST;
        self.was_awake &= !is_rest;
        is_rest
    }
}

/// Nanoseconds until we offer frames again to a device that was full.
const BLOCKED: u64 = 50_000;

impl<D: Device> Driver<D, crate::clock::WallClock> {
    /// Keeps turning until `goes_on` says no or an interface is gone. We ask `goes_on` every few
    /// milliseconds.
    ///
    /// # Errors
    /// The discipline cannot take a frame's flow, or the system does not let us wait.
    #[cfg(target_os = "linux")]
    pub fn run(
        &mut self,
        mut goes_on: impl FnMut(&mut Self) -> io::Result<bool>,
    ) -> Result<(), DriverError> {
        /// Nanoseconds between two questions.
        const ASK: u64 = 5_000_000;
        /// After this long without a wait we leave the machine to others for a moment, so that a
        /// thread with real-time priority cannot take it over.
        const LONGEST_WORK: u64 = 200_000_000;
        const PAUSE: u64 = 1_000_000;
        let mut asked = 0;
        let mut waited = self.clock.now();
        loop {
            self.turn()?;
            let now = self.clock.now();
            if now - asked >= ASK {
                asked = now;
                if !goes_on(self)? || self.gone().contains(&true) {
                    return Ok(());
                }
            }
            let most = if self.unstamped.contains(&true) {
                BLUNT.as_nanos() / 2
            } else {
                ASK
            };
            let idle = match self.idle(most) {
                0 if now - waited > LONGEST_WORK => PAUSE,
                idle => idle,
            };
            if idle > 0 {
                let mut sockets = Vec::with_capacity(2);
                if idle != PAUSE {
                    let up = self.devices.iter().zip(self.down).filter(|(_, down)| !down);
                    sockets.extend(up.filter_map(|(device, _)| device.descriptor()));
                }
                // Others must run before a full device has room again.
                let pause = if self.is_blocked {
                    Pause::Sleep(idle)
                } else {
                    self.wake_ups.pass(idle)
                };
                let from = self.clock.now();
                match pause {
                    Pause::Sleep(nanos) => {
                        crate::sys::wait(&sockets, nanos)?;
                        let woken = self.clock.now();
                        if self.wake_ups.slept(nanos, woken - from) {
                            waited = woken;
                        }
                    }
                    Pause::Awake(nanos) => {
                        while self.clock.now() < from + nanos {
                            std::hint::spin_loop();
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;
    use crate::settings::{Change, QueueText, Settings};
    use crate::slots::Slots;

    /// A clock that is moved by hand.
    #[derive(Clone, Default)]
    struct Hand(Rc<Cell<u64>>);

    impl Clock for Hand {
        fn now(&self) -> u64 {
            self.0.get()
        }

        fn unix_nanos(&self) -> i64 {
            self.0.get() as i64
        }
    }

    /// A device to which frames come with the stamps given, and that takes frames or does not.
    struct Fake {
        coming: Vec<Option<i64>>,
        takes: bool,
        /// Frames taken, and those of them that are not sent. Each flush sends some of them.
        pending: u64,
        flushes: u64,
        unsent: u64,
    }

    impl Device for Fake {
        fn name(&self) -> &'static str {
            "fake0"
        }

        fn receive(&mut self, slots: &mut Slots, received: &mut Vec<Received>) -> io::Result<()> {
            for unix_nanos in self.coming.drain(..) {
                let slot = slots.take().expect("a free slot");
                slots.set_len(slot, 1000);
                received.push(Received { slot, unix_nanos });
            }
            Ok(())
        }

        fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize> {
            Ok(if self.takes { frames.len() } else { 0 })
        }

        fn flush(&mut self) -> bool {
            self.pending = self.pending.saturating_sub(self.flushes);
            self.pending > 0
        }

        fn close(&mut self) {
            self.unsent += self.pending;
        }

        fn lost_outside(&mut self) -> LostOutside {
            LostOutside {
                unsent: self.unsent,
                ..LostOutside::default()
            }
        }
    }

    const MILLI: u64 = 1_000_000;

    fn driver(rate: &str, takes: bool) -> (Driver<Fake, Hand>, Hand) {
        let queue = QueueText::Discipline("fifo".to_owned());
        let settings = Settings::new(rate.parse().unwrap(), queue);
        let bottleneck = Bottleneck::new(&settings, Slots::new(4096, 1024)).unwrap();
        let devices = [true, takes].map(|takes| Fake {
            coming: Vec::new(),
            takes,
            pending: 0,
            flushes: 0,
            unsent: 0,
        });
        let clock = Hand::default();
        (Driver::new(devices, bottleneck, clock.clone()), clock)
    }

    /// Why the way up is not valid.
    fn reasons(driver: &Driver<Fake, Hand>) -> String {
        let fidelity = driver.way_fidelity(Way::Up, LostOutside::default());
        fidelity.reasons(true).concat()
    }

    /// Frames come every two milliseconds, and the driver turns then and a millisecond after.
    fn run(driver: &mut Driver<Fake, Hand>, clock: &Hand, millis: std::ops::Range<u64>) {
        for milli in millis.step_by(2) {
            clock.0.set(milli * MILLI);
            driver.devices[0].coming.push(Some((milli * MILLI) as i64));
            driver.turn().unwrap();
            clock.0.set(milli * MILLI + MILLI);
            driver.turn().unwrap();
        }
    }

    #[test]
    fn sleeps_end_early_by_what_they_were_late_and_never_twice_awake() {
        let mut wake_ups = WakeUps::default();
        for _ in 0..100 {
            wake_ups.slept(10_000, 30_000);
        }
        assert_eq!(wake_ups.pass(30_000), Pause::Sleep(30_000), "not asked to");
        wake_ups.is_early = true;
        let late = wake_ups.late;
        assert!((19_900..=20_000).contains(&late), "{late}");
        assert_eq!(wake_ups.pass(100_000), Pause::Sleep(100_000 - 2 * late));
        assert_eq!(wake_ups.pass(2 * late), Pause::Awake(2 * late));
        assert_eq!(wake_ups.pass(12_000), Pause::Sleep(12_000));
        assert!(!wake_ups.slept(12_000, 900), "a frame was there already");
        assert_eq!(wake_ups.pass(12_000), Pause::Sleep(12_000));
        assert!(wake_ups.slept(12_000, 12_000 + late));
        assert_eq!(wake_ups.pass(12_000), Pause::Awake(12_000));
        for _ in 0..100 {
            wake_ups.slept(0, 9_000_000);
        }
        let most = WakeUps::AWAKE;
        assert_eq!(wake_ups.pass(most + 1), Pause::Sleep(1));
    }

    #[test]
    fn frames_that_are_due_and_that_the_device_does_not_take_make_a_run_invalid() {
        let (mut taken, clock) = driver("20mbit", true);
        run(&mut taken, &clock, 0..800);
        assert_eq!(reasons(&taken), "");
        let (mut stays, clock) = driver("20mbit", false);
        run(&mut stays, &clock, 0..800);
        let told = reasons(&stays);
        assert!(told.contains("frames due, and the interface"), "{told}");
        // Those due for less than 100 ms are late, and no more.
        let fidelity = stays.way_fidelity(Way::Up, LostOutside::default());
        assert!((345..=355).contains(&fidelity.stuck), "{}", fidelity.stuck);
        assert_eq!(fidelity.due, 400);
    }

    #[test]
    fn each_frame_is_judged_at_the_rate_at_which_it_was_sent() {
        let slow = Change::Rate(100_000);
        let (mut driver, clock) = driver("10gbit", true);
        run(&mut driver, &clock, 0..2000);
        driver.bottleneck.change(Way::Up, &slow).unwrap();
        assert!(reasons(&driver).contains("frames left late"));
    }

    #[test]
    fn a_fast_end_makes_no_slow_run_invalid() {
        let (mut driver, clock) = driver("20mbit", true);
        run(&mut driver, &clock, 0..800);
        let fast = Change::Rate(10_000_000_000);
        driver.bottleneck.change(Way::Up, &fast).unwrap();
        assert_eq!(reasons(&driver), "");
    }

    /// A frame without a stamp comes every two milliseconds. The driver turns twice a millisecond, but
    /// for `pause` milliseconds in each of so many.
    fn unstamped(rate: &str, pause: u64, of: u64) -> String {
        let (mut driver, clock) = driver(rate, true);
        for milli in 0..1000 {
            if milli % 2 == 0 {
                driver.devices[0].coming.push(None);
            }
            if milli % of >= pause {
                clock.0.set(milli * MILLI);
                driver.turn().unwrap();
                clock.0.set(milli * MILLI + MILLI / 5);
                driver.turn().unwrap();
            }
        }
        reasons(&driver)
    }

    #[test]
    fn a_driver_that_reads_frames_without_stamps_too_late_is_told() {
        // A full packet takes 12 ms, or .12 ms.
        assert_eq!(unstamped("1mbit", 0, 100), "");
        assert_eq!(unstamped("1mbit", 8, 100), "");
        assert_eq!(unstamped("100mbit", 0, 100), "");
        for told in [unstamped("1mbit", 50, 100), unstamped("100mbit", 8, 100)] {
            assert!(told.contains("carry no stamp"), "{told}");
        }
    }

    #[test]
    fn frames_that_a_device_has_taken_and_not_sent_at_the_end_count_as_lost() {
        let (mut driver, _) = driver("1mbit", true);
        (driver.devices[0].pending, driver.devices[0].flushes) = (20, 1);
        driver.devices[1].pending = 7;
        driver.close();
        let [up, down] = driver.lost_outside();
        assert_eq!((up.unsent, down.unsent), (7, 0));
    }

    #[test]
    fn each_moved_arrival_is_judged_at_the_rate_of_its_time() {
        let (mut driver, clock) = driver("20mbit", true);
        // Each frame is read .7 ms after the queue has decided on its time, and a packet takes .6.
        for milli in (2..400).step_by(2) {
            clock.0.set(milli * MILLI);
            driver.turn().unwrap();
            let stamp = milli * MILLI - 800_000;
            driver.devices[0].coming.push(Some(stamp as i64));
            driver.turn().unwrap();
        }
        let slow = Change::Rate(100_000);
        driver.bottleneck.change(Way::Up, &slow).unwrap();
        let told = reasons(&driver);
        assert!(told.contains("too late for 199 of 199 arrivals"), "{told}");
    }
}
