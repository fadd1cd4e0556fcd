//! Link-layer overhead: how long a packet is on a link, as `tc` counts (tc-cake(8), section
//! "Overhead compensation parameters", and tc-stab(8)).
//!
//! The link adds `overhead` to a packet's length, raises the sum to `mpu`, and then frames it: ATM
//! in cells of 53 bytes for each 48, PTM with a byte for each 64, each rounded up. The result takes
//! link time, counts in limits in bytes, and is what schedulers see, as with `tc`'s `stab`.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;

use crate::fault::Fault;

/// What a link makes of a packet's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkLayer {
    /// Lengths count from the packet as it is, with any link header of its capture. Otherwise from
    /// the network layer: the IP packet.
    pub raw: bool,
    /// Bytes added to each packet, or taken away: in [`LinkLayer::OVERHEAD`].
    pub overhead: i32,
    /// Shortest packet with overhead (minimum packet unit), in bytes: in [`LinkLayer::MPU`].
    pub mpu: u32,
    /// Framing after overhead and minimum.
    pub framing: Framing,
}

/// How a link cuts packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Framing {
    /// Packets are sent whole.
    #[default]
    None,
    /// Cells of 53 bytes with 48 bytes of content, the last one filled up (ITU-T I.432, RFC 2684).
    Atm,
    /// 64b/65b encoding: a byte for each begun 64 (ITU-T G.992.3, annex N, and IEEE 802.3, section
    /// 61.3).
    Ptm,
}

/// An unknown or illegal link layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkLayerError(Fault);

impl fmt::Display for LinkLayerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl core::error::Error for LinkLayerError {}

impl From<LinkLayerError> for Fault {
    fn from(error: LinkLayerError) -> Self {
        error.0
    }
}

/// Bytes of a VLAN tag (IEEE 802.1Q).
const VLAN_TAG: i32 = 4;
const RAW: &str = "raw";
const ETHER_VLAN: &str = "ether-vlan";

/// A keyword of tc-cake(8) with overhead, minimum and framing.
type Preset = (&'static str, i32, u32, Framing);

/// The keywords that set all three values.
const PRESETS: [Preset; 13] = [
    ("conservative", 48, 0, Framing::Atm),
    ("ethernet", 38, 84, Framing::None),
    ("docsis", 18, 64, Framing::None),
    ("pppoe-ptm", 30, 0, Framing::Ptm),
    ("bridged-ptm", 22, 0, Framing::Ptm),
    ("pppoa-vcmux", 10, 0, Framing::Atm),
    ("pppoa-llc", 14, 0, Framing::Atm),
    ("pppoe-vcmux", 32, 0, Framing::Atm),
    ("pppoe-llcsnap", 40, 0, Framing::Atm),
    ("bridged-vcmux", 24, 0, Framing::Atm),
    ("bridged-llcsnap", 32, 0, Framing::Atm),
    ("ipoa-vcmux", 8, 0, Framing::Atm),
    ("ipoa-llcsnap", 16, 0, Framing::Atm),
];

impl LinkLayer {
    /// A link that adds nothing.
    pub const NONE: Self = Self {
        raw: true,
        overhead: 0,
        mpu: 0,
        framing: Framing::None,
    };
    /// Legal range of [`overhead`](Self::overhead), in bytes. The least is tc-cake(8)'s.
    pub const OVERHEAD: RangeInclusive<i32> = -64..=65_535;
    /// Legal range of [`mpu`](Self::mpu), in bytes.
    pub const MPU: RangeInclusive<u32> = 0..=65_535;

    /// Only overhead, on the network layer.
    pub const fn with_overhead(overhead: i32) -> Self {
        Self {
            raw: false,
            overhead,
            ..Self::NONE
        }
    }

    /// tc-cake(8)'s 15 keywords.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        [RAW]
            .into_iter()
            .chain(PRESETS.iter().map(|(name, ..)| *name))
            .chain([ETHER_VLAN])
    }

    /// Whether the link leaves all lengths as they are.
    #[inline]
    pub const fn keeps_lengths(&self) -> bool {
        self.overhead == 0 && self.mpu == 0 && matches!(self.framing, Framing::None)
    }

    /// How many bytes a packet with `len` bytes has on the link: at least 1, unless `len` is 0, and
    /// at most `u32::MAX`.
    #[inline]
    pub const fn len_on_link(&self, len: u32) -> u32 {
        // A negative overhead leaves a byte.
        let sum = match len.saturating_add_signed(self.overhead) {
            0 if len > 0 => 1,
            sum => sum,
        };
        let whole = if sum < self.mpu { self.mpu } else { sum };
        match self.framing {
            Framing::None => whole,
            Framing::Atm => whole.div_ceil(48).saturating_mul(53),
            Framing::Ptm => whole.saturating_add(whole.div_ceil(64)),
        }
    }

    /// A preset with some values replaced. No preset means [`LinkLayer::NONE`].
    ///
    /// As in tc-cake(8), an overhead makes lengths count from the network layer, unless the preset
    /// is `raw`.
    #[must_use]
    pub fn replaced(
        preset: Option<Self>,
        overhead: Option<i32>,
        mpu: Option<u32>,
        framing: Option<Framing>,
    ) -> Self {
        let layer = preset.unwrap_or(Self::NONE);
        Self {
            raw: layer.raw && (preset.is_some() || overhead.is_none()),
            overhead: overhead.unwrap_or(layer.overhead),
            mpu: mpu.unwrap_or(layer.mpu),
            framing: framing.unwrap_or(layer.framing),
        }
    }
}

impl Default for LinkLayer {
    fn default() -> Self {
        Self::NONE
    }
}

/// tc-cake(8)'s keywords, one or several: `docsis`, `ethernet ether-vlan`, `raw`.
impl FromStr for LinkLayer {
    type Err = LinkLayerError;

    fn from_str(text: &str) -> Result<Self, LinkLayerError> {
        let mut layer = Self::NONE;
        let mut preset = None;
        let mut is_raw = false;
        for word in text.split_whitespace() {
            if word == RAW {
                is_raw = true;
            } else if word == ETHER_VLAN {
                layer.overhead += VLAN_TAG;
            } else if let Some((name, overhead, mpu, framing)) =
                PRESETS.into_iter().find(|(name, ..)| *name == word)
            {
                if let Some(first) = preset.replace(name) {
                    let message = format!("'{text}': {first} and {name} exclude each other");
                    return Err(LinkLayerError(Fault::new(message).with_given(text)));
                }
                layer = Self {
                    overhead: layer.overhead + overhead,
                    mpu,
                    framing,
                    ..layer
                };
            } else {
                return Err(unknown(word, Self::names()));
            }
            layer.raw = is_raw;
        }
        match text.split_whitespace().count() {
            0 => Err(unknown("", Self::names())),
            1..=MOST_WORDS => Ok(layer),
            words => {
                let legal = format_args!("1 to {MOST_WORDS}");
                let fault = Fault::range(format_args!("{words} words"), legal);
                Err(LinkLayerError(fault.with_given(words)))
            }
        }
    }
}

/// More tags than any network has, so that the overhead stays in its range.
const MOST_WORDS: usize = 32;

fn unknown<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> LinkLayerError {
    let known: Vec<_> = known.collect();
    let legal = known.join(", ");
    let other = match word {
        "vdsl" | "vdsl2" => " (VDSL is 'pppoe-ptm' with PPPoE, 'bridged-ptm' without)",
        "adsl" | "adsl2" | "dsl" => {
            " (ADSL is 'pppoe-llcsnap' or 'pppoa-vcmux', as the provider says; VDSL is 'pppoe-ptm')"
        }
        "cable" => " (cable is 'docsis')",
        _ => "",
    };
    let told = |meant: &str| format!("no kind of link is called '{word}'{meant}: {legal}");
    LinkLayerError(match other {
        "" => Fault::unknown(word, &known, told),
        other => Fault::new(told(other)).with_given(word).with_legal(&legal),
    })
}

/// In tc-cake(8)'s words: `overhead 18 mpu 64`, `raw`.
impl fmt::Display for LinkLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        if self.raw {
            words.push(RAW.to_string());
        }
        if !self.raw || self.overhead != 0 {
            words.push(format!("overhead {}", self.overhead));
        }
        if self.mpu > 0 {
            words.push(format!("mpu {}", self.mpu));
        }
        if self.framing != Framing::None {
            words.push(self.framing.to_string());
        }
        f.write_str(&words.join(" "))
    }
}

impl Framing {
    /// All framings.
    pub const ALL: [Self; 3] = [Self::None, Self::Atm, Self::Ptm];

    /// The name: none, atm or ptm.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Atm => "atm",
            Self::Ptm => "ptm",
        }
    }
}

impl fmt::Display for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Framing {
    type Err = LinkLayerError;

    fn from_str(text: &str) -> Result<Self, LinkLayerError> {
        let framing = Self::ALL.into_iter().find(|framing| framing.name() == text);
        framing
            .ok_or_else(|| LinkLayerError(Fault::no_such("framing", text, &["none", "atm", "ptm"])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(text: &str) -> LinkLayer {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Cells filled one at a time, bytes added one at a time: another way than division.
    fn counted(len: u32, overhead: i64, mpu: u32, framing: Framing) -> u32 {
        let content = (i64::from(len) + overhead)
            .max(i64::from(mpu))
            .max(i64::from(len > 0)) as u32;
        let mut left = content;
        let mut bytes = 0;
        while left > 0 && framing != Framing::None {
            let (part, sent) = if framing == Framing::Atm {
                (left.min(48), 53)
            } else {
                (left.min(64), left.min(64) + 1)
            };
            left -= part;
            bytes += sent;
        }
        if framing == Framing::None {
            content
        } else {
            bytes
        }
    }

    /// The table of tc-cake(8), from the manual page: keyword, "equivalent to".
    const MANUAL: [(&str, i64, u32, Framing); 15] = [
        ("raw", 0, 0, Framing::None),
        ("conservative", 48, 0, Framing::Atm),
        ("pppoa-vcmux", 10, 0, Framing::Atm),
        ("pppoa-llc", 14, 0, Framing::Atm),
        ("pppoe-vcmux", 32, 0, Framing::Atm),
        ("pppoe-llcsnap", 40, 0, Framing::Atm),
        ("bridged-vcmux", 24, 0, Framing::Atm),
        ("bridged-llcsnap", 32, 0, Framing::Atm),
        ("ipoa-vcmux", 8, 0, Framing::Atm),
        ("ipoa-llcsnap", 16, 0, Framing::Atm),
        // 2 PPP, 6 PPPoE, 14 Ethernet, 4 FCS, 2 S and Ck, 2 TC-CRC.
        ("pppoe-ptm", 2 + 6 + 14 + 4 + 2 + 2, 0, Framing::Ptm),
        ("bridged-ptm", 14 + 4 + 2 + 2, 0, Framing::Ptm),
        ("docsis", 14 + 4, 64, Framing::None),
        // 8 preamble, 14 header, 4 FCS, 12 gap.
        ("ethernet", 8 + 14 + 4 + 12, 84, Framing::None),
        ("ether-vlan", 4, 0, Framing::None),
    ];

    #[test]
    fn every_preset_has_the_manual_s_lengths_from_0_to_9000() {
        let mut names: Vec<_> = LinkLayer::names().collect();
        names.sort_unstable();
        let mut manual = MANUAL.map(|(name, ..)| name);
        manual.sort_unstable();
        assert_eq!(names, manual);
        for (name, overhead, mpu, framing) in MANUAL {
            let link = layer(name);
            assert_eq!(link.raw, name == "raw");
            for len in 0..=9000 {
                assert_eq!(
                    link.len_on_link(len),
                    counted(len, overhead, mpu, framing),
                    "{name}, {len} bytes"
                );
            }
        }
    }

    #[test]
    fn combinations_have_the_counted_lengths() {
        for framing in Framing::ALL {
            for overhead in [-14, -1, 0, 1, 4, 38, 44, 256] {
                for mpu in [0, 1, 47, 48, 49, 64, 84, 256, 2000] {
                    let link = LinkLayer {
                        raw: true,
                        overhead,
                        mpu,
                        framing,
                    };
                    for len in 0..=9000 {
                        assert_eq!(
                            link.len_on_link(len),
                            counted(len, overhead.into(), mpu, framing),
                            "{link}, {len} bytes"
                        );
                    }
                }
            }
        }
    }

    /// tc-stab(8): 100 bytes take three cells. An acknowledgement of 40 bytes over PPPoE and LLC,
    /// 80 bytes, takes two.
    #[test]
    fn examples_of_the_literature() {
        let atm = LinkLayer {
            framing: Framing::Atm,
            ..LinkLayer::NONE
        };
        assert_eq!(atm.len_on_link(100), 159);
        assert_eq!(layer("pppoe-llcsnap").len_on_link(40), 106);
        assert_eq!(layer("ethernet").len_on_link(1500), 1538);
        assert_eq!(
            [40, 46, 47].map(|len| layer("ethernet").len_on_link(len)),
            [84, 84, 85]
        );
        assert_eq!(
            [40, 46, 47].map(|len| layer("docsis").len_on_link(len)),
            [64, 64, 65]
        );
        assert_eq!(
            [34, 35].map(|len| layer("pppoe-ptm").len_on_link(len)),
            [65, 67]
        );
    }

    #[test]
    fn lengths_neither_vanish_nor_overflow() {
        let link = |overhead, framing| LinkLayer {
            raw: true,
            overhead,
            mpu: 0,
            framing,
        };
        assert_eq!(
            [0, 10, 64, 66].map(|len| link(-64, Framing::None).len_on_link(len)),
            [0, 1, 1, 2]
        );
        assert_eq!(link(-64, Framing::Atm).len_on_link(10), 53);
        for framing in Framing::ALL {
            assert_eq!(link(65_535, framing).len_on_link(u32::MAX), u32::MAX);
        }
    }

    #[test]
    fn keywords_combine_as_in_tc() {
        let vlan = layer("ethernet ether-vlan");
        assert_eq!((vlan, vlan.overhead), (layer("ether-vlan ethernet"), 42));
        assert_eq!(layer("pppoe-ptm ether-vlan ether-vlan").overhead, 38);
        assert_eq!(
            layer("raw docsis"),
            LinkLayer {
                raw: true,
                ..layer("docsis")
            }
        );
        assert_eq!(layer("raw"), LinkLayer::NONE);
        let error = |text: &str| text.parse::<LinkLayer>().unwrap_err().to_string();
        assert_eq!(
            error("docsis ethernet"),
            "'docsis ethernet': docsis and ethernet exclude each other"
        );
        assert!(error("docsi").starts_with(
            "no kind of link is called 'docsi' (did you mean 'docsis'?): raw, conservative, ethernet, "
        ));
        assert!(error(" ").starts_with("no kind of link is called '': "));
        assert!(
            error("vdsl").starts_with("no kind of link is called 'vdsl' (VDSL is 'pppoe-ptm' ")
        );
        assert_eq!(
            error(&"ether-vlan ".repeat(33)),
            "33 words: legal range 1 to 32"
        );
    }

    #[test]
    fn values_replace_those_of_a_preset() {
        let of = |preset: Option<&str>, overhead| {
            LinkLayer::replaced(preset.map(layer), overhead, None, None)
        };
        assert_eq!(of(None, None), LinkLayer::NONE);
        assert_eq!(of(None, Some(0)), LinkLayer::with_overhead(0));
        assert_eq!(
            of(Some("docsis"), Some(20)),
            LinkLayer {
                overhead: 20,
                ..layer("docsis")
            }
        );
        assert_eq!(
            of(Some("raw"), Some(20)),
            LinkLayer {
                overhead: 20,
                ..LinkLayer::NONE
            }
        );
        let mpu = LinkLayer::replaced(None, None, Some(64), Some(Framing::Ptm));
        assert_eq!(
            mpu,
            LinkLayer {
                raw: true,
                overhead: 0,
                mpu: 64,
                framing: Framing::Ptm
            }
        );
    }

    #[test]
    fn layers_are_shown_in_the_words_of_tc() {
        for (shown, link) in [
            ("raw", LinkLayer::NONE),
            ("overhead 0", LinkLayer::with_overhead(0)),
            ("overhead 18 mpu 64", layer("docsis")),
            ("overhead 40 atm", layer("pppoe-llcsnap")),
            (
                "raw overhead 4 ptm",
                LinkLayer {
                    overhead: 4,
                    framing: Framing::Ptm,
                    ..LinkLayer::NONE
                },
            ),
        ] {
            assert_eq!(link.to_string(), shown);
        }
        assert!(
            Framing::ALL
                .iter()
                .all(|framing| framing.to_string().parse() == Ok(*framing))
        );
        assert_eq!(
            "adsl".parse::<Framing>().unwrap_err().to_string(),
            "no framing is called 'adsl': none, atm, ptm"
        );
    }
}
