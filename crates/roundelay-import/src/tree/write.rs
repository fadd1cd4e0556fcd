//! Writes a tree's file.

use super::Planted;
use crate::noted::reserves;

/// If a line would be longer than this, each rule gets a line of its own.
const WIDTH: usize = 100;

/// The tree's file. `head` holds the comments for its top.
pub(crate) fn written(
    name: &str,
    head: &[String],
    planted: &Planted,
    is_recording: bool,
) -> String {
    let whole = if is_recording { "recording" } else { "script" };
    let Planted {
        nodes,
        rules,
        notes,
    } = planted;
    let mut text = String::new();
    for line in head {
        comment(&mut text, line);
    }
    let known = |node: &str| nodes.iter().any(|other| other.name == node);
    for note in notes {
        if !note.node.as_deref().is_some_and(known) {
            comment(&mut text, &note.told());
        }
    }
    text += &format!("name = {}\n", quoted(name));
    let reserves = Vec::from_iter(reserves(notes).iter().map(|text| quoted(text)));
    if !reserves.is_empty() {
        text += &format!("reserve = [\n    {},\n]\n", reserves.join(",\n    "));
    }
    for (rule, leaf) in rules {
        text += &format!(
            "\n[[rule]]\nmatch = {}\nleaf = {}\n",
            quoted(rule),
            quoted(leaf)
        );
    }
    for node in nodes {
        text.push('\n');
        let lines: Vec<String> = node.lines.iter().map(usize::to_string).collect();
        match lines.len() {
            0 => {}
            1 => comment(&mut text, &format!("Line {} of the {whole}.", lines[0])),
            _ => comment(
                &mut text,
                &format!("Lines {} of the {whole}.", lines.join(", ")),
            ),
        }
        for note in notes {
            if note.node.as_ref() == Some(&node.name) {
                comment(&mut text, &note.told());
            }
        }
        of_node(&mut text, node);
    }
    text
}

fn of_node(text: &mut String, node: &super::Node) {
    *text += &format!("[[node]]\nname = {}\n", quoted(&node.name));
    if let Some(parent) = &node.parent {
        *text += &format!("parent = {}\n", quoted(parent));
    }
    *text += &format!("discipline = {}\n", quoted(&node.discipline));
    for (key, value) in &node.keys {
        *text += &format!("{key} = {value}\n");
    }
    if !node.rules.is_empty() {
        let rules: Vec<String> = node.rules.iter().map(|rule| quoted(rule)).collect();
        let line = format!("flows = [{}]\n", rules.join(", "));
        if line.len() <= WIDTH {
            *text += &line;
        } else {
            *text += &format!("flows = [\n    {},\n]\n", rules.join(",\n    "));
        }
    }
    if node.is_default {
        *text += "default = true\n";
    }
}

/// Whether a letter controls a terminal, or reverses the reading order: the tree is printed.
fn steers(letter: char) -> bool {
    let reverses = matches!(letter, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}');
    letter.is_control() || reverses
}

/// Writes a comment without letters that would end it.
fn comment(text: &mut String, line: &str) {
    *text += "# ";
    for letter in line.chars() {
        text.push(if steers(letter) { ' ' } else { letter });
    }
    text.push('\n');
}

/// A name as it comes back from the file.
pub(super) fn readable(name: &str) -> String {
    let calm = name.replace(steers, " ");
    calm.trim().to_owned()
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if steers(letter) => quoted.push(' '),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
