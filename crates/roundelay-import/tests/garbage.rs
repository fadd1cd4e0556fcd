//! Whatever is read, the answer is a tree that reads back or an error.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use roundelay_import::{Settings, import};

use crate::scripts::read_back;

/// Lines of all scripts.
fn lines() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).expect("scripts") {
        let path = entry.expect("a file").path();
        if path.extension().is_some_and(|extension| extension == "sh") {
            names.push(path);
        }
    }
    names.sort();
    let mut lines = Vec::new();
    for path in names {
        let text = fs::read_to_string(path).expect("a script");
        lines.extend(text.lines().map(str::to_owned));
    }
    lines
}

fn check(text: &str) {
    let settings = Settings {
        name: "s".to_owned(),
        ..Settings::default()
    };
    if let Ok(imported) = import(&settings, text)
        && let Err(error) = read_back(&imported.tree)
    {
        panic!("{error}\n{text}\n{}", imported.tree);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "[ -~\n\t\u{e9}]{0,200}") {
        check(&text);
    }

    #[test]
    fn any_words_are_read_or_refused(words in prop::collection::vec(prop::sample::select(vec![
        "tc", "qdisc", "class", "filter", "add", "del", "replace", "dev", "eth0", "root", "parent", "1:", "1:1",
        "1:2", "2:", "handle", "classid", "htb", "prio", "ets", "tbf", "fq_codel", "rate", "1mbit", "limit", "7",
        "u32", "match", "ip", "dport", "0xffff", "flowid", "\n", ";", "$X", "X=1", "if", "then", "fi", "for",
        "in", "do", "done", "{", "}", "(", ")", "f()", "f", "case", "esac", "&&", "||", "|", "\"", "'", "`", "$((",
        "))", "${X", "<<", "E", "-batch", "\\\n",
    ]), 0..60)) {
        check(&words.join(" "));
    }

    #[test]
    fn scripts_with_lines_lost_twice_and_cut_are_read_or_refused(
        picks in prop::collection::vec((any::<prop::sample::Index>(), 0..40_usize, 0..8_u8), 1..40),
    ) {
        let all = lines();
        let mut text = String::new();
        for (at, length, how) in picks {
            let first = at.index(all.len());
            for line in &all[first..(first + length).min(all.len())] {
                text.push_str(line);
                text.push('\n');
            }
            if how == 0 {
                text.pop();
                text.pop();
            }
        }
        check(&text);
    }
}
