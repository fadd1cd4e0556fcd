//! How runs of `roundelay live` end: what is left behind, what is told, and that nobody who is slow can
//! hold an end up.
//!
//! No test measures time. A run that should end has a minute for it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use roundelay_live::{Entry, Recording};
use serde_json::Value;

use crate::live::{
    Ended, balances, command, folder, idle, into_output, may_run, retried, run, text, users,
};
use crate::pty::Pty;

/// Longest wait on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Five datagrams, and a long sleep.
const FEW: &str = "for i in {1..5}; do echo $i > /dev/udp/{far}/9; sleep .02; done; exec sleep 600";

/// Waits until something is there, while a process lives.
fn wait(process: &mut Child, mut is_there: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if is_there() {
            return true;
        }
        if !matches!(process.try_wait(), Ok(None)) {
            return is_there();
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

fn signal(process: &Child, name: &str) {
    let number = process.id().to_string();
    let kill = Command::new("kill").args([name, &number]).status();
    assert!(kill.expect("kill runs").success());
}

/// The status of a process that should end now.
fn status(process: &mut Child) -> Option<ExitStatus> {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(status) = process.try_wait().expect("a process of ours") {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(20));
    }
    None
}

/// Fates in a record, and whether it has its end; no fates if it is none.
fn fates(record: &Path) -> (usize, bool) {
    let (mut fates, mut has_end) = (0, false);
    if let Ok(mut recording) = Recording::open(record) {
        while let Ok(Some(entry)) = recording.next() {
            fates += usize::from(matches!(entry, Entry::Fate(_)));
            has_end |= matches!(entry, Entry::End(_));
        }
    }
    (fates, has_end)
}

/// Whether this user may have namespaces.
fn may(folder: &Path, user: Option<u32>) -> bool {
    let arguments = ["live", "--rate", "1mbit", "-q", "--", "true"];
    may_run(user, &run(folder, user, &arguments))
}

#[test]
fn a_killed_run_leaves_a_record_that_replays() {
    let folder = folder("killed");
    if may(&folder, None) {
        let arguments = ["live", "--rate", "1mbit", "--record", "k.pcapng", "fifo"];
        let mut start = command(&folder, None, &arguments);
        start.args(["--", "bash", "-c", FEW]);
        start.stdout(Stdio::null()).stderr(Stdio::null());
        let mut session = Ended(retried(|| start.spawn()));
        let record = folder.join("k.pcapng");
        assert!(
            wait(&mut session.0, || fates(&record).0 >= 5),
            "{:?}",
            fates(&record)
        );
        // By SIGKILL.
        drop(session);
        assert!(!fates(&record).1, "it did not end in order");
        let replay = run(&folder, None, &["compare", "k.pcapng"]);
        let told = text(&replay.stdout);
        assert!(replay.status.success(), "{told}{}", text(&replay.stderr));
        assert!(told.contains("all the same in the replay"), "{told}");
        let verified = run(&folder, None, &["verify", "k.pcapng"]);
        let said = text(&verified.stderr);
        assert_eq!(verified.status.code(), Some(1), "{said}");
        assert!(said.contains("the record stops without an end"), "{said}");
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// Processes with a word in their command line.
fn processes_with(word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").expect("proc(5)").flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(word) {
            found.push(line);
        }
    }
    found
}

#[test]
fn nothing_that_the_commands_started_outlives_the_run() {
    let folder = folder("outlives");
    for (number, user) in users().into_iter().enumerate() {
        if !may(&folder, user) {
            continue;
        }
        let word = format!(
            "{}",
            70_000_000 + 2 * u64::from(std::process::id()) + number as u64
        );
        let starts = format!("sleep {word} & (setsid sleep {word} &); touch started; wait");
        let short = format!("sleep {word} & exit 0");
        for near in [&starts, &short] {
            let arguments = ["live", "--rate", "1mbit", "--duration", "1s", "-q", "--"];
            let mut start = command(&folder, user, &arguments);
            start.args(["bash", "-c", near, "--", "bash", "-c", &starts]);
            let output = retried(|| start.output());
            assert!(output.status.success(), "{}", text(&output.stderr));
            assert_eq!(processes_with(&word), Vec::<String>::new(), "{near}");
        }
        assert!(folder.join("started").exists());
        _ = fs::remove_file(folder.join("started"));
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// Regression: a shell's earlier children are those of the program that it becomes by `exec`, and the
/// first process of a container gets all orphans as children. The run ended them, too.
#[test]
fn what_the_commands_did_not_start_outlives_the_run() {
    let folder = folder("innocent");
    for (number, user) in users().into_iter().enumerate() {
        if !may(&folder, user) {
            continue;
        }
        let word = 80_000_000 + 2 * u64::from(std::process::id()) + number as u64;
        let starts = format!(
            "sleep {word} > /dev/null 2>&1 & exec ./roundelay live --rate 1mbit -q -- true"
        );
        let mut start = Command::new("bash");
        start.args(["-c", &starts]).current_dir(&folder);
        if let Some(user) = user {
            start.uid(user).gid(user);
        }
        let output = retried(|| start.output());
        let left = processes_with(&word.to_string());
        _ = Command::new("pkill")
            .args(["-xf", &format!("sleep {word}")])
            .status();
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(left.len(), 1, "{left:?}");
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

#[test]
fn the_first_process_of_a_container_ends_nothing_but_its_commands() {
    let folder = folder("container");
    let unshare = ["--pid", "--fork", "--mount-proc", "--kill-child"];
    let tried = Command::new("unshare").args(unshare).arg("true").status();
    if !may(&folder, None) || !tried.is_ok_and(|status| status.success()) {
        println!("not run: no namespace of processes");
        return;
    }
    let word = (90_000_000 + 2 * u64::from(std::process::id())).to_string();
    // The page goes to a pipe that nobody reads at first: it is written when the commands have ended.
    let pipe = folder.join("page");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let near = format!("(sleep {word}1 &); sleep .5");
    let starts = format!(
        "sleep {word}2 & (setsid sleep {word}3 &); \
         exec ./roundelay live --rate 1mbit -q --html page -- bash -c '{near}'"
    );
    let mut start = Command::new("unshare");
    start
        .args(unshare)
        .args(["bash", "-c", &starts])
        .current_dir(&folder);
    let mut session = Ended(retried(|| start.spawn()));
    let mut page = fs::File::open(&pipe).expect("a pipe");
    let mut first = [0];
    page.read_exact(&mut first).expect("a page");
    let mut left = processes_with(&format!("sleep {word}"));
    left.retain(|line| line.starts_with("sleep"));
    left.sort();
    let mut rest = Vec::new();
    page.read_to_end(&mut rest).expect("a page");
    assert!(status(&mut session.0).is_some_and(|status| status.success()));
    assert_eq!(left, [format!("sleep {word}2 "), format!("sleep {word}3 ")]);
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// Talks to a server in every wrong way until the run is over: asks again and again and reads nothing,
/// sends garbage, half a request, more than a request may have, or nothing.
fn flood(address: &str, is_over: &AtomicBool) {
    let long = vec![b'x'; 20_000];
    let requests: [&[u8]; 5] = [
        b"GET /metrics HTTP/1.1\r\n\r\n",
        b"\x1b[31m\0\xff\r\n\r\n",
        b"GET /met",
        &long,
        b"",
    ];
    let mut open = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        for request in requests {
            if let Ok(mut stream) = TcpStream::connect(address) {
                _ = stream.set_nonblocking(true);
                _ = stream.write_all(request);
                open.push(stream);
            }
        }
        open.drain(..open.len().saturating_sub(50));
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_flood_of_requests_for_metrics_costs_no_frame_and_no_verdict() {
    let folder = folder("flooded");
    if may(&folder, None) {
        let arguments = [
            "live",
            "--rate",
            "10mbit",
            "--json",
            "--metrics",
            "0.0.0.0:0",
        ];
        let mut start = command(&folder, None, &arguments);
        let near = "for i in {1..200}; do echo $i > /dev/udp/{far}/9; sleep .01; done";
        start.args(["--record", "f.pcapng", "fifo", "--", "bash", "-c", near]);
        start.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut session = Ended(retried(|| start.spawn()));
        let mut messages = BufReader::new(session.0.stderr.take().expect("messages"));
        let mut lines = [String::new(), String::new()];
        for line in &mut lines {
            messages.read_line(line).expect("a line");
        }
        let [address, warning] = &lines;
        let expected = "anybody who reaches this machine can read these metrics";
        assert!(warning.contains(expected), "{warning}");
        let port = address
            .trim()
            .trim_end_matches("/metrics")
            .rsplit(':')
            .next();
        let address = format!("127.0.0.1:{}", port.expect("a port"));
        let is_over = AtomicBool::new(false);
        let output = thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| flood(&address, &is_over));
            }
            let output = into_output(std::mem::replace(&mut session, Ended(idle())));
            is_over.store(true, Ordering::Relaxed);
            output
        });
        let lines = text(&output.stdout);
        assert!(output.status.success(), "{lines}");
        let last = lines.lines().last().expect("a verdict");
        let verdict: Value = serde_json::from_str(last).expect("JSON");
        balances(&verdict);
        let outside = &verdict["ways"][0]["outside"];
        let arrived = verdict["ways"][0]["books"]["arrived"].as_u64();
        assert!(arrived >= Some(200), "{arrived:?}, {outside}");
        assert!(fates(&folder.join("f.pcapng")).1, "the record is whole");
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

#[test]
fn a_slow_reader_of_json_holds_nothing_up() {
    let folder = folder("slow-json");
    if may(&folder, None) {
        // A pipe that is full.
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        writer.write_all(&[b'x'; 65_536]).expect("room in the pipe");
        let arguments = ["live", "--rate", "1mbit", "--json", "--record", "j.pcapng"];
        let mut start = command(&folder, None, &arguments);
        let near = "sleep 3; for i in {1..5}; do echo $i > /dev/udp/{far}/9; done; exec sleep 600";
        start
            .args(["--", "bash", "-c", near])
            .stderr(Stdio::piped());
        let mut session = Ended(retried(|| {
            start.stdout(writer.try_clone()?);
            start.spawn()
        }));
        let record = folder.join("j.pcapng");
        let goes_on = wait(&mut session.0, || fates(&record).0 >= 5);
        assert!(goes_on, "frames pass after lines of JSON are due");
        signal(&session.0, "-TERM");
        let ended = status(&mut session.0);
        assert_eq!(ended.and_then(|status| status.code()), Some(143));
        assert!(fates(&record).1, "the record is whole");
        drop(reader);
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

#[test]
fn a_reader_that_is_gone_ends_the_run_with_a_whole_record() {
    let folder = folder("gone-json");
    if may(&folder, None) {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let arguments = ["live", "--rate", "1mbit", "--json", "--record", "g.pcapng"];
        let mut start = command(&folder, None, &arguments);
        start.args(["--html", "g.html", "--", "bash", "-c", FEW]);
        let output = retried(|| {
            start.stdout(writer.try_clone()?);
            start.stderr(Stdio::piped());
            start.spawn()?.wait_with_output()
        });
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("Broken pipe"), "{told}");
        assert!(fates(&folder.join("g.pcapng")).1, "the record is whole");
        let page = fs::read_to_string(folder.join("g.html")).expect("a page");
        assert!(page.contains("</html>"));
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

#[test]
fn a_planned_change_is_checked_before_the_run() {
    let folder = folder("planned");
    let arguments = [
        "live",
        "--rate",
        "1mbit",
        "--weight",
        "dst port 9 = 60000",
        "--at",
        "500ms queue qfq",
        "--at",
        "100ms rate 2mbit",
        "drr",
        "--",
        "touch",
        "started",
    ];
    let output = run(&folder, None, &arguments);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("--at '500ms queue qfq'"), "{told}");
    assert!(told.contains("legal range 1 to 1024"), "{told}");
    assert!(!folder.join("started").exists());
    fs::remove_dir_all(folder).expect("a folder of ours");
}

#[test]
fn a_full_disk_costs_the_record_and_not_the_report() {
    let folder = folder("full-record");
    if may(&folder, None) {
        for (near, expected) in [("sleep 1; exit 7", 7), ("sleep 1", 1)] {
            let arguments = ["live", "--rate", "1mbit", "--record", "/dev/full", "fifo"];
            let mut start = command(&folder, None, &arguments);
            start.args(["--", "bash", "-c", near]);
            let output = retried(|| start.output());
            let told = text(&output.stderr);
            assert_eq!(output.status.code(), Some(expected), "{told}");
            assert!(
                told.contains("/dev/full: No space left on device"),
                "{told}"
            );
            assert!(told.contains("; the run goes on"), "at once: {told}");
            assert!(told.contains("up: 1mbit under fifo"), "the report: {told}");
        }
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

#[test]
fn a_terminal_that_nobody_reads_does_not_hold_the_end_up() {
    let folder = folder("stuck-view");
    if may(&folder, None) {
        let terminal = Pty::stuck();
        let arguments = ["live", "--rate", "1mbit", "--view", "--record", "v.pcapng"];
        let mut start = command(&folder, None, &arguments);
        start.args(["--", "bash", "-c", FEW]);
        terminal.connect(&mut start);
        let mut session = Ended(retried(|| start.spawn()));
        let record = folder.join("v.pcapng");
        assert!(wait(&mut session.0, || fates(&record).0 >= 5));
        signal(&session.0, "-TERM");
        let ended = status(&mut session.0);
        assert_eq!(ended.and_then(|status| status.code()), Some(143));
        assert!(fates(&record).1, "the record is whole");
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// A scenario with so many packets that its simulation takes long.
const BIG: &str = "duration = '1s'
node = [{ name = 'modem' }, { name = 'isp' }, { name = 'laptop', host = true }, { name = 'server', host = true }]
[[link]]
from = 'modem'
to = 'isp'
rate = '1gbit'
[[link]]
from = 'laptop'
to = 'modem'
rate = '2gbit'
[[link]]
from = 'isp'
to = 'server'
rate = '2gbit'
[[source]]
name = 'call'
kind = 'cbr'
rate = '1gbit'
packet_len = 68
from = 'laptop'
to = 'server'
";

#[test]
fn the_verdict_does_not_wait_for_the_simulation_which_a_signal_ends() {
    let folder = folder("big");
    fs::write(folder.join("big.toml"), BIG).expect("a file");
    if may(&folder, None) {
        let arguments = ["live", "big.toml", "--", "sleep", "3"];
        let mut start = command(&folder, None, &arguments);
        start.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut session = Ended(retried(|| start.spawn()));
        let mut lines = BufReader::new(session.0.stderr.take().expect("a pipe")).lines();
        let mut told = String::new();
        while !told.contains("real-time priority") {
            let line = lines.next().expect("a verdict").expect("text");
            told += &format!("{line}\n");
        }
        signal(&session.0, "-INT");
        for line in lines {
            told += &format!("{}\n", line.expect("text"));
        }
        assert!(
            told.contains("Not simulated: a signal ended the simulation."),
            "{told}"
        );
        let ended = status(&mut session.0);
        assert_eq!(ended.and_then(|status| status.code()), Some(0));
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

#[test]
fn a_signal_gives_its_exit_status_and_a_far_command_that_fails_is_told() {
    let folder = folder("exit");
    if may(&folder, None) {
        let arguments = ["live", "--rate", "1mbit", "--", "sleep", "1", "--"];
        let mut start = command(&folder, None, &arguments);
        start.args(["bash", "-c", "exit 3"]);
        let output = retried(|| start.output());
        let told = text(&output.stderr);
        assert!(output.status.success(), "it is the near command's: {told}");
        let expected = "the command at the far end failed: exit status: 3";
        assert!(told.contains(expected), "{told}");
        // The near command ends well after the signal, too.
        let near = "trap 'exit 0' INT; touch ready; while true; do sleep .01; done";
        let arguments = ["live", "--rate", "1mbit", "-q", "--", "bash", "-c", near];
        let mut start = command(&folder, None, &arguments);
        start.stderr(Stdio::null());
        let mut session = Ended(retried(|| start.spawn()));
        let ready = folder.join("ready");
        assert!(wait(&mut session.0, || ready.exists()));
        signal(&session.0, "-INT");
        let ended = status(&mut session.0);
        assert_eq!(ended.and_then(|status| status.code()), Some(130));
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}
