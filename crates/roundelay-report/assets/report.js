"use strict";
(() => {
  const page = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const root = document.documentElement;

  // Seven colours and eight dashes: no two of 56 disciplines look alike, and none depends on colour alone.
  const COLORS = 7;
  const DASHES = [[], [9, 5], [2, 4], [10, 4, 2, 4], [18, 5], [5, 3], [10, 4, 2, 4, 2, 4], [3, 8]];
  const dash = (index) => DASHES[index % DASHES.length];
  const width = (index) => (index === page.best ? 2.75 : 1.75);

  const state = { view: 0, shape: "share", shown: page.disciplines.map(() => true), charts: [] };

  // ---- Units -----------------------------------------------------------------------------------------------------------------------------

  const TIME = [[1e-9, "ns"], [1e-6, "µs"], [1e-3, "ms"], [1, "s"]];
  const RATE = [[1, "bit/s"], [1e3, "kbit/s"], [1e6, "Mbit/s"], [1e9, "Gbit/s"]];
  const BYTES = [[1, "B"], [1e3, "KB"], [1e6, "MB"], [1e9, "GB"]];

  const scaled = (units, digits) => (value) => {
    if (value === null || value === undefined || !Number.isFinite(value)) return "–";
    if (value === 0) return "0";
    const [size, unit] = units.findLast(([size]) => Math.abs(value) >= size * 0.9995) ?? units[0];
    return `${digits(value / size, size)} ${unit}`;
  };
  const three = (value, size) => {
    if (size === 1 && Number.isInteger(value)) return String(value);
    return value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
  };
  const few = (value) => String(Number(value.toPrecision(4)));
  const seconds = scaled(TIME, three);
  const rate = scaled(RATE, three);
  const bytes = scaled(BYTES, three);
  const tick = { time: scaled(TIME, few), rate: scaled(RATE, few), bytes: scaled(BYTES, few) };
  const count = (value) => value.toLocaleString("en-US");

  const percent = (share) => {
    const value = share * 100;
    if (value === 0) return "0 %";
    if (value < 0.01) return "<0.01 %";
    if (value < 1) return `${value.toFixed(2)} %`;
    if (value < 99) return `${value.toFixed(1)} %`;
    return `${Number(value.toFixed(2))} %`;
  };

  const clock = (value) => {
    if (value < 120) return tick.time(value);
    const rest = Math.round(value % 60);
    return `${Math.floor(value / 60)}:${String(rest).padStart(2, "0")} min`;
  };

  const reasons = (drops) => {
    const names = { full: "full", pushed_out: "pushed out", early: "early", refused: "refused" };
    const some = Object.entries(names).filter(([key]) => drops[key] > 0).map(([key, name]) => `${count(drops[key])} ${name}`);
    return some.join(", ") || "–";
  };

  // ---- Elements --------------------------------------------------------------------------------------------------------------------------

  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  // A colour as the canvas wants it: custom properties with light-dark() resolve only where they are used.
  const probe = document.body.appendChild(element("i", { className: "unseen" }));
  const resolved = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const colorName = (index) => `--c${index % COLORS}`;

  const swatch = (index) => {
    const SVG = "http://www.w3.org/2000/svg";
    const picture = document.createElementNS(SVG, "svg");
    const line = document.createElementNS(SVG, "line");
    picture.setAttribute("class", "swatch");
    picture.setAttribute("viewBox", "0 0 30 8");
    picture.setAttribute("aria-hidden", "true");
    for (const [key, value] of Object.entries({ x1: 0, x2: 30, y1: 4, y2: 4, "stroke-dasharray": dash(index).join(" ") })) {
      line.setAttribute(key, value);
    }
    line.style.stroke = `var(${colorName(index)})`;
    picture.append(line);
    return picture;
  };

  // ---- Charts ----------------------------------------------------------------------------------------------------------------------------

  const series = (index) => ({
    label: page.disciplines[index].spec,
    stroke: resolved(colorName(index)),
    dash: dash(index),
    width: width(index),
    show: state.shown[index],
    spanGaps: false,
    points: { show: false },
  });

  const axis = (values, more = {}) => ({
    stroke: resolved("--soft"),
    font: "12px system-ui, sans-serif",
    grid: { stroke: resolved("--grid"), width: 1 },
    ticks: { stroke: resolved("--line"), width: 1, size: 5 },
    values: (chart, splits) => splits.map((split) => (split === null ? "" : values(split))),
    ...more,
  });

  // The values at the cursor, beside it.
  const tooltip = (title, valueAt, format) => {
    const tip = element("div", { className: "tip", hidden: true });
    const update = (chart) => {
      const { idx, left } = chart.cursor;
      tip.hidden = idx === null || idx === undefined || left < 0;
      if (tip.hidden) return;
      const rows = page.disciplines.map((discipline, index) => ({ index, value: valueAt(chart, index, idx) }));
      const visible = rows.filter(({ index, value }) => state.shown[index] && value !== null && value !== undefined);
      visible.sort((one, other) => other.value - one.value);
      tip.replaceChildren(element("b", { textContent: title(chart.data[0][idx]) }), ...visible.map(({ index, value }) => {
        const near = chart.series[index + 1]._focus === true;
        return element("div", { className: near ? "near" : "" }, swatch(index), element("span", { textContent: page.disciplines[index].spec }),
          element("span", { textContent: format(value) }));
      }));
      const place = chart.over.offsetLeft + left;
      const flip = left > chart.over.clientWidth / 2;
      const wanted = flip ? place - tip.offsetWidth - 14 : place + 14;
      tip.style.left = `${Math.max(0, Math.min(wanted, chart.width - tip.offsetWidth))}px`;
    };
    return { hooks: { init: (chart) => chart.root.append(tip), setCursor: update, setSeries: update } };
  };

  // A horizontal dotted line, for what the curves are to be compared with.
  const reference = (value) => ({
    hooks: {
      draw: (chart) => {
        const { ctx, bbox } = chart;
        const y = Math.round(chart.valToPos(value, "y", true)) + 0.5;
        if (y < bbox.top || y > bbox.top + bbox.height) return;
        ctx.save();
        ctx.strokeStyle = resolved("--text");
        ctx.lineWidth = uPlot.pxRatio;
        ctx.setLineDash([uPlot.pxRatio, 3 * uPlot.pxRatio]);
        ctx.beginPath();
        ctx.moveTo(bbox.left, y);
        ctx.lineTo(bbox.left + bbox.width, y);
        ctx.stroke();
        ctx.restore();
      },
    },
  });

  const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
  const moveByKey = (chart) => (event) => {
    const last = chart.data[0].length - 1;
    if (event.key === "Escape") return chart.setCursor({ left: -10, top: -10 });
    if (!(event.key in steps)) return;
    event.preventDefault();
    const next = Math.min(last, Math.max(0, (chart.cursor.idx ?? Math.floor(last / 2)) + steps[event.key]));
    chart.setCursor({ left: chart.valToPos(chart.data[0][next], "x"), top: chart.over.clientHeight / 2 }, true, true);
  };

  const draw = (id, label, options, data) => {
    const home = byId(id);
    home.classList.toggle("empty", data[0].length === 0);
    if (data[0].length === 0) {
      home.textContent = "None of these packets was sent.";
      return;
    }
    home.textContent = "";
    const chart = new uPlot({
      width: home.clientWidth,
      height: options.height,
      legend: { show: false },
      series: [{}, ...page.disciplines.map((discipline, index) => series(index))],
      scales: options.scales,
      axes: options.axes,
      plugins: options.plugins,
      focus: { alpha: 0.3 },
      cursor: { y: false, focus: { prox: 18 }, points: { size: 7 }, drag: { x: true, y: false, dist: 6 }, sync: options.sync },
      padding: [10, 12, 0, 0],
    }, data, home);
    chart.root.tabIndex = 0;
    chart.root.setAttribute("role", "img");
    chart.root.setAttribute("aria-label", label);
    chart.root.addEventListener("keydown", moveByKey(chart));
    chart.root.addEventListener("blur", () => chart.setCursor({ left: -10, top: -10 }));
    state.charts.push(chart);
  };

  // Marks of a logarithmic axis: whole multiples of powers of ten, and which of them have room for a name.
  const logarithmicMarks = (chart, place, min, max) => {
    const marks = [];
    for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max); power += 1) {
      for (let times = 1; times < 10; times += 1) marks.push(Number(`${times}e${power}`));
    }
    return marks.filter((mark) => mark >= min && mark <= max);
  };
  const leading = (mark) => Math.round(mark / 10 ** Math.floor(Math.log10(mark) + 1e-9));
  const named = (chart, marks) => {
    const decades = Math.log10(marks[marks.length - 1] / marks[0]);
    const wanted = decades > 2.5 ? [1] : decades > 1.2 ? [1, 2, 5] : [1, 2, 3, 4, 5, 7];
    return marks.map((mark) => (wanted.includes(leading(mark)) ? mark : null));
  };
  const logarithmicAxis = (values, more) => {
    const made = axis(values, { splits: logarithmicMarks, filter: named, ...more });
    made.grid.filter = named;
    return made;
  };

  // ---- Delay -----------------------------------------------------------------------------------------------------------------------------

  // Points of a distribution from nought on, so that the curve starts on the axis.
  const distribution = (curves) => {
    const points = curves.delay_cdf.filter(([delay]) => delay > 0);
    return points.length === 0 ? [] : [[points[0][0] * 0.995, 0], ...points];
  };

  // The share of packets within each of `delays`, which increase; straight between points on the logarithmic axis, none outside of them.
  const shares = (points, delays) => {
    let next = 0;
    return delays.map((delay) => {
      while (next < points.length && points[next][0] < delay) next += 1;
      if (next === points.length || (next === 0 && points[0][0] > delay)) return null;
      const [above, shareAbove] = points[next];
      if (next === 0 || above === delay) return shareAbove;
      const [below, shareBelow] = points[next - 1];
      return shareBelow + (shareAbove - shareBelow) * (Math.log(delay / below) / Math.log(above / below));
    });
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
    draw("delay", `Distribution of delay, ${view.label}: ${label}`, {
      height: 320,
      scales: { x: { time: false, distr: 3, range: whole }, y: tail ? logarithmic : plain },
      axes: [logarithmicAxis(tick.time, { size: 32 }), (tail ? logarithmicAxis : axis)((share) => `${few(share * 100)} %`, { size: 78 })],
      plugins: [tooltip(title, valueAt, percent)],
    }, [delays, ...(tail ? longer : within)]);
  };

  // ---- Time ------------------------------------------------------------------------------------------------------------------------------

  const overTime = (view, key) => {
    const tables = view.results.map(({ curves }) => [curves[key].map((value, bin) => Number((bin * curves.bin).toPrecision(8))), curves[key]]);
    return tables.some(([times]) => times.length > 0) ? uPlot.join(tables) : [[]];
  };

  const drawOverTime = (id, view, { title, about, mark, format, ticks }) => {
    const { bin } = view.results[0].curves;
    byId(`${id}-about`).textContent = bin > 0
      ? `${about} in each ${tick.time(bin)}.${mark ? ` Dotted: ${mark.text}.` : ""}`
      : "These are more flows than curves over time are kept for.";
    const top = (chart, min, max) => [0, 1.1 * Math.max(max ?? 0, mark?.value ?? 0, 1e-9)];
    const valueAt = (chart, index, place) => chart.data[index + 1][place];
    draw(id, `${title}, ${view.label}`, {
      height: 196,
      sync: { key: "time" },
      scales: { x: { time: false }, y: { range: top } },
      axes: [axis(clock, { size: 32 }), axis(ticks, { size: 78, space: 34 })],
      plugins: [tooltip((time) => `From ${seconds(time)}`, valueAt, format), ...(mark ? [reference(mark.value)] : [])],
    }, overTime(view, id));
  };

  const link = { value: page.link_rate, text: `the link, ${rate(page.link_rate)}` };
  const fairShare = ({ fair_rate }) => ({ value: fair_rate, text: `its fair share, ${rate(fair_rate)}` });

  const drawThroughput = (view) => {
    const mark = view.flow ? fairShare(view.flow) : view === page.views[0] ? link : null;
    drawOverTime("throughput", view, { title: "Throughput over time", about: "Bits sent", mark, format: rate, ticks: tick.rate });
  };

  const drawBacklog = (view) => {
    drawOverTime("backlog", view, { title: "Backlog over time", about: "Mean of the bytes waiting", mark: null, format: bytes, ticks: tick.bytes });
  };

  // ---- Figures ---------------------------------------------------------------------------------------------------------------------------

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

  // ---- Flow by flow ----------------------------------------------------------------------------------------------------------------------

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
    const kind = view.flow.light ? "light" : `heavy, fair share ${rate(view.flow.fair_rate)}`;
    const weight = view.flow.weight === 1 ? "" : `, weight ${view.flow.weight}`;
    const about = element("p", { textContent: `Offers ${rate(view.flow.offered_rate)}: ${kind}${weight}` });
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

  // ---- Controls --------------------------------------------------------------------------------------------------------------------------

  const drawCharts = () => {
    const view = page.views[state.view];
    state.charts.forEach((chart) => chart.destroy());
    state.charts = [];
    drawDelay(view);
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

  const fillLegend = () => {
    byId("legend").append(...page.disciplines.map(({ spec }, index) => {
      const button = element("button", { type: "button", title: `Show or hide ${spec}` }, swatch(index), element("span", { textContent: spec }));
      button.setAttribute("aria-pressed", "true");
      button.addEventListener("click", () => {
        state.shown[index] = !state.shown[index];
        button.setAttribute("aria-pressed", String(state.shown[index]));
        state.charts.forEach((chart) => chart.setSeries(index + 1, { show: state.shown[index] }));
      });
      return button;
    }));
  };

  const shortNames = () => {
    const names = page.disciplines.map(({ name }) => name);
    page.disciplines.forEach((discipline) => {
      // A tree has a name of its own.
      const alone = discipline.name !== "tree" && names.filter((name) => name === discipline.name).length === 1;
      discipline.short = alone ? discipline.name : discipline.spec;
    });
  };

  // Numbers ascending, then descending; what has no number stays last.
  const sortBy = (heading, column) => {
    const body = byId("disciplines").tBodies[0];
    const up = heading.getAttribute("aria-sort") !== "ascending";
    const key = (row) => row.cells[column].dataset.sort;
    const order = (one, other) => {
      if (column === 0) return one.cells[0].textContent.localeCompare(other.cells[0].textContent) * (up ? 1 : -1);
      const [first, second] = [key(one), key(other)];
      if (first === undefined || second === undefined) return (first === undefined) - (second === undefined);
      return (Number(first) - Number(second)) * (up ? 1 : -1);
    };
    body.append(...[...body.rows].sort(order));
    byId("disciplines").querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
  };

  const makeSortable = () => {
    const row = byId("disciplines").tHead.lastElementChild;
    [...row.cells].forEach((heading, column) => heading.querySelector("button").addEventListener("click", () => sortBy(heading, column)));
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

  // Private browsing may refuse storage; the choice then lasts as long as the page.
  const remembered = (value) => {
    try {
      if (value !== undefined) localStorage.setItem("roundelay-theme", value);
      return localStorage.getItem("roundelay-theme");
    } catch {
      return null;
    }
  };

  const applyTheme = (theme) => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
  };

  const followTheme = () => {
    const radio = byId("theme").querySelector(`input[value="${remembered() === "dark" || remembered() === "light" ? remembered() : "auto"}"]`);
    radio.checked = true;
    applyTheme(radio.value);
    byId("theme").addEventListener("change", ({ target }) => {
      remembered(target.value);
      applyTheme(target.value);
      drawCharts();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawCharts);
  };

  const followWidth = () => {
    const fit = () => state.charts.forEach((chart) => {
      const wide = chart.root.parentElement.clientWidth;
      if (wide !== chart.width) chart.setSize({ width: wide, height: chart.height });
    });
    new ResizeObserver(fit).observe(byId("delay"));
  };

  if (page.disciplines.length === 0) return;
  shortNames();
  followTheme();
  fillPicker();
  fillLegend();
  makeSortable();
  makeCopyable();
  byId("shape").addEventListener("change", ({ target }) => {
    state.shape = target.value;
    drawCharts();
  });
  select(0);
  drawCards();
  followWidth();
})();
