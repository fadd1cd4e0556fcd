"use strict";
// Charts of one item, of a paper or of a run: published and measured curves.
(() => {
  const { byId, axis, logarithmicAxis, tooltip, intervals, draw, few, resolved, fillLegend, followTheme, followWidth } = Roundelay;
  const specs = JSON.parse(byId("data").textContent);
  // Panels have one legend, and one list of lines.
  const arePanels = specs.length > 1 && specs.every(({ panel }) => panel);
  const linesOf = ({ curves }) => curves.map(({ name }, index) => ({ label: name, index, width: 2, shown: true, spans: true }));
  specs.forEach((chart, place) => {
    chart.lines = arePanels && place > 0 ? specs[0].lines : linesOf(chart);
  });
  // Most places across at which a line has its points marked.
  const MARKED = 24;
  let drawn = [];

  const isWhole = (values) => values.every((value) => Number.isInteger(value));
  // Of whole numbers, half of one is no place on the axis.
  const STEPS = [1, 2, 5].flatMap((step) => [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((power) => step * 10 ** power)).sort((one, other) => one - other);

  // Powers of ten far from one, without their zeros.
  const short = (value) => (value >= 1e5 || value < 1e-3 ? value.toExponential().replace("e+", "e") : few(value));

  // An axis of categories has a name at each place, else numbers.
  const side = ({ label, logarithmic, names }, values, more) => {
    if (names.length > 0) {
      return axis((place) => names[place] ?? "", { label, splits: () => names.map((name, place) => place), ...more });
    }
    if (logarithmic) return logarithmicAxis(short, { label, ...more });
    return axis(few, { label, ...(isWhole(values) ? { incrs: STEPS } : {}), ...more });
  };

  const across = ({ logarithmic, names }) => {
    if (names.length > 0) return { range: [-0.5, names.length - 0.5] };
    return logarithmic ? { distr: 3 } : {};
  };

  // The vertical scale has room for the intervals. Where no value is negative it ends at zero; beside names it begins there, so that lengths compare.
  const upright = ({ logarithmic }, curves, shared, names) => {
    if (logarithmic) return { distr: 3, ...(shared ? { range: [shared[0] / 1.15, shared[1] * 1.15] } : {}) };
    const ends = shared ?? curves.flatMap(({ values, halves }) => values.flatMap((value, place) => (value === null ? [] : [value - halves[place], value + halves[place]])));
    if (!shared && names.length === 0 && !curves.some(({ halves }) => halves.some((half) => half > 0))) return {};
    const values = curves.flatMap((curve) => curve.values.filter((value) => value !== null));
    const isPositive = values.every((value) => value >= 0);
    const [lowest, high] = [Math.min(...ends), Math.max(...ends)];
    const low = isPositive && (names.length > 0 || lowest < 0) ? 0 : lowest;
    const room = 0.08 * (high - low);
    return { range: [isPositive ? Math.max(0, low - room) : low - room, high + room] };
  };

  // A dotted line where something changes, with its name at the side that has more room.
  const changesAt = (changes) => ({
    hooks: {
      draw: (chart) => {
        const { ctx, bbox } = chart;
        ctx.save();
        ctx.strokeStyle = ctx.fillStyle = resolved("--text");
        ctx.lineWidth = uPlot.pxRatio;
        ctx.setLineDash([uPlot.pxRatio, 3 * uPlot.pxRatio]);
        ctx.font = `${12 * uPlot.pxRatio}px system-ui, sans-serif`;
        ctx.textBaseline = "top";
        ctx.textAlign = "left";
        changes.forEach(({ x, name }, place) => {
          const at = Math.round(chart.valToPos(x, "x", true)) + 0.5;
          if (at < bbox.left || at > bbox.left + bbox.width) return;
          ctx.beginPath();
          ctx.moveTo(at, bbox.top);
          ctx.lineTo(at, bbox.top + bbox.height);
          ctx.stroke();
          const room = 5 * uPlot.pxRatio;
          const wide = ctx.measureText(name).width;
          const beside = at > bbox.left + bbox.width / 2 ? at - room - wide : at + room;
          const last = Math.max(bbox.left + room, bbox.left + bbox.width - wide);
          ctx.fillText(name, Math.min(Math.max(beside, bbox.left + room), last), bbox.top + (2 + 15 * (place % 3)) * uPlot.pxRatio);
        });
        ctx.restore();
      },
    },
  });

  const show = (chart, place) => {
    const { x, y, xs, curves, lines, title, panel, ends, changes = [] } = chart;
    const value = (_, line, index) => curves[line].values[index];
    const at = (position) => (x.names.length > 0 ? x.names[position] : `${x.label}: ${few(position)}`);
    return draw(`chart${place}`, title, {
      height: panel || x.names.length > 0 ? 240 : specs.length > 1 ? 280 : 380,
      nothing: "No points.",
      scales: { x: { time: false, ...across(x) }, y: upright(y, curves, ends, x.names) },
      axes: [side(x, xs), side(y, curves.flatMap(({ values }) => values.filter((number) => number !== null)), { size: 72 })],
      plugins: [tooltip(lines, at, value, few), intervals(curves.map(({ halves }) => halves)), changesAt(changes)],
    }, [xs, ...curves.map((curve) => curve.values)], lines.map((line, place) => ({ ...line, dots: curves[place].dots, marks: xs.length <= MARKED })));
  };

  const drawAll = () => {
    drawn = specs.map(show);
    drawn.forEach((charts, place) => specs[place].lines.forEach((line, number) => charts.forEach((chart) => chart.setSeries(number + 1, { show: line.shown }))));
  };
  drawAll();
  if (arePanels) fillLegend("legend0", specs[0].lines, () => drawn.flat());
  else specs.forEach((chart, place) => fillLegend(`legend${place}`, chart.lines, () => drawn[place]));
  followTheme(drawAll);
  followWidth("charts", () => drawn.flat());
})();
