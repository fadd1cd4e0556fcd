//! `roundelay live` in namespaces of its own: as the user of the tests, and, if that is root, as an
//! ordinary user too. Where the system allows no namespaces, the reason is printed.
//!
//! No test measures time: order and books hold on any machine.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use roundelay_live::{Entry, Fate, Recording, Way};
use serde_json::Value;

use crate::pty::Pty;

/// The user `nobody`.
pub(crate) const NOBODY: u32 = 65_534;
/// Datagrams to a port without a listener: the kernel at the far end answers some of them. The first
/// one finds the far end's address.
const DATAGRAMS: &str = "echo 1 > /dev/udp/{far}/9; sleep .3; \
    for i in {1..300}; do echo 0123456789012345678901234567890123456789 > /dev/udp/{far}/9; done; sleep .3";

/// Users to run as: none is that of the tests.
pub(crate) fn users() -> Vec<Option<u32>> {
    let id = Command::new("id").arg("-u").output().expect("id runs");
    if String::from_utf8_lossy(&id.stdout).trim() == "0" {
        vec![None, Some(NOBODY)]
    } else {
        vec![None]
    }
}

/// A folder that every user may write to.
pub(crate) fn folder(name: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = std::env::temp_dir().join(format!("roundelay-live-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("a folder of ours");
    folder
}

/// The program, where every user may run it.
fn program(folder: &Path) -> PathBuf {
    let program = folder.join("roundelay");
    if !program.exists() {
        fs::copy(env!("CARGO_BIN_EXE_roundelay"), &program).expect("a copy");
    }
    program
}

pub(crate) fn command(folder: &Path, user: Option<u32>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program(folder));
    command
        .args(arguments)
        .current_dir(folder)
        .env_remove("XDG_RUNTIME_DIR")
        .stdin(Stdio::null());
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    command
}

/// Starts a program just copied: another thread's new process can still hold the copy open for
/// writing, for as long as that process takes to start its own program.
pub(crate) fn retried<T>(mut start: impl FnMut() -> std::io::Result<T>) -> T {
    for _ in 0..500 {
        match start() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                thread::sleep(Duration::from_millis(10));
            }
            other => return other.expect("it runs"),
        }
    }
    panic!("the program stays busy");
}

pub(crate) fn run(folder: &Path, user: Option<u32>, arguments: &[&str]) -> Output {
    retried(|| command(folder, user, arguments).output())
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether namespaces are allowed; if not, the reason is printed.
pub(crate) fn may_run(user: Option<u32>, output: &Output) -> bool {
    let message = text(&output.stderr);
    let forbidden = ["no network namespaces here", "cannot run ip", "ip link add"];
    if forbidden.iter().any(|reason| message.contains(reason)) {
        println!("not run as {user:?}: {message}");
        return false;
    }
    true
}

/// Interfaces in place of a queue: the hint names the option for them.
#[test]
fn interfaces_stand_behind_between() {
    for (arguments, hint) in [
        (
            &["live", "lo", "tap:t0", "fq_codel"][..],
            "--between NEAR tap:t0",
        ),
        (&["live", "lo"], "--between NEAR FAR"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_roundelay"))
            .args(arguments)
            .output()
            .expect("the command");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(hint), "{said}");
    }
}

#[test]
fn a_recorded_run_replays_to_the_packet_and_its_books_balance() {
    let folder = folder("record");
    for user in users() {
        let queues = [
            "fifo limit 30",
            "fq_codel target 1ms",
            "qfq",
            "sfq perturb 1s",
        ];
        for (number, queue) in queues.into_iter().enumerate() {
            let file = format!("run-{user:?}-{number}.pcapng").replace(['(', ')'], "-");
            let changes = [
                "--at",
                "100ms rate 500kbit",
                "--at",
                "200ms queue drr",
                "--at",
                "300ms weight dst port 9 = 3",
            ];
            let mut arguments = vec![
                "live", "--up", "1mbit", "--down", "10mbit", "--delay", "2ms",
            ];
            arguments.extend([
                "--jitter", "1ms", "--loss", "5%", "--json", "--record", &file, queue,
            ]);
            if number % 2 == 1 {
                arguments.extend(changes);
            }
            arguments.extend(["--", "bash", "-c", DATAGRAMS]);
            let output = run(&folder, user, &arguments);
            if !may_run(user, &output) {
                break;
            }
            let messages = text(&output.stderr);
            assert!(output.status.success(), "{queue}: {messages}");
            let lines = text(&output.stdout);
            let last = lines.lines().last().expect("a verdict");
            crate::json::check(last, "live");
            let verdict: Value = serde_json::from_str(last).expect("JSON");
            balances(&verdict);
            assert!(
                verdict["ways"][0]["books"]["arrived"].as_u64() >= Some(300),
                "{last}"
            );
            let compared = run(&folder, user, &["compare", &file]);
            let replay = text(&compared.stdout);
            assert!(
                compared.status.success(),
                "{replay}{}",
                text(&compared.stderr)
            );
            assert_eq!(
                replay.matches("all the same in the replay").count(),
                2,
                "{replay}"
            );
            let verified = run(&folder, user, &["verify", &file]);
            assert!(verified.status.success(), "{}", text(&verified.stderr));
            let again = run(
                &folder,
                user,
                &[
                    "compare",
                    &file,
                    "drr",
                    "--rate",
                    "1mbit",
                    "--interface",
                    "up",
                    "--no-cost",
                ],
            );
            assert!(again.status.success(), "{}", text(&again.stderr));
            // Regression: both directions and the settings were packets of one link.
            let chosen = [
                "compare",
                &file,
                "drr",
                "--rate",
                "1mbit",
                "--no-cost",
                "--json",
            ];
            let chosen = run(&folder, user, &chosen);
            let chosen: Value = serde_json::from_slice(&chosen.stdout).expect("JSON");
            let selection = &chosen["capture"]["selection"];
            assert_eq!(selection["interface"], "up", "{selection}");
            for flow in chosen["flows"].as_array().expect("flows") {
                assert_ne!(flow["label"], "unparsable");
            }
        }
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// Commands of tc with shapers in classes of other qdiscs.
const SCRIPT: &str = "
tc qdisc add dev eth0 root handle 1: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
tc qdisc add dev eth0 parent 1:1 handle 10: tbf rate 300kbit burst 3000 limit 10k
tc qdisc add dev eth0 parent 10:1 handle 11: pfifo limit 40
tc qdisc add dev eth0 parent 1:2 handle 20: htb default 2
tc class add dev eth0 parent 20: classid 20:1 htb rate 2mbit
tc class add dev eth0 parent 20:1 classid 20:2 htb rate 1mbit ceil 2mbit
tc qdisc add dev eth0 parent 20:2 handle 21: fq_codel
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dport 9 0xffff flowid 1:1
";

/// What `import` writes is a queue for `live`, and its decisions are those of a replay.
#[test]
fn an_imported_script_is_the_queue_of_a_run() {
    let folder = folder("imported");
    fs::write(folder.join("shape.sh"), SCRIPT).expect("a file");
    let imported = run(&folder, None, &["import", "shape.sh"]);
    assert!(imported.status.success(), "{}", text(&imported.stderr));
    fs::write(folder.join("tree.toml"), imported.stdout).expect("a file");
    for user in users() {
        let file = format!("run-{user:?}.pcapng").replace(['(', ')'], "-");
        let mut arguments = vec!["live", "--rate", "10mbit", "--tree", "tree.toml", "--json"];
        arguments.extend(["--record", &file, "--", "bash", "-c", DATAGRAMS]);
        let output = run(&folder, user, &arguments);
        if !may_run(user, &output) {
            break;
        }
        assert!(output.status.success(), "{}", text(&output.stderr));
        let lines = text(&output.stdout);
        let last = lines.lines().last().expect("a verdict");
        let verdict: Value = serde_json::from_str(last).expect("JSON");
        assert_eq!(verdict["ways"][0]["queue"], "tree tree.toml", "{last}");
        balances(&verdict);
        let compared = run(&folder, user, &["compare", &file]);
        let replay = text(&compared.stdout);
        assert!(compared.status.success(), "{replay}");
        let same = replay.matches("all the same in the replay").count();
        assert_eq!(same, 2, "{replay}");
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// Each frame is in the books, and nothing was lost outside.
pub(crate) fn balances(verdict: &Value) {
    for way in verdict["ways"].as_array().expect("both directions") {
        let books = &way["books"];
        let number = |name: &str| books[name].as_u64().expect("a number");
        let dropped: u64 = books["dropped"]
            .as_array()
            .expect("reasons")
            .iter()
            .filter_map(Value::as_u64)
            .sum();
        assert_eq!(
            number("arrived"),
            number("waiting") + dropped + number("sent"),
            "{books}"
        );
        let sent = ["on_the_way", "lost", "delivered", "refused"].map(number);
        assert_eq!(number("sent"), sent.iter().sum::<u64>(), "{books}");
    }
}

#[test]
fn the_exit_status_and_the_output_are_those_of_the_near_command() {
    let folder = folder("status");
    for user in users() {
        let near = ["bash", "-c", "echo near at {near}, far at {far}; exit 7"];
        let far = ["bash", "-c", "sleep 60"];
        let mut arguments = vec!["live", "--rate", "10mbit", "--"];
        arguments.extend(near);
        arguments.push("--");
        arguments.extend(far);
        let output = run(&folder, user, &arguments);
        if !may_run(user, &output) {
            continue;
        }
        assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
        assert_eq!(
            text(&output.stdout),
            "near at 10.77.0.1, far at 10.77.0.2\n"
        );
        let report = text(&output.stderr);
        assert!(
            report.contains("up: 10mbit under fifo") && report.contains("late"),
            "{report}"
        );
        assert!(
            report.contains("TCP's default congestion control at both ends: "),
            "{report}"
        );
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// Regression: a run that could not begin left an empty page, and half of a record, of an earlier one.
#[test]
fn a_run_that_cannot_begin_leaves_older_files_as_they_were() {
    let folder = folder("older");
    let old = "yesterday".repeat(1000);
    for user in users() {
        for name in ["old.html", "old.pcapng"] {
            fs::write(folder.join(name), &old).expect("a file");
            if let Some(user) = user {
                std::os::unix::fs::chown(folder.join(name), Some(user), None).expect("chown");
            }
        }
        let outputs = ["--html", "old.html", "--record", "old.pcapng"];
        let begin = ["live", "fq_codel", "--rate", "10mbit"];
        let missing = [&begin[..], &outputs, &["--", "/nonexistent"]].concat();
        let output = run(&folder, user, &missing);
        if !may_run(user, &output) {
            continue;
        }
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        for name in ["old.html", "old.pcapng"] {
            let now = fs::read_to_string(folder.join(name)).expect("a text");
            assert!(now == old, "{name} has {} bytes", now.len());
        }
        let there = [&begin[..], &outputs, &["--", "true"]].concat();
        let output = run(&folder, user, &there);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        for name in ["old.html", "old.pcapng"] {
            let now = fs::read(folder.join(name)).expect("a file");
            assert!(!now.starts_with(b"yesterday") && now.len() > 1000, "{name}");
        }
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// Ends the process with the test.
pub(crate) struct Ended(pub(crate) Child);

impl Drop for Ended {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

#[test]
fn a_running_session_is_changed_and_ends_in_order_with_a_signal() {
    let folder = folder("set");
    for user in users() {
        let name = format!("test-{}", std::process::id());
        let mut arguments = vec![
            "live",
            "--rate",
            "10mbit",
            "--name",
            &name,
            "--record",
            "set.pcapng",
        ];
        arguments.extend([
            "--",
            "bash",
            "-c",
            "while true; do echo 1 > /dev/udp/{far}/9; sleep .01; done",
        ]);
        _ = fs::remove_file(folder.join("set.pcapng"));
        let mut start = command(&folder, user, &arguments);
        start.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut session = Ended(retried(|| start.spawn()));
        let set = |settings: &[&str]| {
            let mut arguments = vec!["live", "set", "--name", &name];
            arguments.extend(settings);
            run(&folder, user, &arguments)
        };
        let end = Instant::now() + Duration::from_secs(60);
        let mut done = set(&["rate", "5mbit"]);
        while !done.status.success()
            && Instant::now() < end
            && matches!(session.0.try_wait(), Ok(None))
        {
            thread::sleep(Duration::from_millis(100));
            done = set(&["rate", "5mbit"]);
        }
        if let Ok(Some(_)) = session.0.try_wait() {
            let child = std::mem::replace(&mut session, Ended(idle()));
            let output = into_output(child);
            assert!(!may_run(user, &output), "{}", text(&output.stderr));
            continue;
        }
        assert_eq!(
            text(&done.stdout),
            "up: rate 5mbit\ndown: rate 5mbit\n",
            "{}",
            text(&done.stderr)
        );
        // Nothing is left of the privileges, and nobody else may use the socket.
        assert_eq!(capabilities(session.0.id()), [0]);
        let socket = match user {
            None if users().len() > 1 => format!("/run/roundelay-live-0-{name}.sock"),
            Some(user) => format!("/tmp/roundelay-live-{user}/roundelay-live-{user}-{name}.sock"),
            None => String::new(),
        };
        if !socket.is_empty() {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(&socket)
                .expect("a socket")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600, "{socket}");
        }
        let done = set(&[
            "--way",
            "down",
            "queue",
            "fq_codel target 10ms",
            "weight",
            "udp = 5",
        ]);
        assert_eq!(
            text(&done.stdout),
            "down: queue fq_codel target 10ms\ndown: weights udp = 5\n"
        );
        for (wrong, message) in [
            (["rate", "0mbit"], "rate 0mbit"),
            (["queue", "fq_codl"], "did you mean 'fq_codel'"),
            (["weight", "udp = 70000"], "weight from 1 to"),
            (
                ["size", "5"],
                "no setting is called 'size': rate, queue, weight",
            ),
        ] {
            let refused = set(&wrong);
            assert_eq!(refused.status.code(), Some(2));
            let found = text(&refused.stderr);
            assert!(
                found.contains(message) || found.contains("legal range"),
                "{found}"
            );
        }
        let pid = session.0.id().to_string();
        let kill = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(kill.expect("kill runs").success());
        let child = std::mem::replace(&mut session, Ended(idle()));
        let output = into_output(child);
        let report = text(&output.stderr);
        assert!(
            report.contains(" s, 5mbit under fq_codel target 10ms"),
            "{report}"
        );
        let refused = run(&folder, user, &["compare", "set.pcapng", "drr", "--json"]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(text(&refused.stderr).contains("add --rate"), "{refused:?}");
        let compared = run(&folder, user, &["compare", "set.pcapng"]);
        assert!(compared.status.success(), "{}", text(&compared.stdout));
        assert!(
            text(&compared.stdout).contains("3 changes on the way"),
            "{}",
            text(&compared.stdout)
        );
        let gone = set(&["rate", "5mbit"]);
        assert!(
            text(&gone.stderr).contains("no session"),
            "{}",
            text(&gone.stderr)
        );
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// The capabilities of a process, by its status: of each thread, permitted or inheritable. No thread
/// may gain any by a program that it starts. Each thread gives them up first of all, for which a
/// busy machine may need a moment.
pub(crate) fn capabilities(process: u32) -> Vec<u64> {
    for _ in 0..200 {
        let (found, all_gave_up) = present_capabilities(process);
        if all_gave_up {
            return found;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("a thread of process {process} may gain capabilities");
}

fn present_capabilities(process: u32) -> (Vec<u64>, bool) {
    let mut found = Vec::new();
    let mut all_gave_up = true;
    for task in fs::read_dir(format!("/proc/{process}/task")).expect("a process") {
        let status = task.expect("a thread").path().join("status");
        let status = fs::read_to_string(status).expect("a thread");
        let value = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let digits = line.expect("a line of the status").trim();
            u64::from_str_radix(digits, 16).expect("a number in hexadecimal")
        };
        all_gave_up &= value("NoNewPrivs:") == 1;
        found.push(value("CapPrm:") | value("CapEff:") | value("CapInh:"));
    }
    found.sort_unstable();
    found.dedup();
    (found, all_gave_up)
}

/// A process that ends at once.
pub(crate) fn idle() -> Child {
    Command::new("true").spawn().expect("true runs")
}

pub(crate) fn into_output(mut ended: Ended) -> Output {
    let child = std::mem::replace(&mut ended.0, idle());
    child.wait_with_output().expect("it ends")
}

/// A trace of a link of 12 Mbit/s that stops for 50 ms in every 150.
fn trace() -> String {
    let mut lines = String::new();
    for millis in 1..=100 {
        lines += &format!("{millis}\n");
    }
    lines + "150\n"
}

#[test]
fn the_lines_of_json_are_as_their_schemas_say() {
    let folder = folder("seconds");
    for user in users() {
        let arguments = ["live", "--rate", "1mbit", "--json", "fifo"];
        let arguments = [&arguments[..], &["--", "sleep", "1.3"]].concat();
        let output = run(&folder, user, &arguments);
        if !may_run(user, &output) {
            continue;
        }
        assert!(output.status.success(), "{}", text(&output.stderr));
        let lines = text(&output.stdout);
        let lines: Vec<_> = lines.lines().collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        crate::json::check(lines[0], "live-second");
        crate::json::check(lines[1], "live");
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

#[test]
fn a_link_follows_a_trace_and_its_record_replays() {
    let folder = folder("trace");
    fs::write(folder.join("up.trace"), trace()).expect("a file");
    for user in users() {
        _ = fs::remove_file(folder.join("run.pcapng"));
        let mut arguments = vec!["live", "--link-trace-up", "up.trace", "--down", "20mbit"];
        arguments.extend(["--json", "--record", "run.pcapng", "fq_codel"]);
        arguments.extend(["--", "bash", "-c", DATAGRAMS]);
        let output = run(&folder, user, &arguments);
        if !may_run(user, &output) {
            continue;
        }
        assert!(output.status.success(), "{}", text(&output.stderr));
        let lines = text(&output.stdout);
        let last = lines.lines().last().expect("a verdict");
        let verdict: Value = serde_json::from_str(last).expect("JSON");
        balances(&verdict);
        assert_eq!(verdict["ways"][0]["trace"], "up.trace");
        // 101 packets of 1514 bytes in 150 ms.
        assert_eq!(verdict["ways"][0]["rate"], 101 * 1514 * 8 * 1000 / 150);
        assert_eq!(verdict["ways"][1]["trace"], Value::Null);
        let compared = run(&folder, user, &["compare", "run.pcapng"]);
        let replay = text(&compared.stdout);
        assert!(compared.status.success(), "{replay}");
        assert!(
            replay.contains("up: trace up.trace, 8.16 Mbit/s on average, under fq_codel"),
            "{replay}"
        );
        let verified = run(&folder, user, &["verify", "run.pcapng"]);
        assert!(verified.status.success(), "{}", text(&verified.stderr));
    }
    let refused = |arguments: &[&str]| {
        let mut all = vec!["live"];
        all.extend(arguments);
        all.extend(["--", "true"]);
        let output = run(&folder, None, &all);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        text(&output.stderr)
    };
    fs::write(folder.join("bad.trace"), "1\n\n3\n").expect("a file");
    let told = refused(&["--link-trace", "bad.trace"]);
    assert!(
        told.contains("bad.trace:2: '': expected a time in whole milliseconds"),
        "{told}"
    );
    let told = refused(&["--link-trace", "wifi station 2"]);
    assert!(
        told.contains("wifi: no parameter is called 'station' (did you mean 'stations'?)"),
        "{told}"
    );
    let told = refused(&["--link-trace", "none.trace"]);
    assert!(told.contains("none.trace"), "{told}");
    let told = refused(&["--link-trace-up", "up.trace"]);
    assert!(
        told.contains("required arguments were not provided"),
        "{told}"
    );
    let told = refused(&["--link-trace", "up.trace", "--rate", "1mbit"]);
    assert!(told.contains("cannot be used with"), "{told}");
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// A scenario with everything that a live run takes, and with much that it leaves.
const SCENARIO: &str = "
seed = 9
duration = '5s'
[queue]
core = 'fq_codel limit 300 target 7ms'
[[node]]
name = 'server'
host = true
[[node]]
name = 'isp'
[[node]]
name = 'modem'
[[node]]
name = 'laptop'
host = true
[[link]]
from = 'server'
to = 'isp'
rate = '1gbit'
delay = '9ms'
[[link]]
from = 'modem'
to = 'isp'
rate = '20mbit'
delay = '4ms'
[[link]]
from = 'laptop'
to = 'modem'
rate = '100mbit'
[[port]]
from = 'modem'
to = 'isp'
rate = '5mbit'
queue = 'tree home'
loss = '1%'
jitter = '2ms'
[[port]]
from = 'isp'
to = 'modem'
queue = 'qfq limit 200'
[trees.home]
[[trees.home.node]]
name = 'root'
discipline = 'drr'
[[trees.home.node]]
name = 'calls'
parent = 'root'
discipline = 'fifo limit 20'
flows = ['dscp ef']
[[trees.home.node]]
name = 'rest'
parent = 'root'
discipline = 'sfq'
default = true
[[source]]
name = 'films'
kind = 'tcp'
from = 'server'
to = 'laptop'
weight = 3
[[source]]
name = 'calls'
kind = 'voip'
from = 'laptop'
to = 'server'
dscp = 'ef'
weight = 5
";

#[test]
fn the_bottleneck_of_a_scenario_is_made_real() {
    let folder = folder("home");
    fs::write(folder.join("mine.toml"), SCENARIO).expect("a file");
    for user in users() {
        _ = fs::remove_file(folder.join("run.pcapng"));
        let mut arguments = vec!["live", "mine.toml", "--record", "run.pcapng"];
        arguments.extend(["--weight", "dst port 9 = 2", "--", "bash", "-c", DATAGRAMS]);
        let output = run(&folder, user, &arguments);
        if !may_run(user, &output) {
            continue;
        }
        let told = text(&output.stderr);
        assert!(output.status.success(), "{told}");
        for expected in [
            "mine.toml: the bottleneck is modem > isp, which is the way up",
            "left to reality: weight 3 of films: no code point of its own",
            "left to reality: the sources and their TCP (films, calls): your programs send",
            "left to reality: 4 other links with rates, delays and queues",
            "left to reality: duration and warmup",
            "up 5mbit under tree home, down 20mbit under qfq limit 200p",
        ] {
            assert!(told.contains(expected), "{expected}: {told}");
        }
        let recording = Recording::open(&folder.join("run.pcapng")).expect("a record");
        let start = recording.start().clone();
        let settings = start.settings;
        assert_eq!(settings.seed, 9);
        assert_eq!(settings.weights.rules, ["dst port 9 = 2", "dscp 46 = 5"]);
        let (up, down) = (&settings.up, &settings.down);
        assert_eq!((up.rate, down.rate), (5_000_000, 20_000_000));
        assert_eq!((up.delay, up.jitter), (4_000_000_000, 2_000_000_000));
        assert_eq!((down.delay, down.jitter), (4_000_000_000, 0));
        assert_eq!((up.loss, down.loss), (10_000_000, 0));
        let compared = run(&folder, user, &["compare", "run.pcapng"]);
        assert!(compared.status.success(), "{}", text(&compared.stdout));
    }
    // Options come first, and a template has a bottleneck too.
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/scenarios/home.toml"
    );
    let mut arguments = vec!["live", example, "--queue", "drr", "--delay", "1ms"];
    arguments.extend(["--rate", "3mbit", "--", "true"]);
    let output = run(&folder, None, &arguments);
    if may_run(None, &output) {
        let told = text(&output.stderr);
        assert!(
            told.contains("up 3mbit under drr, down 3mbit under drr"),
            "{told}"
        );
    }
    let refused = |file: &str, content: &str| {
        fs::write(folder.join(file), content).expect("a file");
        let output = run(&folder, None, &["live", file, "--", "true"]);
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr)
    };
    let told = refused("wrong.toml", &SCENARIO.replace("'20mbit'", "'20mb'"));
    assert!(told.contains("wrong.toml:"), "{told}");
    let told = refused(
        "one-way.toml",
        &SCENARIO.replace("delay = '4ms'", "one_way = true"),
    );
    assert!(!told.is_empty());
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// A scenario whose call is on the way up, over a link with a trace.
const CALL: &str = "
duration = '1s'
[[node]]
name = 'modem'
[[node]]
name = 'isp'
[[node]]
name = 'laptop'
host = true
[[node]]
name = 'server'
host = true
[[link]]
from = 'modem'
to = 'isp'
rate = '20mbit'
[[port]]
from = 'modem'
to = 'isp'
link_trace = 'up.trace'
[[link]]
from = 'laptop'
to = 'modem'
rate = '1gbit'
[[link]]
from = 'isp'
to = 'server'
rate = '1gbit'
[[source]]
name = 'call'
kind = 'cbr'
rate = '2mbit'
packet_len = 68
from = 'laptop'
to = 'server'
[[source]]
name = 'films'
kind = 'tcp'
from = 'server'
to = 'laptop'
";

/// As the bottleneck of a scenario, and as an option.
#[test]
fn a_model_draws_for_a_live_run_what_it_draws_for_a_simulation() {
    let folder = folder("model");
    let model = "lte rate 8mbit length 2s";
    let scenario = "seed = 9".to_owned() + &CALL.replace("up.trace", model);
    fs::write(folder.join("mine.toml"), scenario).expect("a file");
    let simulated = |seed: &str| -> Vec<u64> {
        let arguments = ["simulate", "mine.toml", "--seed", seed, "--log", "run.log"];
        let output = run(&folder, None, &arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let log = fs::read_to_string(folder.join("run.log")).expect("a log");
        let head = log.lines().next().expect("a header");
        let head: Value = serde_json::from_str(head).expect("JSON");
        let times = head["links"][0]["trace"]["times"]
            .as_array()
            .expect("times");
        times.iter().filter_map(Value::as_u64).collect()
    };
    let [nine, ten] = ["9", "10"].map(simulated);
    assert_ne!(nine, ten);
    for (arguments, expected) in [
        (&["live", "mine.toml"][..], &nine),
        (&["live", "mine.toml", "--seed", "10"], &ten),
        (
            &[
                "live",
                "--link-trace-up",
                model,
                "--down",
                "20mbit",
                "--seed",
                "9",
            ],
            &nine,
        ),
    ] {
        _ = fs::remove_file(folder.join("run.pcapng"));
        let mut all = arguments.to_vec();
        all.extend(["--record", "run.pcapng", "--", "bash", "-c", DATAGRAMS]);
        let output = run(&folder, None, &all);
        if !may_run(None, &output) {
            continue;
        }
        assert!(output.status.success(), "{}", text(&output.stderr));
        let recording = Recording::open(&folder.join("run.pcapng")).expect("a record");
        let start = recording.start().clone();
        let (name, times) = start.settings.up.trace.expect("a trace");
        assert_eq!(name, model);
        let times: Vec<u64> = times.lines().filter_map(|time| time.parse().ok()).collect();
        assert!(times == *expected, "{arguments:?}");
        let verified = run(&folder, None, &["verify", "run.pcapng"]);
        assert!(verified.status.success(), "{}", text(&verified.stderr));
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

#[test]
fn a_live_run_of_a_scenario_stands_beside_its_simulation() {
    let folder = folder("beside");
    fs::write(folder.join("up.trace"), trace()).expect("a file");
    fs::write(folder.join("mine.toml"), CALL).expect("a file");
    for user in users() {
        for file in ["run.pcapng", "page.html"] {
            _ = fs::remove_file(folder.join(file));
        }
        let mut arguments = vec!["live", "mine.toml", "--json", "--html", "page.html"];
        arguments.extend(["--record", "run.pcapng", "--", "bash", "-c", DATAGRAMS]);
        let output = run(&folder, user, &arguments);
        if !may_run(user, &output) {
            continue;
        }
        let told = text(&output.stderr);
        assert!(output.status.success(), "{told}");
        assert!(told.contains("up by up.trace under fifo"), "{told}");
        let lines = text(&output.stdout);
        let last = lines.lines().last().expect("a verdict");
        crate::json::check(last, "live");
        let run_told: Value = serde_json::from_str(last).expect("JSON");
        assert_eq!(run_told["ways"][0]["trace"], "up.trace");
        let kinds = run_told["ways"][0]["kinds"].as_array().expect("a list");
        let short = kinds.iter().find(|kind| kind["kind"] == "short_udp");
        assert!(short.expect("datagrams")["packets"].as_u64() >= Some(290));
        let simulated = &run_told["simulated"];
        let left = simulated["left_to_reality"].to_string();
        assert!(left.contains("(call, films): your programs send"), "{left}");
        // 2 Mbit/s in packets of 68 bytes, for as long as the run took. When it ends, those of the
        // last 50 ms may still wait for the trace.
        let length = run_told["seconds"].as_f64().expect("a number");
        let [all, through] = [length, length - 0.06].map(|seconds| 2e6 / 8.0 / 68.0 * seconds);
        let up = &simulated["ways"][0];
        let packets = up["kinds"]
            .as_array()
            .and_then(|kinds| kinds.iter().find(|kind| kind["kind"] == "short_udp"))
            .and_then(|kind| kind["packets"].as_f64())
            .expect("packets of the call");
        assert!(
            (through..all + 2.0).contains(&packets),
            "{packets}: {through} to {all}"
        );
        // The films are in the simulation alone, and the rates of the calls differ.
        let parts = simulated["parts"].to_string();
        assert!(
            parts.contains("down, TCP data: ")
                && parts.contains("in the simulation, none in the other"),
            "{parts}"
        );
        assert!(parts.contains("up, short UDP: rate "), "{parts}");
        let figures = simulated["figures"].as_array().expect("a list");
        let delay = figures
            .iter()
            .find(|figure| figure["packets"] == "short UDP" && figure["figure"] == "delay_p99")
            .expect("a delay");
        // Both wait for the trace, which stops for 50 ms.
        assert!(delay["simulated"].as_f64() > Some(0.02), "{delay}");
        let page = fs::read_to_string(folder.join("page.html")).expect("a page");
        for expected in [
            "Where they part",
            "up, simulated",
            "down, live",
            "up, short UDP: rate ",
            "<strong>parts</strong>",
            "the sources and their TCP",
            "Two figures part if",
        ] {
            assert!(page.contains(expected), "{expected}");
        }
        let recording = Recording::open(&folder.join("run.pcapng")).expect("a record");
        let start = recording.start().clone();
        let (name, text_of_trace) = start.settings.up.trace.expect("a trace");
        assert_eq!((name.as_str(), text_of_trace), ("up.trace", trace()));
        for command in ["compare", "verify"] {
            let again = run(&folder, user, &[command, "run.pcapng"]);
            assert!(again.status.success(), "{command}: {}", text(&again.stderr));
        }
    }
    // A network without sources has no simulation, and the run says so.
    let (network, _) = CALL.split_once("[[source]]").expect("sources");
    fs::write(folder.join("network.toml"), network).expect("a file");
    let output = run(&folder, None, &["live", "network.toml", "--", "true"]);
    if may_run(None, &output) {
        let told = text(&output.stderr);
        assert!(
            told.contains("Not simulated: the scenario has no sources."),
            "{told}"
        );
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// The page of a running session's metrics.
fn metrics(address: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a server");
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("a server");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, page) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    assert!(
        head.contains(&format!("Content-Length: {}", page.len())),
        "{head}"
    );
    page.to_owned()
}

/// A number of the page; each line of the page must be one that Prometheus reads.
fn number(page: &str, name: &str) -> f64 {
    let mut found = None;
    let mut declared = Vec::new();
    for line in page.lines() {
        if let Some(declaration) = line.strip_prefix("# TYPE ") {
            let (name, _) = declaration.split_once(' ').expect("a name and a kind");
            assert!(!declared.contains(&name), "{name} once");
            declared.push(name);
            continue;
        }
        if line.starts_with("# HELP ") {
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').expect("a name and a value");
        let value: f64 = value.parse().expect("a number");
        let family = sample.split('{').next().expect("a name");
        let base = family.trim_end_matches("_sum").trim_end_matches("_count");
        assert!(
            declared.contains(&family) || declared.contains(&base),
            "{line}"
        );
        if sample == name {
            found = Some(value);
        }
    }
    found.unwrap_or_else(|| panic!("{name}: {page}"))
}

#[test]
fn strangers_see_other_addresses_and_no_files() {
    let folder = folder("strangers");
    let tree = "[[node]]\nname = \"link\"\ndiscipline = \"drr\"\n\n\
        [[node]]\nname = \"all\"\nparent = \"link\"\ndiscipline = \"fifo\"\ndefault = true\n";
    fs::write(folder.join("of-mine.toml"), tree).expect("a folder of ours");
    let mut arguments = vec!["live", "--rate", "1mbit", "--tree", "of-mine.toml"];
    arguments.extend(["--html", "page.html", "--json", "--anonymise"]);
    for user in users() {
        _ = fs::remove_file(folder.join("page.html"));
        let mut call = arguments.clone();
        call.extend(["--", "bash", "-c", DATAGRAMS]);
        let output = run(&folder, user, &call);
        if !may_run(user, &output) {
            continue;
        }
        let lines = text(&output.stdout);
        let last = lines.lines().last().unwrap_or_else(|| panic!("{output:?}"));
        let verdict: Value = serde_json::from_str(last).expect("JSON");
        // The system may have sent something before the command.
        let flows = verdict["ways"][0]["flows"].as_array().expect("flows");
        let mut flows = flows.iter().filter_map(|flow| flow["flow"].as_str());
        let flow = flows.find(|flow| flow.starts_with("udp "));
        let flow = flow.unwrap_or_else(|| panic!("{last}"));
        assert!(flow.contains(":9"), "ports stay: {flow}");
        assert_eq!(verdict["ways"][0]["queue"], "tree tree-1.toml");
        let page = fs::read_to_string(folder.join("page.html")).expect("a page");
        let host = flow.split(':').next().expect("an address");
        assert!(page.contains(host), "{host} in both");
        for told in [&page, last] {
            assert!(!told.contains("10.77.0."), "the true addresses");
            assert!(!told.contains("of-mine"), "a file");
        }
    }
    // A scenario has names of its own, and is told on standard error.
    let scenario = "duration = \"5s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 1\n\
        rate = \"1mbit\"\ndelay = \"1ms\"\n[[source]]\nname = \"calls of 10.77.0.1\"\n\
        kind = \"cbr\"\nfrom = \"s0\"\nto = \"r0\"\nrate = \"80kbit\"\n";
    fs::write(folder.join("of-mine-too.toml"), scenario).expect("a folder of ours");
    let mut call = vec!["live", "of-mine-too.toml", "--html", "page.html", "--json"];
    call.extend(["--anonymise", "--", "bash", "-c", DATAGRAMS]);
    let output = run(&folder, None, &call);
    if may_run(None, &output) {
        let page = fs::read_to_string(folder.join("page.html")).expect("a page");
        for told in [&page, &text(&output.stdout), &text(&output.stderr)] {
            assert!(!told.contains("10.77.0."), "the true addresses: {told}");
            assert!(!told.contains("of-mine"), "a file: {told}");
        }
        assert!(page.contains("Where they part") || page.contains("Not simulated"));
    }
    let mut wrong = arguments.clone();
    wrong.extend(["--record", "r.pcapng", "--", "true"]);
    let told = text(&run(&folder, None, &wrong).stderr);
    assert!(told.contains("cannot be used with"), "{told}");
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// Names of metrics in a page or in queries.
fn names_of_metrics(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words
        .filter(|word| word.starts_with("roundelay_"))
        .collect()
}

#[test]
fn metrics_and_the_page_tell_what_the_verdict_tells() {
    let folder = folder("page");
    for user in users() {
        _ = fs::remove_file(folder.join("page.html"));
        let mut arguments = vec!["live", "--rate", "500kbit", "--html", "page.html"];
        arguments.extend(["--metrics", "127.0.0.1:0", "--json", "fq_codel limit 40"]);
        arguments.extend([
            "--",
            "bash",
            "-c",
            "while true; do for i in {1..50}; do echo 1 > /dev/udp/{far}/9; done; sleep .05; done",
        ]);
        let mut start = command(&folder, user, &arguments);
        start.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut session = Ended(retried(|| start.spawn()));
        let mut messages = BufReader::new(session.0.stderr.take().expect("messages"));
        let mut line = String::new();
        messages.read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("roundelay: metrics at http://");
        let address = address.and_then(|line| line.strip_suffix("/metrics"));
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        // Where no namespaces are allowed, the session ends here.
        let end = Instant::now() + Duration::from_secs(30);
        let mut first = String::new();
        while Instant::now() < end && first.is_empty() {
            if let Ok(Some(_)) = session.0.try_wait() {
                break;
            }
            let page = metrics(&address);
            let dropped = |reason: &str| {
                let labels = format!("way=\"up\",phase=\"1\",reason=\"{reason}\"");
                number(&page, &format!("roundelay_drops_total{{{labels}}}"))
            };
            if dropped("full") > 0.0 || dropped("pushed_out") > 0.0 {
                first = page;
            }
            thread::sleep(Duration::from_millis(20));
        }
        if let Ok(Some(_)) = session.0.try_wait() {
            let mut rest = String::new();
            messages.read_to_string(&mut rest).expect("messages");
            println!("not run as {user:?}: {rest}");
            continue;
        }
        let sent = |page: &str| number(page, "roundelay_packets_total{way=\"up\",phase=\"1\"}");
        let second = metrics(&address);
        let dashboard = include_str!("../../../examples/grafana/live.json");
        assert_eq!(names_of_metrics(&second), names_of_metrics(dashboard));
        assert!(
            sent(&first) > 0.0 && sent(&second) >= sent(&first),
            "{second}"
        );
        let rate = number(&second, "roundelay_rate_bits_per_second{way=\"down\"}");
        assert_eq!(rate, 500_000.0);
        let info = "roundelay_info{way=\"up\",phase=\"1\",queue=\"fq_codel limit 40\",\
                    link=\"500kbit\"}";
        assert_eq!(number(&second, info), 1.0);
        let pid = session.0.id().to_string();
        let kill = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(kill.expect("kill runs").success());
        let output = into_output(std::mem::replace(&mut session, Ended(idle())));
        let lines = text(&output.stdout);
        let last = lines.lines().last().expect("a verdict");
        let verdict: Value = serde_json::from_str(last).expect("JSON");
        balances(&verdict);
        let books = &verdict["ways"][0]["books"];
        assert!(books["sent"].as_f64() >= Some(sent(&second)), "{books}");
        let page = fs::read_to_string(folder.join("page.html")).expect("a page");
        for expected in [
            "Rate out",
            "Delay in queue and link, p99",
            "fq_codel limit 40",
        ] {
            assert!(page.contains(expected), "{expected}");
        }
        let dropped = books["dropped"].as_array().expect("reasons");
        let dropped: u64 = dropped.iter().filter_map(Value::as_u64).sum();
        assert!(dropped > 0);
        let delivered = books["delivered"].as_u64().expect("a number");
        let delivered = roundelay_metrics::units::count(delivered);
        assert!(
            page.contains(&format!("<td>{delivered}</td>")),
            "{delivered}"
        );
        assert!(
            page.contains("10.77.0.1") && page.contains("10.77.0.2:9"),
            "flows"
        );
        assert!(!page.contains("src=\"") && !page.contains("href=\"http"));
    }
    let mut wrong = vec!["live", "--rate", "1mbit", "--metrics", "nine", "--", "true"];
    let told = text(&run(&folder, None, &wrong).stderr);
    assert!(told.contains("as in 127.0.0.1:9100"), "{told}");
    wrong[4] = "192.0.2.1:9100";
    let told = text(&run(&folder, None, &wrong).stderr);
    assert!(told.contains("--metrics 192.0.2.1:9100: "), "{told}");
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// Regression: a run whose queue changed was reported under its last queue, with the delays of both.
#[test]
fn figures_are_those_of_the_phase_whose_queue_they_name() {
    const SENDER: &str = "for i in {1..150}; do head -c 1000 /dev/zero > /dev/udp/{far}/9; \
                          sleep .008; done";
    let folder = folder("phases");
    for user in users() {
        _ = fs::remove_file(folder.join("page.html"));
        _ = fs::remove_file(folder.join("run.pcapng"));
        let mut arguments = vec!["live", "--rate", "200kbit", "fifo limit 100"];
        arguments.extend([
            "--at",
            "1s queue fq_codel",
            "--at",
            "1s weight dst port 9 = 3",
        ]);
        arguments.extend(["--html", "page.html", "--record", "run.pcapng"]);
        arguments.extend(["--", "bash", "-c", SENDER]);
        let output = run(&folder, user, &arguments);
        if !may_run(user, &output) {
            continue;
        }
        let report = text(&output.stderr);
        assert!(report.contains("up: 2 phases\n"), "{report}");
        assert!(
            report.contains("  0.0 to 1.0 s, 200kbit under fifo limit 100\n"),
            "{report}"
        );
        assert!(
            report.contains(" s, 200kbit under fq_codel, weights dst port 9 = 3\n"),
            "{report}"
        );
        assert!(!report.contains("up: 200kbit under fq_codel"), "{report}");
        let page = fs::read_to_string(folder.join("page.html")).expect("a page");
        let (_, headline) = page.split_once("<h1>").expect("a headline");
        let (headline, _) = headline.split_once("</h1>").expect("its end");
        assert!(
            headline.starts_with("The median delay of packets going up was "),
            "{headline}"
        );
        assert!(headline.contains("under fifo limit 100"), "{headline}");
        assert!(headline.contains("under fq_codel"), "{headline}");
        let mark = "\"changes\":[{\"x\":1.0,\"name\":\"queue fq_codel, weights dst port 9 = 3\"}]";
        assert!(page.matches(mark).count() >= 4, "a mark in every chart");
        assert!(
            page.contains("short UDP") || page.contains("long UDP"),
            "kinds"
        );
        assert!(page.contains(" kbit/s"), "units that fit");
        // The replay of the record has the same phases.
        let replay = run(&folder, user, &["compare", "run.pcapng"]);
        let replay = text(&replay.stdout);
        assert!(
            replay.contains("under fifo limit 100 at first, 2 changes on the way"),
            "{replay}"
        );
        let rows = |text: &str| -> Vec<String> {
            let rows = text.lines().filter(|line| line.starts_with("    long UDP"));
            rows.map(str::to_owned).collect()
        };
        assert_eq!(rows(&replay)[0], rows(&report)[0], "{replay}");
        assert_eq!(rows(&replay).len(), 2, "{replay}");
    }
    let mut arguments = vec!["live", "--rate", "200kbit", "fifo limit 100", "--json"];
    arguments.extend(["--at", "1s queue fq_codel", "--", "bash", "-c", SENDER]);
    let output = run(&folder, None, &arguments);
    if may_run(None, &output) {
        let lines = text(&output.stdout);
        let last = lines.lines().last().unwrap_or_else(|| panic!("{output:?}"));
        let run: Value = serde_json::from_str(last).expect("JSON");
        let up = &run["ways"][0];
        let phases = up["phases"].as_array().expect("phases");
        let [fifo, fq_codel] = &phases[..] else {
            panic!("{phases:?}");
        };
        let queue = |phase: &Value| phase["conditions"]["queue"].clone();
        assert_eq!(
            (queue(fifo), queue(fq_codel)),
            ("fifo limit 100".into(), "fq_codel".into())
        );
        assert_eq!((&fifo["to"], &fq_codel["from"]), (&1.0.into(), &1.0.into()));
        assert_eq!(fq_codel["change"], "queue fq_codel");
        let sent = |of: &Value| of["sent"].as_u64().expect("a number");
        let both = sent(&fifo["books"]) + sent(&fq_codel["books"]);
        assert_eq!(both, sent(&up["books"]));
        // A packet takes 40 ms, and all of the first second's wait in one queue.
        let p50 = |phase: &Value| phase["delay"][0].as_f64().expect("a delay");
        assert!(p50(fifo) > 0.2 && p50(fifo) < 1.0, "{fifo}");
        assert!(
            p50(fq_codel) > p50(fifo),
            "it begins with what fifo left: {fq_codel}"
        );
        assert_eq!(fifo["kinds"][0]["kind"], "long_udp");
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// The lines of a page's first block of commands.
fn commands_of(page: &str) -> Vec<&str> {
    let (_, rest) = page.split_once("```sh\n").expect("a block");
    let (block, _) = rest.split_once("```").expect("its end");
    block.lines().collect()
}

#[test]
fn the_recorded_demo_is_of_this_program() {
    let cast = include_str!("../../../docs/images/live-demo.cast");
    let drawn = include_str!("../../../docs/images/live-demo.svg");
    let mut lines = cast.lines();
    let head: Value = serde_json::from_str(lines.next().expect("a head")).expect("JSON");
    assert_eq!(
        (&head["version"], &head["command"]),
        (&2.into(), &"roundelay live --demo".into())
    );
    let mut written = String::new();
    for line in lines {
        let event: Value = serde_json::from_str(line).expect("JSON");
        written += event[2].as_str().expect("a text");
    }
    assert!(
        written.contains(&roundelay_live::demo::Demo::head()),
        "{written}"
    );
    for expected in ["\r\nfifo limit 60", "\r\nfq_codel limit 60", "\r\nvalid: "] {
        assert!(written.contains(expected), "{expected}: {written}");
    }
    for line in written.lines() {
        let line = line
            .replace('&', "&amp;")
            .replace('\'', "&#x27;")
            .replace('>', "&gt;")
            .replace('<', "&lt;");
        assert!(drawn.contains(&format!(">{line}</text>")), "{line}");
    }
}

#[test]
#[ignore = "22 seconds: in `make test-full`"]
fn the_demo_of_an_ordinary_user_shows_both_queues_and_ends_with_a_verdict() {
    let folder = folder("demo");
    let user = users().pop().expect("a user");
    let output = run(&folder, user, &["live", "--demo"]);
    if !may_run(user, &output) {
        return;
    }
    let (shown, errors) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{shown}{errors}");
    assert!(
        shown.contains(&roundelay_live::demo::Demo::head()),
        "{shown}"
    );
    for queue in ["fifo limit 60", "fq_codel limit 60"] {
        let row = shown.lines().find(|line| line.starts_with(queue));
        let row = row.expect("a row of each queue");
        assert!(
            !row.contains(" - "),
            "the ping and the call have delays: {row}"
        );
        let words: Vec<&str> = row.split_whitespace().collect();
        let rate: f64 = words[words.len() - 2].parse().expect("a rate");
        // The link carries 1,000, and the call has 64 of them.
        assert!((100.0..1000.0).contains(&rate), "the transfers: {row}");
    }
    let judged = shown.contains("\nvalid: ") || shown.contains("\ndo not use these figures:");
    assert!(judged, "{shown}");
    println!("as {user:?}:\n{shown}");
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// A line of a page as a process of a user.
fn line_of_a_page(folder: &Path, user: Option<u32>, line: &str) -> Child {
    let mut bash = Command::new("bash");
    bash.args(["-c", line]).current_dir(folder);
    let path = std::env::var("PATH").expect("a path");
    bash.env("PATH", format!("{}:{path}", folder.display()));
    bash.env_remove("XDG_RUNTIME_DIR").stdin(Stdio::null());
    bash.stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(user) = user {
        bash.uid(user).gid(user);
    }
    bash.spawn().expect("bash runs")
}

/// What a record says of three floods and a trickle, in the link's own order: a busy machine moves
/// all times, and starts and ends the floods one after another, but it changes no order.
#[derive(Debug, Default)]
struct Shares {
    /// Bytes that the link sent of each flood in the longest time in which packets of all three
    /// waited.
    contested: [f64; 3],
    /// Mean bytes that the link sent between a trickle's arrival and its start.
    ahead: f64,
    /// No frame left before one that came earlier.
    in_order: bool,
}

impl Shares {
    /// The most that a flood lags behind its share of what all got, in bytes.
    fn lag(&self) -> f64 {
        let total: f64 = self.contested.iter().sum();
        assert!(total > 100_000.0, "all floods send: {self:?}");
        let mut most = f64::MIN;
        for (flood, weight) in self.contested.iter().zip([1.0, 2.0, 4.0]) {
            most = most.max(total * weight / 7.0 - flood);
        }
        most
    }

    fn of(record: &Path) -> Self {
        const PORTS: [u16; 3] = [9001, 9002, 9004];
        let mut recording = roundelay_live::Recording::open(record).expect("a record");
        let mut shares = Self {
            in_order: true,
            ..Self::default()
        };
        let mut arrivals = Vec::new();
        let (mut waiting, mut contested) = ([0_u32; 3], [0.0; 3]);
        let (mut bytes_sent, mut newest_sent) = (0.0, 0);
        let (mut ahead, mut trickles) = (0.0, 0.0);
        while let Some(entry) = recording.next().expect("a whole record") {
            match entry {
                Entry::Arrival {
                    way: Way::Up,
                    frame,
                    len,
                    ..
                } => {
                    let is_udp = frame.len() > 38 && frame[12..14] == [8, 0] && frame[23] == 17;
                    let port = is_udp.then(|| u16::from_be_bytes([frame[36], frame[37]]));
                    let flood = PORTS.iter().position(|known| Some(*known) == port);
                    if let Some(flood) = flood {
                        waiting[flood] += 1;
                    }
                    arrivals.push((flood, port == Some(9000), f64::from(len), bytes_sent));
                }
                Entry::Fate(line) if line.way == Way::Up => {
                    let (flood, is_trickle, len, sent_before) = arrivals[line.number as usize];
                    let all_wait = !waiting.contains(&0);
                    if !all_wait {
                        contested = [0.0; 3];
                    }
                    if let Some(flood) = flood {
                        waiting[flood] -= 1;
                    }
                    if let Fate::Dropped { .. } = line.fate {
                        continue;
                    }
                    if let (Some(flood), true) = (flood, all_wait) {
                        contested[flood] += len;
                    }
                    if contested.iter().sum::<f64>() > shares.contested.iter().sum() {
                        shares.contested = contested;
                    }
                    if is_trickle {
                        ahead += bytes_sent - sent_before;
                        trickles += 1.0;
                    }
                    shares.in_order &= newest_sent <= line.number;
                    newest_sent = line.number;
                    bytes_sent += len;
                }
                _ => (),
            }
        }
        assert!(trickles > 0.0, "the trickle runs");
        shares.ahead = ahead / trickles;
        shares
    }
}

#[test]
fn the_page_on_shares_tells_what_its_commands_give() {
    let folder = folder("shares");
    program(&folder);
    let page = include_str!("../../../docs/live-shares.md");
    // As an ordinary user, if these tests may choose.
    let user = users().pop().expect("a user");
    let (mut sessions, mut others) = (Vec::new(), Vec::new());
    for line in commands_of(page) {
        if line.starts_with("echo ") {
            let child = line_of_a_page(&folder, user, line);
            let output = child.wait_with_output().expect("it ends");
            assert!(output.status.success(), "{line}");
        } else if line.starts_with("roundelay live ") {
            // They wait most of the time, so all run at once. The page records the first alone.
            let mut options = "--json".to_owned();
            if !line.contains(" --record ") {
                options += &format!(" --record {}.pcapng", sessions.len());
            }
            let line = line.replace("roundelay live", &format!("roundelay live {options}"));
            sessions.push(line_of_a_page(&folder, user, &line));
        } else {
            others.push(line);
        }
    }
    assert_eq!(sessions.len(), 3);
    for session in sessions {
        let output = session.wait_with_output().expect("it ends");
        if !may_run(user, &output) {
            fs::remove_dir_all(folder).expect("a folder of ours");
            return;
        }
        assert!(output.status.success(), "{}", text(&output.stderr));
        let lines = text(&output.stdout);
        let last = lines.lines().last().expect("a verdict");
        let verdict: Value = serde_json::from_str(last).expect("JSON");
        balances(&verdict);
    }
    for line in others {
        let child = line_of_a_page(&folder, user, line);
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    }
    let [qfq, drr, fifo] =
        ["shares.pcapng", "1.pcapng", "2.pcapng"].map(|record| Shares::of(&folder.join(record)));
    println!("qfq {qfq:?}\ndrr {drr:?}\nfifo {fifo:?}");
    // The largest of the bounds that the page names, which are QFQ's.
    for shares in [&qfq, &drr] {
        assert!(shares.lag() < 9_004.0, "{shares:?}");
    }
    assert!(fifo.lag() > 9_004.0, "a fifo breaks it: {fifo:?}");
    assert!(fifo.in_order && !qfq.in_order && !drr.in_order);
    assert!(
        qfq.ahead.max(drr.ahead) < fifo.ahead / 5.0,
        "a trickle waits for few packets of others"
    );
    fs::remove_dir_all(folder).expect("a folder of ours");
}

#[test]
fn wrong_arguments_are_refused_with_what_is_legal() {
    let folder = folder("wrong");
    let cases: [(&[&str], &str); 18] = [
        (
            &["--rate", "1mbit", "--duration", "1", "--", "true"],
            "expected a unit, as in 5s or 300ms",
        ),
        (
            &["--rate", "1mbit", "--at", "5 rate 2mbit", "--", "true"],
            "expected a unit, as in 5s or 300ms",
        ),
        (
            &["mine.toml", "--html", "mine.toml", "--", "true"],
            "mine.toml: both the scenario and --html; expected a file each",
        ),
        (
            &[
                "--rate", "1mbit", "--record", "a", "--html", "a", "--", "true",
            ],
            "a: both --record and --html; expected a file each",
        ),
        (
            &["--", "true"],
            "--rate <RATE>, or --up <RATE> and --down <RATE>",
        ),
        (&["--rate", "1mbit"], "expected a command after --"),
        (
            &["--rate", "1mbit", "--between", "lo", "lo"],
            "lo: the same interface twice",
        ),
        (
            &["--rate", "1mbit", "--between", "lo", "nobody0"],
            "nobody0: ",
        ),
        (
            &["--rate", "1mbit", "--delay", "2h", "--", "true"],
            "--delay",
        ),
        (
            &["--rate", "1mbit", "--loss", "200%", "--", "true"],
            "expected a share from 0 to 1",
        ),
        (
            &["--rate", "1mbit", "lstf preempt", "--", "true"],
            "no real link interrupts a packet",
        ),
        (
            &["--rate", "1mbit", "--at", "rate 5", "--", "true"],
            "expected a time and a change",
        ),
        (
            &["--rate", "1mbit", "--loss", "0.0000000001", "--", "true"],
            "expected 0, or a share from .000000001 to 1",
        ),
        (
            &["--rate", "1mbit", "--loss", "0.00000001%", "--", "true"],
            "expected 0, or a share from .000000001 to 1",
        ),
        (
            &["--demo", "--loss", "50%"],
            "'--demo' cannot be used with '--loss",
        ),
        (
            &["--demo", "--queue-up", "drr"],
            "'--demo' cannot be used with '--queue-up",
        ),
        (
            &["--demo", "--congestion", "none"],
            "'--demo' cannot be used with '--congestion",
        ),
        (
            &["set", "--name", "a b", "rate", "1mbit"],
            "letters, digits",
        ),
    ];
    for (arguments, message) in cases {
        let mut all = vec!["live"];
        all.extend(arguments);
        let output = run(&folder, None, &all);
        let found = text(&output.stderr);
        assert!(found.contains(message), "{arguments:?}: {found}");
        assert!(!output.status.success());
    }
    let none = run(&folder, None, &["compare", env!("CARGO_MANIFEST_DIR")]);
    assert!(
        text(&none.stderr).contains("--rate <RATE>"),
        "{}",
        text(&none.stderr)
    );
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// Removes what killed sessions of a user have left.
fn restore(folder: &Path, user: Option<u32>) -> String {
    let output = run(folder, user, &["live", "--restore"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_killed_session_leaves_a_socket_that_a_new_one_replaces_and_restore_removes() {
    let folder = folder("stale");
    for user in users() {
        let name = format!("stale-{}", std::process::id());
        let removed = format!("session '{name}': control socket removed");
        // Other tests that run as root now restore, too.
        let is_alone = user.is_some() || users().len() == 1;
        let arguments = [
            "live", "--rate", "10mbit", "--name", &name, "--", "sleep", "60",
        ];
        let set = ["live", "set", "--name", &name, "rate", "5mbit"];
        let answers = || run(&folder, user, &set);
        // The second finds the socket of the first.
        for number in 0..2 {
            let mut start = command(&folder, user, &arguments);
            start.stdout(Stdio::null()).stderr(Stdio::piped());
            let mut session = Ended(retried(|| start.spawn()));
            let end = Instant::now() + Duration::from_secs(60);
            while !answers().status.success() && matches!(session.0.try_wait(), Ok(None)) {
                assert!(Instant::now() < end, "the session takes changes");
                thread::sleep(Duration::from_millis(50));
            }
            if let Ok(Some(_)) = session.0.try_wait() {
                let output = into_output(session);
                assert!(!may_run(user, &output), "{}", text(&output.stderr));
                break;
            }
            let told = restore(&folder, user);
            assert!(!told.contains(&removed), "it lives: {told}");
            assert!(answers().status.success(), "and still answers");
            drop(session);
            let told = text(&answers().stderr);
            if is_alone {
                assert!(told.contains("Connection refused"), "{told}");
            }
            if number == 1 {
                let told = restore(&folder, user);
                assert!(told.contains(&removed) || !is_alone, "{told}");
                let told = text(&answers().stderr);
                assert!(told.contains("No such file"), "{told}");
                assert!(!restore(&folder, user).contains(&removed));
            }
        }
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// A session with a view on a terminal. None if this user may have none.
fn viewed(folder: &Path, user: Option<u32>, terminal: &Pty) -> Option<Ended> {
    assert!(terminal.is_as_it_was());
    _ = fs::remove_file(folder.join("run.pcapng"));
    let sends = "while true; do echo 1 > /dev/udp/{far}/9; sleep .01; done";
    let arguments = [
        "live",
        "--rate",
        "10mbit",
        "--record",
        "run.pcapng",
        "--view",
    ];
    let mut start = command(folder, user, &arguments);
    start.args(["--", "bash", "-c", sends]);
    terminal.connect(&mut start);
    let mut session = Ended(retried(|| start.spawn()));
    if !terminal.waits_for("udp", || matches!(session.0.try_wait(), Ok(Some(_)))) {
        println!("not run as {user:?}: {}", terminal.shown());
        assert!(terminal.shown().contains("no network namespaces here"));
        return None;
    }
    assert!(!terminal.is_as_it_was(), "the view reads each key");
    Some(session)
}

#[test]
fn a_view_shows_the_run_its_keys_change_it_and_the_terminal_is_as_it_was() {
    let folder = folder("view");
    for user in users() {
        let terminal = Pty::new();
        let Some(mut session) = viewed(&folder, user, &terminal) else {
            continue;
        };
        // The thread that draws has none, either.
        assert_eq!(capabilities(session.0.id()), [0]);
        terminal.press("+");
        assert!(terminal.waits_for("12500kbit", || false));
        terminal.press(":queue drr limit 77\r");
        assert!(terminal.waits_for("77", || false));
        terminal.press(":queue nothing\r");
        assert!(terminal.waits_for("lifo,", || false));
        terminal.press("q");
        let status = session.0.wait().expect("it ends");
        assert!(status.success(), "{}", terminal.shown());
        assert!(terminal.is_as_it_was());
        let left = "\x1b[?1049l";
        assert!(terminal.waits_for("late", || true), "{}", terminal.shown());
        let shown = terminal.shown();
        let (view, report) = shown.split_once(left).expect("the screen is given back");
        assert!(view.contains("backlog") && view.contains("marks"), "{view}");
        assert!(
            report.contains(" s, 12500kbit under drr limit 77"),
            "{report}"
        );
        let compared = run(&folder, user, &["compare", "run.pcapng"]);
        let replay = text(&compared.stdout);
        assert!(compared.status.success(), "{replay}");
        assert_eq!(
            replay.matches("2 changes on the way").count(),
            2,
            "{replay}"
        );
    }
    let none = ["live", "--rate", "1mbit", "--view", "--", "true"];
    let told = run(&folder, None, &none);
    assert!(!told.status.success());
    let told = text(&told.stderr);
    assert!(
        told.contains("--view needs a terminal") || told.contains("no network namespaces"),
        "{told}"
    );
    fs::remove_dir_all(folder).expect("a folder of ours");
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let folder = folder("view-signal");
    for (signal, number) in [("-TERM", 15), ("-INT", 2), ("-HUP", 1)] {
        let terminal = Pty::new();
        let Some(mut session) = viewed(&folder, None, &terminal) else {
            break;
        };
        let pid = session.0.id().to_string();
        let kill = Command::new("kill").args([signal, &pid]).status();
        assert!(kill.expect("kill runs").success());
        let status = session.0.wait().expect("it ends");
        assert_eq!(status.code(), Some(128 + number), "{signal}");
        assert!(terminal.is_as_it_was(), "{signal}");
        assert!(terminal.waits_for("\x1b[?1049l", || true), "{signal}");
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

#[test]
fn af_xdp_around_a_command_needs_root_and_says_so() {
    let folder = folder("xdp");
    for user in users() {
        let arguments = ["live", "--rate", "10mbit", "--device", "xdp", "--json"];
        let mut arguments = arguments.to_vec();
        arguments.extend(["--", "bash", "-c", DATAGRAMS]);
        let output = run(&folder, user, &arguments);
        let told = text(&output.stderr);
        let is_refused = told.contains("run as root") && told.contains("or use --device packet");
        if user.is_some() || told.contains("built without AF_XDP") {
            assert!(!output.status.success(), "{told}");
            assert!(is_refused || !may_run(user, &output), "{told}");
            continue;
        }
        if !output.status.success() {
            assert!(is_refused || !may_run(user, &output), "{told}");
            continue;
        }
        let lines = text(&output.stdout);
        let verdict: Value =
            serde_json::from_str(lines.lines().last().expect("a verdict")).expect("JSON");
        balances(&verdict);
        assert!(
            verdict["ways"][0]["books"]["delivered"].as_u64() >= Some(300),
            "{verdict}"
        );
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}
