//! Replay of packet captures: reads captures, classifies flows, compares disciplines.

mod ahead;
pub mod arguments;
mod arrival;
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
mod fingerprint;
mod harm;
mod headers;
mod host_meter;
mod host_shares;
mod host_summary;
mod hosts;
mod kind;
mod lane;
mod link_model;
mod link_trace;
mod memory;
mod mending;
mod meters;
mod mirror;
mod mixture;
mod observed;
mod offered;
mod outcome;
mod plateau;
mod presence;
pub mod reaction;
#[cfg(feature = "schema")]
mod schema;
mod selection;
mod shaped;
mod sink;
mod span;
mod stop;
mod survey;
mod timeline;
mod translated;
mod tree;
mod urgency;
mod weights;
mod wire;

pub use arrival::{Arrival, Lens, Oddities};
pub use arrivals::Arrivals;
pub use capture::{Capture, CaptureNotes, Frame, Heading, LinkType, Tap};
pub use classifier::{Classifier, Flow, FlowBy, FlowByError};
pub use compare::compare;
pub use compare::error::CompareError;
pub use compare::observer::{Progress, ReplayObserver};
pub use compare::options::Options;
pub use comparison::{
    CaptureSummary, Comparison, Cost, Curves, DisciplineResult, FlowResult, FlowSummary, Jain,
    KindCurves, OtherSeed,
};
pub use conditions::{Condition, Network, Side};
pub use error::{CaptureError, DirectionError, FilterError, RuleError};
pub use feed::{Feed, FeedError, Queue, Sorted};
pub use filter::Filter;
pub use harm::{LONGEST_RETRY, flow_harm, retries};
pub use headers::{
    Headers, Ports, Tunnel, Unparsable, UnparsableCounts, dscp_name, dscp_number, network_offset,
    parse, protocol_name, protocol_number,
};
pub use host_summary::{HostEnd, HostFairness, HostSummary, HostsSummary};
pub use kind::{Kind, KindOutcome, Served};
pub use link_model::LinkModel;
pub use link_trace::{LinkTrace, TracedLink};
pub use mending::Mending;
pub use mirror::Inside;
pub use observed::{CodePoints, Observed, OtherFlows, PartOfTime};
pub use outcome::{Delay, Drops, Outcome};
pub use plateau::PlateauRate;
pub use selection::{
    Chosen, Cure, Direction, DirectionChoice, InterfaceLoad, InterfaceName, LeftOut, Mixed,
    OppositeLoad, OtherWay, Part, Selection, SelectionSummary,
};
pub use shaped::{own_rate, rate_of_tree};
pub use sink::{PacketFate, PacketRecord, PacketSink};
pub use span::{Span, parse_length, parse_time};
pub use stop::Stop;
pub use timeline::{SetForward, Silence};
pub use tree::{IdleLeaves, TreeFile};
pub use urgency::{Carried, Urgency};
pub use weights::{WeightRule, WeightRules};
