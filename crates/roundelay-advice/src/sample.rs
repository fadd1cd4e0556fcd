//! A comparison, and what is made of it, whose figures the unit tests replace.

use roundelay_trace::reaction::{Basis, Reaction};
use roundelay_trace::{Capture, Comparison, Kind, Options, compare};

use crate::harm::Harm;
use crate::standing::Standing;

/// A call of 100 packets of 200 bytes.
pub(crate) fn capture() -> Capture {
    let header = [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 101];
    let mut bytes: Vec<u8> = header
        .iter()
        .flat_map(|field| field.to_le_bytes())
        .collect();
    for number in 0..100_u32 {
        bytes.extend(
            [0, number * 1000, 28, 200]
                .iter()
                .flat_map(|field| field.to_le_bytes()),
        );
        bytes.extend([
            0x45, 0, 0, 200, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 20, 0, 20, 1, 0,
            180, 0, 0,
        ]);
    }
    Capture::from_reader("t.pcap", std::io::Cursor::new(bytes)).unwrap()
}

/// Options for these disciplines on 10 Mbit/s.
pub(crate) fn options(specs: &[&str]) -> Options {
    let specs = specs.iter().map(|text| text.parse().unwrap());
    Options {
        measure_cost: false,
        ..Options::new("10mbit".parse().unwrap(), specs.collect())
    }
}

/// The call under these disciplines.
pub(crate) fn comparison(specs: &[&str]) -> Comparison {
    compare(capture(), &options(specs), &mut ()).unwrap()
}

/// The same with senders that react.
pub(crate) fn reacting(specs: &[&str]) -> Comparison {
    let replay = comparison(specs);
    let reaction = Reaction {
        replicas: 1,
        control: "cubic",
        basis: Basis::default(),
        replay: replay.clone(),
        open: Vec::new(),
    };
    Comparison {
        reaction: Some(Box::new(reaction)),
        ..replay
    }
}

/// Of a discipline that nothing speaks against.
pub(crate) const STANDING: Standing = Standing {
    on_linux: true,
    keeps_order: true,
    one_queue: false,
    is_fifo: false,
    obstacle: None,
};

/// To a call, and with nothing to choose between.
pub(crate) const HARM: Harm = Harm {
    is_felt: true,
    regret: 1.0,
    regret_among_all: 1.0,
    hurt: Some(Kind::Call),
    lacking: 0.0,
    total: 1.0,
};
