//! Reads integers in the byte order of the capturing machine.

/// A capture's byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    /// The 16 bits at `at`.
    #[inline]
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let field = field(bytes, at);
        match self {
            Self::Little => u16::from_le_bytes(field),
            Self::Big => u16::from_be_bytes(field),
        }
    }

    /// The 32 bits at `at`.
    #[inline]
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let field = field(bytes, at);
        match self {
            Self::Little => u32::from_le_bytes(field),
            Self::Big => u32::from_be_bytes(field),
        }
    }

    /// The 64 bits at `at`, signed.
    pub(super) fn i64(self, bytes: &[u8], at: usize) -> i64 {
        let first = u64::from(self.u32(bytes, at));
        let second = u64::from(self.u32(bytes, at + 4));
        let value = match self {
            Self::Little => second << 32 | first,
            Self::Big => first << 32 | second,
        };
        value.cast_signed()
    }
}

/// The bytes at `at`. Beyond the end there are zeros, but callers check lengths before.
#[inline]
fn field<const LEN: usize>(bytes: &[u8], at: usize) -> [u8; LEN] {
    debug_assert!(at + LEN <= bytes.len());
    let field = bytes.get(at..).and_then(<[u8]>::first_chunk);
    field.copied().unwrap_or([0; LEN])
}
