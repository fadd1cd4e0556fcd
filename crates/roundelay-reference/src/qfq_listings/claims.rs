//! The QFQ paper's claims about its listings: theorems, lemmas and properties that are checked
//! after each call.

/// A claim from section 4 or appendix A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// S_i <= V, with V rounded up to a multiple of the group's slot size.
    Theorem3,
    /// V <= F_i + L.
    Theorem4,
    /// Only a group's first 2 + ceil(L / sigma_i) slots hold flows.
    Theorem5,
    /// ER is sorted by F.
    Theorem6,
    /// EB is sorted by F.
    Theorem7,
    /// When the served group becomes idle or its F rises, the blocked groups below become ready,
    /// and no others.
    Theorem8,
    /// The sum over backlogged flows with S >= V.
    Lemma1,
    /// The sum over flows that finish by V'. Idle flows keep their last packet's times, which move
    /// up when V jumps.
    Lemma2,
    /// Lemma 2, but with idle flows' times moved up to V at any time.
    Lemma2IdleAtV,
    /// A group that becomes backlogged or eligible, or whose F falls, finishes no earlier than the
    /// groups below.
    Lemma3,
    /// Of two blocked groups, the lower one starts no later than the higher one finishes.
    Lemma4,
    /// Section 4.1.3, items 1 and 2: IB and IR together are sorted by S and by F.
    IneligibleOrder,
    /// Section 4.1.3: each backlogged group is in the set that the definition gives.
    Sets,
    /// Section 4.1.3: among all eligible groups, ER's first group finishes first.
    FirstServed,
    /// Section 4.2.1: an enqueue moves no other group.
    Enqueue,
    /// Section 3.1: while packets wait, each dequeue serves one.
    WorkConserving,
}

impl Claim {
    /// All claims.
    pub const ALL: [Self; 16] = [
        Self::Theorem3,
        Self::Theorem4,
        Self::Theorem5,
        Self::Theorem6,
        Self::Theorem7,
        Self::Theorem8,
        Self::Lemma1,
        Self::Lemma2,
        Self::Lemma2IdleAtV,
        Self::Lemma3,
        Self::Lemma4,
        Self::IneligibleOrder,
        Self::Sets,
        Self::FirstServed,
        Self::Enqueue,
        Self::WorkConserving,
    ];

    /// Name in the paper, or a short description.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Theorem3 => "Theorem 3",
            Self::Theorem4 => "Theorem 4",
            Self::Theorem5 => "Theorem 5",
            Self::Theorem6 => "Theorem 6",
            Self::Theorem7 => "Theorem 7",
            Self::Theorem8 => "Theorem 8",
            Self::Lemma1 => "Lemma 1",
            Self::Lemma2 => "Lemma 2",
            Self::Lemma2IdleAtV => "Lemma 2, idle flows at V",
            Self::Lemma3 => "Lemma 3",
            Self::Lemma4 => "Lemma 4",
            Self::IneligibleOrder => "order of IB and IR",
            Self::Sets => "sets by definition",
            Self::FirstServed => "earliest finish served",
            Self::Enqueue => "enqueue moves no other group",
            Self::WorkConserving => "work conservation",
        }
    }
}
