//! One flow's settings: weight and longest packet, with their legal ranges.

use crate::config::ConfigError;
use crate::packet::FlowId;

/// Settings of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowConfig {
    /// Share of the link, relative to the other flows' weights: 1 to 1024, as in `tc qfq`. DRR
    /// takes up to 65,535, because its weights are multiples of a quantum in bytes.
    pub weight: u32,
    /// The flow's longest packet in bytes: 512 to 65536, as in `tc qfq`.
    pub max_packet_len: u32,
}

impl FlowConfig {
    /// Largest legal `max_packet_len`: 65,536 bytes.
    pub const MAX_PACKET_LEN: u32 = 1 << 16;
    /// Smallest legal `max_packet_len`: 512 bytes.
    pub const MIN_MAX_PACKET_LEN: u32 = 512;
    /// The largest weight in most disciplines: 1,024.
    pub const MAX_WEIGHT: u32 = 1 << 10;
    /// The largest weight in any discipline, 65,535: see
    /// [`Discipline::MAX_WEIGHT`](crate::schedulers::Discipline::MAX_WEIGHT).
    pub const LARGEST_WEIGHT: u32 = 65_535;

    /// Weight 1 and packets of up to 2048 bytes.
    pub const DEFAULT: Self = Self {
        weight: 1,
        max_packet_len: 2048,
    };

    /// Whether a discipline with a table of flows can take these settings for `flow`.
    ///
    /// # Errors
    /// A value out of its range, or a flow number beyond [`FlowId::LARGEST_TABLED`].
    pub fn check(&self, discipline: &'static str, flow: FlowId) -> Result<(), ConfigError> {
        self.check_up_to(Self::MAX_WEIGHT, discipline, flow)
    }

    /// [`check`](Self::check) for a discipline with another largest weight.
    ///
    /// # Errors
    /// A value out of its range, or a flow number beyond [`FlowId::LARGEST_TABLED`].
    pub fn check_up_to(
        &self,
        max_weight: u32,
        discipline: &'static str,
        flow: FlowId,
    ) -> Result<(), ConfigError> {
        ConfigError::in_range(
            discipline,
            "flow",
            flow.0.into(),
            0,
            FlowId::LARGEST_TABLED.0.into(),
        )?;
        ConfigError::in_range(
            discipline,
            "weight",
            self.weight.into(),
            1,
            max_weight.into(),
        )?;
        let min = Self::MIN_MAX_PACKET_LEN;
        let max = Self::MAX_PACKET_LEN;
        ConfigError::in_range(
            discipline,
            "maxpkt",
            self.max_packet_len.into(),
            min.into(),
            max.into(),
        )
    }
}

impl Default for FlowConfig {
    fn default() -> Self {
        Self::DEFAULT
    }
}
