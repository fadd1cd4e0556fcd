//! Replay of packet captures: reads captures, classifies flows, compares disciplines.

pub mod arguments;
mod arrivals;
mod audit;
mod capture;
mod classifier;
mod compare;
mod comparison;
mod conditions;
pub mod connections;
mod continuity;
mod cost;
mod demand;
mod duplicates;
mod error;
mod feed;
mod filter;
mod harm;
mod headers;
mod hosts;
mod kind;
mod lane;
mod link_model;
mod link_trace;
mod memory;
mod meters;
mod mirror;
mod mixture;
mod observed;
mod offered;
mod plateau;
mod presence;
pub mod reaction;
mod selection;
mod span;
mod stop;
mod survey;
mod timeline;
mod translated;
mod tree;
mod urgency;
mod weights;
mod wire;

pub use arrivals::{Arrival, Arrivals, Lens, Mending, Oddities};
pub use capture::{Capture, CaptureNotes, Frame, Heading, LinkType, Tap};
pub use classifier::{Classifier, Flow, FlowBy};
pub use compare::{CompareError, Options, Progress, ReplayObserver, compare};
pub use comparison::{
    CaptureSummary, Comparison, Cost, Curves, Delay, DisciplineResult, Drops, FlowResult,
    FlowSummary, Jain, KindCurves, OtherSeed, Outcome,
};
pub use conditions::{Condition, Network, Side};
pub use error::{CaptureError, DirectionError, FilterError, FlowByError, RuleError};
pub use feed::{Feed, FeedError, Queue, Sorted};
pub use filter::Filter;
pub use harm::{LONGEST_RETRY, flow_harm, retries};
pub use headers::{
    Headers, Ports, Tunnel, Unparsable, UnparsableCounts, dscp_name, dscp_number, network_offset,
    parse, protocol_name, protocol_number,
};
pub use kind::{Kind, KindOutcome, Served};
pub use lane::{PacketFate, PacketRecord, PacketSink};
pub use link_model::LinkModel;
pub use link_trace::{LinkTrace, TracedLink};
pub use mirror::Inside;
pub use observed::{CodePoints, Observed, OtherFlows, PartOfTime, PlateauRate};
pub use selection::{
    Chosen, Cure, Direction, DirectionChoice, InterfaceLoad, InterfaceName, LeftOut, Mixed,
    OppositeLoad, OtherWay, Part, Selection, SelectionSummary,
};
pub use span::{Span, parse_length, parse_time};
pub use stop::Stop;
pub use timeline::{SetForward, Silence};
pub use tree::TreeFile;
pub use urgency::{Carried, Urgency};
pub use weights::{WeightRule, WeightRules};
