//! Arrivals that the first reading of a capture keeps, so that no other reading is needed.

use roundelay::{Ecn, FlowId, Instant};

use crate::arrival::{Arrival, Lens, Reader};
use crate::capture::Frame;
use crate::selection::Selector;

/// An arrival of one packet, as it is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    at: Instant,
    pub(crate) flow: FlowId,
    len: u32,
    ecn: Ecn,
    dscp: u8,
    is_bare: bool,
}

const _: () = assert!(size_of::<Kept>() == 24, "docs/compare.md states the size");

impl Kept {
    pub(crate) const fn arrival(self) -> Arrival {
        Arrival {
            at: self.at,
            flow: self.flow,
            lens: Lens::one(self.len),
            ecn: self.ecn,
            dscp: self.dscp,
            is_bare: self.is_bare,
        }
    }
}

/// The arrivals of the first reading. They are those of the replay, if nothing is chosen and nothing
/// is out of order: then one reading is enough.
pub(crate) struct Ahead {
    pub(crate) reader: Reader,
    pub(crate) arrivals: Vec<Kept>,
    /// Most arrivals kept.
    most: usize,
}

impl Ahead {
    /// 128 MB, 5.6 million arrivals.
    pub(crate) const MOST: usize = (128 << 20) / size_of::<Kept>();
    /// Frames after which it looks at what would be chosen: most mixtures show early.
    const LOOKS: [u64; 2] = [1 << 10, 1 << 14];

    /// Keeps up to `most` arrivals. None if acknowledgements are read, too: they are not kept.
    pub(crate) fn new(reader: Reader, most: usize) -> Option<Self> {
        if reader.reads_acks {
            return None;
        }
        Some(Self {
            reader,
            arrivals: Vec::new(),
            most,
        })
    }

    /// Reads a frame. False if this will not be the only reading: there are too many arrivals, or
    /// the selector would choose by what it has read.
    pub(crate) fn read(&mut self, frame: &Frame<'_>, selector: &mut Selector) -> bool {
        if let Some(arrival) = self.reader.read(frame, selector) {
            for len in arrival.lens {
                self.arrivals.push(Kept {
                    at: arrival.at,
                    flow: arrival.flow,
                    len,
                    ecn: arrival.ecn,
                    dscp: arrival.dscp,
                    is_bare: arrival.is_bare,
                });
            }
        }
        let looks = Self::LOOKS.contains(&selector.read());
        self.arrivals.len() <= self.most && !(looks && selector.would_choose())
    }
}
