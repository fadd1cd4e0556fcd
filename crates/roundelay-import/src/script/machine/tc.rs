//! Programs: tc, programs that run tc, and programs that print lines for it.

use roundelay::Fault;

use super::super::call::{Call, Marking, Nft};
use super::super::parse::{Here, Simple};
use super::super::programs::{is_object, is_quiet, is_tc, mentions_tc, unwrapped};
use super::super::restore::Restore;
use super::state::{End, Lines, Machine, RECORD};
use crate::faults::at_line;

/// Commands that come before tc's. We assume that they succeed.
const PREPARING: [&str; 10] = [
    "modprobe",
    "insmod",
    "sysctl",
    "ethtool",
    "sleep",
    "ifconfig",
    "logger",
    "iptables",
    "ip6tables",
    "ip",
];

/// The most letters that we keep of what goes into a pipe or a file.
const MOST_PRINTED: usize = 4 << 20;

impl Machine {
    /// `echo`, `printf` or `cat`, which write lines into a file or a pipe. None if this is another
    /// program.
    pub(super) fn printing(&mut self, simple: &Simple, name: &str, rest: &[String]) -> Option<End> {
        // `printf -v NAME` prints nothing, but sets a variable to text that is not formatted here.
        if name == "printf" && rest.first().is_some_and(|word| word == "-v") {
            let names: Vec<String> = rest.get(1).cloned().into_iter().collect();
            self.unknown_from(simple, &names);
            return Some(End::Done);
        }
        let lines = if name == "cat" {
            self.here_document(simple)?
        } else {
            self.written_lines(simple, name, rest)
        };
        self.print(simple, lines);
        Some(End::Done)
    }

    /// The lines of a command's here-document, if it has one.
    fn here_document(&self, simple: &Simple) -> Option<Lines> {
        simple.here.as_ref().map(|here| self.lines_of(here))
    }

    fn lines_of(&self, here: &Here) -> Lines {
        let mut lines = Vec::new();
        for (number, line) in (here.first..).zip(here.body.lines()) {
            let text = match here.is_quoted {
                true => Ok(line.trim().to_owned()),
                false => self.values().text_of_line(line),
            };
            lines.push((number, text));
        }
        lines
    }

    /// The lines that `echo` or `printf` writes.
    fn written_lines(&self, simple: &Simple, name: &str, rest: &[String]) -> Lines {
        let line = simple.line;
        let text = match self.expanded(line, rest) {
            Ok(words) => words.join(" "),
            Err(fault) => return vec![(line, Err(fault.without_file()))],
        };
        if name == "printf" && text.contains('%') {
            return vec![(line, Err("what `printf` prints is not known".into()))];
        }
        let mut lines = Vec::new();
        for part in text.replace("\\n", "\n").lines() {
            // Options of `echo`.
            let part = part.trim_start_matches("-e ").trim_start_matches("-n ");
            lines.push((line, Ok(part.to_owned())));
        }
        lines
    }

    /// Keeps the lines that go into a file or a pipe.
    pub(super) fn print(&mut self, simple: &Simple, lines: Lines) {
        for (_, text) in &lines {
            self.budget
                .spend(text.as_deref().unwrap_or_default().len() + 48);
        }
        // Their size is counted each time.
        self.budget.spend(self.printed.len());
        let Some((file, adds)) = &simple.into else {
            if self.pipes > 0 && size_of(&self.printed) < MOST_PRINTED {
                self.printed.extend(lines);
            }
            return;
        };
        let Ok(file) = self.values().text(file) else {
            return;
        };
        let kept = self.files.entry(file).or_default();
        self.budget.spend(kept.len());
        if !adds {
            kept.clear();
        }
        if size_of(kept) < MOST_PRINTED {
            kept.extend(lines);
        }
    }

    /// Runs `tc`, directly or behind `sudo`, `ip netns exec` and the like, or another program.
    pub(super) fn program(
        &mut self,
        simple: &Simple,
        name: &str,
        raw: &[String],
    ) -> Result<End, Fault> {
        let line = simple.line;
        let is_call = is_tc(name) || is_object(name);
        let words = match self.expanded(line, raw) {
            Ok(words) => words,
            Err(error) if is_call || (mentions_tc(raw) && !is_quiet(name)) => return Err(error),
            Err(_) => raw.to_vec(),
        };
        if is_object(name) {
            self.ran.calls.push(Call { line, words });
            return Ok(End::Done);
        }
        let start = unwrapped(&words);
        if !words.get(start).is_some_and(|word| is_tc(word)) {
            self.other(simple, name, &words, start)?;
            return Ok(if PREPARING.contains(&name) {
                End::Done
            } else {
                End::Unknown
            });
        }
        let end = if name == "exec" {
            End::Exited
        } else {
            End::Done
        };
        let mut rest = &words[start + 1..];
        while let Some(option) = rest.first().filter(|word| word.starts_with('-')) {
            if is_option("-batch", option, 2) {
                self.batch(simple, rest.get(1))?;
                return Ok(end);
            }
            let takes_a_name =
                is_option("-netns", option, 2) || is_option("-conf", option, 3) || option == "-cf";
            rest = &rest[(1 + usize::from(takes_a_name)).min(rest.len())..];
        }
        let words = rest.to_vec();
        self.ran.calls.push(Call { line, words });
        Ok(end)
    }

    /// `tc -batch FILE`. Runs the lines if the script itself holds them.
    fn batch(&mut self, simple: &Simple, file: Option<&String>) -> Result<(), Fault> {
        let mut lines: Lines = Vec::new();
        let of_input = file.is_none_or(|file| file == "-" || file == "/dev/stdin");
        if let Some(written) = self.here_document(simple) {
            lines = written;
        } else if of_input {
            lines = std::mem::take(&mut self.piped);
        } else if let Some(written) = file.and_then(|file| self.files.get(file)) {
            lines.clone_from(written);
        }
        if lines.is_empty() {
            self.ran.lost_classes = true;
            let text = match file {
                Some(file) if !of_input => {
                    format!("left out: tc reads its commands from {file}; import that file, too")
                }
                _ => "left out: tc reads its commands from another program; write what that \
                      prints into a file, and import that file, too"
                    .to_owned(),
            };
            self.remark(simple.line, text);
        }
        // Words so far of a command that goes on in the next line, and the line where it begins.
        let mut words: Vec<String> = Vec::new();
        let mut start = None;
        for (line, text) in lines {
            let text =
                text.map_err(|fault| at_line(line, fault.behind("a line of tc -batch: ")))?;
            let line = *start.get_or_insert(line);
            let command = text.split('#').next().unwrap_or_default().trim_end();
            let (command, goes_on) = match command.strip_suffix('\\') {
                Some(command) => (command, true),
                None => (command, false),
            };
            words.extend(command.split_whitespace().map(str::to_owned));
            if goes_on {
                continue;
            }
            start = None;
            let mut words = std::mem::take(&mut words);
            if words.first().is_some_and(|word| is_tc(word)) {
                words.remove(0);
            }
            if !words.is_empty() {
                self.ran.calls.push(Call { line, words });
            }
        }
        Ok(())
    }

    /// The lines of the file that a packet filter reads, if the script itself holds them.
    fn rules_of_file(&mut self, simple: &Simple, file: &str) -> Vec<(usize, String)> {
        let mut lines: Lines = Vec::new();
        if let Some(here) = &simple.here {
            let mut here = here.clone();
            // In a document that is expanded, quotes are letters like others.
            if !here.body.contains("$(") && !here.body.contains('`') {
                here.body = here.body.replace('"', QUOTE);
            }
            for (number, text) in self.lines_of(&here) {
                lines.push((number, text.map(|text| text.replace(QUOTE, "\""))));
            }
        } else if ["-", "/dev/stdin"].contains(&file) {
            lines = std::mem::take(&mut self.piped);
        } else if let Some(written) = self.files.get(file) {
            lines.clone_from(written);
        }
        self.budget.spend(size_of(&lines));
        let mut rules = Vec::new();
        for (line, text) in lines {
            // A line that is not known is no rule, and what it stands in has a brace less.
            match text {
                Ok(text) => rules.push((line, text)),
                Err(_) => return Vec::new(),
            }
        }
        rules
    }

    /// A call of a packet filter.
    ///
    /// # Errors
    /// Its rules are more than a script may write.
    fn packet_filter(
        &mut self,
        simple: &Simple,
        program: &str,
        words: &[String],
    ) -> Result<(), Fault> {
        let line = simple.line;
        let mut words = words.to_vec();
        program.clone_into(&mut words[0]);
        let mut rules = Vec::new();
        if program == "nft" {
            if let Some(file) = Nft::of(&words[1..]).file {
                rules = self.rules_of_file(simple, file);
            }
        } else if let Some(of) = program.strip_suffix("-restore") {
            let restore = Restore::of(&words[1..]);
            if restore.is_idle {
                return Ok(());
            }
            let lines = self.rules_of_file(simple, restore.file.unwrap_or("-"));
            if !lines.is_empty() {
                let commands = restore.commands(of, &lines, &self.budget);
                let commands = commands.map_err(|fault| at_line(line, fault))?;
                self.ran.markings.extend(commands);
                return Ok(());
            }
        }
        self.ran.markings.push(Marking { line, words, rules });
        Ok(())
    }

    /// Another program. Some say where packets go, and some run tc.
    ///
    /// `start` is where the program stands, behind those that only run it.
    fn other(
        &mut self,
        simple: &Simple,
        name: &str,
        words: &[String],
        start: usize,
    ) -> Result<(), Fault> {
        let program = name.rsplit('/').next().unwrap_or_default();
        let own = words.get(start).map_or("", String::as_str);
        let own = own.rsplit('/').next().unwrap_or_default();
        // An interface that goes takes its qdiscs with it: scripts try qdiscs at one of their own.
        if let ("ip", Some([object, verb, rest @ ..])) = (own, words.get(start + 1..))
            && object == "link"
            && "delete".starts_with(verb.as_str())
            && let Some(device) = rest.iter().find(|word| *word != "dev")
        {
            let words = ["qdisc", "del", "dev", device, "root"].map(str::to_owned);
            let line = simple.line;
            self.ran.calls.push(Call {
                line,
                words: words.to_vec(),
            });
        }
        if PACKET_FILTERS.contains(&own) {
            return self.packet_filter(simple, own, &words[start..]);
        }
        if ["source", "."].contains(&name) {
            let file = words.get(1).map_or("a file", String::as_str);
            let text = format!("left out: {file} is read here; give its variables with --set");
            self.remark(simple.line, text);
            return Ok(());
        }
        let mut lines = words.to_vec();
        if let Some(here) = &simple.here {
            lines.extend(here.body.lines().map(str::to_owned));
        }
        if !self.piped.is_empty()
            && ["sh", "bash", "ash", "dash", "ssh", "xargs"].contains(&program)
        {
            for (_, line) in &self.piped {
                lines.extend(line.clone());
            }
        }
        if !is_quiet(program) && mentions_tc(&lines) {
            self.ran.lost_classes = true;
            let text = format!("left out: {program} runs tc here, which is not followed; {RECORD}");
            self.remark(simple.line, text);
        }
        Ok(())
    }
}

/// A letter that no script has, in place of a quote.
const QUOTE: &str = "\u{f8ff}";

/// Programs of the packet filter.
const PACKET_FILTERS: [&str; 5] = [
    "iptables",
    "ip6tables",
    "nft",
    "iptables-restore",
    "ip6tables-restore",
];

/// Whether a word is an option of tc, of which it may be the first letters, `least` or more.
fn is_option(option: &str, word: &str, least: usize) -> bool {
    word.len() >= least && option.starts_with(word)
}

/// How many letters the lines have.
fn size_of(lines: &Lines) -> usize {
    let mut size = 0;
    for (_, line) in lines {
        size += line.as_ref().map_or(100, String::len) + 1;
    }
    size
}
