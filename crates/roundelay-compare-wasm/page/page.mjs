// The compare page: a capture and choices in, the command's table, verdict and report out.

import { instantiate, reader } from "./core.mjs";
import { OPTIONS, command, words } from "./command.mjs";

const element = (id) => document.getElementById(id);
const data = JSON.parse(element("data").textContent);
const form = element("form");

/** The module's bytes. */
let module = null;
/** The chosen capture. */
let capture = null;
/** What compares: `compare`, `report`, `figures` and `stop`; a promise of the same. */
let machine = null;
let starting = null;
let isRunning = false;
/** Number of the present comparison: what an earlier one still says does not count. */
let turn = 0;
/** Addresses of the results: given back when there are new ones. */
let addresses = [];

const decode = async (text) => {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

/** Compares in a worker: the page stays alive, and a comparison can be stopped. */
const inWorker = () => new Promise((resolve, reject) => {
  const address = URL.createObjectURL(new Blob([data.worker], { type: "text/javascript" }));
  const worker = new Worker(address);
  let [give, fail, progress] = [resolve, reject, () => {}];
  const ask = (message) => new Promise((resolve, reject) => {
    [give, fail] = [resolve, reject];
    worker.postMessage(message);
  });
  let report = null;
  const handle = {
    compare: (request, file, told) => {
      progress = told;
      report = new Promise((resolve) => { handle.reported = resolve; });
      return ask({ request, file });
    },
    report: () => report,
    figures: () => ask("figures"),
    stop: () => worker.terminate(),
  };
  worker.onerror = (event) => fail(new Error(event.message || "no worker"));
  worker.onmessage = ({ data }) => {
    if (data.failed !== undefined) fail(new Error(data.failed));
    else if (data.ready) give(handle);
    else if (data.read !== undefined) progress(data.read);
    else if (data.report !== undefined) handle.reported(data.report);
    else give(data.answer ?? data.figures);
  };
  worker.postMessage({ module });
});

/** Compares in the page itself, for browsers that give a file no worker. */
const inPage = async () => {
  const run = await instantiate(module);
  return {
    compare: async (request, file, told) => {
      const bytes = new Uint8Array(await file.arrayBuffer());
      told(bytes.length);
      await new Promise((resolve) => { setTimeout(resolve, 50); });
      return run.compare(request, reader(bytes));
    },
    report: async () => run.report(),
    figures: async () => run.figures(),
    stop: () => {},
  };
};

const started = () => {
  starting ??= inWorker().catch(inPage).then((ours) => { machine = ours; return ours; });
  return starting;
};

const end = () => {
  machine?.stop();
  [machine, starting] = [null, null];
};

const lines = (id) => element(id).value.split("\n").map((line) => line.trim()).filter((line) => line !== "");
const texts = (id) => Promise.all([...element(id).files].map(async (file) => ({ name: file.name, text: await file.text() })));

/** Whether one's own disciplines are chosen and there are none. */
const isEmpty = () => form.elements.which.value === "own" && lines("own").length === 0 && element("trees").files.length === 0;

/** Columns that the table has room for: as in a terminal, 100 at most. */
const columns = () => {
  const letters = element("letters").getBoundingClientRect().width / 100;
  const room = Math.floor((element("measure").getBoundingClientRect().width - 26) / letters);
  return room >= 100 ? undefined : Math.max(40, room);
};

const request = async () => {
  const given = (name) => form.elements[name].value.trim();
  const which = given("which");
  const weights = await texts("weights");
  const trees = await texts("trees");
  const asked = {
    name: capture.name,
    ...Object.fromEntries(OPTIONS.map((name) => [name, given(name)]).filter(([, value]) => value !== "")),
    disciplines: { own: lines("own"), all: ["all"], linux: trees.length > 0 ? data.chosen : [] }[which],
    weight: lines("weight"),
    ...(weights.length > 0 ? { weights: weights[0] } : {}),
    ...(trees.length > 0 ? { trees } : {}),
    keep_duplicates: element("keep_duplicates").checked,
    mirrored: element("mirrored").checked,
    wide: element("wide").checked,
    ...(element("wide").checked ? {} : { columns: columns() }),
  };
  return { ...asked, words: words(asked) };
};

const say = (text) => { element("status").textContent = text; };
const complain = (text) => { element("error").textContent = text; };
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

const running = (on) => {
  isRunning = on;
  element("stop").hidden = !on;
  element("progress").hidden = !on;
  element("run").setAttribute("aria-disabled", String(on));
};

const forget = () => {
  element("result").hidden = true;
  complain("");
  addresses.forEach((address) => URL.revokeObjectURL(address));
  addresses = [];
};

const addressOf = (text, type) => {
  const address = URL.createObjectURL(new Blob([text], { type }));
  addresses.push(address);
  return address;
};

/** A file's name with another ending. */
const ending = (suffix) => `${capture.name.replace(/(\.(gz|zst|xz))?$/, "").replace(/\.pcap(ng)?$/, "")}.${suffix}`;

const compare = async () => {
  if (isRunning) return;
  forget();
  if (capture === null) {
    say("");
    complain("No capture yet: choose a file.");
    element("file").focus();
    return;
  }
  if (isEmpty()) {
    say("");
    complain("No disciplines: write one a line.");
    element("own").focus();
    return;
  }
  running(true);
  turn += 1;
  const mine = turn;
  const { size } = capture;
  say(`Comparing on ${capture.name}, ${megabytes(size)} …`);
  element("progress").removeAttribute("value");
  const began = performance.now();
  try {
    const asked = await request();
    const ours = await started();
    if (mine !== turn) return;
    const answer = await ours.compare(asked, capture, (bytes) => { element("progress").value = size > 0 ? bytes / size : 1; });
    if (mine !== turn) return;
    const seconds = (performance.now() - began) / 1000;
    if (answer.error !== undefined) {
      say("");
      complain(answer.error);
      return;
    }
    element("text").textContent = answer.text;
    element("command").textContent = (asked.columns ? `COLUMNS=${asked.columns} ` : "") + command(asked);
    complain(answer.broken ?? "");
    element("result").hidden = false;
    const report = addressOf(await ours.report(), "text/html");
    element("open").href = report;
    Object.assign(element("save"), { href: report, download: ending("html") });
    say(`Compared in ${seconds.toFixed(1)} s. The result is below.`);
    element("result-title").focus({ preventScroll: true });
    element("result").scrollIntoView();
    document.documentElement.dataset.seconds = String(seconds);
  } catch (error) {
    if (mine !== turn) return;
    say("");
    complain(machine === null ? String(error.message ?? error) : `The comparison ended in the browser: ${error.message}. With a large capture its memory may not suffice; the command has no such limit.`);
    end();
  } finally {
    if (mine === turn) running(false);
  }
};

const stop = () => {
  turn += 1;
  end();
  running(false);
  say("Stopped.");
  element("run").focus();
};

const choose = (file) => {
  if (!file) return;
  if (isRunning) stop();
  capture = file;
  element("chosen").textContent = `${file.name}, ${megabytes(file.size)}`;
  if (form.elements.rate.value.trim() === "") {
    forget();
    say("Capture chosen. Now the link's rate.");
    form.elements.rate.focus();
  } else {
    compare();
  }
};

const saveFigures = async () => {
  if (isRunning) return;
  const link = Object.assign(document.createElement("a"), { href: addressOf(await machine.figures(), "application/json"), download: ending("json") });
  link.click();
};

const copy = async (id, button) => {
  const selection = getSelection();
  selection.selectAllChildren(element(id));
  const isDone = await navigator.clipboard?.writeText(element(id).textContent).then(() => true, () => false) ?? false;
  say(isDone || document.execCommand("copy") ? `${button.dataset.of} copied.` : "Selected: copy with the keyboard.");
};

const listen = () => {
  form.addEventListener("submit", (event) => { event.preventDefault(); compare(); });
  element("file").addEventListener("change", () => choose(element("file").files[0]));
  // The same file, chosen again, is read again.
  element("file").addEventListener("click", () => { element("file").value = ""; });
  element("stop").addEventListener("click", stop);
  element("figures").addEventListener("click", saveFigures);
  for (const button of document.querySelectorAll("button[data-copy]")) button.addEventListener("click", () => copy(button.dataset.copy, button));
  element("own").addEventListener("input", () => { form.elements.which.value = "own"; });
  const drag = (event, on) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    document.body.classList.toggle("dragging", on);
  };
  addEventListener("dragover", (event) => drag(event, true));
  addEventListener("dragleave", (event) => { if (event.relatedTarget === null) drag(event, false); });
  addEventListener("drop", (event) => {
    drag(event, false);
    choose(event.dataTransfer.files[0]);
  });
};

const begin = async () => {
  try {
    module = await decode(data.wasm);
    listen();
    element("app").hidden = false;
    started().catch(() => {});
  } catch (error) {
    element("failed").textContent = `This page needs WebAssembly and DecompressionStream, as browsers of 2023 and later have: ${error.message}`;
  }
};

begin();
