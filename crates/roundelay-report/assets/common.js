"use strict";
// Common code of all pages: units, elements, charts, controls.
const Roundelay = (() => {
  const byId = (id) => document.getElementById(id);
  const root = document.documentElement;

  // Seven colours and eight dashes: 56 disciplines with different looks, and no look depends on
  // colour alone.
  const COLORS = 7;
  const DASHES = [[], [9, 5], [2, 4], [10, 4, 2, 4], [18, 5], [5, 3], [10, 4, 2, 4, 2, 4], [3, 8]];
  const dash = (index) => DASHES[index % DASHES.length];
  // ---- Units ------------------------------------------------------------------------------------

  const TIME = [[1e-9, "ns"], [1e-6, "us"], [1e-3, "ms"], [1, "s"]];
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
    if (value === 0) return "0%";
    if (value < 0.01) return "<0.01%";
    if (value < 1) return `${value.toFixed(2)}%`;
    if (value < 99.95) return `${value.toFixed(1)}%`;
    return `${Number(value.toFixed(2))}%`;
  };

  const clock = (value) => {
    if (value < 120) return tick.time(value);
    const rest = Math.round(value % 60);
    return `${Math.floor(value / 60)}:${String(rest).padStart(2, "0")} min`;
  };

  // ---- Elements ---------------------------------------------------------------------------------

  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  // A colour in the canvas's syntax: custom properties with light-dark() resolve only at their
  // place of use.
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

  // ---- Charts -----------------------------------------------------------------------------------

  // Lines of a chart: each has a label, an index for colour and dash, a width, and a visibility;
  // `dots` draws points only, `marks` the points of a line, and `spans` a line across places where
  // other lines have points.
  const series = ({ label, index, width, shown, dots = false, marks = false, spans = false }) => ({
    label,
    stroke: resolved(colorName(index)),
    fill: dots ? resolved(colorName(index)) : undefined,
    dash: dash(index),
    width,
    show: shown,
    spanGaps: spans,
    ...(dots ? { paths: () => null } : {}),
    points: { show: dots || marks, size: dots ? 9 : 6, fill: resolved(colorName(index)) },
  });

  // Bars of uncertainty: `halves` has half the length of each, by line and place.
  const intervals = (halves) => ({
    hooks: {
      draw: (chart) => {
        const { ctx } = chart;
        ctx.save();
        ctx.lineWidth = 1.5 * uPlot.pxRatio;
        ctx.setLineDash([]);
        halves.forEach((places, line) => {
          if (!chart.series[line + 1].show) return;
          ctx.strokeStyle = chart.series[line + 1].stroke();
          places.forEach((half, place) => {
            const value = chart.data[line + 1][place];
            if (!half || value === null) return;
            const x = chart.valToPos(chart.data[0][place], "x", true);
            // A bar that goes on below the axis ends there, with an arrow: no delay is negative, and a logarithmic axis has no place for zero.
            const isCut = value - half < chart.scales.y.min;
            const ends = [isCut ? chart.scales.y.min : value - half, value + half].map((end) => Math.round(chart.valToPos(end, "y", true)));
            const cap = 5 * uPlot.pxRatio;
            const middle = Math.round(x);
            ctx.beginPath();
            ctx.moveTo(middle, ends[0]);
            ctx.lineTo(middle, ends[1]);
            ctx.moveTo(middle - cap, ends[1]);
            ctx.lineTo(middle + cap, ends[1]);
            const rise = isCut ? cap : 0;
            ctx.moveTo(middle - cap, ends[0] - rise);
            ctx.lineTo(middle, ends[0]);
            ctx.lineTo(middle + cap, ends[0] - rise);
            ctx.stroke();
          });
        });
        ctx.restore();
      },
    },
  });

  const axis = (values, more = {}) => ({
    stroke: resolved("--soft"),
    font: "12px system-ui, sans-serif",
    grid: { stroke: resolved("--grid"), width: 1 },
    ticks: { stroke: resolved("--line"), width: 1, size: 5 },
    values: (chart, splits) => splits.map((split) => (split === null ? "" : values(split))),
    ...more,
  });

  // A tooltip with the values at the cursor.
  const tooltip = (lines, title, valueAt, format) => {
    const tip = element("div", { className: "tip", hidden: true });
    const update = (chart) => {
      const { idx, left } = chart.cursor;
      tip.hidden = idx === null || idx === undefined || left < 0;
      if (tip.hidden) return;
      const rows = lines.map((line, place) => ({ line, place, value: valueAt(chart, place, idx) }));
      const visible = rows.filter(({ line, value }) => line.shown && value !== null && value !== undefined);
      visible.sort((one, other) => other.value - one.value);
      tip.replaceChildren(element("b", { textContent: title(chart.data[0][idx]) }), ...visible.map(({ line, place, value }) => {
        const near = chart.series[place + 1]._focus === true;
        return element("div", { className: near ? "near" : "" }, swatch(line.index), element("span", { textContent: line.label }),
          element("span", { textContent: format(value) }));
      }));
      const place = chart.over.offsetLeft + left;
      const flip = left > chart.over.clientWidth / 2;
      const wanted = flip ? place - tip.offsetWidth - 14 : place + 14;
      tip.style.left = `${Math.max(0, Math.min(wanted, chart.width - tip.offsetWidth))}px`;
    };
    return { hooks: { init: (chart) => chart.root.append(tip), setCursor: update, setSeries: update } };
  };

  // A horizontal dotted line of reference for the curves.
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

  // Draws `data` into the element `id`; returns the chart, or nothing for empty data.
  const draw = (id, label, options, data, lines) => {
    const home = byId(id);
    home.classList.toggle("empty", data[0].length === 0);
    if (data[0].length === 0) {
      home.textContent = options.nothing;
      return [];
    }
    home.textContent = "";
    const chart = new uPlot({
      width: home.clientWidth,
      height: options.height,
      legend: { show: false },
      series: [{}, ...lines.map(series)],
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
    return [chart];
  };

  // Ticks of a logarithmic axis: integer multiples of powers of ten, and the ticks with space for a
  // label.
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

  // The share of packets within each of `delays` (ascending); linear interpolation on the
  // logarithmic axis, null outside of the points.
  const shares = (points, delays) => {
    let next = 0;
    return delays.map((delay) => {
      while (next < points.length && points[next][0] < delay) next += 1;
      if (next === points.length || (next === 0 && points[0][0] > delay)) return null;
      // Of several points at one time the last has the share.
      let last = next;
      while (last + 1 < points.length && points[last + 1][0] === delay) last += 1;
      if (points[last][0] === delay) return points[last][1];
      const [above, shareAbove] = points[next];
      if (next === 0) return shareAbove;
      const [below, shareBelow] = points[next - 1];
      return shareBelow + (shareAbove - shareBelow) * (Math.log(delay / below) / Math.log(above / below));
    });
  };

  // ---- Controls ---------------------------------------------------------------------------------

  // Buttons that show and hide lines in the charts.
  const fillLegend = (id, lines, charts) => {
    byId(id).append(...lines.map((line, place) => {
      const button = element("button", { type: "button", title: `Show or hide ${line.label}` }, swatch(line.index),
        element("span", { textContent: line.label }));
      button.setAttribute("aria-pressed", String(line.shown));
      button.addEventListener("click", () => {
        line.shown = !line.shown;
        button.setAttribute("aria-pressed", String(line.shown));
        charts().forEach((chart) => chart.setSeries(place + 1, { show: line.shown }));
      });
      return button;
    }));
  };

  // Sorts numbers ascending, then descending; cells without a number stay last. A row of class
  // `below` stays below its row.
  const sortBy = (table, heading, column) => {
    const body = table.tBodies[0];
    const up = heading.getAttribute("aria-sort") !== "ascending";
    const key = (row) => row.cells[column].dataset.sort;
    const order = (one, other) => {
      if (column === 0) return one.cells[0].textContent.localeCompare(other.cells[0].textContent) * (up ? 1 : -1);
      const [first, second] = [key(one), key(other)];
      if (first === undefined || second === undefined) return (first === undefined) - (second === undefined);
      return (Number(first) - Number(second)) * (up ? 1 : -1);
    };
    const groups = [];
    for (const row of body.rows) {
      if (row.classList.contains("below")) groups.at(-1).push(row);
      else groups.push([row]);
    }
    groups.sort(([one], [other]) => order(one, other));
    body.append(...groups.flat());
    table.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
  };

  const makeSortable = (table) => {
    const row = table.tHead.lastElementChild;
    [...row.cells].forEach((heading, column) => heading.querySelector("button").addEventListener("click", () => sortBy(table, heading, column)));
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

  const followTheme = (drawCharts) => {
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

  const followWidth = (id, charts) => {
    const fit = () => charts().forEach((chart) => {
      const wide = chart.root.parentElement.clientWidth;
      if (wide !== chart.width) chart.setSize({ width: wide, height: chart.height });
    });
    new ResizeObserver(fit).observe(byId(id));
    addEventListener("beforeprint", () => onPaper(fit));
    addEventListener("afterprint", fit);
  };

  // A box that scrolls ends between two rows, so that it cuts no text.
  const endBetweenRows = () => document.querySelectorAll(".high").forEach((box) => {
    box.style.maxHeight = "";
    const most = box.clientHeight;
    if (box.scrollHeight <= most) return;
    const top = box.getBoundingClientRect().top - box.scrollTop;
    const ends = [...box.querySelectorAll("tbody tr")].map((row) => row.getBoundingClientRect().bottom - top);
    const last = Math.max(...ends.filter((end) => end <= most));
    if (last > 0) box.style.maxHeight = `${Math.ceil(last) + box.offsetHeight - box.clientHeight}px`;
  });
  endBetweenRows();
  addEventListener("resize", endBetweenRows);

  // ---- Print ------------------------------------------------------------------------------------

  // Pixels across a sheet of A4 or letter. The style stretches what is drawn for it to the sheet that there is.
  const PAPER = 700;

  // Does `work` while the page is as wide as a sheet: before a print the browser gives the window's width.
  const onPaper = (work) => {
    document.body.style.width = `${PAPER}px`;
    work();
    document.body.style.width = "";
  };

  // A table that is wider than a sheet is printed smaller.
  const tables = () => document.querySelectorAll("table");
  const shrinkTables = () => tables().forEach((table) => {
    table.style.zoom = Math.min(1, table.parentElement.clientWidth / table.scrollWidth);
  });
  const growTables = () => tables().forEach((table) => { table.style.zoom = ""; });
  // Paper cannot be opened: what readers may open is printed.
  const closed = () => document.querySelectorAll("details:not([open])");
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...closed()];
    opened.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((part) => { part.open = false; }));
  addEventListener("beforeprint", () => onPaper(shrinkTables));
  addEventListener("afterprint", growTables);

  return {
    byId, element, swatch, colorName, resolved, seconds, rate, bytes, tick, count, percent, clock, few, axis, logarithmicAxis, tooltip, reference, intervals, draw, shares, fillLegend,
    makeSortable, followTheme, followWidth,
  };
})();
