// Rules of QFQ in words: for each move its sentence, its equation in the paper, and the function
// that applies the rule.

const GROUPS = "crates/roundelay/src/mechanisms/groups.rs";
const CALENDAR = "crates/roundelay/src/mechanisms/calendar.rs";
const QFQ = "crates/roundelay/src/schedulers/qfq.rs";
const LISTINGS = "crates/roundelay-reference/src/qfq_listings.rs";

/** Functions of the source: file and name. The build adds lines, code and addresses. */
export const SOURCES = {
  join: [QFQ, "set_weight"],
  enqueue: [QFQ, "enqueue_packet"],
  activate: [GROUPS, "activate"],
  earliest_start: [GROUPS, "earliest_start"],
  list: [CALENDAR, "list"],
  first: [GROUPS, "first"],
  serve_first: [GROUPS, "serve_first"],
  advance: [GROUPS, "advance"],
  bring_down: [GROUPS, "bring_down"],
  come_up: [GROUPS, "come_up"],
  state_of: [GROUPS, "state_of"],
  unblock: [GROUPS, "unblock"],
  make_eligible: [GROUPS, "make_eligible"],
  listing_enqueue: [LISTINGS, "enqueue"],
  listing_start: [LISTINGS, "start_time"],
  listing_list: [LISTINGS, "insert_into_slot"],
  listing_dequeue: [LISTINGS, "dequeue"],
  listing_update: [LISTINGS, "update_group"],
  listing_state: [LISTINGS, "compute_group_state"],
  listing_unblock: [LISTINGS, "unblock_groups"],
  listing_eligible: [LISTINGS, "make_eligible"],
};

/** A virtual time: bytes per unit of weight. */
export const time = (value) => String(Math.round(value * 100) / 100);

const name = (history, flow) => history.flows[flow].name;
const meaning = { ER: "eligible and ready", IR: "ineligible and ready", EB: "eligible and blocked", IB: "ineligible and blocked" };

const start = (history, { flow, v, finish_before, blocker, start, finish }) => {
  const above = blocker ? `F of group ${blocker.group} above, the lowest in ER, is ${time(blocker.finish)}` : "no group above is in ER";
  const reason = start === finish_before && finish_before > v ? "its last packet's F"
    : blocker && start === blocker.finish && start < v ? "F of that group, as V has passed it"
      : start === v ? "V" : "by the rule";
  return `Flow ${name(history, flow)} becomes backlogged: V is ${time(v)}, its old F ${time(finish_before)}, and ${above}. `
    + `S = ${time(start)} (${reason}), F = S + length / weight = ${time(finish)}.`;
};

/**
 * The rules, by the name of their move: a sentence, the equation, the place in the paper, and keys
 * of SOURCES for the shipped scheduler and for the listings.
 */
export const RULES = {
  join: {
    say: (history, move) => `Flow ${name(history, move.flow)} joins; the weights now add up to ${move.total_weight}.`,
    equation: "phi_k = w_k / sum of w", paper: "section 3", source: "join", listing: "listing_enqueue",
  },
  append: {
    say: (history, move) => `Flow ${name(history, move.flow)} already waits: the packet joins its queue, and nothing else changes.`,
    equation: "", paper: "Fig. 4, lines 1 to 5", source: "enqueue", listing: "listing_enqueue",
  },
  start: {
    say: start,
    equation: "S = max(min(V, F_b), F);  F = S + l / phi", paper: "Eq. 29", source: "earliest_start", listing: "listing_start",
  },
  slot: {
    say: (history, move) => `Flow ${name(history, move.flow)} enters group ${move.group}, slot ${time(move.start)}: S rounded down to a slot.`,
    equation: "slot = floor(S / sigma_i) sigma_i", paper: "Eq. 5", source: "list", listing: "listing_list",
  },
  choose: {
    say: (history, move) => `Group ${move.group} is the first bit set in ER, so it finishes first (F = ${time(move.finish)}); the first flow of its first slot is ${name(history, move.flow)}.`,
    equation: "i = ffs(ER)", paper: "Fig. 5, lines 5 to 9; Theorem 6", source: "first", listing: "listing_dequeue",
  },
  next: {
    say: (history, move) => `Flow ${name(history, move.flow)} has another packet: S = the old F = ${time(move.start)}, F = ${time(move.finish)}.`,
    equation: "S = F;  F = S + l / phi", paper: "Eq. 2", source: "serve_first", listing: "listing_dequeue",
  },
  idle: {
    say: (history, move) => `Flow ${name(history, move.flow)} has no other packet; its F = ${time(move.finish)} is kept.`,
    equation: "S = F", paper: "Eq. 2", source: "serve_first", listing: "listing_dequeue",
  },
  advance: {
    say: (_, move) => `V grows by ${move.len} bytes / ${move.total_weight}, from ${time(move.from)} to ${time(move.to)}.`,
    equation: "V = V + l / sum of w", paper: "Eq. 3", source: "advance", listing: "listing_dequeue",
  },
  group: {
    say: (_, move) => `Group ${move.group} now has S = ${time(move.start)} and F = ${time(move.finish)}.`,
    equation: "S_i = first occupied slot;  F_i = S_i + 2 sigma_i", paper: "Eq. 6", source: "come_up", listing: "listing_update",
  },
  empty: {
    say: (_, move) => `Group ${move.group} has no other flow and leaves ${move.set}.`,
    equation: "", paper: "Fig. 5, lines 23 and 24", source: "come_up", listing: "listing_update",
  },
  jump: {
    say: (_, move) => `No backlogged group is eligible: V jumps from ${time(move.from)} to ${time(move.to)}, the earliest S of a group.`,
    equation: "V = max(V, min S_i)", paper: "Eq. 3", source: "make_eligible", listing: "listing_dequeue",
  },
  state: {
    say: (_, move) => `Group ${move.group} is ${meaning[move.to]}: ${move.from ? `from ${move.from} ` : ""}to ${move.to}.`,
    equation: "eligible: S_i <= V;  blocked: F_b < F_i for an eligible group b above", paper: "Fig. 4, compute_group_state", source: "state_of", listing: "listing_state",
  },
  unblock: {
    say: (_, move) => `Nothing eligible above group ${move.group} finishes earlier any more: from ${move.from} to ${move.to}.`,
    equation: "EB to ER and IB to IR, all groups below", paper: "Fig. 6, unblock_groups; Theorem 8", source: "unblock", listing: "listing_unblock",
  },
  eligible: {
    say: (_, move) => `V has entered the first slot of group ${move.group}: from ${move.from} to ${move.to}.`,
    equation: "IR to ER and IB to EB, up to fls(old V xor V)", paper: "Fig. 6, make_eligible", source: "make_eligible", listing: "listing_eligible",
  },
};
