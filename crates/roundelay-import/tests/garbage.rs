//! Whatever is read, the answer is a tree that reads back or an error.

use std::fs;
use std::path::Path;
use std::time::Instant;

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

/// Each took minutes of a processor or hours: letters, words and classes were compared with all
/// before them.
#[test]
fn long_scripts_end_soon() {
    const ROOT: &str = "tc qdisc add dev eth0 root handle 1: htb\n";
    let classes = |place: fn(usize) -> usize| {
        let mut script = ROOT.to_owned();
        for number in 1..60_000 {
            let above = place(number);
            script += &format!(
                "tc class add dev eth0 parent 1:{above:x} classid 1:{number:x} htb rate 1mbit\n"
            );
        }
        script
    };
    let filters: Vec<String> = (1..40_000)
        .map(|port| {
            format!(
                "tc filter add dev eth0 parent 1: u32 match ip dport {port} 0xffff flowid 1:1\n"
            )
        })
        .collect();
    let words = "a ".repeat(500_000);
    // RouterOS: children before their parents, and products of lists.
    let nested = |depth: usize| {
        let mut text = "/queue tree\n".to_owned();
        for number in (1..depth).rev() {
            text += &format!("add name=q{number} parent=q{} max-limit=1M\n", number - 1);
        }
        text
    };
    let many = |word: &str| {
        let mut text = format!("{word}=10.0.0.0");
        for number in 0..10_000 {
            text += &format!(",10.1.{}.{}", number / 256, number % 256);
        }
        text
    };
    let product = format!(
        "/queue simple\nadd name=a {} {}\n",
        many("target"),
        many("dst")
    );
    let mut marks = "/ip firewall mangle\n".to_owned();
    for _ in 0..4_000 {
        marks += "add action=mark-connection new-connection-mark=c protocol=udp\n\
                  add action=mark-packet connection-mark=c new-packet-mark=p\n";
    }
    marks += "/queue tree\n";
    let restored = |lines: &str, times: usize| {
        let once = "iptables-restore /tmp/rules\n";
        format!("cat > /tmp/rules <<'E'\n{lines}E\n{}", once.repeat(times))
    };
    let circle = "/queue tree\nadd name=a parent=b\nadd name=b parent=a\n";
    for (script, part) in [
        ("(".repeat(1_000_000), "too many `((`"),
        (classes(|_| 0), "at most 8192"),
        (classes(|number| number - 1), "at most 8192"),
        (ROOT.to_owned() + &filters.concat(), "at most 8192"),
        (
            format!("set -- {words}\n{}", "shift\n".repeat(400_000)),
            "more than",
        ),
        (nested(8_000) + circle, "go in a circle"),
        (nested(9_000), "at most 8192"),
        (product, "at most 8192"),
        (marks, "at most 8192"),
        (restored(&"*a\n".repeat(1_300_000), 1), "more than 64 MB"),
        (
            restored(&format!("*a\n{}", "-A P\n".repeat(180_000)), 12),
            "more than 64 MB",
        ),
    ] {
        let begun = Instant::now();
        let told = import(&Settings::default(), &script).expect_err(part);
        assert!(told.to_string().contains(part), "{told}");
        assert!(told.line().is_some(), "{told}");
        assert!(
            begun.elapsed().as_secs() < 120,
            "{told}: {:?}",
            begun.elapsed()
        );
    }
}

/// Marks without filters before many filters, rules that are deleted or flushed.
#[test]
fn scripts_with_many_marks_end_soon() {
    let classes = "tc qdisc add dev eth0 root handle 1: htb default 9\n\
                   tc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit\n\
                   tc class add dev eth0 parent 1: classid 1:9 htb rate 1mbit\n\
                   tc filter add dev eth0 parent 1: prio 1 handle 1 fw classid 1:1\n";
    let mut filters = classes.to_owned();
    let mut rules = "mark set 1\n".to_owned();
    for port in 1..2_000 {
        filters += &format!(
            "tc filter add dev eth0 parent 1: protocol ip prio 5 u32 match ip dport {port} 0xffff \
             flowid 1:1\n"
        );
        rules += &format!("udp dport {port} mark set 9\n");
    }
    let chain = |rules: &str| {
        format!(
            "nft -f - <<'E'\ntable inet f {{ chain post {{ type filter hook postrouting priority \
             0;\n{rules}}} }}\nE\n"
        )
    };
    let add = "iptables -A FORWARD -p udp --dport 7 -j MARK --set-mark 9\n".repeat(8_000);
    let delete = add.replace("-A", "-D");
    let flush = "*mangle\n".repeat(8_000);
    for script in [
        filters.clone() + &chain(&rules),
        filters + &chain(&"mark set 9\n".repeat(16_000)),
        format!("{classes}{add}{delete}"),
        format!("{classes}{add}iptables-restore <<'E'\n{flush}COMMIT\nE\n"),
    ] {
        let begun = Instant::now();
        let ended = import(&Settings::default(), &script);
        assert!(begun.elapsed().as_secs() < 120, "{:?}", ended.map(drop));
    }
}

#[test]
fn names_do_not_reverse_the_reading_order() {
    let script = "tc qdisc add dev 'e\u{202e}\u{9b}0' root handle 1: htb\n\
                  tc class add dev 'e\u{202e}\u{9b}0' parent 1: classid 1:1 htb rate 1mbit\n\
                  tc filter add dev 'e\u{202e}\u{9b}0' parent 1: u32 '\u{2066}' flowid 1:1\n";
    let tree = import(&Settings::default(), script).expect("a tree").tree;
    assert!(
        !tree.contains(['\u{202e}', '\u{9b}', '\u{2066}']),
        "{tree:?}"
    );
}
