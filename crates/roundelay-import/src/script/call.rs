//! Calls of `tc` in a script, and of programs that mark packets.

/// A `tc` command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// Line of the script.
    pub(crate) line: usize,
    /// The words after `tc`.
    pub(crate) words: Vec<String>,
}

/// A command of a packet filter that marks packets, writes code points or chooses classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marking {
    /// Line of the script.
    pub(crate) line: usize,
    /// The words, the program's name first.
    pub(crate) words: Vec<String>,
    /// Lines of the file that nft reads, with their numbers in the script. Empty if it reads none, or
    /// one that the script does not hold. So they are for `iptables-restore`, whose rules are calls of
    /// their own otherwise.
    pub(crate) rules: Vec<(usize, String)>,
}

/// What the words of nft say, which has its options before a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Nft<'a> {
    /// The file with commands, which is `-` for the standard input.
    pub(crate) file: Option<&'a str>,
    /// It checks them, and does nothing.
    pub(crate) only_checks: bool,
    /// `NAME=VALUE` of `--define`.
    pub(crate) defined: Vec<&'a str>,
    pub(crate) command: &'a [String],
}

impl<'a> Nft<'a> {
    /// Reads the words behind the program's name.
    pub(crate) fn of(words: &'a [String]) -> Self {
        let mut nft = Self::default();
        let mut rest = words.iter();
        loop {
            nft.command = rest.as_slice();
            let Some(word) = rest.next().filter(|word| word.len() > 1) else {
                return nft;
            };
            if word == "--" {
                nft.command = rest.as_slice();
                return nft;
            }
            if let Some(long) = word.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (long, None),
                };
                let Some(letter) = letter_of(name) else {
                    continue;
                };
                let value = match value {
                    None if TAKE_VALUES.contains(letter) => rest.next().map(String::as_str),
                    _ => value,
                };
                nft.take(letter, value);
            } else if let Some(letters) = word.strip_prefix('-') {
                for (at, letter) in letters.char_indices() {
                    if !TAKE_VALUES.contains(letter) {
                        nft.take(letter, None);
                        continue;
                    }
                    let value = &letters[at + letter.len_utf8()..];
                    let value = match value.is_empty() {
                        true => rest.next().map(String::as_str),
                        false => Some(value),
                    };
                    nft.take(letter, value);
                    break;
                }
            } else {
                return nft;
            }
        }
    }

    fn take(&mut self, letter: char, value: Option<&'a str>) {
        match letter {
            'f' => self.file = value,
            'c' => self.only_checks = true,
            'D' => self.defined.extend(value),
            _ => {}
        }
    }
}

/// Letters of nft's options that a value follows.
const TAKE_VALUES: &str = "fDId";

/// The letter of a long option, of which the first letters suffice.
fn letter_of(name: &str) -> Option<char> {
    let long = [
        ("check", 1, 'c'),
        ("file", 1, 'f'),
        ("define", 3, 'D'),
        ("debug", 3, 'd'),
        ("includepath", 3, 'I'),
    ];
    for (option, least, letter) in long {
        if name.len() >= least && option.starts_with(name) {
            return Some(letter);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_nft_are_read_as_it_reads_them() {
        let read = |text: &str| {
            let words = Vec::from_iter(text.split(' ').map(str::to_owned));
            let nft = Nft::of(&words);
            let command = nft.command.join(" ");
            (nft.file.map(str::to_owned), nft.only_checks, command)
        };
        for text in [
            "-f x",
            "-fx",
            "-nf x",
            "-nfx",
            "-a -f x",
            "--file x",
            "--file=x",
            "--fi=x",
            "-D a=1 -f x",
            "-I /etc -f x",
            "--define a=1 --file x",
            "-nd netlink -f x",
        ] {
            assert_eq!(
                read(text),
                (Some("x".to_owned()), false, String::new()),
                "{text}"
            );
        }
        for text in ["-c -f x", "-cf x", "-f x -c", "--check --file=x"] {
            assert_eq!(
                read(text),
                (Some("x".to_owned()), true, String::new()),
                "{text}"
            );
        }
        for text in [
            "-a add rule -f",
            "--handle add rule -f",
            "-- add rule -f",
            "add rule -f",
        ] {
            assert_eq!(
                read(text),
                (None, false, "add rule -f".to_owned()),
                "{text}"
            );
        }
        assert_eq!(read("-f"), (None, false, String::new()));
    }
}
