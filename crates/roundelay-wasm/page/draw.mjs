// Drawings of a history's states as SVG text: the same code in the page and, for readers without
// JavaScript, in the build.

import { RULES, time } from "./rules.mjs";

const COLOURS = 7;
const CELLS = 8;
/** Width of the labels of rows. */
const LEFT = 66;
export const SETS = ["ER", "IR", "EB", "IB"];

const clean = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** State after so many steps. */
export const stateAt = (history, step) => (step === 0 ? history.initial : history.steps[step - 1].state);

/** Milliseconds of a time in picoseconds. */
export const milliseconds = (picoseconds) => `${Math.round(picoseconds / 1e6) / 1000} ms`;

/** Name of a packet: its flow's name and its number in the flow. */
export const packetName = (history, packet) => {
  const { flow } = history.packets[packet];
  const number = history.packets.slice(0, packet + 1).filter((other) => other.flow === flow).length;
  return `${history.flows[flow].name}${number}`;
};

/** What the step did, a sentence. */
export const sentence = (history, step) => {
  if (step === 0) return "Before the first packet.";
  const { at, packet, until } = history.steps[step - 1];
  const { flow, len } = history.packets[packet];
  const subject = `${milliseconds(at)}: packet ${packetName(history, packet)} of flow ${history.flows[flow].name}, ${len} bytes,`;
  return until === null ? `${subject} arrives.` : `${subject} gets the link.`;
};

/** The moves of a step: sentence, rule. */
export const movesOf = (history, step) => (step === 0 ? [] : history.steps[step - 1].moves.map((move) => ({ text: RULES[move.rule].say(history, move), rule: RULES[move.rule], move })));

/** The state in words, for those who do not see the drawing. */
export const description = (history, step) => {
  const state = stateAt(history, step);
  const sets = SETS.map((set) => {
    const groups = state.groups.filter((group) => group.set === set).map((group) => group.index);
    return `${set}: ${groups.length ? `group ${groups.join(", ")}` : "empty"}`;
  });
  return `V = ${time(state.v)}. ${sets.join("; ")}.`;
};

const groupsOf = (history) => {
  const known = new Map();
  for (const state of [history.initial, ...history.steps.map((step) => step.state)]) {
    for (const group of state.groups) known.set(group.index, group.slot_size);
  }
  return [...known].sort(([left], [right]) => right - left);
};

const box = (x, y, width, height, classes, content = "") => `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="3" class="${classes}"/>${content}`;
const text = (x, y, words, classes = "", anchor = "start") => `<text x="${x}" y="${y}" class="${classes}" text-anchor="${anchor}">${clean(words)}</text>`;

const drawSets = (state, width) => {
  const each = (width - 18) / 4;
  return SETS.map((set, place) => {
    const x = place * (each + 6);
    const members = state.groups.filter((group) => group.set === set);
    const chips = members.map((group, index) => {
      const left = x + 4 + index * 22;
      return box(left, 24, 20, 18, "chip") + text(left + 10, 37, group.index, "small", "middle");
    });
    return box(x, 0, each, 48, `set ${set}`) + text(x + 5, 15, set, "strong") + chips.join("");
  }).join("");
};

/** A row of a group: its next slots, each of the same width, and V among them. */
const drawGroup = (history, state, [index, slotSize], y, width) => {
  const group = state.groups.find((group) => group.index === index);
  const left = LEFT;
  const cell = (width - left) / CELLS;
  const earliest = Math.min(group ? group.start : Infinity, Math.floor(state.v / slotSize) * slotSize);
  let row = text(0, y + 15, `group ${index}`, "strong") + text(0, y + 28, `σ ${time(slotSize)}`, "small soft")
    + text(0, y + 41, group ? group.set : "idle", "small soft");
  for (let slot = 0; slot < CELLS; slot += 1) {
    const start = earliest + slot * slotSize;
    const x = left + slot * cell;
    const flows = group?.slots.find((slot) => slot.start === start)?.flows ?? [];
    const isFirst = group && start >= group.start && start < group.finish;
    row += box(x, y, cell - 2, 30, `slot${isFirst ? " own" : ""}`);
    if (slot % 2 === 0) row += text(x, y + 41, time(start), "tiny soft");
    const shown = flows.slice(0, 3);
    const part = (cell - 4) / Math.max(shown.length, 1);
    shown.forEach((flow, place) => {
      const middle = x + 1 + part * (place + 0.5);
      row += box(x + 1 + part * place, y + 5, part - 1, 20, `flow c${flow % COLOURS}`) + text(middle, y + 19, place === 2 && flows.length > 3 ? "…" : history.flows[flow].name, "onflow", "middle");
    });
  }
  const at = (state.v - earliest) / slotSize;
  const x = left + Math.min(at, CELLS) * cell - (at >= CELLS ? 4 : 1);
  row += `<line x1="${x}" x2="${x}" y1="${y - 4}" y2="${y + 33}" class="now"/>` + text(x - 3, y + 2, at > CELLS ? "V→" : "V", "tiny now", "end");
  return row;
};

const drawQueues = (history, step, y, width, follow) => {
  const current = step === 0 ? null : history.steps[step - 1];
  const left = LEFT;
  const place = Math.min(34, (width - left) / 8);
  const packetBox = (packet, x, top) => {
    const { flow } = history.packets[packet];
    const classes = `flow c${flow % COLOURS}${packet === follow ? " followed" : ""}`;
    return box(x, top, place - 3, 18, classes) + text(x + (place - 3) / 2, top + 13, packetName(history, packet), "onflow small", "middle");
  };
  let rows = history.flows.map((flow, number) => {
    const top = y + number * 23;
    const queue = current ? current.queues[number] : [];
    const room = Math.floor((width - left) / place) - 1;
    const boxes = queue.slice(0, room).map((packet, index) => packetBox(packet, left + index * place, top));
    const more = queue.length > room ? text(left + room * place, top + 13, `+${queue.length - room}`, "small") : "";
    return text(0, top + 13, flow.name, "strong") + text(30, top + 13, `w ${flow.weight}`, "small soft") + boxes.join("") + more;
  }).join("");
  const top = y + history.flows.length * 23 + 4;
  rows += text(0, top + 13, "link", "strong") + box(left, top - 2, width - left, 22, "slot");
  if (current?.on_link != null) rows += packetBox(current.on_link, left + 2, top);
  return rows;
};

/** Sets, groups with their slots, queues and the link after a step. */
export const drawing = (history, step, { width = 340, follow = null } = {}) => {
  const state = stateAt(history, step);
  const groups = groupsOf(history);
  const queuesAt = 62 + groups.length * 54;
  const height = queuesAt + history.flows.length * 23 + 30;
  const rows = groups.map((group, place) => drawGroup(history, state, group, 64 + place * 54, width)).join("");
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${clean(description(history, step))}" class="drawing">`
    + drawSets(state, width) + rows + drawQueues(history, step, queuesAt, width, follow) + "</svg>";
};

/** Departures under each discipline, and the ends in the fluid server, on one axis of time. */
export const timeline = (history, step, { width = 340, follow = null, hidden = false } = {}) => {
  const ends = history.departures.qfq.map((departure) => departure.end);
  const last = Math.max(...ends, ...history.packets.map((packet) => packet.fluid_end));
  const now = step === 0 ? 0 : history.steps[step - 1].at;
  const left = 52;
  const scale = (time) => left + ((width - left - 2) * time) / last;
  const rows = [["qfq", "QFQ"], ["wf2q_plus", "WF2Q+"], ["drr", "DRR"]].map(([key, label], row) => {
    const y = 4 + row * 26;
    const boxes = history.departures[key].filter(({ start }) => !hidden || start < now || (start === now && step > 0 && history.steps[step - 1].until !== null)).map(({ packet, start, end }) => {
      const { flow } = history.packets[packet];
      const part = scale(end) - scale(start);
      const classes = `flow c${flow % COLOURS}${packet === follow ? " followed" : ""}${start > now ? " later" : ""}`;
      const label = part > 12 ? text(scale(start) + part / 2, y + 14, history.flows[flow].name, "onflow small", "middle") : "";
      return `<rect x="${scale(start).toFixed(1)}" y="${y}" width="${Math.max(part - 1, 1).toFixed(1)}" height="20" rx="2" class="${classes}"/>${label}`;
    });
    return text(0, y + 14, label, "small strong") + boxes.join("");
  });
  const y = 4 + 3 * 26;
  const fluid = history.packets.map((packet, number) => {
    const x = scale(packet.fluid_end).toFixed(1);
    return `<line x1="${x}" x2="${x}" y1="${y}" y2="${y + 20}" class="end c${packet.flow % COLOURS}${number === follow ? " followed" : ""}"/>`;
  });
  const x = scale(now).toFixed(1);
  return `<svg viewBox="0 0 ${width} ${y + 40}" role="img" aria-label="Departures in order of time under QFQ, WF2Q+ and DRR, and ends in the fluid server" class="drawing">`
    + rows.join("") + text(0, y + 14, "fluid", "small strong") + fluid.join("")
    + `<line x1="${x}" x2="${x}" y1="0" y2="${y + 24}" class="now"/>`
    + text(left, y + 36, "0 ms", "tiny soft") + text(width, y + 36, milliseconds(last), "tiny soft", "end") + "</svg>";
};
