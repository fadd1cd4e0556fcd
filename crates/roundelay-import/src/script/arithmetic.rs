//! `$((..))`: whole numbers with the signs of a shell.

use std::collections::BTreeMap;

/// Most parentheses inside each other.
const DEEPEST: usize = 64;

/// The value, or why there is none.
pub(super) fn value(text: &str, variables: &BTreeMap<String, String>) -> Result<i64, String> {
    let mut reader = Reader {
        letters: text.chars().collect(),
        at: 0,
        depth: 0,
        variables,
    };
    let value = reader.binary(0)?;
    reader.skip();
    if reader.at < reader.letters.len() {
        return Err(format!("`$(({text}))` is not understood"));
    }
    Ok(value)
}

/// Signs with two sides, from the weakest.
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

    /// Takes one of these signs, unless a longer sign stands there.
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

    fn binary(&mut self, level: usize) -> Result<i64, String> {
        let Some(signs) = LEVELS.get(level) else {
            return self.single();
        };
        let mut left = self.binary(level + 1)?;
        while let Some(sign) = self.sign(signs) {
            let right = self.binary(level + 1)?;
            left = joined(left, sign, right)
                .ok_or_else(|| format!("{left} {sign} {right} has no value in 64 bits"))?;
        }
        Ok(left)
    }

    fn single(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("more than {DEEPEST} parentheses inside each other"));
        }
        self.skip();
        let value = match self.peek() {
            Some('(') => {
                self.at += 1;
                let value = self.binary(0)?;
                self.skip();
                if self.peek() != Some(')') {
                    return Err("`)` is missing".to_owned());
                }
                self.at += 1;
                value
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
            _ => return Err("a number is missing".to_owned()),
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

    fn number(&mut self) -> Result<i64, String> {
        let word = self.word();
        number(&word).ok_or_else(|| format!("`{word}` is no whole number"))
    }

    fn variable(&mut self) -> Result<i64, String> {
        while matches!(self.peek(), Some('$' | '{')) {
            self.at += 1;
        }
        let name = self.word();
        if self.peek() == Some('}') {
            self.at += 1;
        }
        let Some(text) = self.variables.get(&name) else {
            return Err(super::expand::unset(&name));
        };
        number(text.trim()).ok_or_else(|| format!("{name} is `{text}`, which is no whole number"))
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
        assert!(of("CEIL + 1").unwrap_err().contains("CEIL"));
        assert!(of("9223372036854775807 + 1").is_err());
        for bad in ["", "1 +", "(1", "1 2", "09"] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }
}
