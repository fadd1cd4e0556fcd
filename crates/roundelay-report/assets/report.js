"use strict";
(() => {
  const {
    byId, element, colorName, seconds, rate, bytes, tick, count, percent, clock, few, axis, logarithmicAxis, tooltip, reference, draw, shares, fillLegend,
    makeSortable, followTheme, followWidth,
  } = Roundelay;
  const page = JSON.parse(document.getElementById("data").textContent);
  // Of many disciplines only the best one and the FIFO are shown at first.
  const MANY = 12;
  const isShown = (name, index) => page.disciplines.length <= MANY || index === page.best || name === "fifo";
  const lines = page.disciplines.map(({ spec, name }, index) => ({ label: spec, index, width: index === page.best ? 2.75 : 1.75, shown: isShown(name, index) }));

  const state = { view: 0, shape: "share", longest: "mean", charts: [] };

  // The kind of flows that the headline is about, or that whose delay differs most between the disciplines.
  const opening = () => {
    if (page.opens !== null) return page.opens;
    let [most, found] = [1, 0];
    page.views.forEach(({ judged, results }, index) => {
      const delays = results.map(({ outcome }) => outcome.delay?.p99 ?? 0);
      const ratio = Math.max(...delays) / Math.max(Math.min(...delays), 1e-9);
      if (judged && ratio > most) [most, found] = [ratio, index];
    });
    return found;
  };

  // ---- Units ------------------------------------------------------------------------------------

  const reasons = (drops) => {
    const names = { full: "full", pushed_out: "pushed out", early: "early", refused: "refused", filtered: "filtered" };
    const some = Object.entries(names).filter(([key]) => drops[key] > 0).map(([key, name]) => `${count(drops[key])} ${name}`);
    return some.join(", ") || "–";
  };

  const drawn = (id, label, { spans = false, ...options }, data) => {
    const drawnLines = lines.map((line) => ({ ...line, spans }));
    state.charts.push(...draw(id, label, { nothing: "None of these packets was sent.", ...options }, data, drawnLines));
  };

  // ---- Delay ------------------------------------------------------------------------------------

  // A distribution with an added point at zero, to start the curve on the axis.
  const distribution = (curves) => {
    const points = curves.delay_cdf.filter(([delay]) => delay > 0);
    return points.length === 0 ? [] : [[points[0][0] * 0.995, 0], ...points];
  };

  const drawDelay = (view) => {
    const tail = state.shape === "tail";
    const all = view.results.map((result) => distribution(result.curves));
    const delays = [...new Set(all.flat().map(([delay]) => delay))].sort((one, other) => one - other);
    const within = all.map((points) => shares(points, delays));
    const longer = within.map((column) => column.map((share) => (share === null || share >= 1 ? null : 1 - share)));
    const smallest = Math.min(0.01, ...longer.flat().filter((share) => share !== null));
    const [first, last] = [delays[0], delays[delays.length - 1]];
    const whole = (chart, min, max) => (min <= first && max >= last ? [first * 0.92, last * 1.08] : [min, max]);
    const valueAt = (chart, index, place) => {
      const share = within[index][place] ?? (all[index].length > 0 && delays[place] > all[index][0][0] ? 1 : 0);
      return tail ? 1 - share : share;
    };
    const title = (delay) => (tail ? `Longer than ${seconds(delay)}` : `Within ${seconds(delay)}`);
    const plain = { range: [0, 1.02] };
    const logarithmic = { distr: 3, range: [smallest, 1.1] };
    byId("delay-about").textContent = tail
      ? "Share of the sent packets that took longer, both axes logarithmic: the worst few show. Further left is better."
      : "Share of the sent packets that took no longer; delay is logarithmic. Further left is better. Dropped packets have no delay.";
    const label = view.results.map((result, index) => `${page.disciplines[index].spec} p99 ${seconds(result.outcome.delay?.p99)}`).join(", ");
    drawn("delay", `Distribution of delay, ${view.label}: ${label}`, {
      height: 320,
      scales: { x: { time: false, distr: 3, range: whole }, y: tail ? logarithmic : plain },
      axes: [logarithmicAxis(tick.time, { size: 32 }), (tail ? logarithmicAxis : axis)((share) => `${few(share * 100)}%`, { size: 78 })],
      plugins: [tooltip(lines, title, valueAt, percent)],
    }, [delays, ...(tail ? longer : within)]);
  };

  // ---- Time -------------------------------------------------------------------------------------

  const overTime = (view, { key, scale }) => {
    const scaled = (value) => (value === null ? null : value * scale);
    const tables = view.results.map(({ curves }) => [curves[key].map((value, bin) => Number((bin * curves.bin).toPrecision(8))), curves[key].map(scaled)]);
    return tables.some(([times]) => times.length > 0) ? uPlot.join(tables) : [[]];
  };

  const drawOverTime = (id, view, { key = id, scale = 1, title, about, mark, format, ticks, logarithmic = false }) => {
    const { bin } = view.results[0].curves;
    byId(`${id}-about`).textContent = bin > 0
      ? `${about} in each ${tick.time(bin)}.${mark ? ` Dotted: ${mark.text}.` : ""}`
      : "These are more flows than curves over time are kept for.";
    const top = (chart, min, max) => [0, 1.1 * Math.max(max ?? 0, mark?.value ?? 0, 1e-9)];
    const around = (chart, min, max) => [(min ?? 1e-3) / 1.2, 1.2 * (max ?? 1)];
    const valueAt = (chart, index, place) => chart.data[index + 1][place];
    drawn(id, `${title}, ${view.label}`, {
      // A time without packets has no delay.
      spans: key !== id,
      height: 196,
      sync: { key: "time" },
      scales: { x: { time: false }, y: logarithmic ? { distr: 3, range: around } : { range: top } },
      axes: [axis(clock, { size: 32 }), (logarithmic ? logarithmicAxis : axis)(ticks, { size: 78, space: 34 })],
      plugins: [tooltip(lines, (time) => `From ${seconds(time)}`, valueAt, format), ...(mark ? [reference(mark.value)] : [])],
    }, overTime(view, { key, scale }));
  };

  const link = { value: page.link_rate, text: `the link, ${rate(page.link_rate)}` };
  // A flow that offers less than its fair share of the link asks for more in bursts only.
  const isBursty = ({ light, fair_rate, offered_rate }) => !light && fair_rate >= 0.999 * offered_rate;
  const fairShare = (flow) => ({ value: flow.fair_rate, text: `${isBursty(flow) ? "all that it offers" : "its fair share"}, ${rate(flow.fair_rate)}` });
  const demand = (flow) => {
    if (flow.light) return "light";
    return isBursty(flow) ? "heavy in bursts" : `heavy, fair share ${rate(flow.fair_rate)}`;
  };

  const drawLatency = (view) => {
    const [key, which] = state.longest === "longest" ? ["delay_max", "Longest"] : ["delay_mean", "Mean"];
    drawOverTime("latency", view, { key, scale: 1e-3, title: `${which} delay over time`, about: `${which} delay, logarithmic, of the packets sent`, mark: null, format: seconds, ticks: tick.time, logarithmic: true });
  };

  const drawThroughput = (view) => {
    const mark = view.flow ? fairShare(view.flow) : view === page.views[0] ? link : null;
    drawOverTime("throughput", view, { title: "Throughput over time", about: "Bits sent", mark, format: rate, ticks: tick.rate });
  };

  const drawBacklog = (view) => {
    drawOverTime("backlog", view, { title: "Backlog over time", about: "Mean of the bytes waiting", mark: null, format: bytes, ticks: tick.bytes });
  };

  // ---- Figures ----------------------------------------------------------------------------------

  const withBound = (format, value, bound) => (bound === null ? format(value) : `${format(value)} ${value <= bound ? "≤" : ">"} ${format(bound)}`);

  const FIGURES = [
    ["Sent", ({ outcome }) => `${count(outcome.packets)} packets`],
    ["Throughput", ({ outcome }) => rate(outcome.throughput)],
    ["Loss", ({ outcome }) => percent(outcome.loss)],
    ["Dropped", ({ outcome }) => reasons(outcome.drops)],
    ["Marked", ({ outcome }) => count(outcome.marked), (results) => results.some(({ outcome }) => outcome.marked > 0)],
    ["Reordered", ({ outcome }) => count(outcome.reordered), (results) => results.some(({ outcome }) => outcome.reordered > 0)],
    ["mean", ({ outcome }) => seconds(outcome.delay?.mean)],
    ["p50", ({ outcome }) => seconds(outcome.delay?.p50)],
    ["p99", ({ outcome }) => seconds(outcome.delay?.p99)],
    ["p99.9", ({ outcome }) => seconds(outcome.delay?.p999)],
    ["max", ({ outcome }) => seconds(outcome.delay?.max)],
    ["GPS lag", ({ fairness }) => bytes(fairness.lag), (results) => results[0].fairness !== null],
    ["B-WFI", ({ fairness }) => withBound(bytes, fairness.b_wfi, fairness.b_wfi_bound), (results) => results[0].fairness !== null],
    ["T-WFI", ({ fairness }) => withBound(seconds, fairness.t_wfi, fairness.t_wfi_bound), (results) => results[0].fairness !== null],
    ["Latency", ({ fairness }) => withBound(seconds, fairness.latency, fairness.latency_bound), (results) => results[0].fairness !== null],
    ["Fairness", ({ fairness }) => withBound(seconds, fairness.pairs, fairness.pairs_bound), (results) => results[0].fairness !== null],
  ];

  const drawFigures = (view) => {
    const columns = FIGURES.filter(([, , wanted]) => !wanted || wanted(view.results));
    const head = element("tr", {}, element("th", { textContent: view.label, scope: "col" }));
    head.append(...columns.map(([name]) => element("th", { textContent: name, scope: "col" })));
    const rows = view.results.map((result, index) => {
      const row = element("tr", { className: index === page.best ? "best" : "" });
      row.append(element("th", { textContent: page.disciplines[index].spec, scope: "row" }));
      row.append(...columns.map(([, text]) => element("td", { textContent: text(result) })));
      return row;
    });
    byId("figures").replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
  };

  // ---- Flow by flow -----------------------------------------------------------------------------

  const flowViews = () => page.views.map((view, index) => ({ view, index })).filter(({ view }) => view.flow);

  const logarithmicScale = (values) => {
    const low = Math.log10(Math.min(...values)) - 0.08;
    const high = Math.log10(Math.max(...values)) + 0.08;
    const place = (value) => (100 * (Math.log10(value) - low)) / Math.max(high - low, 1e-9);
    const decades = [];
    for (let power = Math.ceil(low); power <= high; power += 1) decades.push(10 ** power);
    return { place, decades };
  };

  const dotRow = (result, index, scale) => {
    const { spec } = page.disciplines[index];
    const { delay, loss } = result.outcome;
    const track = element("div", { className: "track" });
    for (const decade of scale.decades) {
      const line = element("i");
      line.style.left = `${scale.place(decade)}%`;
      track.append(line);
    }
    if (delay) {
      const [from, to] = [scale.place(delay.p50), scale.place(delay.p99)];
      const range = element("div", { className: "range" });
      Object.assign(range.style, { left: `${from}%`, width: `${Math.max(to - from, 0)}%`, background: `var(${colorName(index)})` });
      const dot = element("div", { className: "dot" });
      Object.assign(dot.style, { left: `${to}%`, background: `var(${colorName(index)})` });
      track.append(range, dot);
      track.title = `${spec}: median ${seconds(delay.p50)}, p99 ${seconds(delay.p99)}`;
    }
    const name = element("div", { className: "name", textContent: page.disciplines[index].short });
    name.title = spec;
    const lost = element("div", { className: loss > 0 ? "lost bad" : "lost", textContent: loss > 0 ? percent(loss) : "–" });
    return [name, track, element("div", { className: "value", textContent: delay ? seconds(delay.p99) : "none sent" }), lost];
  };

  const card = ({ view, index }, scale) => {
    const title = element("button", { type: "button", textContent: view.label, title: `Show ${view.label} in the charts` });
    title.addEventListener("click", () => {
      select(index);
      byId("curves").scrollIntoView();
    });
    const weight = view.flow.weight === 1 ? "" : `, weight ${view.flow.weight}`;
    const about = element("p", { textContent: `Offers ${rate(view.flow.offered_rate)}: ${demand(view.flow)}${weight}` });
    const dots = element("div", { className: "dots" });
    dots.append(...["", "", "p99", "loss"].map((text) => element("div", { className: "head value", textContent: text })));
    view.results.forEach((result, discipline) => dots.append(...dotRow(result, discipline, scale)));
    const marks = element("div", { className: "scale" });
    const every = Math.ceil(scale.decades.length / 3);
    marks.append(...scale.decades.filter((decade, place) => place % every === 0).map((decade) => {
      const mark = element("span", { textContent: tick.time(decade) });
      mark.style.left = `${scale.place(decade)}%`;
      return mark;
    }));
    dots.append(element("div"), marks);
    return element("article", { className: "card" }, title, about, dots);
  };

  const drawCards = () => {
    const flows = flowViews();
    const delays = flows.flatMap(({ view }) => view.results.flatMap(({ outcome }) => (outcome.delay ? [outcome.delay.p50, outcome.delay.p99] : [])));
    const scale = logarithmicScale(delays.filter((delay) => delay > 0));
    byId("cards").replaceChildren(...flows.map((flow) => card(flow, scale)));
    const others = page.flow_count - flows.length;
    byId("flows-about").textContent = "The dot is the 99th percentile of delay, the bar reaches back to the median; all share one logarithmic axis."
      + (others > 0 ? ` ${count(others)} smaller ${others === 1 ? "flow is" : "flows are"} counted above and not drawn.` : "");
  };

  // ---- Controls ---------------------------------------------------------------------------------

  const drawCharts = () => {
    const view = page.views[state.view];
    state.charts.forEach((chart) => chart.destroy());
    state.charts = [];
    drawDelay(view);
    drawLatency(view);
    drawThroughput(view);
    drawBacklog(view);
  };

  const select = (index) => {
    state.view = index;
    byId("view").value = String(index);
    drawCharts();
    drawFigures(page.views[index]);
  };

  const fillPicker = () => {
    const picker = byId("view");
    const option = ({ label }, index) => element("option", { value: String(index), textContent: label });
    const options = page.views.map(option);
    const sets = options.filter((made, index) => !page.views[index].flow);
    const flows = options.filter((made, index) => page.views[index].flow);
    picker.append(...sets, element("optgroup", { label: "One flow" }, ...flows));
    picker.addEventListener("change", () => select(Number(picker.value)));
  };

  const shortNames = () => {
    const names = page.disciplines.map(({ name }) => name);
    page.disciplines.forEach((discipline) => {
      // A tree has an individual name.
      const alone = discipline.name !== "tree" && names.filter((name) => name === discipline.name).length === 1;
      discipline.short = alone ? discipline.name : discipline.spec;
    });
  };

  const makeCopyable = () => {
    const button = byId("copy");
    button?.addEventListener("click", async () => {
      const range = document.createRange();
      range.selectNodeContents(byId("commands"));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      const copied = await navigator.clipboard?.writeText(byId("commands").textContent).then(() => true, () => false);
      button.textContent = copied || document.execCommand("copy") ? "Copied" : "Press Ctrl+C";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  };

  if (page.disciplines.length === 0) return;
  shortNames();
  followTheme(drawCharts);
  fillPicker();
  fillLegend("legend", lines, () => state.charts);
  makeSortable(byId("disciplines"));
  makeCopyable();
  byId("shape").addEventListener("change", ({ target }) => {
    state.shape = target.value;
    drawCharts();
  });
  byId("longest").addEventListener("change", ({ target }) => {
    state.longest = target.value;
    drawCharts();
  });
  select(opening());
  drawCards();
  followWidth("delay", () => state.charts);
})();
