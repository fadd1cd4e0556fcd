//! Lengths on links for `peers/linux/lengths.py`: for each kind of link the words that `tc` takes,
//! a tab, and the lengths of IP packets of 0 to 9,000 bytes with an Ethernet header.

use roundelay::{Framing, LinkLayer};

const ETHERNET_HEADER: u32 = 14;
const MOST: u32 = 9000;

/// Combinations beside the keywords.
const COMBINATIONS: [&str; 16] = [
    "ethernet ether-vlan",
    "pppoe-ptm ether-vlan ether-vlan",
    "raw docsis",
    "raw overhead 20",
    "overhead 20",
    "overhead 256",
    "overhead -14 mpu 20",
    "raw overhead -14 mpu 20 atm",
    "overhead 44 mpu 96 atm",
    "overhead 1 mpu 256 ptm",
    "mpu 100",
    "atm",
    "ptm",
    "docsis overhead 20",
    "pppoe-llcsnap noatm",
    "docsis mpu 70 ptm",
];

/// Reads words in `tc`'s order: keywords, then numbers and framing.
fn layer(text: &str) -> LinkLayer {
    let mut words = text.split_whitespace();
    let (mut keywords, mut overhead, mut mpu, mut framing) = (Vec::new(), None, None, None);
    while let Some(word) = words.next() {
        let mut number = || {
            words
                .next()
                .and_then(|number| number.parse::<i32>().ok())
                .expect("a number")
        };
        match word {
            "overhead" => overhead = Some(number()),
            "mpu" => mpu = Some(number().unsigned_abs()),
            "noatm" => framing = Some(Framing::None),
            "atm" => framing = Some(Framing::Atm),
            "ptm" => framing = Some(Framing::Ptm),
            keyword => keywords.push(keyword),
        }
    }
    let preset = (!keywords.is_empty()).then(|| keywords.join(" ").parse().expect("keywords"));
    LinkLayer::replaced(preset, overhead, mpu, framing)
}

fn main() {
    for words in LinkLayer::names().chain(COMBINATIONS) {
        let layer = layer(words);
        let base = |len| {
            if layer.raw {
                len + ETHERNET_HEADER
            } else {
                len
            }
        };
        let lengths: Vec<_> = (0..=MOST)
            .map(|len| layer.len_on_link(base(len)).to_string())
            .collect();
        println!("{words}\t{}", lengths.join(" "));
    }
}
