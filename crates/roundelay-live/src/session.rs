//! Session: a run between two interfaces, with its record, its changes and its verdict.

use std::any::Any;
use std::io;
use std::path::Path;

use roundelay::Instant;

use crate::bottleneck::Bottleneck;
use crate::clock::WallClock;
use crate::device::Device as _;
use crate::driver::{Driver, DriverError};
use crate::fidelity::{Fidelity, Verdict};
use crate::interface::{DeviceKind, Interface};
use crate::loops;
use crate::metrics::MetricsPage;
use crate::record::{End, Recorder};
use crate::settings::{Change, Settings, SettingsError, Way};
use crate::slots::Slots;
use crate::sys;

/// How many slots a run has, for all frames in both queues and on both wires.
const SLOTS: u32 = 65_536;
/// At most this many seconds are missing from the record if the run is killed.
const RECORD_EVERY: f64 = 0.1;
/// Bytes in a slot beyond the MTU: an Ethernet header and two VLAN tags. One more byte shows that a
/// frame is longer.
const HEADERS: u32 = 14 + 8;

/// A run.
pub struct Session {
    driver: Driver<Interface, WallClock>,
    /// The settings at the start, with all changes since.
    now: Settings,
    real_time: bool,
    congestion_control: Option<String>,
}

impl Session {
    /// Opens two interfaces in this namespace and receives frames from now on. The way up goes from
    /// the first to the second.
    ///
    /// # Errors
    /// A setting is wrong, or an interface cannot be opened.
    pub fn open(settings: &Settings, interfaces: [&str; 2]) -> Result<Self, DriverError> {
        Self::open_as(DeviceKind::default(), settings, interfaces)
    }

    /// Does the same with this kind of devices.
    ///
    /// # Errors
    /// As for [`open`](Self::open), or the system does not have such devices.
    pub fn open_as(
        kind: DeviceKind,
        settings: &Settings,
        interfaces: [&str; 2],
    ) -> Result<Self, DriverError> {
        let [near, far] = interfaces;
        longest_packet(interfaces)?;
        let open =
            |name: &str| Interface::open(kind, name).map_err(|error| format!("{name}: {error}"));
        Self::between(settings, [open(near)?, open(far)?])
    }

    /// Starts a session between devices that are already open.
    ///
    /// # Errors
    /// A setting is wrong, or an interface is gone or down.
    pub fn between(settings: &Settings, devices: [Interface; 2]) -> Result<Self, DriverError> {
        let [near, far] = devices.each_ref().map(Interface::name);
        let longest = longest_packet([near, far])?;
        let size = (longest + HEADERS + 1).next_multiple_of(64) as usize;
        let bottleneck = Bottleneck::new(settings, Slots::new(SLOTS, size))?;
        Ok(Self {
            driver: Driver::new(devices, bottleneck, WallClock::start()),
            now: settings.clone(),
            real_time: false,
            congestion_control: None,
        })
    }

    /// Checks that you can put a bottleneck between two interfaces. They must be different, up, and
    /// not in one network.
    ///
    /// # Errors
    /// They are not, or they cannot be opened.
    pub fn check(interfaces: [&str; 2]) -> Result<(), DriverError> {
        Self::check_with(interfaces, [None, None])
    }

    /// Checks the same where some are TAP interfaces whose other ends are already open.
    ///
    /// # Errors
    /// As for [`check`](Self::check).
    pub fn check_with(
        interfaces: [&str; 2],
        taps: [Option<&mut Interface>; 2],
    ) -> Result<(), DriverError> {
        longest_packet(interfaces)?;
        let [near, far] = interfaces;
        let index = |name| sys::interface_index(name).map_err(|error| format!("{name}: {error}"));
        let numbers = [(near, index(near)?), (far, index(far)?)];
        if let Some(bridge) = loops::shared_master(Path::new(loops::INTERFACES), numbers) {
            return Err(format!(
                "{near} and {far}: both belong to {bridge}, which would forward each frame once \
                 more; take one out (ip link set dev {far} nomaster)"
            )
            .into());
        }
        let found = loops::is_there(interfaces, taps).map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::PermissionDenied => "; run as root",
                _ => "",
            };
            format!("{near} and {far}: {error}{hint}")
        })?;
        if found {
            return Err(format!(
                "{near} and {far}: a loop, because frames that leave at one come in again at one \
                 of them; expected interfaces of two networks that have no other way to each other"
            )
            .into());
        }
        Ok(())
    }

    /// Records the run in a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record(&mut self, path: &Path) -> io::Result<()> {
        let recorder = Recorder::create(path, self.driver.start_unix_nanos(), &self.now)?;
        self.driver.bottleneck_mut().set_journal(Box::new(recorder));
        Ok(())
    }

    /// Notes which congestion control the ends use.
    pub fn set_congestion_control(&mut self, name: String) {
        self.congestion_control = Some(name);
    }

    /// Asks for real-time priority and exact timers. If the system refuses, the run goes on
    /// without.
    pub fn use_real_time(&mut self) {
        sys::use_exact_timers();
        self.real_time = sys::use_real_time().is_ok();
        if self.real_time {
            self.driver.wake_up_early();
        }
    }

    /// Gives up all privileges, except the right to set interfaces if `may_set_interfaces`.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn drop_privileges(may_set_interfaces: bool) -> io::Result<()> {
        sys::drop_privileges(may_set_interfaces)
    }

    /// Plans a change.
    pub fn plan(&mut self, at: Instant, way: Way, change: Change) {
        self.driver.bottleneck_mut().plan(at, way, change);
    }

    /// Makes a change now.
    ///
    /// # Errors
    /// The change is impossible. Then nothing has changed.
    pub fn change(&mut self, way: Way, change: &Change) -> Result<(), SettingsError> {
        self.driver.bottleneck_mut().change(way, change)?;
        Ok(())
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        use crate::clock::Clock as _;
        self.driver.clock().now() as f64 / 1e9
    }

    /// The bottleneck.
    pub const fn bottleneck(&self) -> &Bottleneck {
        self.driver.bottleneck()
    }

    /// Runs until `goes_on` says no or an interface is gone. We ask `goes_on` every few
    /// milliseconds.
    ///
    /// A fault of the record does not end the run. From then on nothing more is written, and
    /// [`Running::record_fault`] has the fault.
    ///
    /// # Errors
    /// A frame cannot be sorted, or the system does not let us wait.
    pub fn run(
        &mut self,
        mut goes_on: impl FnMut(&mut Running<'_>) -> io::Result<bool>,
    ) -> Result<(), DriverError> {
        let mut next_record = 0.0;
        let mut record_fault = None;
        self.driver.run(|driver| {
            let mut running = Running {
                driver,
                record_fault: &mut record_fault,
            };
            let seconds = running.seconds();
            if running.record_fault.is_none() && seconds >= next_record {
                next_record = seconds + RECORD_EVERY;
                *running.record_fault = running.bottleneck().flush_journal().err();
            }
            goes_on(&mut running)
        })
    }

    /// What the run says about itself so far.
    pub fn fidelity(&mut self) -> Fidelity {
        let seconds = self.seconds();
        let lost_outside = self.driver.lost_outside();
        let blind = self
            .driver
            .devices_mut()
            .each_ref()
            .map(Interface::is_blind);
        let unfinished = self
            .driver
            .devices_mut()
            .each_ref()
            .map(Interface::unfinished);
        let ways = Way::BOTH.map(|way| self.driver.way_fidelity(way, lost_outside[way.index()]));
        let mut fidelity = Fidelity {
            seconds,
            ways,
            real_time: self.real_time,
            clock_steps: self.driver.clock_steps(),
            full_turns: self.driver.full_turns(),
            unfinished,
            went_down: self.driver.went_down(),
            gone: self.driver.gone(),
            blind,
            congestion_control: self.congestion_control.clone(),
            verdict: Verdict {
                is_valid: false,
                reasons: Vec::new(),
            },
        };
        fidelity.judge();
        fidelity
    }

    /// Ends the run and its record.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn finish(self) -> io::Result<Fidelity> {
        let (fidelity, record) = self.end();
        record.map(|()| fidelity)
    }

    /// Ends the run and its record. Returns what the run says about itself, and whether the record
    /// is whole.
    pub fn end(mut self) -> (Fidelity, io::Result<()>) {
        self.driver.close();
        let fidelity = self.fidelity();
        let (_, mut bottleneck) = self.driver.into_parts();
        let end = End {
            until: Way::BOTH.map(|way| bottleneck.decided(way).as_picos()),
            books: Way::BOTH.map(|way| bottleneck.books(way).clone()),
            lost_outside: [0, 1].map(|index| fidelity.ways[index].lost_outside),
            verdict: fidelity.verdict.text(),
        };
        let journal: Box<dyn Any> = bottleneck.take_journal();
        let record = match journal.downcast::<Recorder>() {
            Ok(recorder) => recorder.finish(&end),
            // Nobody asked for a record.
            Err(_) => Ok(()),
        };
        (fidelity, record)
    }
}

/// A session while it runs.
pub struct Running<'a> {
    driver: &'a mut Driver<Interface, WallClock>,
    record_fault: &'a mut Option<String>,
}

impl Running<'_> {
    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        use crate::clock::Clock as _;
        self.driver.clock().now() as f64 / 1e9
    }

    /// The bottleneck.
    pub const fn bottleneck(&mut self) -> &mut Bottleneck {
        self.driver.bottleneck_mut()
    }

    /// Why the record ended before the run, if it did.
    pub fn record_fault(&self) -> Option<&str> {
        self.record_fault.as_deref()
    }

    /// The page for Prometheus.
    pub fn metrics(&mut self) -> String {
        let lost_outside = self.driver.lost_outside();
        MetricsPage {
            seconds: self.seconds(),
            bottleneck: self.driver.bottleneck(),
            lateness: Way::BOTH.map(|way| self.driver.lateness(way)),
            lost_outside,
        }
        .text()
    }
}

/// The longest packet that two interfaces take. Checks that they are different and up.
fn longest_packet(interfaces: [&str; 2]) -> Result<u32, DriverError> {
    let [near, far] = interfaces;
    let index = |name: &str| sys::interface_index(name).map_err(|error| format!("{name}: {error}"));
    // We compare numbers, because an interface may have several names.
    if index(near)? == index(far)? {
        let which = if near == far {
            near.to_owned()
        } else {
            format!("{near} and {far}")
        };
        return Err(format!("{which}: the same interface twice; expected two interfaces").into());
    }
    let mut longest = 0;
    for interface in interfaces {
        let (mtu, is_up) =
            sys::mtu_and_state(interface).map_err(|error| format!("{interface}: {error}"))?;
        if !is_up {
            let mend = format!("ip link set dev {interface} up");
            return Err(
                format!("{interface}: the interface is down; turn it on first: {mend}").into(),
            );
        }
        longest = longest.max(mtu);
    }
    Ok(longest)
}
