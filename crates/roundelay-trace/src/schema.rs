//! JSON Schemas of what files and arguments choose of a capture.

use roundelay_files::Described;
use schemars::{Schema, json_schema};

use crate::DirectionChoice;
use crate::arguments::Mtu;

impl Described for Mtu {
    const NAME: &'static str = "Mtu";

    fn schema() -> Schema {
        json_schema!({
            "anyOf": [{"type": "integer", "minimum": 576, "maximum": 65535}, {"const": "none"}],
            "description": "Bytes of the longest IP packet, or none.", "examples": [1400, "none"]
        })
    }
}

impl Described for DirectionChoice {
    const NAME: &'static str = "Direction";

    fn schema() -> Schema {
        json_schema!({
            "type": "string", "pattern": "^(auto|both|in|out|(from|to) +(private|[0-9a-fA-F.:/]+))$",
            "description": "Packets of a capture: those of the direction with the larger load (auto), all (both), received (in) or sent ones (out), or those from or to an address, a network, a link-layer address or all private addresses.",
            "examples": ["both", "to 192.168.1.0/24"]
        })
    }
}
