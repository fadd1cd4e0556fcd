//! Addresses that strangers may read: a key maps each address to another one, so that two addresses
//! share as many leading bits afterwards as before.
//!
//! The scheme is Crypto-PAn's: J. Xu, J. Fan, M. H. Ammar, S. B. Moon, "Prefix-preserving IP
//! address anonymization", ICNP 2002. Bit i of an address is flipped, or not, by a keyed function
//! of the i bits before. The function here is SipHash-2-4, where the paper has Rijndael.

use std::hash::Hasher as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use siphasher::sip::SipHasher24;

use crate::advised::Advised;
use crate::recommendation::{Recommendation, Warning};

/// Replaces addresses in texts. The same key gives the same addresses.
#[derive(Debug, Clone)]
pub struct Anonymiser {
    keyed: SipHasher24,
}

/// Families, whose addresses are mapped independently.
const IPV4: u8 = 4;
const IPV6: u8 = 6;
const MAC: u8 = 48;

/// Letters of a MAC address: six pairs of digits, and what separates them.
const MAC_LETTERS: usize = 17;

impl Anonymiser {
    /// A map with this key.
    pub fn new(key: [u8; 16]) -> Self {
        Self {
            keyed: SipHasher24::new_with_key(&key),
        }
    }

    /// The address that replaces this one.
    pub fn address(&self, address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(address) => {
                let bits = self.map(IPV4, u128::from(address.to_bits()), 32);
                Ipv4Addr::from_bits(bits as u32).into()
            }
            IpAddr::V6(address) => {
                Ipv6Addr::from_bits(self.map(IPV6, address.to_bits(), 128)).into()
            }
        }
    }

    /// The bits that replace the last `length` bits.
    fn map(&self, family: u8, bits: u128, length: u32) -> u128 {
        let mut mapped = 0;
        for position in (0..length).rev() {
            // The bits before this one: none at first.
            let before = bits.checked_shr(position + 1).unwrap_or(0);
            let mut function = self.keyed;
            function.write(&[family, (length - 1 - position) as u8]);
            function.write(&before.to_le_bytes());
            let flip = u128::from(function.finish() & 1);
            mapped = mapped << 1 | ((bits >> position & 1) ^ flip);
        }
        mapped
    }

    /// A text with other addresses: IPv4, IPv6 and MAC, networks too.
    pub fn text(&self, text: &str) -> String {
        let mut all = String::with_capacity(text.len());
        let mut rest = text;
        let mut is_within_word = false;
        while let Some(letter) = rest.chars().next() {
            if !is_within_word && let Some((length, instead)) = self.first(rest) {
                all += &instead;
                rest = &rest[length..];
                is_within_word = true;
                continue;
            }
            all.push(letter);
            // A full stop within a word, as in 1.2.3.4.5, begins no address.
            is_within_word =
                letter.is_alphanumeric() || letter == '_' || (letter == '.' && is_within_word);
            rest = &rest[letter.len_utf8()..];
        }
        all
    }

    /// The address at the beginning of a text: its length, and what replaces it.
    fn first(&self, text: &str) -> Option<(usize, String)> {
        if let Some(found) = self.first_mac(text) {
            return Some(found);
        }
        let end = text.find(|c: char| !(c.is_ascii_hexdigit() || matches!(c, '.' | ':')));
        let run = &text[..end.unwrap_or(text.len())];
        let after = text[run.len()..].chars().next();
        if after.is_some_and(|letter| letter.is_alphanumeric() || letter == '_') {
            return None;
        }
        // A full stop or a colon may belong to the sentence, and a port may follow.
        let sentence = run.trim_end_matches(['.', ':']);
        let before_port = run.split(':').next().unwrap_or_default();
        for candidate in [
            run,
            sentence,
            before_port,
            before_port.trim_end_matches('.'),
        ] {
            let Ok(address) = candidate.parse::<IpAddr>() else {
                continue;
            };
            let length = candidate.len();
            let mapped = self.address(address);
            let prefix = prefix(&text[length..], mapped);
            let mapped = match prefix {
                Some(prefix) => network(mapped, prefix),
                None => mapped,
            };
            return Some((length, mapped.to_string()));
        }
        None
    }

    fn first_mac(&self, text: &str) -> Option<(usize, String)> {
        let word = text.get(..MAC_LETTERS)?;
        let after = text[MAC_LETTERS..].chars().next();
        if after.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, ':' | '-')) {
            return None;
        }
        let between = word.chars().nth(2).filter(|c| matches!(c, ':' | '-'))?;
        let mut bits = 0;
        let mut pairs = 0;
        for pair in word.split(between) {
            if pair.len() != 2 {
                return None;
            }
            bits = bits << 8 | u128::from(u8::from_str_radix(pair, 16).ok()?);
            pairs += 1;
        }
        if pairs != 6 {
            return None;
        }
        let mut instead = String::new();
        for (number, byte) in self.map(MAC, bits, 48).to_be_bytes()[10..]
            .iter()
            .enumerate()
        {
            if number > 0 {
                instead.push(between);
            }
            instead += &format!("{byte:02x}");
        }
        Some((MAC_LETTERS, instead))
    }

    fn each(&self, texts: &mut [String]) {
        for text in texts {
            *text = self.text(text);
        }
    }

    fn optional(&self, text: &mut Option<String>) {
        if let Some(text) = text {
            *text = self.text(text);
        }
    }

    fn warning(&self, warning: &mut Option<Warning>) {
        if let Some(Warning { sentence, command }) = warning {
            *sentence = self.text(sentence);
            self.optional(command);
        }
    }
}

/// The prefix's length that follows an address, as in `/24`.
fn prefix(text: &str, address: IpAddr) -> Option<u32> {
    let digits = text.strip_prefix('/')?;
    let end = digits.find(|c: char| !c.is_ascii_digit());
    let prefix: u32 = digits[..end.unwrap_or(digits.len())].parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    (prefix <= most).then_some(prefix)
}

/// The address with zeros behind the prefix.
fn network(address: IpAddr, prefix: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - prefix).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

impl Advised {
    /// The same with other addresses, wherever one stands: in flows' names, in what was selected,
    /// in notes, sentences and commands.
    #[must_use]
    pub fn anonymised(mut self, by: &Anonymiser) -> Self {
        let comparison = &mut self.comparison;
        for flow in &mut comparison.flows {
            flow.label = by.text(&flow.label);
        }
        if let Some(hosts) = &mut comparison.hosts {
            for host in &mut hosts.all {
                host.label = by.text(&host.label);
            }
        }
        for discipline in &mut comparison.disciplines {
            discipline.spec = by.text(&discipline.spec);
        }
        comparison.capture.name = by.text(&comparison.capture.name);
        if let Some(selection) = &mut comparison.capture.selection {
            by.optional(&mut selection.interface);
            by.optional(&mut selection.direction);
            by.optional(&mut selection.filter);
        }
        by.each(&mut self.notes);
        let Recommendation {
            best: _,
            reserve,
            other,
            is_open: _,
            hurt: _,
            sentences,
            commands,
        } = &mut self.verdict;
        by.warning(reserve);
        by.warning(other);
        by.each(sentences);
        by.each(commands);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> Anonymiser {
        Anonymiser::new(*b"a key for tests.")
    }

    fn bits(address: IpAddr) -> u128 {
        match address {
            IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
            IpAddr::V6(address) => address.to_bits(),
        }
    }

    /// Number of leading bits that two addresses share.
    fn shared(one: IpAddr, other: IpAddr) -> u32 {
        (bits(one) ^ bits(other)).leading_zeros()
    }

    /// A number for each step, without a library.
    fn scrambled(step: u128) -> u128 {
        let odd = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835_u128;
        let product = (step + 1).wrapping_mul(odd);
        product ^ product >> 57
    }

    /// Crypto-PAn's property, for pairs with each number of common bits.
    #[test]
    fn addresses_share_as_many_leading_bits_as_before() {
        let map = map();
        let mut moved = 0;
        for step in 0..2_000_u128 {
            let common = (step % 128) as u32;
            let one = scrambled(step);
            let other = one ^ (1 << (127 - common)) ^ (scrambled(step + 7) >> common >> 1);
            let six = [one, other].map(|bits| IpAddr::from(Ipv6Addr::from_bits(bits)));
            let four =
                [one, other].map(|bits| IpAddr::from(Ipv4Addr::from_bits((bits >> 96) as u32)));
            for [one, other] in [six, four] {
                let mapped = [one, other].map(|address| map.address(address));
                assert_eq!(
                    shared(mapped[0], mapped[1]),
                    shared(one, other),
                    "{one} {other}"
                );
                assert_eq!(mapped[0].is_ipv4(), one.is_ipv4());
                moved += usize::from(mapped[0] != one);
            }
        }
        assert!(moved > 3_990, "{moved} of 4,000 addresses are others now");
    }

    #[test]
    fn the_key_decides() {
        let address = "192.168.1.17".parse().unwrap();
        let other = Anonymiser::new(*b"another key for.");
        assert_ne!(map().address(address), other.address(address));
        assert_eq!(map().address(address), map().address(address));
    }

    #[test]
    fn every_form_of_an_address_is_found_and_nothing_else() {
        let map = map();
        let four = |text: &str| map.address(text.parse().unwrap()).to_string();
        for (text, expected) in [
            ("10.0.0.1", four("10.0.0.1")),
            ("from 10.0.0.1.", format!("from {}.", four("10.0.0.1"))),
            (
                "tcp 10.0.0.1:443 > [2001:db8::1]:80",
                format!(
                    "tcp {}:443 > [{}]:80",
                    four("10.0.0.1"),
                    four("2001:db8::1")
                ),
            ),
            (
                "(10.0.0.1), '10.0.0.2'",
                format!("({}), '{}'", four("10.0.0.1"), four("10.0.0.2")),
            ),
            ("of fe80::1: it", format!("of {}: it", four("fe80::1"))),
            ("::ffff:10.0.0.1 ", format!("{} ", four("::ffff:10.0.0.1"))),
        ] {
            assert_eq!(map.text(text), expected);
        }
        let network = map.text("src net 10.1.0.0/16 or 2001:db8::/32");
        let is_network = network.contains(".0.0/16 or ") && network.ends_with("::/32");
        assert!(
            is_network && !network.contains("10.1.") && !network.contains("db8"),
            "{network}"
        );
        let [colons, hyphens] = ["00:1b:44:11:3a:b7", "00-1b-44-11-3a-b7"].map(|mac| map.text(mac));
        assert_eq!(colons.replace(':', "-"), hyphens);
        assert!(colons.len() == MAC_LETTERS && colons != "00:1b:44:11:3a:b7");
        for text in [
            "1.2.3, 12:30:45 and 4.84 kbit/s",
            "a::before std::fmt 1:10 ffff: 10:",
            "qdisc add root handle 1: htb default 20",
            "roundelay 0.1.0.",
            "p99 1.2.3.4.5",
            "é 3.5 ms: ±0.1",
            "",
        ] {
            assert_eq!(map.text(text), text);
        }
    }
}
