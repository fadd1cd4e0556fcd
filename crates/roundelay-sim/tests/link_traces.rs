//! Links with a trace in a scenario, from a file or a model: keys, figures, logs that the verifier
//! accepts, and false ones that it rejects.

use std::fs;
use std::path::PathBuf;

use roundelay::schedulers::AnyDiscipline;
use roundelay::{Billionths, Duration, Instant};
use roundelay_sim::log::Log;
use roundelay_sim::replay::{ReplayError, Schedule};
use roundelay_sim::scenario::{Estimate, Results, Scenario};
use roundelay_verify::log::{Event, Header, Line};
use roundelay_verify::{Inspection, inspect, verify};

/// A folder for the files of a scenario.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("roundelay-link-traces-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).expect("a file");
    }

    fn read(&self, text: &str) -> Result<Scenario, String> {
        Scenario::from_toml("mine.toml", text, &self.0).map_err(|error| error.to_string())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// 12.112 Mbit/s for 90 ms, then nothing for 60 ms: 7.2672 Mbit/s.
fn stops_and_goes() -> String {
    let mut text = String::new();
    for time in 1..90 {
        text += &format!("{time}\n");
    }
    text + "150\n"
}

/// Two senders and a receiver behind a router; the link to the receiver has these keys.
fn network(keys: &str, rest: &str) -> String {
    format!(
        "duration = \"4s\"\nwarmup = \"1s\"\n{rest}
[[node]]
name = \"a\"
host = true
[[node]]
name = \"b\"
host = true
[[node]]
name = \"r\"
[[node]]
name = \"c\"
host = true
[[link]]
from = \"a\"
to = \"r\"
rate = \"100mbit\"
[[link]]
from = \"b\"
to = \"r\"
rate = \"100mbit\"
[[link]]
from = \"r\"
to = \"c\"
{keys}
[[source]]
name = \"flood\"
kind = \"poisson\"
rate = \"6mbit\"
from = \"a\"
to = \"c\"
[[source]]
name = \"bulk\"
kind = \"tcp\"
from = \"b\"
to = \"c\"
"
    )
}

fn run(scenario: &Scenario) -> Results {
    scenario
        .run(1, |_| ())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The log of a run.
fn log(scenario: &Scenario) -> String {
    let mut text = Vec::new();
    let mut log = Log::new(&mut text, &scenario.network(1));
    scenario.run_with(1, &mut log, |_| ()).expect("a run");
    log.finish(Instant::ZERO + scenario.duration)
        .expect("memory takes it");
    drop(log);
    String::from_utf8(text).expect("JSON")
}

#[test]
fn a_link_or_a_port_follows_a_trace() {
    let folder = Folder::new("follows");
    folder.write("x.trace", &stops_and_goes());
    let keys = "link_trace = \"x.trace\"\ndelay = \"5ms\"\njitter = \"1ms\"\nloss = \"1%\"";
    let scenario = folder.read(&network(keys, "")).expect("a scenario");
    assert_eq!(scenario.files, [folder.0.join("x.trace")]);
    let link = &scenario.topology.network.links()[4];
    assert_eq!(
        link.trace.as_ref().map(|trace| trace.name()),
        Some("x.trace")
    );
    assert_eq!(link.rate.bits_per_second(), 90 * 1514 * 8 * 1000 / 150);
    assert_eq!(link.jitter, Duration::from_millis(1));
    assert_eq!(link.loss, Billionths(10_000_000));
    let results = run(&scenario);
    let [forth, back] = [4, 5].map(|link| &results.links[link]);
    assert_eq!(forth.trace.as_deref(), Some("x.trace"));
    assert_eq!(back.trace.as_deref(), Some("x.trace"), "both ways");
    assert!(
        forth.utilisation > 0.97 && forth.utilisation <= 1.001,
        "{}",
        forth.utilisation
    );
    assert!(back.utilisation < 0.1, "{}", back.utilisation);
    assert_eq!(results.links[0].trace, None);
    // The same by [[port]], in one direction, with the bytes of a full packet on the link.
    let port = "[[port]]\nfrom = \"r\"\nto = \"c\"\nlink_trace = \"x.trace\"\noverhead = 20\n";
    let text = network("rate = \"5mbit\"", "") + port;
    let scenario = folder.read(&text).expect("a scenario");
    let rates: Vec<_> = scenario.topology.network.links()[4..]
        .iter()
        .map(|link| link.rate.bits_per_second())
        .collect();
    assert_eq!(rates, [90 * 1520 * 8 * 1000 / 150, 5_000_000]);
    // A rate that is set later takes the place of the trace.
    let later = "[[port]]\nfrom = \"r\"\nto = \"c\"\nrate = \"1mbit\"\n";
    let scenario = folder.read(&(text + later)).expect("a scenario");
    let link = &scenario.topology.network.links()[4];
    assert_eq!(
        (link.rate.bits_per_second(), &link.trace),
        (1_000_000, &None)
    );
}

/// The utilisation of a window is of what the trace offers in it, however uneven.
#[test]
fn utilisation_is_the_part_of_the_traces_bytes() {
    let folder = Folder::new("utilisation");
    // All in the first second of eight: after the warm-up, nothing before the end.
    let mut text = String::new();
    for time in 1..1000 {
        text += &format!("{time}\n");
    }
    folder.write("x.trace", &(text + "8000\n"));
    let scenario = folder
        .read(&network("link_trace = \"x.trace\"", ""))
        .expect("a scenario");
    let results = run(&scenario);
    assert_eq!(results.links[4].utilisation, 0.0);
    folder.write("x.trace", "1\n3\n4\n");
    let scenario = folder
        .read(&network("link_trace = \"x.trace\"", ""))
        .expect("a scenario");
    let link = &run(&scenario).links[4];
    // Packets at mean rate 9.084 Mbit/s, and the time between the windows' ends is 3 s.
    assert!(
        (link.utilisation - 1.0).abs() < 0.01,
        "{}",
        link.utilisation
    );
}

#[test]
fn wrong_keys_and_files_are_told_with_their_place() {
    let folder = Folder::new("wrong");
    folder.write("x.trace", &stops_and_goes());
    folder.write("bad.trace", "1\nfive\n");
    let port = |keys: &str| {
        network("rate = \"5mbit\"", "") + "[[port]]\nfrom = \"r\"\nto = \"c\"\n" + keys
    };
    for (text, expected) in [
        (
            network("rate = \"5mbit\"\nlink_trace = \"x.trace\"", ""),
            "mine.toml:27: link_trace: it takes the place of rate, so leave out one of them",
        ),
        (
            network("delay = \"5ms\"", ""),
            "mine.toml:23: missing field `rate`: a link needs it, or link_trace",
        ),
        (
            network("link_trace = \"none.trace\"", ""),
            "mine.toml:26: cannot read 'none.trace': there is no such file; expected a link trace",
        ),
        (
            network("link_trace = \"wifi station 3\"", ""),
            "mine.toml:26: wifi: no parameter is called 'station' (did you mean 'stations'?)",
        ),
        (
            port("link_trace = \"lte errors .6\""),
            "mine.toml:41: lte: errors 0.6: legal range 0 to 0.5",
        ),
        (
            network("link_trace = \"bad.trace\"", ""),
            "bad.trace:2: 'five': expected a time in whole milliseconds, 0 to",
        ),
        (
            port("link_trace = \"x.trace\"\ndecision = \"1ms\""),
            "mine.toml:42: fifo: decision: expected 0 on a link with a trace",
        ),
        (
            port("link_trace = \"x.trace\"\nqueue = \"lstf preempt\""),
            "mine.toml:41: lstf: preempt: expected off on a link with a trace",
        ),
        (
            network(
                "link_trace = \"x.trace\"",
                "[queue]\nedge = \"lstf preempt\"\n",
            ),
            "mine.toml:28: lstf: preempt: expected off on a link with a trace",
        ),
    ] {
        let error = folder.read(&text).expect_err(expected);
        assert!(error.starts_with(expected), "{error}\nexpected {expected}");
    }
    // A queue that the command sets.
    let text = network("link_trace = \"x.trace\"", "");
    let mut scenario = folder.read(&text).expect("a scenario");
    let error = scenario
        .set_queues(&"lstf preempt".parse().expect("a discipline"))
        .expect_err("it interrupts");
    assert!(
        error.to_string().contains("off on a link with a trace"),
        "{error}"
    );
}

#[test]
fn the_log_of_a_traced_link_is_verified_for_every_discipline() {
    let folder = Folder::new("verified");
    folder.write("x.trace", &stops_and_goes());
    let mut packets = 0;
    for discipline in AnyDiscipline::all() {
        let keys = "link_trace = \"x.trace\"\ndelay = \"5ms\"\njitter = \"1ms\"\nloss = \"1%\"";
        let queue = format!("[queue]\nedge = \"{} limit 30p\"\n", discipline.name());
        let text = network(keys, "").replace(
            "[[node]]\nname = \"a\"",
            &(queue + "[[node]]\nname = \"a\""),
        );
        let text = text.replace("\"4s\"", "\"2s\"");
        let scenario = folder.read(&text).expect("a scenario");
        let verified = verify(log(&scenario).as_bytes());
        packets += verified
            .unwrap_or_else(|error| panic!("{discipline}: {error}"))
            .sent;
    }
    assert!(packets > 50_000, "{packets}");
}

#[test]
fn a_model_draws_a_trace_for_each_run_and_each_direction() {
    let folder = Folder::new("model");
    for model in ["wifi stations 2 length 5s", "lte rate 7mbit length 5s"] {
        let keys = format!("link_trace = \"{model}\"\ndelay = \"5ms\"");
        let scenario = folder.read(&network(&keys, "")).expect("a scenario");
        assert!(scenario.files.is_empty());
        let traces = |seed| {
            let network = scenario.network(seed);
            for link in &network.links()[4..] {
                let trace = link.trace.as_ref().expect("a trace");
                assert_eq!(link.rate, trace.mean_rate(link.layer));
            }
            [4, 5].map(|link: usize| network.links()[link].trace.clone().expect("a trace"))
        };
        let [forth, back] = traces(1);
        assert_eq!(forth.name(), model);
        assert_ne!(
            forth.times(),
            back.times(),
            "directions draw for themselves"
        );
        assert_eq!([forth.clone(), back.clone()], traces(1), "a seed decides");
        assert_ne!(
            forth.times(),
            traces(2)[0].times(),
            "runs draw for themselves"
        );
        // Files with these traces give the same run.
        folder.write("forth.trace", &forth.text());
        folder.write("back.trace", &back.text());
        let port = "[[port]]\nfrom = \"c\"\nto = \"r\"\nlink_trace = \"back.trace\"\n";
        let files = network("link_trace = \"forth.trace\"\ndelay = \"5ms\"", "") + port;
        let own = log(&scenario);
        let files = log(&folder.read(&files).expect("a scenario"));
        assert!(own == files && own.len() > 1_000_000, "{}", own.len());
        verify(own.as_bytes()).unwrap_or_else(|error| panic!("{model}: {error}"));
        let link = &run(&scenario).links[4];
        assert_eq!(link.trace.as_deref(), Some(model));
        assert!(link.utilisation > 0.9, "{}", link.utilisation);
    }
}

/// What the verifier finds in a log whose lines are changed.
fn changed(log: &str, mut change: impl FnMut(&mut Header, &mut Vec<Line>)) -> Inspection {
    let (head, rest) = log.split_once('\n').expect("two lines");
    let mut header: Header = serde_json::from_str(head).expect("a header");
    let mut lines = Vec::new();
    for line in rest.lines() {
        lines.push(serde_json::from_str(line).expect("a line"));
    }
    change(&mut header, &mut lines);
    let mut text = serde_json::to_string(&header).expect("JSON") + "\n";
    for line in &lines {
        text += &(serde_json::to_string(line).expect("JSON") + "\n");
    }
    inspect(text.as_bytes(), 1).expect("a log")
}

fn times(header: &mut Header) -> &mut Vec<u64> {
    &mut header.links[4].trace.as_mut().expect("a trace").times
}

#[test]
fn false_logs_of_a_traced_link_are_rejected() {
    let folder = Folder::new("false");
    folder.write("x.trace", &stops_and_goes());
    let text = network("link_trace = \"x.trace\"", "");
    let log = log(&folder.read(&text).expect("a scenario"));
    assert!(changed(&log, |_, _| ()).faults.is_empty());
    let fault = |change: &mut dyn FnMut(&mut Header, &mut Vec<Line>)| {
        let found = changed(&log, change);
        let first = found.faults.into_iter().next();
        first.map(|fault| fault.what).unwrap_or_default()
    };
    // A time less: the link carries where its trace has nothing.
    let found = fault(&mut |header, _| {
        times(header).remove(40);
    });
    assert!(found.contains("the link's trace"), "{found}");
    // A time more: the link rests there.
    let found = fault(&mut |header, _| times(header).insert(89, 120));
    assert!(
        found.contains("rests") || found.contains("the link's trace"),
        "{found}"
    );
    // Fewer bytes at a time.
    let found = fault(&mut |header, _| {
        header.links[4].trace.as_mut().expect("a trace").bytes = 1500;
    });
    assert!(found.contains("the link's trace"), "{found}");
    // A packet that ends a millisecond late.
    let found = fault(&mut |_, lines| {
        let mut ends = lines.iter_mut().filter_map(|line| match &mut line.event {
            Event::Transmit { link: 4, end, .. } => Some(end),
            _ => None,
        });
        *ends.nth(100).expect("a packet") += 1_000_000_000;
    });
    assert!(found.contains("the link's trace carries"), "{found}");
    // Traces that cannot be.
    let error = |change: &mut dyn FnMut(&mut Header)| {
        let (head, rest) = log.split_once('\n').expect("two lines");
        let mut header: Header = serde_json::from_str(head).expect("a header");
        change(&mut header);
        let text = serde_json::to_string(&header).expect("JSON") + "\n" + rest;
        verify(text.as_bytes()).expect_err("no trace").to_string()
    };
    let found = error(&mut |header| times(header).swap(3, 4));
    assert!(
        found.contains("line 1: link 4: the times of its trace fall"),
        "{found}"
    );
    let found = error(&mut |header| header.links[4].decision = 1);
    assert!(found.contains("link 4: a link with a trace"), "{found}");
}

#[test]
fn measurements_that_need_a_constant_rate_leave_traced_links_out() {
    let folder = Folder::new("measured");
    folder.write("x.trace", &stops_and_goes());
    let meter = "[meter]\nwfi = true\n";
    let text = network("link_trace = \"x.trace\"", "").replace(
        "[[source]]\nname = \"flood\"",
        &format!("{meter}[[source]]\nname = \"flood\""),
    );
    let scenario = folder.read(&text).expect("a scenario");
    let results = run(&scenario);
    assert!(results.flows.iter().all(|flow| flow.indices.is_none()));
    let notes = scenario.notes();
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("Without worst-case fair indices")),
        "{notes:?}"
    );
    let error = Schedule::record(&scenario, 1, false, |_| {}).err();
    assert!(
        matches!(&error, Some(ReplayError::Uncertain { link, what }) if link == "r > c" && what.contains("trace")),
        "{error:?}"
    );
    assert!(Estimate::of(&scenario).events > Estimate::of(&scenario).packet_hops);
}
