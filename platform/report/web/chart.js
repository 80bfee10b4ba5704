// Line charts in SVG: series of points {x, y, tip, label?, mark?}, drawn again at every width.

function shape(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/** Round numbers that span [low, high]: about `most` of them, or 1-2-5 per decade on a log scale. */
function rounds(low, high, most, log) {
  if (log) {
    const all = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
      for (const part of [1, 2, 5]) all.push(part * 10 ** power);
    const inside = all.filter((value) => value >= low * 0.999 && value <= high * 1.001);
    if (inside.length > 1) return inside;
  }
  const rough = (high - low || Math.abs(high) || 1) / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((part) => part * power >= rough * 0.999) ?? 10);
  const found = [];
  for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + 1e-9 * step; value += step) found.push(+value.toPrecision(12));
  return found;
}

function axis(points, name, from, to, { log = false, margin = 0.04, zero = false } = {}) {
  const values = points.map((point) => point[name]).filter((value) => Number.isFinite(value) && (!log || value > 0));
  let [low, high] = values.length ? values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]) : [1, 10];
  const bend = log ? Math.log : (value) => value;
  if (zero) low = Math.min(low, 0);
  const room = (bend(high) - bend(low) || 1) * margin;
  const [start, end] = [zero && low === 0 ? 0 : bend(low) - room, bend(high) + room];
  const place = (value) => from + ((bend(value) - start) / (end - start)) * (to - from);
  return { place, low: log ? Math.exp(start) : start, high: log ? Math.exp(end) : end };
}

/**
 * Draws `chart` {series, x, y, labels?, places?, hidden} into `box`; `labels` makes the x axis one of periods, evenly
 * apart or at `places`; `scatter` draws points without lines on two equal axes with their diagonal; `y.line` is a value
 * to be told from the others.
 */
function drawChart(box, chart) {
  const width = Math.max(300, box.clientWidth - 26);
  const height = chart.scatter ? width - 6 : Math.round(Math.min(460, Math.max(260, width * 0.46)));
  const frame = { left: 58, right: 14, top: 22, bottom: 44 };
  const names = chart.labels && axisLabels(chart.labels, ticks(chart.labels, Math.floor((width - 72) / 26), chart.places));
  if (names?.some((name) => name.length > 3)) frame.bottom = 34 + 6.2 * Math.max(...names.map((name) => name.length));
  const seen = chart.series.filter((series) => !chart.hidden.has(series.name));
  const points = seen.flatMap((series) => series.points);
  if (chart.scatter) points.push(...points.map((point) => ({ x: point.y, y: point.x })));
  const x = axis(points, "x", frame.left, width - frame.right, { log: chart.x.log, margin: chart.labels ? 0.015 : 0.03 });
  const y = axis(points, "y", height - frame.bottom, frame.top, { log: chart.y.log, zero: chart.y.zero, margin: chart.scatter ? 0.03 : 0.04 });
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${chart.y.label} by ${chart.x.label}` });
  drawAxes(svg, chart, x, y, width, height, frame);
  if (y.low <= chart.y.line && chart.y.line <= y.high)
    svg.append(shape("line", { class: "diagonal", x1: frame.left, x2: width - frame.right, y1: y.place(chart.y.line), y2: y.place(chart.y.line) }));
  if (chart.scatter) svg.append(shape("line", { class: "diagonal", x1: x.place(x.low), y1: y.place(x.low), x2: x.place(x.high), y2: y.place(x.high) }));
  const groups = seen.map((series) => drawSeries(svg, series, x, y, chart.scatter));
  if (chart.annotate) annotate(svg, seen, x, y, frame, width);
  const cursor = shape("circle", { r: 6, fill: "none", stroke: "currentColor", "stroke-width": 1.5, visibility: "hidden" });
  svg.append(cursor);
  svg.onpointermove = svg.onpointerdown = (event) => follow(event, svg, box, seen, groups, x, y, cursor, width);
  svg.onpointerleave = () => release(box, groups, cursor);
  box.classList.toggle("dense", chart.series.length > 24); // too many to list: pointing at a line names it
  box.replaceChildren(svg, ...(chart.series.length > 24 || chart.nameless ? [] : [legend(box, chart, groups, seen)]));
}

function drawAxes(svg, chart, x, y, width, height, frame) {
  const bottom = height - frame.bottom;
  const levels = rounds(y.low, y.high, 6, chart.y.log);
  const digits = digitsOf(levels);
  for (const value of levels) {
    const at = y.place(value);
    svg.append(shape("line", { class: "gridline", x1: frame.left, x2: width - frame.right, y1: at, y2: at }));
    svg.append(shape("text", { x: frame.left - 8, y: at + 4, "text-anchor": "end" }, chart.y.format(value, digits)));
  }
  if (chart.labels) {
    const chosen = ticks(chart.labels, Math.floor((width - 72) / 26), chart.places);
    axisLabels(chart.labels, chosen).forEach((text, k) => {
      const at = x.place(chart.places?.[chosen[k]] ?? chosen[k]);
      const turned = text.length > 3;
      svg.append(shape("text", turned
        ? { transform: `translate(${at + 4} ${bottom + 8}) rotate(-90)`, "text-anchor": "end", style: "font-size: 10px" }
        : { x: at, y: bottom + 18, "text-anchor": "middle" }, text));
    });
  } else {
    const places = rounds(x.low, x.high, width / 110, chart.x.log);
    for (const value of places)
      if (value >= 0 || chart.scatter) svg.append(shape("line", { class: "gridline", x1: x.place(value), x2: x.place(value), y1: bottom, y2: bottom + 4 }), shape("text", { x: x.place(value), y: bottom + 18, "text-anchor": "middle" }, chart.x.format(value, chart.scatter && digitsOf(places))));
  }
  svg.append(shape("text", { x: frame.left, y: 10 }, chart.y.label));
  svg.append(shape("text", { x: width - frame.right, y: height - 4, "text-anchor": "end" }, chart.x.label));
}

/** Decimals that tell evenly spaced levels apart. */
const digitsOf = (levels) => Math.max(0, Math.ceil(-Math.log10(levels[1] - levels[0]) - 1e-9));

/** Whether a point has a place: both numbers known, and above zero on a log scale. */
const drawable = (point, x, y) => Number.isFinite(x.place(point.x)) && Number.isFinite(y.place(point.y));

function drawSeries(svg, series, x, y, scatter) {
  const group = shape("g", { class: "series", style: `--color: ${series.color}` });
  let path = "";
  let pen = "M";
  for (const point of series.points) {
    if (!drawable(point, x, y)) { pen = "M"; continue; } // a gap, never a bridge
    path += `${pen}${x.place(point.x).toFixed(1)} ${y.place(point.y).toFixed(1)}`;
    pen = "L";
  }
  if (!scatter) group.append(shape("path", { d: path, "stroke-dasharray": series.dash ?? "none" }));
  for (const point of series.points)
    if (point.mark && drawable(point, x, y))
      group.append(shape("circle", { class: point.mark, cx: x.place(point.x), cy: y.place(point.y), r: { ring: 4, point: 2.4 }[point.mark] ?? 3.2 }));
  svg.append(group);
  return group;
}

/** Names of checkpoints beside their points, newest first, wherever there is room. */
function annotate(svg, seen, x, y, frame, width) {
  const taken = seen.flatMap((series) => series.points.filter((point) => point.mark)).map((point) => {
    const [px, py] = [x.place(point.x), y.place(point.y)];
    return [px - 2, py - 2, px + 2, py + 2];
  });
  const apart = (box, other) => box[0] >= other[2] || box[2] <= other[0] || box[1] >= other[3] || box[3] <= other[1];
  const free = (box) => box[0] > frame.left && box[2] < width && taken.every((other) => apart(box, other));
  for (const series of [...seen].sort((a, b) => (b.first ? 1 : 0) - (a.first ? 1 : 0))) {
    for (const point of [...series.points].reverse()) {
      if (!point.label || !drawable(point, x, y)) continue;
      const [px, py, size] = [x.place(point.x), y.place(point.y), 5.8 * point.label.length];
      for (const [dx, dy] of [[5, -4], [5, 13], [-size - 4, -4], [-size - 4, 13]]) {
        const box = [px + dx, py + dy - 9, px + dx + size, py + dy + 2];
        if (!free(box)) continue;
        taken.push(box);
        svg.append(shape("text", { class: "on", x: box[0], y: py + dy }, point.label));
        break;
      }
    }
  }
}

function follow(event, svg, box, seen, groups, x, y, cursor, width) {
  const area = svg.getBoundingClientRect();
  const zoom = width / area.width;
  const [px, py] = [(event.clientX - area.left) * zoom, (event.clientY - area.top) * zoom];
  let best = null;
  seen.forEach((series, k) => {
    for (const point of series.points) {
      const away = Math.hypot(x.place(point.x) - px, y.place(point.y) - py);
      if (away < (best?.away ?? 48)) best = { away, point, series, k };
    }
  });
  if (!best) return release(box, groups, cursor);
  light(box, groups, groups[best.k]);
  const [cx, cy] = [x.place(best.point.x), y.place(best.point.y)];
  cursor.setAttribute("cx", cx);
  cursor.setAttribute("cy", cy);
  cursor.setAttribute("visibility", "visible");
  tip(area.left + cx / zoom, area.top + cy / zoom, [best.series.name, ...best.point.tip]);
}

function light(box, groups, chosen) {
  box.classList.toggle("focus", Boolean(chosen));
  groups.forEach((group) => group.classList.toggle("lit", group === chosen));
}

function release(box, groups, cursor) {
  light(box, groups, null);
  cursor?.setAttribute("visibility", "hidden");
  tip(0, 0, null);
}

/** A button per series: points it out, and hides or shows it. */
function legend(box, chart, groups, seen) {
  return element("div", { className: "legend" }, ...chart.series.map((series) => {
    const sample = shape("svg", { viewBox: "0 0 26 10" }, shape("g", { class: "series", style: `--color: ${series.color}` },
      chart.scatter ? shape("circle", { cx: 13, cy: 5, r: 4 }) : shape("path", { d: "M0 5L26 5", "stroke-dasharray": series.dash ?? "none" })));
    const shown = !chart.hidden.has(series.name);
    const button = element("button", { type: "button" }, sample, series.name);
    button.setAttribute("aria-pressed", shown);
    button.onclick = () => {
      chart.hidden.delete(series.name) || chart.hidden.add(series.name);
      drawChart(box, chart);
    };
    button.onpointerenter = () => light(box, groups, groups[seen.indexOf(series)]);
    button.onpointerleave = () => light(box, groups, null);
    return button;
  }));
}
