//! JSON Schemas of quantities. No build of the command has them: the schemas that it prints and
//! documents are finished texts.

use std::borrow::Cow;

use roundelay::{Billionths, Bytes, Duration, Framing, LinkLayer, Rate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{InWords, Maybe, Overhead, Written};

/// A quantity in files, with its JSON Schema.
pub trait Described: Written {
    /// Its name in the schema.
    const NAME: &'static str;

    /// What a program must know when it writes one.
    fn schema() -> Schema;
}

impl<V: Described> JsonSchema for InWords<V> {
    fn schema_name() -> Cow<'static, str> {
        V::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        V::schema()
    }
}

impl<V: Described> JsonSchema for Maybe<V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Option::<InWords<V>>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<InWords<V>>::json_schema(generator)
    }
}

impl Described for Rate {
    const NAME: &'static str = "Rate";

    fn schema() -> Schema {
        json_schema!({
            "type": "string", "pattern": "^[0-9.]+([kmgtKMGT]i?)?[bB][iI][tT]$",
            "description": "Bits per second, as tc writes them.", "examples": ["10mbit", "1gbit"]
        })
    }
}

impl Described for Duration {
    const NAME: &'static str = "Time";

    fn schema() -> Schema {
        json_schema!({
            "anyOf": [{"type": "string", "pattern": "^[0-9.]+ *[a-zA-Z]+$"}, {"const": 0}],
            "description": "A time with its unit: s, ms, us or ns.", "examples": ["5ms", "10s"]
        })
    }
}

impl Described for Bytes {
    const NAME: &'static str = "Bytes";

    fn schema() -> Schema {
        json_schema!({
            "anyOf": [
                {"type": "string", "pattern": "^[0-9.]+[a-zA-Z]+$"},
                {"type": "integer", "minimum": 0}
            ],
            "description": "Bytes: a number, or a number with b, kb (1024), mb or gb.",
            "examples": [1000, "150kb"]
        })
    }
}

impl Described for u32 {
    const NAME: &'static str = "PacketBytes";

    fn schema() -> Schema {
        json_schema!({
            "anyOf": [
                {"type": "string", "pattern": "^[0-9.]+[a-zA-Z]+$"},
                {"type": "integer", "minimum": 0, "maximum": 65535}
            ],
            "description": "Bytes of a packet.", "examples": [1000, "1500b"]
        })
    }
}

impl Described for Overhead {
    const NAME: &'static str = "Overhead";

    fn schema() -> Schema {
        json_schema!({
            "anyOf": [
                {"type": "string", "pattern": "^-?[0-9.]+[a-zA-Z]+$"},
                {"type": "integer", "minimum": -64, "maximum": 65535}
            ],
            "description": "Bytes added to each packet, or taken away.",
            "examples": [38, "38b", -14]
        })
    }
}

impl Described for LinkLayer {
    const NAME: &'static str = "LinkLayer";

    fn schema() -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^ *((raw|conservative|ethernet|docsis|pppoe-ptm|bridged-ptm|\
                (pppoa-(vcmux|llc)|pppoe-(vcmux|llcsnap)|(bridged|ipoa)-(vcmux|llcsnap))|\
                ether-vlan) *)+$",
            "description": "Keywords of tc-cake(8) for a kind of link.",
            "examples": ["docsis", "pppoe-ptm", "ethernet ether-vlan"]
        })
    }
}

impl Described for Framing {
    const NAME: &'static str = "Framing";

    fn schema() -> Schema {
        json_schema!({
            "enum": ["none", "atm", "ptm"],
            "description": "How a link cuts packets: none, cells of ATM, or the code of PTM."
        })
    }
}

impl Described for Billionths {
    const NAME: &'static str = "Share";

    fn schema() -> Schema {
        json_schema!({
            "anyOf": [
                {"type": "string", "pattern": "^[0-9.]+ *%?$"},
                {"type": "number", "minimum": 0, "maximum": 1}
            ],
            "description": "A part of one.", "examples": [0.01, "1%"]
        })
    }
}
