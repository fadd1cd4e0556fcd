//! `$((..))` and `((..))`: whole numbers with a shell's operators.

use std::collections::BTreeMap;

use roundelay::Fault;

/// The most parentheses inside each other.
const DEEPEST: usize = 64;

/// The value, or why there is none.
pub(super) fn value(text: &str, variables: &BTreeMap<String, String>) -> Result<i64, Fault> {
    let (value, set) = run(text, variables)?;
    match set.first_key_value() {
        None => Ok(value),
        Some((name, _)) => {
            let message =
                format!("`$(({text}))` sets {name} while a word is read, which is not followed");
            Err(Fault::new(message).with_given(text))
        }
    }
}

/// The value, and the variables that the text sets.
pub(super) fn run(
    text: &str,
    variables: &BTreeMap<String, String>,
) -> Result<(i64, BTreeMap<String, String>), Fault> {
    let mut reader = Reader {
        letters: text.chars().collect(),
        at: 0,
        depth: 0,
        variables,
        set: BTreeMap::new(),
    };
    let mut value = reader.assignment()?;
    while reader.sign(&[","]).is_some() {
        value = reader.assignment()?;
    }
    reader.skip();
    if reader.at < reader.letters.len() {
        return Err(Fault::new(format!("`$(({text}))` is not understood")).with_given(text));
    }
    Ok((value, reader.set))
}

/// The names that a text may set.
pub(super) fn names_set(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let is_of_name = |letter: char| letter == '_' || letter.is_alphanumeric();
    let mut rest = text;
    while let Some(start) = rest.find(is_of_name) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|letter| !is_of_name(letter));
        let (name, after) = from.split_at(end.unwrap_or(from.len()));
        let next = after.trim_start();
        let is_set = before.trim_end().ends_with("++")
            || before.trim_end().ends_with("--")
            || (next.starts_with('=') && !next.starts_with("=="))
            || ASSIGNING.iter().any(|sign| next.starts_with(sign));
        if is_set {
            names.push(name.to_owned());
        }
        rest = after;
    }
    names
}

/// Operators that set the variable before or behind them.
const ASSIGNING: [&str; 10] = ["++", "--", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "|="];

/// Operators with two sides, the weakest first.
const LEVELS: [&[&str]; 5] = [
    &["||", "&&"],
    &["==", "!=", "<=", ">=", "<", ">"],
    &["<<", ">>", "&", "|", "^"],
    &["+", "-"],
    &["*", "/", "%"],
];

struct Reader<'a> {
    letters: Vec<char>,
    at: usize,
    depth: usize,
    variables: &'a BTreeMap<String, String>,
    /// What the text has set so far.
    set: BTreeMap<String, String>,
}

impl Reader<'_> {
    fn skip(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    /// Takes one of these operators, unless a longer one comes there.
    fn sign(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        self.skip();
        for sign in signs {
            let end = (self.at + sign.len()).min(self.letters.len());
            let found: String = self.letters[self.at..end].iter().collect();
            let next = self.letters.get(end).copied();
            let is_longer = sign.len() == 1 && next.is_some_and(|next| "<>=&|".contains(next));
            if found == **sign && !is_longer {
                self.at = end;
                return Some(sign);
            }
        }
        None
    }

    /// Reads `NAME = VALUE`, `NAME += VALUE`, `CONDITION ? ONE : OTHER`, or a value.
    fn assignment(&mut self) -> Result<i64, Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("more than {DEEPEST} parts inside each other").into());
        }
        let value = self.assigned()?;
        self.depth -= 1;
        Ok(value)
    }

    fn assigned(&mut self) -> Result<i64, Fault> {
        let start = self.at;
        self.skip();
        let name = self.word();
        let is_name = name
            .chars()
            .next()
            .is_some_and(|letter| !letter.is_ascii_digit());
        if is_name {
            self.skip();
            for sign in ["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^"] {
                if self.stands(&format!("{sign}=")) {
                    self.at += sign.len() + 1;
                    let right = self.assignment()?;
                    let left = self.of_name(&name)?;
                    return self.keep(&name, sum(left, sign, right)?);
                }
            }
            if self.stands("=") && !self.stands("==") {
                self.at += 1;
                let value = self.assignment()?;
                return self.keep(&name, value);
            }
        }
        self.at = start;
        let value = self.binary(0)?;
        if self.sign(&["?"]).is_none() {
            return Ok(value);
        }
        let before = self.set.clone();
        let one = self.assignment()?;
        if self.sign(&[":"]).is_none() {
            return Err("`:` is missing after `?`".into());
        }
        let after_one = std::mem::replace(&mut self.set, before);
        let other = self.assignment()?;
        if value == 0 {
            return Ok(other);
        }
        self.set = after_one;
        Ok(one)
    }

    fn stands(&self, text: &str) -> bool {
        let end = (self.at + text.len()).min(self.letters.len());
        self.letters[self.at..end].iter().copied().eq(text.chars())
    }

    fn keep(&mut self, name: &str, value: i64) -> Result<i64, Fault> {
        self.set.insert(name.to_owned(), value.to_string());
        Ok(value)
    }

    fn binary(&mut self, level: usize) -> Result<i64, Fault> {
        let Some(signs) = LEVELS.get(level) else {
            return self.single();
        };
        let mut left = self.binary(level + 1)?;
        while let Some(sign) = self.sign(signs) {
            let before = self.set.clone();
            let right = self.binary(level + 1)?;
            let is_decided = (sign == "&&" && left == 0) || (sign == "||" && left != 0);
            if is_decided {
                self.set = before;
            }
            left = sum(left, sign, right)?;
        }
        Ok(left)
    }

    fn single(&mut self) -> Result<i64, Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("more than {DEEPEST} parentheses inside each other").into());
        }
        self.skip();
        let value = match self.peek() {
            Some('(') => {
                self.at += 1;
                let value = self.assignment()?;
                self.skip();
                if self.peek() != Some(')') {
                    return Err("`)` is missing".into());
                }
                self.at += 1;
                value
            }
            Some(letter) if self.stands("++") || self.stands("--") => {
                self.at += 2;
                self.skip();
                let name = self.word();
                let step = if letter == '+' { 1 } else { -1 };
                let value = sum(self.of_name(&name)?, "+", step)?;
                self.keep(&name, value)?
            }
            Some('+') => {
                self.at += 1;
                self.single()?
            }
            Some('-') => {
                self.at += 1;
                let value = self.single()?;
                value.checked_neg().ok_or("a number beyond 64 bits")?
            }
            Some('!') => {
                self.at += 1;
                i64::from(self.single()? == 0)
            }
            Some(letter) if letter.is_ascii_digit() => self.number()?,
            Some(letter) if letter == '$' || letter == '_' || letter.is_alphabetic() => {
                self.variable()?
            }
            _ => return Err("a number is missing".into()),
        };
        self.depth -= 1;
        Ok(value)
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(letter) = self.peek() {
            if letter != '_' && !letter.is_alphanumeric() {
                break;
            }
            word.push(letter);
            self.at += 1;
        }
        word
    }

    fn number(&mut self) -> Result<i64, Fault> {
        let word = self.word();
        match number(&word) {
            Some(number) => Ok(number),
            None => Err(no_number(format!("`{word}` is no whole number"), &word)),
        }
    }

    fn variable(&mut self) -> Result<i64, Fault> {
        while matches!(self.peek(), Some('$' | '{')) {
            self.at += 1;
        }
        let name = self.word();
        if self.peek() == Some('}') {
            self.at += 1;
        }
        let value = self.of_name(&name)?;
        self.skip();
        for (sign, step) in [("++", 1), ("--", -1)] {
            if self.stands(sign) {
                self.at += 2;
                self.keep(&name, sum(value, "+", step)?)?;
            }
        }
        Ok(value)
    }

    fn of_name(&self, name: &str) -> Result<i64, Fault> {
        let Some(text) = self.set.get(name).or_else(|| self.variables.get(name)) else {
            return Err(unset(name));
        };
        match number(text.trim()) {
            Some(number) => Ok(number),
            None => {
                let message = format!("{name} is `{text}`, which is no whole number");
                Err(no_number(message, text).with_key(name))
            }
        }
    }
}

fn no_number(message: String, given: &str) -> Fault {
    Fault::new(message)
        .with_given(given)
        .with_legal("a whole number")
}

/// A variable that has no value.
pub(super) fn unset(name: &str) -> Fault {
    let legal = format!("an assignment before this line, or --set {name}=VALUE");
    Fault::wanted(legal)
        .behind(format_args!("${name} has no value here; "))
        .with_key(name)
}

/// Joins two numbers by an operator.
fn sum(left: i64, sign: &str, right: i64) -> Result<i64, Fault> {
    match joined(left, sign, right) {
        Some(value) => Ok(value),
        None => {
            let given = format!("{left} {sign} {right}");
            Err(Fault::new(format!("{given} has no value in 64 bits")).with_given(given))
        }
    }
}

/// A decimal, hexadecimal or octal number.
pub(super) fn number(text: &str) -> Option<i64> {
    if let Some(negative) = text.strip_prefix('-') {
        return number(negative)?.checked_neg();
    }
    if let Some(hex) = text.strip_prefix("0x") {
        return i64::from_str_radix(hex, 16).ok();
    }
    if text.len() > 1 && text.starts_with('0') {
        return i64::from_str_radix(text, 8).ok();
    }
    text.parse().ok()
}

fn joined(left: i64, sign: &str, right: i64) -> Option<i64> {
    match sign {
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div(right),
        "%" => left.checked_rem(right),
        "<<" => left.checked_shl(u32::try_from(right).ok()?),
        ">>" => left.checked_shr(u32::try_from(right).ok()?),
        "&" => Some(left & right),
        "|" => Some(left | right),
        "^" => Some(left ^ right),
        "==" => Some(i64::from(left == right)),
        "!=" => Some(i64::from(left != right)),
        "<" => Some(i64::from(left < right)),
        "<=" => Some(i64::from(left <= right)),
        ">" => Some(i64::from(left > right)),
        ">=" => Some(i64::from(left >= right)),
        "&&" => Some(i64::from(left != 0 && right != 0)),
        "||" => Some(i64::from(left != 0 || right != 0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_bind_as_in_a_shell() {
        let mut variables = BTreeMap::new();
        variables.insert("RATE".to_owned(), "20000".to_owned());
        let of = |text| value(text, &variables);
        assert_eq!(of("RATE * 95 / 100"), Ok(19_000));
        assert_eq!(of(" $RATE-(1+2)*3 "), Ok(19_991));
        assert_eq!(of("${RATE} > 100 && 1"), Ok(1));
        assert_eq!(of("0x10 + 010"), Ok(24));
        assert!(of("RATE / 0").is_err());
        assert_eq!(of("CEIL + 1").unwrap_err().key(), Some("CEIL"));
        assert!(of("9223372036854775807 + 1").is_err());
        assert_eq!(of("RATE > 5 ? 1 : 2"), Ok(1));
        for bad in ["", "1 +", "(1", "1 2", "09", "1 ? 2", "RATE++", "RATE = 3"] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_a_text_sets_is_known() {
        let mut variables = BTreeMap::new();
        variables.insert("R".to_owned(), "7".to_owned());
        for (text, value, left) in [
            ("R++", 7, "8"),
            ("++R", 8, "8"),
            ("R--", 7, "6"),
            ("R += 3", 10, "10"),
            ("R = 1, R *= 5", 5, "5"),
            ("R <<= 2", 28, "28"),
            ("R == 7 ? R = 1 : (R = 2)", 1, "1"),
            ("R = 4, R > 5 && (R = 9)", 0, "4"),
        ] {
            let (found, set) = run(text, &variables).expect(text);
            assert_eq!((found, set["R"].as_str()), (value, left), "{text}");
            assert_eq!(names_set(text).first().map(String::as_str), Some("R"));
        }
        assert!(run("R == 7", &variables).expect("a number").1.is_empty());
        assert_eq!(names_set("R == 7 && S <= 2"), Vec::<String>::new());
    }
}
