// Line charts: series of points {x, y, tip, label?, mark?}, laid out for a width.

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

/** Decimals that tell evenly spaced levels apart. */
const digitsOf = (levels) => Math.max(0, Math.ceil(-Math.log10(levels[1] - levels[0]) - 1e-9));

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
 * The chart of {series, x, y, labels?, places?, hidden?}; `labels` makes the x axis one of periods, evenly apart or at
 * `places`; `scatter` draws points without lines on two equal axes with their diagonal; `y.line` is a value to be told
 * from the others, `y.span` what the axis holds in any case.
 */
function lineChart(spec, width) {
  const { labels, places, scatter } = spec;
  const height = scatter ? width - 6 : Math.round(Math.min(460, Math.max(260, width * 0.46)));
  const frame = { left: 58, right: width - 14, top: 22, bottom: height - 44 };
  const chosen = labels && ticks(labels, Math.floor((width - 72) / 26), places);
  const names = labels && axisLabels(labels, chosen);
  if (names?.some((name) => name.length > 3)) frame.bottom = height - 34 - 6.2 * Math.max(...names.map((name) => name.length));
  const series = spec.series.filter((one) => !spec.hidden?.has(one.name));
  const points = series.flatMap((one) => one.points);
  const mirrored = scatter ? points.map((point) => ({ x: point.y, y: point.x })) : [];
  const all = [...points, ...mirrored, ...(spec.y.span ?? []).map((y) => ({ y }))];
  const x = axis(all, "x", frame.left, frame.right, { log: spec.x.log, margin: labels ? 0.015 : 0.03 });
  const y = axis(all, "y", frame.bottom, frame.top, { log: spec.y.log, zero: spec.y.zero, margin: scatter ? 0.03 : 0.04 });
  const body = [...levels(spec, y, frame)];
  names?.forEach((text, k) => body.push(below(text, x.place(places?.[chosen[k]] ?? chosen[k]), frame.bottom, text.length > 3)));
  if (!labels) body.push(...across(spec, x, frame, width));
  body.push(label(spec.y.label, { x: frame.left, y: 10 }), label(spec.x.label, { x: frame.right, y: height - 4, "text-anchor": "end" }));
  if (y.low <= spec.y.line && spec.y.line <= y.high) body.push(dashed(frame.left, y.place(spec.y.line), frame.right, y.place(spec.y.line)));
  if (scatter) body.push(dashed(x.place(x.low), y.place(x.low), x.place(x.high), y.place(x.high)));
  body.push(...series.map((one) => curve(one, x, y, scatter, spec.series.length > 24)));
  if (spec.annotate) body.push(...annotations(series, x, y, frame.left, width));
  const at = (px, py) => nearestPoint(series, x, y, px, py);
  return { width, height, name: `${spec.y.label} by ${spec.x.label}`, body: body.join(""), at };
}

function levels(spec, y, frame) {
  const values = rounds(y.low, y.high, 6, spec.y.log);
  const digits = digitsOf(values);
  return values.map((value) => line(frame.left, y.place(value), frame.right, y.place(value)) + label(spec.y.format(value, digits), { x: frame.left - 8, y: y.place(value) + 4, "text-anchor": "end" }));
}

function across(spec, x, frame, width) {
  const values = rounds(x.low, x.high, width / 110, spec.x.log);
  const digits = spec.scatter && digitsOf(values);
  return values.filter((value) => value >= 0 || spec.scatter).map((value) => line(x.place(value), frame.bottom, x.place(value), frame.bottom + 4) + below(spec.x.format(value, digits), x.place(value), frame.bottom));
}

/** Whether a point has a place: both numbers known, and above zero on a log scale. */
const drawable = (point, x, y) => Number.isFinite(x.place(point.x)) && Number.isFinite(y.place(point.y));

function curve({ color, dash, points }, x, y, scatter, dense) {
  let path = "";
  let pen = "M";
  for (const point of points) {
    if (!drawable(point, x, y)) { pen = "M"; continue; } // a gap, never a bridge
    path += `${pen}${x.place(point.x).toFixed(1)} ${y.place(point.y).toFixed(1)}`;
    pen = "L";
  }
  const ink = tone(color);
  const marks = {
    point: { r: 2.4, stroke: "none", "fill-opacity": 0.55, class: "point" }, dot: { r: 3.2 }, full: { r: 3.2 },
    hollow: { r: 3.2, fill: theme.card }, ring: { r: 4, fill: theme.card, "stroke-width": 2 },
  };
  const circles = points.filter((point) => point.mark && drawable(point, x, y)).map((point) => shape("circle", { cx: x.place(point.x), cy: y.place(point.y), ...marks[point.mark] }));
  const stroke = scatter ? "" : shape("path", { d: path, fill: "none", "stroke-width": dense ? 1 : 1.8, "stroke-linejoin": "round", "stroke-dasharray": dash });
  return shape("g", { class: "series", stroke: ink, fill: ink }, stroke, ...circles);
}

/** Names of checkpoints beside their points, newest first, wherever there is room. */
function annotations(series, x, y, left, width) {
  const found = [];
  const taken = series.flatMap((one) => one.points.filter((point) => point.mark)).map((point) => {
    const [px, py] = [x.place(point.x), y.place(point.y)];
    return [px - 2, py - 2, px + 2, py + 2];
  });
  const apart = (box, other) => box[0] >= other[2] || box[2] <= other[0] || box[1] >= other[3] || box[3] <= other[1];
  const free = (box) => box[0] > left && box[2] < width && taken.every((other) => apart(box, other));
  for (const one of [...series].sort((a, b) => (b.first ? 1 : 0) - (a.first ? 1 : 0))) {
    for (const point of [...one.points].reverse()) {
      if (!point.label || !drawable(point, x, y)) continue;
      const [px, py, size] = [x.place(point.x), y.place(point.y), 5.8 * point.label.length];
      for (const [dx, dy] of [[5, -4], [5, 13], [-size - 4, -4], [-size - 4, 13]]) {
        const box = [px + dx, py + dy - 9, px + dx + size, py + dy + 2];
        if (!free(box)) continue;
        taken.push(box);
        found.push(onTop(point.label, { x: box[0], y: py + dy }));
        break;
      }
    }
  }
  return found;
}

function nearestPoint(series, x, y, px, py) {
  let best = null;
  series.forEach((one, k) => {
    for (const point of one.points) {
      const away = Math.hypot(x.place(point.x) - px, y.place(point.y) - py);
      if (away < (best?.away ?? 48)) best = { away, point, one, k };
    }
  });
  if (!best) return null;
  const [cx, cy] = [x.place(best.point.x), y.place(best.point.y)];
  const cursor = shape("circle", { cx, cy, r: 6, fill: "none", stroke: theme.ink, "stroke-width": 1.5 });
  return { x: cx, y: cy, cursor, series: best.k, lines: [best.one.name, ...best.point.tip()] };
}
