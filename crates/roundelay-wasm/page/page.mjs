// The QFQ page: choices, steps and drawings. A history is computed at once, so a step back shows
// the very state that was there before.

import { instantiate } from "./core.mjs";
import { description, drawing, milliseconds, movesOf, packetName, sentence, stateAt, timeline } from "./draw.mjs";
import { LOADS } from "./loads.mjs";
import { time } from "./rules.mjs";

const RULE_NAMES = ["as-printed", "linux", "shipped"];
const SPEEDS = ["0.5", "1", "2", "5"];
const element = (id) => document.getElementById(id);
const { wasm, sources } = JSON.parse(element("data").textContent);

/** The choices, all of them in the page's address. */
const choice = { load: LOADS[0].name, text: null, rule: "shipped", step: 0, follow: null, ask: false, speed: "1" };
let run = null;
let history = null;
let answered = null;
let timer = null;

const loadText = () => choice.text ?? LOADS.find((load) => load.name === choice.load).text;

/** The step that a load opens on: the first with something to see. */
const opening = () => (choice.text === null ? LOADS.find((load) => load.name === choice.load).opens : 0);

const readAddress = () => {
  const given = new URLSearchParams(location.hash.slice(1));
  const known = LOADS.some((load) => load.name === given.get("load"));
  choice.load = known ? given.get("load") : LOADS[0].name;
  choice.text = given.get("text");
  choice.rule = RULE_NAMES.includes(given.get("rule")) ? given.get("rule") : "shipped";
  const step = Number.parseInt(given.get("step") ?? "", 10);
  choice.step = Number.isNaN(step) ? opening() : Math.max(0, step);
  const follow = Number.parseInt(given.get("follow") ?? "", 10);
  choice.follow = Number.isNaN(follow) ? null : follow;
  choice.ask = given.get("ask") === "1";
  choice.speed = SPEEDS.includes(given.get("speed")) ? given.get("speed") : "1";
};

const writeAddress = () => {
  const given = new URLSearchParams();
  if (choice.text === null) given.set("load", choice.load);
  else given.set("text", choice.text);
  if (choice.rule !== "shipped") given.set("rule", choice.rule);
  given.set("step", choice.step);
  if (choice.follow !== null) given.set("follow", choice.follow);
  if (choice.ask) given.set("ask", "1");
  if (choice.speed !== "1") given.set("speed", choice.speed);
  window.history.replaceState(null, "", `#${given}`);
};

const make = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

/** Computes the history of the chosen load and rule. */
const compute = () => {
  element("error").textContent = "";
  try {
    history = run(loadText(), choice.rule);
  } catch (error) {
    element("error").textContent = choice.rule === "shipped" ? error.message : `${error.message}. Shown instead: ours.`;
    if (choice.rule !== "shipped") {
      choice.rule = "shipped";
      try {
        history = run(loadText(), choice.rule);
      } catch {
        // The message is there; the page keeps the load before.
      }
    }
  }
  if (history === null) {
    choice.text = null;
    history = run(loadText(), "shipped");
  }
  if (choice.follow !== null && !(choice.follow >= 0 && choice.follow < history.packets.length)) choice.follow = null;
  const follow = element("follow");
  follow.replaceChildren(new Option("none", ""), ...history.packets.map((_, packet) => new Option(packetName(history, packet), String(packet))));
  element("text").value = loadText();
  element("step").max = history.steps.length;
};

const nextIsDeparture = () => choice.step < history.steps.length && history.steps[choice.step].until !== null;
const isAsking = () => choice.ask && nextIsDeparture() && answered !== choice.step;

const showMoves = () => {
  const isListing = choice.rule !== "shipped";
  element("moves").replaceChildren(...movesOf(history, choice.step).map(({ text, rule }) => {
    const source = sources[isListing ? rule.listing : rule.source];
    const place = make("span", { className: "place" }, ` ${rule.paper}; `);
    const link = make("a", { href: source.url, textContent: `${source.file.split("/").pop()}:${source.line}, ${source.name}` });
    const code = make("details", {}, make("summary", { textContent: `source of ${source.name}` }), make("pre", { tabIndex: 0 }, make("code", { textContent: source.code })));
    return make("li", {}, `${text} `, make("span", { className: "equation", textContent: rule.equation }), place, link, code);
  }));
};

const row = (cells) => make("tr", {}, ...cells.map((cell, place) => (place === 0 ? make("th", { scope: "row" }, String(cell)) : make("td", {}, String(cell)))));

const showTables = () => {
  const state = stateAt(history, choice.step);
  const current = choice.step === 0 ? null : history.steps[choice.step - 1];
  const flows = history.flows.map((flow, number) => {
    const times = state.flows[number];
    const of = (list) => (current ? list[number] : 0);
    const sent = current ? of(current.sent) : 0;
    const fluid = current ? of(current.fluid) : 0;
    const waiting = current ? current.queues[number].map((packet) => packetName(history, packet)).join(" ") : "";
    return row([flow.name, flow.weight, times?.start == null ? "none" : times.group, times?.start == null ? "idle" : time(times.start), times ? time(times.finish) : "",
      Math.round(sent), Math.round(fluid), Math.round(sent - fluid), current ? Math.round(of(current.lags)) : 0, current ? Math.round(of(current.worst_lags)) : 0, history.bounds[number], waiting || "none"]);
  });
  element("flows").tBodies[0].replaceChildren(...flows);
  const groups = state.groups.map((group) => {
    const slots = group.slots.map((slot) => `${time(slot.start)}: ${slot.flows.map((flow) => history.flows[flow].name).join(" ")}`).join("; ");
    return row([group.index, group.set, time(group.slot_size), time(group.start), time(group.finish), slots]);
  });
  element("groups").tBodies[0].replaceChildren(...(groups.length ? groups : [row(["none", "", "", "", "", ""])]));
};

const showFollowed = () => {
  if (choice.follow === null) {
    element("followed").textContent = "Choose a packet above to follow: outlined in the queues and here.";
    return;
  }
  const { at, fluid_end: fluid } = history.packets[choice.follow];
  const end = (key) => history.departures[key].find(({ packet }) => packet === choice.follow).end;
  const hides = choice.ask && end("qfq") > (choice.step === 0 ? 0 : history.steps[choice.step - 1].at);
  element("followed").textContent = `Packet ${packetName(history, choice.follow)} arrives at ${milliseconds(at)}. The fluid server ends at ${milliseconds(fluid)}`
    + (hides ? "." : `, QFQ at ${milliseconds(end("qfq"))} (${milliseconds(end("qfq") - fluid)} after it), WF2Q+ at ${milliseconds(end("wf2q_plus"))}, DRR at ${milliseconds(end("drr"))}.`);
};

/** The sentence of the step, broken claims, and the answer to the question: read out. */
const showLive = (verdict) => {
  const lines = [make("p", { textContent: sentence(history, choice.step) })];
  if (verdict) lines.unshift(make("p", { className: verdict.isRight ? "good" : "bad", textContent: verdict.text }));
  const broken = choice.step === 0 ? [] : history.steps[choice.step - 1].broken;
  lines.push(...broken.map((claim) => make("p", { className: "bad", textContent: `Broken: ${claim}.` })));
  lines.push(make("p", { className: "hint", textContent: description(history, choice.step) }));
  element("live").replaceChildren(...lines);
};

const showQuestion = () => {
  element("question").hidden = !isAsking();
  if (!isAsking()) return;
  const queues = choice.step === 0 ? [] : history.steps[choice.step - 1].queues;
  const flows = queues.map((_, flow) => flow).filter((flow) => queues[flow].length > 0);
  element("answers").replaceChildren(...flows.map((flow) => make("button", { type: "button", textContent: history.flows[flow].name, onclick: () => reply(flow) })));
};

const reply = (flow) => {
  const { packet } = history.steps[choice.step];
  const right = history.packets[packet].flow;
  answered = choice.step;
  const text = flow === right ? `Right: flow ${history.flows[right].name}.` : `Not ${history.flows[flow].name}: flow ${history.flows[right].name}.`;
  const why = movesOf(history, choice.step + 1).find(({ move }) => move.rule === "choose")?.text ?? "";
  go(choice.step + 1, { isRight: flow === right, text: `${text} ${why}` });
  // The pressed button is gone.
  (isAsking() ? element("answers").firstElementChild : element("forward")).focus();
};

const show = (verdict) => {
  const at = choice.step;
  // Not `disabled`: a button that loses its use keeps the focus, and the keys go on.
  for (const id of ["first", "back"]) element(id).setAttribute("aria-disabled", at === 0);
  for (const id of ["forward", "last"]) element(id).setAttribute("aria-disabled", at === history.steps.length);
  element("step").value = at;
  element("step").setAttribute("aria-valuetext", `${at} of ${history.steps.length}`);
  element("count").textContent = `${at} of ${history.steps.length}`;
  element("load").value = choice.text === null ? choice.load : "own";
  element("about").textContent = choice.text === null ? LOADS.find((load) => load.name === choice.load).about : "";
  element("follow").value = choice.follow === null ? "" : String(choice.follow);
  element("speed").value = choice.speed;
  element("ask").checked = choice.ask;
  document.querySelector(`input[name="rule"][value="${choice.rule}"]`).checked = true;
  const width = Math.max(300, Math.min(720, element("app").clientWidth));
  element("drawing").innerHTML = drawing(history, at, { width, follow: choice.follow });
  element("timeline").innerHTML = timeline(history, at, { width, follow: choice.follow, hidden: choice.ask });
  showMoves();
  showTables();
  showFollowed();
  showQuestion();
  showLive(verdict);
  writeAddress();
};

const go = (step, verdict) => {
  const to = Math.max(0, Math.min(history.steps.length, step));
  if (to > choice.step && isAsking()) {
    // A step ahead waits for the answer.
    stop();
    element("answers").firstElementChild.focus();
    return;
  }
  choice.step = to;
  show(verdict);
};

const stop = () => {
  clearInterval(timer);
  timer = null;
  element("play").setAttribute("aria-pressed", "false");
  element("play").textContent = "Play";
};

const play = () => {
  if (timer !== null) return stop();
  element("play").setAttribute("aria-pressed", "true");
  element("play").textContent = "Pause";
  timer = setInterval(() => {
    if (choice.step === history.steps.length || isAsking()) return stop();
    go(choice.step + 1);
  }, 1000 / Number(choice.speed));
};

const restart = (change) => {
  stop();
  Object.assign(choice, { follow: null }, change);
  choice.step = opening();
  answered = null;
  compute();
  show();
};

const KEYS = { ArrowRight: () => go(choice.step + 1), ArrowLeft: () => go(choice.step - 1), Home: () => go(0), End: () => go(history.steps.length), " ": play };

const listen = () => {
  element("first").onclick = KEYS.Home;
  element("back").onclick = KEYS.ArrowLeft;
  element("forward").onclick = KEYS.ArrowRight;
  element("last").onclick = KEYS.End;
  element("play").onclick = play;
  element("step").oninput = (event) => go(Number(event.target.value));
  element("load").onchange = (event) => restart({ load: event.target.value, text: null });
  element("follow").onchange = (event) => { choice.follow = event.target.value === "" ? null : Number(event.target.value); show(); };
  element("speed").onchange = (event) => { stop(); choice.speed = event.target.value; show(); };
  element("ask").onchange = (event) => { choice.ask = event.target.checked; show(); };
  // The step stays: the same moment under another rule.
  element("rules").onchange = (event) => { stop(); choice.rule = event.target.value; answered = null; compute(); go(choice.step); };
  element("run").onclick = () => restart({ text: element("text").value });
  addEventListener("keydown", (event) => {
    const isTyped = event.target.closest("input, select, textarea") || (event.key === " " && event.target.closest("button, summary, a"));
    if (isTyped || event.altKey || event.ctrlKey || event.metaKey || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  addEventListener("hashchange", () => { stop(); readAddress(); answered = null; compute(); go(choice.step); });
  let width = element("app").clientWidth;
  addEventListener("resize", () => {
    if (element("app").clientWidth !== width) show();
    width = element("app").clientWidth;
  });
};

const begin = async () => {
  const packed = Uint8Array.from(atob(wasm), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  run = await instantiate(await new Response(stream).arrayBuffer());
  const own = new Option("your own", "own");
  own.disabled = true;
  element("load").replaceChildren(...LOADS.map((load) => new Option(load.title, load.name)), own);
  readAddress();
  compute();
  element("app").hidden = false;
  choice.step = Math.min(choice.step, history.steps.length);
  listen();
  show();
};

begin();
