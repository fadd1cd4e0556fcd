//! Patterns of `case`: `*`, `?` and `[..]`.

/// Whether a text matches a pattern.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let mut at = 0;
    let mut index = 0;
    // On a mismatch the last `*` covers one letter more. This is the index behind it in the
    // pattern, and the index of the next letter in the text.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        if pattern.get(at) == Some(&'*') {
            at += 1;
            retry = Some((at, index));
            continue;
        }
        if at == pattern.len() && index == text.len() {
            return true;
        }
        let next = text
            .get(index)
            .and_then(|letter| one(&pattern[at..], *letter));
        match (next, retry) {
            (Some(length), _) => {
                at += length;
                index += 1;
            }
            (None, Some((after, covered))) if covered < text.len() => {
                at = after;
                index = covered + 1;
                retry = Some((after, index));
            }
            _ => return false,
        }
    }
}

/// How many letters of the pattern match this one. None if it does not match.
fn one(pattern: &[char], letter: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['[', rest @ ..] => {
            let Some(end) = rest.iter().skip(1).position(|letter| *letter == ']') else {
                return (letter == '[').then_some(1);
            };
            let inside = &rest[..=end];
            let (is_not, inside) = match inside {
                ['!' | '^', inside @ ..] => (true, inside),
                inside => (false, inside),
            };
            (holds(inside, letter) != is_not).then_some(end + 3)
        }
        [first, ..] => (*first == letter).then_some(1),
        [] => None,
    }
}

fn holds(inside: &[char], letter: char) -> bool {
    let mut at = 0;
    while at < inside.len() {
        if let [first, '-', last, ..] = inside[at..] {
            if (first..=last).contains(&letter) {
                return true;
            }
            at += 3;
        } else {
            if inside[at] == letter {
                return true;
            }
            at += 1;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_in_a_shell() {
        for (pattern, text) in [
            ("*", ""),
            ("a*c*", "abcd"),
            ("*.qos", "simple.qos"),
            ("eth?", "eth0"),
            ("eth[0-9]", "eth7"),
            ("[!e]*", "wan"),
            ("a*b*c", "aXbXbc"),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("", "a"),
            ("a*c", "abcd"),
            ("eth?", "eth"),
            ("eth[0-9]", "ethx"),
            ("[!e]*", "eth0"),
        ] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }
}
