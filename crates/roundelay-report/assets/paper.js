"use strict";
// Charts of one item of a paper: published and measured curves.
(() => {
  const { byId, axis, logarithmicAxis, tooltip, draw, few, fillLegend, followTheme, followWidth } = Roundelay;
  const specs = JSON.parse(byId("data").textContent).map((chart) => ({
    ...chart,
    lines: chart.curves.map((curve, index) => ({ label: curve.name, index, width: 2, shown: true })),
  }));
  let drawn = [];

  const side = ({ label, logarithmic }, more) => (logarithmic ? logarithmicAxis(few, { label, ...more }) : axis(few, { label, ...more }));
  const scale = ({ logarithmic }) => (logarithmic ? { distr: 3 } : {});

  const show = (chart, place) => {
    const { x, y, xs, curves, lines, title } = chart;
    const value = (_, line, index) => curves[line].values[index];
    const format = (number) => few(number);
    return draw(`chart${place}`, title, {
      height: 380,
      nothing: "No points.",
      scales: { x: { time: false, ...scale(x) }, y: scale(y) },
      axes: [side(x), side(y, { size: 72 })],
      plugins: [tooltip(lines, (at) => `${x.label}: ${few(at)}`, value, format)],
    }, [xs, ...curves.map((curve) => curve.values)], lines);
  };

  const drawAll = () => {
    drawn = specs.map(show);
    drawn.forEach((charts, place) => specs[place].lines.forEach((line, number) => charts.forEach((chart) => chart.setSeries(number + 1, { show: line.shown }))));
  };
  drawAll();
  specs.forEach((chart, place) => fillLegend(`legend${place}`, chart.lines, () => drawn[place]));
  followTheme(drawAll);
  followWidth("charts", () => drawn.flat());
})();
