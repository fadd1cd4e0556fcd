//! What users read first of published kinds of captures: the star, the verdict's text, the commands of
//! tc and the notes. The table of kinds is that of `roundelay-trace`, whose tests judge delays, flows
//! and packets.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::published::{Published, Right, published};

/// Notes that all captures of the table have: on the replay, and on the bulk flow, which sends at a
/// constant rate.
const OF_ALL: [&str; 2] = [
    "A replay is open-loop: TCP does not react to drops and delays.",
    "% of the time the rate is at most 5% below ",
];

/// What the command has printed.
struct Told {
    status: Option<i32>,
    errors: String,
    text: String,
}

impl Told {
    /// Of the disciplines that a reader knows, without any option but the link's rate.
    fn of(capture: &Path) -> Self {
        let output = Command::new(env!("CARGO_BIN_EXE_roundelay"))
            .env_remove("NO_COLOR")
            .env("COLUMNS", "1000")
            .arg("compare")
            .arg(capture)
            .args([
                "fifo",
                "fq_codel linux",
                "drr",
                "--rate",
                "8mbit",
                "--no-cost",
            ])
            .output()
            .unwrap();
        Self {
            status: output.status.code(),
            errors: String::from_utf8(output.stderr).unwrap(),
            text: String::from_utf8(output.stdout).unwrap(),
        }
    }

    /// Disciplines with a star, once each.
    fn stars(&self) -> Vec<&str> {
        let mut stars = Vec::new();
        for line in self.text.lines() {
            if let Some(row) = line.strip_prefix("* ") {
                stars.extend(row.split("  ").next());
            }
        }
        stars.dedup();
        stars
    }

    fn notes(&self) -> Vec<&str> {
        let mut notes = Vec::new();
        for line in self.text.lines() {
            if let Some(note) = line.strip_prefix("Note: ")
                && !OF_ALL.iter().any(|known| note.contains(known))
            {
                notes.push(note);
            }
        }
        notes
    }

    fn commands(&self) -> Vec<&str> {
        let is_command = |line: &&str| line.starts_with("  tc ");
        self.text.lines().filter(is_command).collect()
    }

    /// The sentences before the commands.
    fn verdict(&self) -> &str {
        let is_verdict = |line: &&str| {
            line.contains(" serves this traffic best: ")
                || line.starts_with("All of these serve ")
                || line.starts_with("No discipline is chosen")
        };
        self.text.lines().find(is_verdict).unwrap_or_default()
    }

    /// Faults one by one, so that a reader of the test sees all of a capture's.
    fn faults(&self, published: &Published) -> Vec<String> {
        let mut faults = Vec::new();
        let mut expect = |what: &str, is_right: bool| {
            if !is_right {
                faults.push(format!(
                    "{}: {what}\n{}{}",
                    published.origin, self.text, self.errors
                ));
            }
        };
        expect("success", self.status == Some(0) && self.errors.is_empty());
        let verdict = self.verdict();
        let call = "calls and games (1 flow)".to_owned();
        let mut packets = None;
        let hurt = match published.right {
            Right::CallOf(0) => Some("other light traffic (1 flow)".to_owned()),
            Right::CallOf(number) => {
                packets = Some(number);
                Some(call)
            }
            Right::Call => Some(call),
            Right::NoCall(flows) => {
                expect("no call", !self.text.contains("calls"));
                // All but the bulk flow and multicast DNS.
                Some(format!("other light traffic ({} flows)", flows - 2))
            }
            Right::OneFlow(_) | Right::Encrypted => None,
        };
        if let Some(hurt) = hurt {
            let is_hurt = verdict.contains(&format!(" for {hurt}"))
                && verdict.contains(&format!(" fifo hurts {hurt}: "))
                && verdict.contains("because all flows share one queue");
            let [star] = self.stars()[..] else {
                expect("one star", false);
                return faults;
            };
            let qdisc = star.split(' ').next().unwrap_or_default();
            let is_set = |line: &&str| {
                line.starts_with("  tc qdisc add ") && line.contains(&format!(" {qdisc}"))
            };
            expect(
                "a fair queue's star",
                ["drr", "fq_codel linux"].contains(&star),
            );
            expect(
                "a verdict of the star",
                verdict.starts_with(&format!("{star} serves ")),
            );
            expect("who is hurt", is_hurt);
            expect("commands of the star", self.commands().iter().any(is_set));
            expect("the rate", self.text.contains(" rate 8mbit"));
        } else {
            expect("no commands", self.commands().is_empty());
            expect("nobody is hurt", !self.text.contains("hurts"));
        }
        match published.right {
            Right::OneFlow(label) => {
                expect("fifo's star", self.stars() == ["fifo"]);
                expect("fifo will do", verdict.contains("so fifo will do"));
                expect("its flow", self.text.contains(&format!("\n{label} ")));
            }
            Right::Encrypted => {
                expect("no star", self.stars().is_empty());
                expect("no table", !self.text.contains("  discipline "));
                expect(
                    "the reason",
                    verdict.contains("headers of most packets cannot be read"),
                );
            }
            Right::Call | Right::CallOf(_) | Right::NoCall(_) => {}
        }
        if let Some(packets) = packets {
            let thousands = format!("{},{:03} packets, ", packets / 1000, packets % 1000);
            let first = self.text.lines().nth(1).unwrap_or_default();
            expect("packets", first.starts_with(&thousands));
        }
        let notes = self.notes();
        let are_right = notes.len() == published.notes.len()
            && published
                .notes
                .iter()
                .zip(&notes)
                .all(|(part, note)| note.contains(part));
        expect(
            &format!("notes {:?}, not {notes:?}", published.notes),
            are_right,
        );
        faults
    }
}

/// Kinds that the table lists as wrong: their link types are not read.
const REFUSED: [&str; 2] = [
    "tcpdump LINKTYPE_PKTAP.pcap",
    "tcpdump arcnet-rfc1201-arp-icmp-http.pcap",
];

#[test]
fn users_read_the_right_answer_of_published_kinds_of_captures() {
    let folder = std::env::temp_dir().join(format!("roundelay-answers-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let mut faults = Vec::new();
    for published in published() {
        let path = folder.join("t.pcap");
        fs::write(&path, &published.bytes).unwrap();
        let told = Told::of(&path);
        if REFUSED.contains(&published.origin) {
            let is_refused = told.status == Some(2)
                && told.text.is_empty()
                && told.errors.contains("headers of link type ");
            assert!(
                is_refused,
                "{}: {}{}",
                published.origin, told.text, told.errors
            );
            continue;
        }
        faults.extend(told.faults(&published));
    }
    fs::remove_dir_all(&folder).unwrap();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
