//! Programs: tc, those that run another one (`sudo`, `time`, `ip netns exec`), and those that only
//! speak of tc.

/// Programs that run the one that follows, and their options that take a value.
const WRAPPERS: [(&str, &[&str]); 11] = [
    ("time", &["-f", "-o"]),
    ("exec", &["-a"]),
    ("command", &[]),
    ("builtin", &[]),
    ("busybox", &[]),
    ("nohup", &[]),
    ("nice", &["-n"]),
    ("ionice", &["-c", "-n"]),
    ("env", &["-u", "-C"]),
    ("doas", &["-u", "-C"]),
    (
        "sudo",
        &["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D"],
    ),
];

/// Whether the word is the program tc.
pub(super) fn is_tc(word: &str) -> bool {
    word == "tc" || word.ends_with("/tc")
}

/// The index of the program itself, behind others that only run it.
pub(super) fn unwrapped(words: &[String]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let program = word.rsplit('/').next().unwrap_or_default();
        if program == "ip" {
            // `ip netns exec NAME`, `ip vrf exec NAME`.
            let exec = words[at..].iter().position(|word| word == "exec");
            match exec {
                Some(index) if index >= 2 => at += index + 2,
                _ => return at,
            }
            continue;
        }
        let Some((_, with_value)) = WRAPPERS.iter().find(|(name, _)| *name == program) else {
            return at;
        };
        at += 1;
        while let Some(word) = words.get(at) {
            if with_value.contains(&word.as_str()) {
                at += 2;
            } else if word.starts_with('-') || word.contains('=') {
                at += 1;
            } else {
                break;
            }
        }
    }
    at
}

/// Whether a text mentions tc together with something that tc does.
pub(super) fn mentions_tc(words: &[String]) -> bool {
    let mut has_tc = false;
    for word in words {
        let parts =
            word.split(|letter: char| letter.is_whitespace() || "\"'`;|&()".contains(letter));
        for part in parts {
            let name = part.trim_start_matches(['$', '{']).trim_end_matches('}');
            if is_tc(part) || (part.starts_with('$') && name.eq_ignore_ascii_case("tc")) {
                has_tc = true;
            } else if has_tc && DOING.contains(&part) {
                return true;
            }
        }
    }
    false
}

/// Words after tc that show it at work.
const DOING: [&str; 7] = ["qdisc", "class", "filter", "-b", "-batch", "$@", "$*"];

/// Whether a line in `tc -batch` may begin with this word.
pub(super) fn is_object(word: &str) -> bool {
    ["qdisc", "class", "filter"].contains(&word)
}

/// Programs that mention tc but do not run it.
pub(super) fn is_quiet(name: &str) -> bool {
    let program = name.rsplit('/').next().unwrap_or_default();
    [
        "echo", "printf", "logger", "log", "which", "type", "grep", "egrep", "fgrep", "sed", "awk",
        "test", "[", "[[", "cat", "ps", "pgrep", "killall", "man",
    ]
    .contains(&program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_program_behind_others_is_found() {
        for (text, at) in [
            ("tc qdisc", 0),
            ("time -p tc qdisc", 2),
            ("nice -n 5 env LANG=C tc qdisc", 5),
            ("sudo -u root -E /sbin/tc qdisc", 4),
            ("ip netns exec blue tc qdisc", 4),
            ("ip -all netns exec tc qdisc", 5),
            ("ip link show", 0),
            ("nsenter -t 1 tc qdisc", 0),
        ] {
            assert_eq!(unwrapped(&words(text)), at, "{text}");
        }
    }

    #[test]
    fn texts_with_commands_of_tc_are_known() {
        for text in [
            "ssh router tc qdisc add",
            "sh -c 'tc class add'",
            "x ${TC} filter",
        ] {
            assert!(mentions_tc(&words(text)), "{text}");
        }
        for text in ["opkg install tc", "x qdisc tc", "etc qdisc"] {
            assert!(!mentions_tc(&words(text)), "{text}");
        }
    }
}
