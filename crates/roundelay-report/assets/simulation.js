"use strict";
(() => {
  const {
    byId, seconds, rate, bytes, tick, count, percent, clock, few, axis, logarithmicAxis, tooltip, draw, shares, fillLegend, makeSortable, followTheme, followWidth,
  } = Roundelay;
  const page = JSON.parse(document.getElementById("data").textContent);
  // Links differ in colour and dash; initially only the first few are shown.
  const SHOWN_LINKS = 4;
  const groups = page.groups.map(({ name }, index) => ({ label: name, index, width: 2, shown: true }));
  const links = page.links.map(({ name }, index) => ({ label: name, index, width: 2, shown: index < SHOWN_LINKS }));
  const fairness = page.fairness === null ? [] : page.fairness.curves.map(({ name }, index) => ({ label: name, index, width: 2, shown: true }));
  const paces = groups.map((group) => ({ ...group }));
  const state = { shape: "share", longest: "mean", waited: "mean", spread: [], pace: [], fairness: [], time: [] };

  // ---- How times are spread ---------------------------------------------------------------------

  // A distribution with an added point at zero, to start the curve on the axis.
  const distribution = (points) => {
    const positive = points.filter(([time]) => time > 0);
    return positive.length === 0 ? [] : [[positive[0][0] * 0.995, 0], ...positive];
  };

  const drawSpread = (id, what, nothing) => {
    if (!byId(id)) return;
    const tail = state.shape === "tail";
    const all = page.groups.map((group) => distribution(group[id]));
    const times = [...new Set(all.flat().map(([time]) => time))].sort((one, other) => one - other);
    const within = all.map((points) => shares(points, times));
    const longer = within.map((column) => column.map((share) => (share === null || share >= 1 ? null : 1 - share)));
    const smallest = Math.min(0.01, ...longer.flat().filter((share) => share !== null));
    const [first, last] = [times[0], times[times.length - 1]];
    const whole = (chart, min, max) => (min <= first && max >= last ? [first * 0.92, last * 1.08] : [min, max]);
    const valueAt = (chart, index, place) => {
      if (all[index].length === 0) return null;
      const share = within[index][place] ?? (times[place] > all[index][0][0] ? 1 : 0);
      return tail ? 1 - share : share;
    };
    const title = (time) => (tail ? `Longer than ${seconds(time)}` : `Within ${seconds(time)}`);
    state.spread.push(...draw(id, `Distribution of ${what}`, {
      nothing,
      height: 300,
      scales: { x: { time: false, distr: 3, range: whole }, y: tail ? { distr: 3, range: [smallest, 1.1] } : { range: [0, 1.02] } },
      axes: [logarithmicAxis(tick.time, { size: 32 }), (tail ? logarithmicAxis : axis)((share) => `${few(share * 100)}%`, { size: 78 })],
      plugins: [tooltip(groups, title, valueAt, percent)],
    }, [times, ...(tail ? longer : within)], groups));
  };

  // ---- Sources over time ------------------------------------------------------------------------

  const steps = (values) => values.map((value, step) => Number(((step + 1) * page.step).toPrecision(8)));

  const drawPace = (id, key, { title, about, format, ticks, least }) => {
    byId(`${id}-about`).textContent = `${about} in each ${seconds(page.step)}.`;
    const times = page.groups.length === 0 ? [] : steps(page.groups[0][key]);
    const top = (chart, min, max) => [0, 1.1 * Math.max(max ?? 0, least)];
    state.pace.push(...draw(id, title, {
      nothing: "The scenario has no sources.",
      height: 196,
      sync: { key: "time" },
      scales: { x: { time: false }, y: { range: top } },
      axes: [axis(clock, { size: 32 }), axis(ticks, { size: 78, space: 34 })],
      plugins: [tooltip(paces, (time) => `Until ${seconds(time)}`, (chart, index, place) => chart.data[index + 1][place], format)],
    }, [times, ...page.groups.map((group) => group[key])], paces.map((line) => ({ ...line, spans: key !== id }))));
  };

  const drawPaces = () => {
    const delays = { mean: "Mean delay of the packets that arrived", longest: "Longest delay of the packets that arrived" };
    drawPace("throughput", "throughput", { title: "Throughput over time", about: "Bits that arrived, headers and repetitions included,", format: rate, ticks: tick.rate, least: 1 });
    drawPace("latency", state.longest, { title: "Delay over time", about: delays[state.longest], format: seconds, ticks: tick.time, least: 1e-6 });
  };

  // ---- Fairness over time -----------------------------------------------------------------------

  const drawFairness = () => {
    if (page.fairness === null) return;
    const { step, curves } = page.fairness;
    const points = curves.length === 0 ? [] : curves[0].jain.map((value, place) => Number(((place + 1) * step).toPrecision(8)));
    const share = (value) => value.toFixed(3);
    state.fairness.push(...draw("fairness", "Jain’s index over time", {
      nothing: "No two flows of a group received anything.",
      height: 240,
      scales: { x: { time: false }, y: { range: [0, 1.02] } },
      axes: [axis(clock, { size: 32 }), axis((value) => few(value), { size: 78, space: 34 })],
      plugins: [tooltip(fairness, (time) => `Until ${seconds(time)}`, (chart, index, place) => chart.data[index + 1][place], share)],
    }, [points, ...curves.map((curve) => curve.jain)], fairness));
  };

  // ---- Links over time --------------------------------------------------------------------------

  const drawOverTime = (id, title, about, { key = id, format, ticks, least }) => {
    byId(`${id}-about`).textContent = `${about} each ${seconds(page.step)}.`;
    const times = page.links.length === 0 ? [] : steps(page.links[0][key]);
    const top = (chart, min, max) => [0, 1.1 * Math.max(max ?? 0, least)];
    state.time.push(...draw(id, title, {
      nothing: "The network has no links.",
      height: 196,
      sync: { key: "time" },
      scales: { x: { time: false }, y: { range: top } },
      axes: [axis(clock, { size: 32 }), axis(ticks, { size: 78, space: 34 })],
      plugins: [tooltip(links, (time) => `Until ${seconds(time)}`, (chart, index, place) => chart.data[index + 1][place], format)],
    }, [times, ...page.links.map((link) => link[key])], links.map((line) => ({ ...line, spans: key !== id }))));
  };

  const whole = (value) => (Number.isInteger(value) ? count(value) : "");

  const drawCharts = () => {
    [...state.spread, ...state.pace, ...state.fairness, ...state.time].forEach((chart) => chart.destroy());
    [state.spread, state.pace, state.fairness, state.time] = [[], [], [], []];
    drawSpread("delay", "delay of packets", "No packet arrived.");
    drawSpread("completion", "completion times", "No transfer was complete.");
    drawPaces();
    drawFairness();
    drawOverTime("utilisation", "Utilisation over time", "Part of the time at work, in", { format: percent, ticks: (share) => `${few(share * 100)}%`, least: 0.01 });
    const waits = { mean: "Mean time in the queue", longest: "Longest time in the queue" };
    drawOverTime("wait", "Wait over time", `${waits[state.waited]} of the packets that the link sent in`, { key: state.waited, format: seconds, ticks: tick.time, least: 1e-6 });
    drawOverTime("backlog", "Backlog over time", "Bytes that wait, looked at", { format: bytes, ticks: tick.bytes, least: 1 });
    drawOverTime("dropped", "Drops over time", "Packets that the queue dropped, in", { format: count, ticks: whole, least: 1 });
  };

  followTheme(drawCharts);
  fillLegend("groups-legend", groups, () => state.spread);
  fillLegend("pace-legend", paces, () => state.pace);
  if (byId("fairness-legend")) fillLegend("fairness-legend", fairness, () => state.fairness);
  fillLegend("links-legend", links, () => state.time);
  document.querySelectorAll("table.sortable").forEach(makeSortable);
  byId("shape").addEventListener("change", ({ target }) => {
    state.shape = target.value;
    drawCharts();
  });
  byId("longest").addEventListener("change", ({ target }) => {
    state.longest = target.value;
    drawCharts();
  });
  byId("waited").addEventListener("change", ({ target }) => {
    state.waited = target.value;
    drawCharts();
  });
  drawCharts();
  followWidth("delay", () => [...state.spread, ...state.pace, ...state.fairness, ...state.time]);
})();
