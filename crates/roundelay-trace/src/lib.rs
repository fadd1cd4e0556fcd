//! Replay of packet captures: reads captures, classifies flows, compares disciplines.

pub mod arguments;
mod audit;
mod capture;
mod classifier;
mod compare;
mod comparison;
mod conditions;
mod cost;
mod demand;
mod duplicates;
mod error;
mod feed;
pub mod file;
mod filter;
mod headers;
mod kind;
mod lane;
mod memory;
mod meters;
mod mixture;
mod offered;
mod plateau;
mod preference;
mod presence;
mod selection;
mod standing;
mod stop;
mod tc;
mod translated;
mod tree;
mod urgency;
mod verdict;
mod weights;

pub use capture::{Capture, CaptureNotes, Frame, Heading, LinkType, Tap};
pub use classifier::{Classifier, Flow, FlowBy};
pub use compare::{
    CUT_OFF, CompareError, ENCRYPTED, LARGE_FRACTIONS, LONG_PACKETS, NOT_IP, Options, Progress,
    RAISED_LENGTHS, ReplayObserver, SKIPPED_BLOCKS, TRUNCATED_COMPRESSION, UNREADABLE, compare,
    reordering_note, sentences,
};
pub use comparison::{
    CaptureSummary, Comparison, Cost, Curves, Delay, DisciplineResult, Drops, FlowResult,
    FlowSummary, Jain, Outcome, Reserve, Verdict,
};
pub use error::{CaptureError, DirectionError, FilterError, FlowByError, RuleError};
pub use feed::{Feed, FeedError, Queue, Sorted};
pub use filter::Filter;
pub use headers::{
    Headers, Ports, Unparsable, UnparsableCounts, dscp_name, dscp_number, network_offset, parse,
    protocol_name, protocol_number,
};
pub use kind::{Kind, KindOutcome};
pub use lane::{PacketFate, PacketRecord, PacketSink};
pub use selection::{Direction, InterfaceName, LeftOut, Selection, SelectionSummary};
pub use stop::Stop;
pub use tree::TreeFile;
pub use urgency::Urgency;
pub use weights::{WeightRule, WeightRules};
