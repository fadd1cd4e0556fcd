//! The grammar of `tc`: qdiscs, classes and filters, and what is left when all commands have run.

use std::collections::BTreeMap;
use std::fmt;

use roundelay::Fault;
use roundelay::suggestion::alternatives;

use crate::faults::{self, at_line};
use crate::script::Call;

/// Where nobody gives a `prio`, Linux gives the first filter this one, and never less than the
/// next.
const FIRST_OWN_PRIO: u32 = 0xc000;
const LEAST_OWN_PRIO: u32 = 0x8000;

/// `MAJOR:MINOR`, both hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Handle {
    pub(crate) major: u16,
    pub(crate) minor: u16,
}

impl Handle {
    /// The class that a filter names. If it leaves out the major number, the qdisc has this one.
    pub(crate) fn below(text: &str, major: u16) -> Option<Self> {
        let handle = Self::parse(text, major)?;
        (handle.minor != 0).then_some(handle)
    }

    /// Whether a filter names this handle, a qdisc's: `10:0` or `10:`.
    pub(crate) fn is_named(self, text: &str) -> bool {
        text.contains(':') && Self::parse(text, self.major) == Some(self)
    }

    /// Reads `1:10`, `1:`, `:10` (below `major`) or `1`.
    fn parse(text: &str, major: u16) -> Option<Self> {
        let hex = |part: &str, empty: u16| match part {
            "" => Some(empty),
            part => u16::from_str_radix(part.trim_start_matches("0x"), 16).ok(),
        };
        let (left, right) = text.split_once(':').unwrap_or((text, ""));
        if text.is_empty() {
            return None;
        }
        Some(Self {
            major: hex(left, major)?,
            minor: hex(right, 0)?,
        })
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.minor == 0 {
            write!(formatter, "{:x}:", self.major)
        } else {
            write!(formatter, "{:x}:{:x}", self.major, self.minor)
        }
    }
}

/// Where a qdisc or a filter hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parent {
    Root,
    /// For packets that come in: `ingress` and `clsact`.
    Ingress,
    At(Handle),
}

/// A qdisc.
#[derive(Debug, Clone)]
pub(crate) struct Qdisc {
    pub(crate) line: usize,
    pub(crate) parent: Parent,
    /// 0 if tc chooses the number.
    pub(crate) major: u16,
    pub(crate) kind: String,
    pub(crate) words: Vec<String>,
    /// The words of `stab`, the size table.
    pub(crate) stab: Vec<String>,
}

impl Qdisc {
    /// Whether the script gives the qdisc a handle. Without one no command can name it as the
    /// parent of classes, filters or other qdiscs.
    pub(crate) const fn has_handle(&self) -> bool {
        self.major != 0
    }
}

/// A class.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    pub(crate) line: usize,
    pub(crate) id: Handle,
    /// The class above, or the qdisc.
    pub(crate) parent: Handle,
    pub(crate) words: Vec<String>,
}

/// A filter.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    pub(crate) line: usize,
    pub(crate) parent: Parent,
    pub(crate) priority: u32,
    pub(crate) protocol: String,
    pub(crate) kind: String,
    pub(crate) words: Vec<String>,
    /// The `handle` before the kind, which is the mark for `fw`.
    pub(crate) handle: Option<String>,
}

/// What hangs at an interface.
#[derive(Debug, Clone, Default)]
pub(crate) struct Device {
    pub(crate) qdiscs: Vec<Qdisc>,
    pub(crate) classes: Vec<Class>,
    pub(crate) filters: Vec<Filter>,
    /// What to say about commands, with their lines.
    pub(crate) remarks: Vec<(usize, String)>,
}

impl Device {
    /// The qdisc at the root.
    pub(crate) fn root(&self) -> Option<&Qdisc> {
        self.qdiscs
            .iter()
            .find(|qdisc| qdisc.parent == Parent::Root)
    }

    /// The qdisc at a class.
    pub(crate) fn at(&self, class: Handle) -> Option<&Qdisc> {
        self.qdiscs
            .iter()
            .find(|qdisc| qdisc.parent == Parent::At(class))
    }

    /// The class with this name.
    pub(crate) fn class(&self, id: Handle) -> Option<&Class> {
        self.classes.iter().find(|class| class.id == id)
    }

    /// The classes right below a class or a qdisc.
    pub(crate) fn below(&self, parent: Handle) -> Vec<&Class> {
        let all = self.classes.iter();
        all.filter(|class| class.parent == parent).collect()
    }
}

/// What a command is about. Of two that begin alike, tc takes the first.
const OBJECTS: [&str; 8] = [
    "qdisc", "class", "filter", "chain", "actions", "monitor", "exec", "help",
];

/// Verbs that change nothing.
const SHOWING: [&str; 6] = ["show", "list", "lst", "ls", "get", "help"];

/// All interfaces.
#[derive(Debug, Default)]
pub(crate) struct Setup {
    pub(crate) devices: BTreeMap<String, Device>,
    /// What to say about commands that name no interface, with their lines.
    pub(crate) remarks: Vec<(usize, String)>,
}

/// What a command does with its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Add,
    Replace,
    Change,
    Delete,
}

/// Runs the commands.
pub(crate) fn set_up(calls: &[Call]) -> Result<Setup, Fault> {
    let mut setup = Setup::default();
    for call in calls {
        let applied = setup.apply(call);
        applied.map_err(|fault| at_line(call.line, fault))?;
    }
    Ok(setup)
}

/// The words of a command, read one by one.
struct Words<'a> {
    words: &'a [String],
    at: usize,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at)?;
        self.at += 1;
        Some(word)
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).map(String::as_str)
    }

    /// The value after a word.
    fn value(&mut self, of: &str, expected: &str) -> Result<&'a str, Fault> {
        match self.next() {
            Some(found) => Ok(found),
            None => Err(Fault::wanted(expected)
                .behind(format_args!("`{of}` ends the command; "))
                .with_hint(" after it")
                .with_key(of)),
        }
    }

    /// Skips the two times of `estimator`.
    fn skip_estimator(&mut self, of: &str) -> Result<(), Fault> {
        self.value(of, "two times")?;
        self.value(of, "two times")?;
        Ok(())
    }

    fn handle(&mut self, of: &str, major: u16) -> Result<Handle, Fault> {
        let text = self.value(of, "a handle such as 1:10")?;
        match Handle::parse(text, major) {
            Some(handle) => Ok(handle),
            None => {
                let legal = "a handle such as 1:10, with hexadecimal numbers up to ffff";
                Err(faults::value(of, text, legal))
            }
        }
    }

    fn rest(&mut self) -> Vec<String> {
        let rest = self.words[self.at.min(self.words.len())..].to_vec();
        self.at = self.words.len();
        rest
    }
}

/// A parent that no command before has made.
fn not_before(problem: fmt::Arguments<'_>, parent: Handle) -> Fault {
    Fault::new(format!("{problem}; expected it before"))
        .with_given(parent)
        .with_key("parent")
}

/// Whether a word is `full` or the beginning of it, because tc allows both.
fn begins(word: &str, full: &str) -> bool {
    !word.is_empty() && full.starts_with(word)
}

impl Setup {
    fn apply(&mut self, call: &Call) -> Result<(), Fault> {
        let mut words = Words {
            words: &call.words,
            at: 0,
        };
        let written = words.next().unwrap_or_default();
        if written.is_empty() {
            return Ok(());
        }
        let Some(object) = OBJECTS.into_iter().find(|full| begins(written, full)) else {
            return Err(Fault::no_such("object of tc", written, &OBJECTS));
        };
        if ["monitor", "help"].contains(&object) {
            return Ok(());
        }
        if ["chain", "actions", "exec"].contains(&object) {
            let text = format!("left out: `tc {written}` sets up no qdisc, class or filter");
            self.remarks.push((call.line, text));
            return Ok(());
        }
        let verb = match words.next().unwrap_or("show") {
            "chg" => Verb::Change,
            "link" if object == "qdisc" => Verb::Replace,
            word if begins(word, "add") => Verb::Add,
            word if begins(word, "change") => Verb::Change,
            word if begins(word, "replace") => Verb::Replace,
            word if begins(word, "delete") => Verb::Delete,
            word if SHOWING.iter().any(|full| begins(word, full)) => return Ok(()),
            word => {
                let known = ["add", "replace", "change", "del", "show"];
                return Err(Fault::unknown(word, &known, |meant| {
                    let expected = alternatives(&known);
                    format!("`tc {object} {word}`{meant}: expected {expected}")
                }));
            }
        };
        match object {
            "qdisc" => self.qdisc(call.line, verb, &mut words),
            "class" => self.class(call.line, verb, &mut words),
            _ => self.filter(call.line, verb, &mut words),
        }
    }

    fn device(&mut self, name: Option<&str>) -> Result<&mut Device, Fault> {
        let Some(name) = name else {
            return Err(Fault::wanted("`dev NAME`").behind("there is no interface; "));
        };
        Ok(self.devices.entry(name.to_owned()).or_default())
    }

    fn qdisc(&mut self, line: usize, verb: Verb, words: &mut Words<'_>) -> Result<(), Fault> {
        let mut device = None;
        let mut parent = None;
        let mut major = 0;
        let mut stab = Vec::new();
        let mut kind = String::new();
        while let Some(word) = words.next() {
            match word {
                "dev" => device = Some(words.value(word, "an interface")?),
                "root" => parent = Some(Parent::Root),
                "ingress" | "clsact" => {
                    parent = Some(Parent::Ingress);
                    kind = word.to_owned();
                }
                "parent" => {
                    parent = Some(match words.peek() {
                        Some("root") => {
                            words.next();
                            Parent::Root
                        }
                        Some("ffff:fff1" | "ingress" | "ffff:fff2") => {
                            words.next();
                            Parent::Ingress
                        }
                        _ => Parent::At(words.handle(word, 0)?),
                    });
                }
                "handle" => major = words.handle(word, 0)?.major,
                "ingress_block" | "egress_block" => {
                    words.value(word, "a number")?;
                }
                "stab" => {
                    while let Some(key) = words.peek() {
                        let keys = ["mtu", "mpu", "tsize", "overhead", "linklayer"];
                        if !keys.contains(&key) {
                            break;
                        }
                        words.next();
                        let value = words.value(key, "a value")?;
                        stab.extend([key.to_owned(), value.to_owned()]);
                    }
                }
                word if begins(word, "estimator") => words.skip_estimator(word)?,
                word => {
                    kind = word.to_owned();
                    break;
                }
            }
        }
        let options = words.rest();
        let device = self.device(device)?;
        let parent = match parent {
            Some(parent) => parent,
            // A change may name the qdisc by its handle.
            None => {
                let known = device.qdiscs.iter().find(|qdisc| qdisc.major == major);
                let found = known.filter(|_| major != 0).map(|qdisc| qdisc.parent);
                match (found, verb) {
                    (Some(parent), _) => parent,
                    (None, Verb::Delete) => return Ok(()),
                    _ => return Err(Fault::wanted("root, or parent and a class")),
                }
            }
        };
        if verb == Verb::Delete {
            device.remove_qdisc(parent);
            return Ok(());
        }
        if kind.is_empty() {
            return Err(Fault::wanted("a kind of qdisc, such as htb or fq_codel"));
        }
        device.check_parent(parent, major)?;
        let old = device
            .qdiscs
            .iter_mut()
            .find(|qdisc| qdisc.parent == parent);
        if let Some(old) = old {
            if verb == Verb::Add && parent != Parent::Ingress {
                let line = old.line;
                return Err(Fault::wanted("replace, or del before it")
                    .behind(format_args!("there is a qdisc already, of line {line}; ")));
            }
            // With another handle, Linux makes a new qdisc even of the same kind.
            if old.kind == kind && (major == 0 || old.major == major) {
                old.line = line;
                if verb == Verb::Change {
                    old.words.extend(options);
                } else {
                    old.words = options;
                }
                return Ok(());
            }
            device.remove_qdisc(parent);
        }
        device.check_room()?;
        device.qdiscs.push(Qdisc {
            line,
            parent,
            major,
            kind,
            words: options,
            stab,
        });
        Ok(())
    }

    fn class(&mut self, line: usize, verb: Verb, words: &mut Words<'_>) -> Result<(), Fault> {
        let mut device = None;
        let mut id = None;
        let mut parent = None;
        let mut kind = String::new();
        while let Some(word) = words.next() {
            match word {
                "dev" => device = Some(words.value(word, "an interface")?),
                "root" => {}
                "parent" => parent = Some(words.handle(word, 0)?),
                "classid" | "handle" => {
                    let major = parent.map_or(0, |parent: Handle| parent.major);
                    id = Some(words.handle(word, major)?);
                }
                word if begins(word, "estimator") => words.skip_estimator(word)?,
                word => {
                    kind = word.to_owned();
                    break;
                }
            }
        }
        let options = words.rest();
        let device = self.device(device)?;
        let Some(id) = id else {
            return Err(Fault::wanted("`classid MAJOR:MINOR`"));
        };
        if id.minor == 0 && verb != Verb::Delete {
            return Err(Fault::wanted("a minor number from 1 to ffff")
                .behind(format_args!("`classid {id}` is a qdisc's; "))
                .with_given(id)
                .with_key("classid"));
        }
        let old = device.classes.iter().position(|class| class.id == id);
        match (verb, old) {
            (Verb::Delete, Some(index)) => {
                device.classes.remove(index);
                device.remove_qdisc(Parent::At(id));
                return Ok(());
            }
            (Verb::Delete, None) => return Ok(()),
            (Verb::Add, Some(index)) => {
                let line = device.classes[index].line;
                return Err(Fault::wanted("replace or change")
                    .behind(format_args!(
                        "class {id} is there already, of line {line}; "
                    ))
                    .with_given(id));
            }
            (Verb::Change, None) => {
                return Err(Fault::wanted("add before change")
                    .behind(format_args!("class {id} is not there; "))
                    .with_given(id));
            }
            _ => {}
        }
        if kind.is_empty() {
            return Err(Fault::wanted("a kind of class, such as htb"));
        }
        if let Some(index) = old {
            let old = &mut device.classes[index];
            old.line = line;
            old.words = options;
            if parent.is_some_and(|parent| parent != old.parent) {
                let parent = old.parent;
                let message = format!("class {id} has the parent {parent}, which cannot change");
                return Err(Fault::new(message).with_legal(parent));
            }
            return Ok(());
        }
        let root = Handle { minor: 0, ..id };
        let parent = parent.unwrap_or(root);
        let above = device.qdiscs.iter().find(|qdisc| qdisc.major == id.major);
        let Some(above) = above else {
            return Err(
                Fault::wanted(format_args!("one with handle {root} before it"))
                    .behind(format_args!("class {id} has no qdisc; "))
                    .with_given(id),
            );
        };
        if above.kind != kind {
            let expected = &above.kind;
            let message = format!("class {id} is of {kind}; its qdisc {root} is of {expected}");
            return Err(Fault::new(message).with_given(kind).with_legal(expected));
        }
        let has_parent = parent == root || device.class(parent).is_some();
        if !has_parent || parent == id {
            return Err(not_before(
                format_args!("class {id} has the parent {parent}, which is not there"),
                parent,
            ));
        }
        device.check_room()?;
        device.classes.push(Class {
            line,
            id,
            parent,
            words: options,
        });
        Ok(())
    }

    fn filter(&mut self, line: usize, verb: Verb, words: &mut Words<'_>) -> Result<(), Fault> {
        let mut device = None;
        let mut parent = Parent::Root;
        let mut priority = 0;
        let mut wrote_zero = false;
        let mut protocol = "all".to_owned();
        let mut handle = None;
        let mut kind = String::new();
        while let Some(word) = words.next() {
            match word {
                "dev" => device = Some(words.value(word, "an interface")?),
                "root" => parent = Parent::Root,
                "ingress" | "egress" => parent = Parent::Ingress,
                "parent" => {
                    let class = words.handle(word, 0)?;
                    parent = match class.major {
                        0xffff => Parent::Ingress,
                        _ => Parent::At(class),
                    };
                }
                "prio" | "pref" | "preference" | "priority" => {
                    let text = words.value(word, "a number from 1 to 65535")?;
                    let number =
                        crate::units::whole(text).and_then(|number| u32::try_from(number).ok());
                    let Some(number) = number else {
                        return Err(faults::value(word, text, "a number from 1 to 65535"));
                    };
                    priority = number;
                    wrote_zero = number == 0;
                }
                "protocol" | "proto" => {
                    protocol = words.value(word, "a protocol such as ip")?.to_owned();
                }
                "handle" => handle = Some(words.value(word, "a number")?.to_owned()),
                "chain" | "block" => {
                    words.value(word, "a number")?;
                }
                word if begins(word, "estimator") => words.skip_estimator(word)?,
                word => {
                    kind = word.to_owned();
                    break;
                }
            }
        }
        let options = words.rest();
        let device = self.device(device)?;
        if verb == Verb::Delete {
            device.filters.retain(|filter| {
                let is_other = priority != 0 && filter.priority != priority;
                filter.parent != parent || is_other
            });
            return Ok(());
        }
        if kind.is_empty() {
            return Err(Fault::wanted("a kind of filter, such as u32 or flower"));
        }
        if priority == 0 {
            // Linux takes one less than the smallest of those from 0x8000 on. So it tries the
            // newest of these filters first, and all of them behind filters with a small prio.
            let mut smallest = FIRST_OWN_PRIO + 1;
            let mut has_others = false;
            for filter in device
                .filters
                .iter()
                .filter(|filter| filter.parent == parent)
            {
                has_others = true;
                if filter.priority >= LEAST_OWN_PRIO {
                    smallest = smallest.min(filter.priority);
                }
            }
            priority = smallest - 1;
            if has_others {
                let none = match wrote_zero {
                    true => "prio 0 counts as none",
                    false => "this filter has no prio",
                };
                let place = if priority < FIRST_OWN_PRIO {
                    "before those without one that are there"
                } else {
                    "behind those that have one"
                };
                let text = format!("{none}, so Linux tries it {place}");
                device.remarks.push((line, text));
            }
        }
        device.check_room()?;
        device.filters.push(Filter {
            line,
            parent,
            priority,
            protocol,
            kind,
            words: options,
            handle,
        });
        Ok(())
    }
}

/// The most classes, qdiscs and filters of an interface together, because each is compared with those
/// before it.
pub(crate) const MOST_OBJECTS: usize = 8192;

impl Device {
    /// Whether there is room for one more.
    fn check_room(&self) -> Result<(), Fault> {
        if self.qdiscs.len() + self.classes.len() + self.filters.len() < MOST_OBJECTS {
            return Ok(());
        }
        Err(Fault::wanted(format!("at most {MOST_OBJECTS}"))
            .behind("too many classes, qdiscs and filters at one interface; "))
    }

    /// Whether a qdisc with this handle may hang there.
    fn check_parent(&self, parent: Parent, major: u16) -> Result<(), Fault> {
        for qdisc in &self.qdiscs {
            let is_other = qdisc.parent != parent && parent != Parent::Ingress;
            if major != 0 && qdisc.major == major && is_other {
                let line = qdisc.line;
                let handle = format!("{major:x}:");
                return Err(Fault::wanted("another")
                    .behind(format_args!("handle {handle} is that of line {line}; "))
                    .with_given(handle)
                    .with_key("handle"));
            }
        }
        let Parent::At(class) = parent else {
            return Ok(());
        };
        let mut above = self.qdiscs.iter();
        let Some(above) = above.find(|qdisc| qdisc.major == class.major && class.major != 0) else {
            let major = class.major;
            return Err(not_before(
                format_args!("parent {class}: there is no qdisc {major:x}:"),
                class,
            ));
        };
        let has_classes = ["htb", "hfsc", "drr", "qfq"].contains(&above.kind.as_str());
        if has_classes && self.class(class).is_none() {
            return Err(not_before(
                format_args!("parent {class}: there is no such class"),
                class,
            ));
        }
        Ok(())
    }

    /// Removes a qdisc and everything below it.
    fn remove_qdisc(&mut self, parent: Parent) {
        let Some(index) = self.qdiscs.iter().position(|qdisc| qdisc.parent == parent) else {
            return;
        };
        let removed = self.qdiscs.remove(index);
        if parent == Parent::Root {
            self.qdiscs.retain(|qdisc| qdisc.parent == Parent::Ingress);
            self.classes.clear();
            self.filters
                .retain(|filter| filter.parent == Parent::Ingress);
            return;
        }
        if !removed.has_handle() {
            return;
        }
        let major = removed.major;
        let mut below = Vec::new();
        for qdisc in &self.qdiscs {
            if let Parent::At(handle) = qdisc.parent
                && handle.major == major
            {
                below.push(qdisc.parent);
            }
        }
        self.classes.retain(|class| class.id.major != major);
        self.filters.retain(|filter| match filter.parent {
            Parent::At(handle) => handle.major != major,
            _ => true,
        });
        for parent in below {
            self.remove_qdisc(parent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(lines: &[&str]) -> Vec<Call> {
        let mut calls = Vec::new();
        for (number, line) in lines.iter().enumerate() {
            let words = line.split_whitespace().map(str::to_owned).collect();
            let line = number + 1;
            calls.push(Call { line, words });
        }
        calls
    }

    #[test]
    fn a_device_is_what_the_commands_leave() {
        let setup = set_up(&calls(&[
            "qdisc add dev eth0 root handle 1: htb default 20",
            "qdisc del dev eth0 root",
            "qdisc add dev eth0 handle 1: root htb default 10 r2q 20",
            "class add dev eth0 parent 1: classid 1:1 htb rate 20mbit",
            "class add dev eth0 parent 1:1 classid :10 htb rate 1mbit",
            "class replace dev eth0 parent 1:1 classid 1:10 htb rate 2mbit",
            "qdisc add dev eth0 parent 1:10 handle 110: fq_codel",
            "filter add dev eth0 parent 1: protocol ip prio 5 u32 match ip dport 53 0xffff flowid 1:10",
            "filter add dev eth0 parent 1: protocol ip prio 6 u32 match ip dport 54 0xffff flowid 1:10",
            "filter del dev eth0 parent 1: prio 6",
            "qdisc show dev eth0",
        ]));
        let setup = setup.expect("commands");
        let device = &setup.devices["eth0"];
        assert_eq!(
            device.root().expect("a root").words,
            ["default", "10", "r2q", "20"]
        );
        assert_eq!(device.classes.len(), 2);
        assert_eq!(device.classes[1].id.to_string(), "1:10");
        assert_eq!(device.classes[1].words, ["rate", "2mbit"]);
        assert_eq!(device.filters.len(), 1);
        let leaf = device
            .at(Handle {
                major: 1,
                minor: 0x10,
            })
            .expect("a qdisc");
        assert_eq!((leaf.kind.as_str(), leaf.major), ("fq_codel", 0x110));
    }

    #[test]
    fn errors_say_what_was_expected() {
        for (line, part) in [
            ("qdisc add dev eth0", "expected root"),
            ("qdisc add dev eth0 root", "kind of qdisc"),
            ("qdisc add root htb", "dev NAME"),
            ("qdisc frob dev eth0", "expected add, replace"),
            ("qdisc add dev", "ends the command"),
            (
                "class add dev eth0 parent 1: classid 1:1 htb rate 1mbit",
                "has no qdisc",
            ),
            ("class add dev eth0 parent 1: htb", "classid MAJOR:MINOR"),
            (
                "class add dev eth0 parent 1: classid 1:xyz htb",
                "handle such as 1:10",
            ),
            ("filter add dev eth0 parent 1: prio x u32", "1 to 65535"),
        ] {
            let error = set_up(&calls(&[line])).expect_err(line);
            assert!(error.message().contains(part), "{line}: {error}");
        }
    }
}
