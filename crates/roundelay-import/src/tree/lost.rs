//! Finds qdiscs, classes and filters that no packet reaches.

use std::collections::BTreeMap;

use super::Planter;
use crate::commands::{Class, Device, Handle, Parent, Qdisc};
use crate::noted::Noted;

impl Planter<'_> {
    /// Says what is in the script but not in the tree.
    pub(super) fn note_lost(&mut self) {
        let mut found = Vec::new();
        for qdisc in &self.device.qdiscs {
            let Parent::At(class) = qdisc.parent else {
                continue;
            };
            // A skipped qdisc already has a remark for each queue.
            let is_told = self.notes.iter().any(|note| {
                note.line == qdisc.line && note.text.starts_with(&format!("{} at", qdisc.kind))
            });
            if !self.planted.contains(&qdisc.parent) && !is_told {
                found.push((qdisc.line, self.lost_qdisc(qdisc, class)));
            }
        }
        for class in &self.device.classes {
            let name = class.id.to_string();
            let is_there = self.nodes.iter().any(|node| node.name == name);
            if !is_there && self.is_planted(class) {
                found.push((class.line, format!("class {name} is left out")));
            }
        }
        found.extend(self.lost_filters());
        for (line, text) in found {
            let node = None;
            self.notes.push(Noted { line, node, text });
        }
    }

    /// Whether the class belongs to a qdisc that is in the tree.
    fn is_planted(&self, class: &Class) -> bool {
        let qdisc = with_major(self.device, class.id.major);
        qdisc.is_some_and(|qdisc| self.planted.contains(&qdisc.parent))
    }

    fn lost_qdisc(&self, qdisc: &Qdisc, class: Handle) -> String {
        let kind = &qdisc.kind;
        let Some(above) = with_major(self.device, class.major) else {
            return format!("{kind} at {class} is left out: it does not lead to the root");
        };
        if !self.planted.contains(&above.parent) {
            return format!("{kind} at {class} is left out: it does not lead to the root");
        }
        let aqm = &above.kind;
        match above.kind.as_str() {
            "red" | "sfb" | "choke" if kind == "netem" => format!(
                "netem at {class} is left out: netem below {aqm} holds packets for its delay, and \
                 {aqm} counts these as its queue, so it drops because of the delay. Set netem up \
                 above it, or at another interface"
            ),
            "red" | "sfb" | "choke" => {
                format!("{kind} at {class} is left out: the queue inside {aqm} is a fifo here")
            }
            "prio" | "ets" => format!(
                "{kind} at {class} is left out: {aqm} has no such band, and Linux refuses the \
                 command"
            ),
            "htb" | "hfsc" | "drr" | "qfq" if !self.device.below(class).is_empty() => format!(
                "{kind} at {class} is left out: the class has classes below, so no packet comes \
                 here"
            ),
            "tbf" | "netem" => {
                format!("{kind} at {class} is left out: {aqm} has one queue inside")
            }
            _ => format!(
                "{kind} at {class} is left out: {aqm} takes no qdisc below it, and Linux refuses \
                 the command"
            ),
        }
    }

    /// Remarks on filters. Filters that hang at the same qdisc or class share one.
    fn lost_filters(&self) -> Vec<(usize, String)> {
        let mut parents: BTreeMap<String, (usize, usize, String)> = BTreeMap::new();
        for (filter, tried) in self.device.filters.iter().zip(&self.tried) {
            if *tried || filter.parent == Parent::Ingress {
                continue;
            }
            let (at, why) = self.lost_filter(filter.parent);
            let (_, number, _) = parents.entry(at).or_insert((filter.line, 0, why));
            *number += 1;
        }
        let mut found = Vec::new();
        for (at, (line, number, why)) in parents {
            let what = match number {
                1 => "this filter".to_owned(),
                number => format!("{number} filters"),
            };
            found.push((line, format!("{what} at {at}, left out: {why}")));
        }
        found
    }

    /// Where a filter hangs that no packet reaches, and why none does.
    fn lost_filter(&self, parent: Parent) -> (String, String) {
        let (at, qdisc) = match parent {
            Parent::At(class) => (class.to_string(), with_major(self.device, class.major)),
            _ => ("the root".to_owned(), self.device.root()),
        };
        let why = match qdisc.map(|qdisc| qdisc.kind.as_str()) {
            None => "there is no such qdisc, and Linux refuses the command".to_owned(),
            Some("cake") => {
                "filters of cake choose tins, flows or hosts, and here code points and addresses do"
                    .to_owned()
            }
            Some(kind @ ("htb" | "hfsc" | "drr" | "qfq" | "prio" | "ets")) => {
                format!("no filter before it leads here, or this {kind} is not in the tree")
            }
            Some(kind) => format!("{kind} has no classes that a filter could choose here"),
        };
        (at, why)
    }
}

fn with_major(device: &Device, major: u16) -> Option<&Qdisc> {
    let mut all = device.qdiscs.iter();
    all.find(|qdisc| qdisc.major == major && major != 0)
}
