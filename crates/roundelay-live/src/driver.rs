//! Driver: moves frames between two devices and the bottleneck, as the clock goes.

use std::io;

use roundelay::Instant;
use roundelay_metrics::Delays;

use crate::books::Outside;
use crate::bottleneck::{Bottleneck, Due};
use crate::clock::{Clock, Stamps};
use crate::device::{Device, Received};
use crate::settings::Way;

/// Frames taken from a direction before the other has its turn.
const BURST: usize = 64;

/// Two devices, and the bottleneck between them.
pub struct Driver<D, C> {
    /// Near and far: the way up goes from the first to the second.
    devices: [D; 2],
    bottleneck: Bottleneck,
    clock: C,
    stamps: Stamps,
    lateness: [Delays; 2],
    received: Vec<Received>,
    due: Vec<Due>,
    /// Devices that are down, and how often each has gone down.
    down: [bool; 2],
    went_down: [u64; 2],
    /// A device has not taken all frames offered.
    is_blocked: bool,
    /// Turns in which no slot was free.
    full: u64,
}

/// A driver's run has ended by itself: frames cannot be sorted.
pub type DriverError = Box<dyn std::error::Error + Send + Sync>;

impl<D: Device, C: Clock> Driver<D, C> {
    /// A driver at the start of its clock.
    pub fn new(devices: [D; 2], bottleneck: Bottleneck, clock: C) -> Self {
        let stamps = Stamps::new(&clock);
        Self {
            devices,
            bottleneck,
            clock,
            stamps,
            lateness: Default::default(),
            received: Vec::with_capacity(BURST),
            due: Vec::with_capacity(BURST),
            down: [false; 2],
            went_down: [0; 2],
            is_blocked: false,
            full: 0,
        }
    }

    /// The bottleneck.
    pub const fn bottleneck(&self) -> &Bottleneck {
        &self.bottleneck
    }

    /// The bottleneck, to change it.
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

    /// Nanoseconds since 1970 at the start of the clock.
    pub const fn start_unix_nanos(&self) -> i64 {
        self.stamps.offset()
    }

    /// How late frames left at the end of a direction, beyond the time at which they were due.
    pub const fn lateness(&self, way: Way) -> &Delays {
        &self.lateness[way.index()]
    }

    /// How often the clock of the stamps was set.
    pub const fn clock_steps(&self) -> u64 {
        self.stamps.steps
    }

    /// How often an interface has gone down, near and far.
    pub const fn went_down(&self) -> [u64; 2] {
        self.went_down
    }

    /// Whether an interface does not exist any more, near and far.
    pub fn gone(&self) -> [bool; 2] {
        [0, 1].map(|place| self.went_down[place] > 0 && self.devices[place].is_gone())
    }

    /// Frames lost in each direction where no queue saw them: before the queue, or after the device
    /// at the other end had taken them.
    pub fn outside(&mut self) -> [Outside; 2] {
        let [near, far] = &mut self.devices;
        let mut up = near.outside();
        let mut down = far.outside();
        std::mem::swap(&mut up.unsent, &mut down.unsent);
        [up, down]
    }

    /// Turns in which frames had to stay in the kernel, because no slot was free.
    pub const fn full_turns(&self) -> u64 {
        self.full
    }

    /// Receives, decides and sends whatever is there to receive, decide and send now.
    ///
    /// # Errors
    /// A frame's flow cannot be told to the discipline.
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

    /// Nanoseconds until the next turn, if nothing is received before; `most` at most.
    pub fn idle(&self, most: u64) -> u64 {
        // A device that is full is tried again soon: it does not tell when it is not.
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
        let place = way.index();
        let slots = self.bottleneck.slots_mut();
        self.full += u64::from(slots.free() == 0);
        let outcome = self.devices[place].receive(slots, &mut self.received);
        let is_down = outcome.is_err();
        self.went_down[place] += u64::from(is_down && !self.down[place]);
        // An interface that comes up again goes on: it tells its error once.
        self.down[place] = is_down;
        let now = self.clock.now();
        let mut received = std::mem::take(&mut self.received);
        for frame in received.drain(..) {
            let stamp = self.stamps.time(frame.unix_nanos, now);
            let stamp = Instant::from_nanos(stamp);
            self.bottleneck.arrive(way, stamp, frame.slot)?;
        }
        self.received = received;
        Ok(())
    }

    fn send(&mut self, way: Way) {
        let now = Instant::from_nanos(self.clock.now());
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
        for (_, at) in due.drain(..).take(taken) {
            self.lateness[way.index()].record(after.since(at));
            self.bottleneck.hand_over(way);
        }
        self.due = due;
    }

    /// Gives devices and bottleneck back.
    pub fn into_parts(self) -> ([D; 2], Bottleneck) {
        (self.devices, self.bottleneck)
    }
}

/// Nanoseconds before frames are offered again to a device that was full.
const BLOCKED: u64 = 50_000;

impl<D: Device> Driver<D, crate::clock::WallClock> {
    /// Turns until `goes_on` says no, which is asked every few milliseconds, or an interface is
    /// gone.
    ///
    /// # Errors
    /// A frame's flow cannot be told to the discipline, or the system does not let us wait.
    #[cfg(target_os = "linux")]
    pub fn run(
        &mut self,
        mut goes_on: impl FnMut(&mut Self) -> io::Result<bool>,
    ) -> Result<(), DriverError> {
        /// Between two questions, nanoseconds.
        const ASK: u64 = 5_000_000;
        /// A machine that never waits is left to others for a moment, so that a thread of real-time
        /// priority cannot take it over.
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
            let idle = match self.idle(ASK) {
                0 if now - waited > LONGEST_WORK => PAUSE,
                idle => idle,
            };
            if idle > 0 {
                waited = now;
                let mut sockets = Vec::with_capacity(2);
                if idle != PAUSE {
                    let up = self.devices.iter().zip(self.down).filter(|(_, down)| !down);
                    sockets.extend(up.filter_map(|(device, _)| device.descriptor()));
                }
                crate::sys::wait(&sockets, idle)?;
            }
        }
    }
}
