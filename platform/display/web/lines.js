// Line charts: series of points {x, y, tip, label?, mark?}, laid out for a width.

/** Round numbers that span [low, high]: about `most` of them, or 1-2-5 per decade on a log scale; `whole`: no fractions. */
function rounds(low, high, most, log, whole) {
  if (log) {
    const all = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
      for (const part of [1, 2, 5]) all.push(part * 10 ** power);
    const inside = all.filter((value) => value >= low * 0.999 && value <= high * 1.001);
    if (inside.length > 1) return inside;
  }
  const rough = (high - low || Math.abs(high) || 1) / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(power * ([1, 2, 5].find((part) => part * power >= rough * 0.999) ?? 10), whole ? 1 : 0);
  const found = [];
  for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + 1e-9 * step; value += step) found.push(+value.toPrecision(12));
  return found;
}

/** Decimals that tell evenly spaced levels apart. */
const digitsOf = (levels) => Math.max(0, Math.ceil(-Math.log10(levels[1] - levels[0]) - 1e-9));

function axis(points, name, from, to, { log = false, margin = 0.04, zero = false, least = 0 } = {}) {
  const values = points.map((point) => point[name]).filter((value) => Number.isFinite(value) && (!log || value > 0));
  let [low, high] = values.length ? values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]) : [1, 10];
  const bend = log ? Math.log : (value) => value;
  if (zero) low = Math.min(low, 0);
  if (high - low < least) [low, high] = [(low + high - least) / 2, (low + high + least) / 2];
  const room = (bend(high) - bend(low) || 1) * margin;
  const [start, end] = [zero && low === 0 ? 0 : bend(low) - room, bend(high) + room];
  const place = (value) => from + ((bend(value) - start) / (end - start)) * (to - from);
  return { place, low: log ? Math.exp(start) : start, high: log ? Math.exp(end) : end };
}

/**
 * The chart of {series, x, y, labels?, places?, hidden?}; `labels` makes the x axis one of periods, evenly apart or at
 * `places`; `scatter` draws points without lines on two equal axes with their diagonal, `cloud` points alone; `named` writes names at the ends
 * of lines; `low` makes a low chart; `x.line` and `y.line` are values to be told from the others, `y.span` what the axis holds in any
 * case, `x.whole` and `y.whole` axes without fractions.
 */
function lineChart(spec, width) {
  const { labels, places, scatter } = spec;
  const series = spec.series.filter((one) => !spec.hidden?.has(one.name));
  const titles = wrapped(spec.y.label, width, 12); // of an axis, above it
  const above = 14 * (titles.length - 1);
  const height = above + (scatter ? width - 6 : Math.round(Math.min(spec.low ? 220 : 460, Math.max(spec.low ? 180 : 260, width * 0.46))));
  const frame = { left: 58, right: width - 14 - nameRoom(spec, series, width), top: 22 + above, bottom: height - 44 };
  const under = labels && underAxis(labels, frame.right - frame.left, places);
  if (under?.turned) frame.bottom = height - 34 - 7.4 * Math.max(...under.names.map((name) => name.length));
  const points = series.flatMap((one) => [...one.points, ...(one.band ?? []).flatMap(({ x, low, high }) => [{ x, y: low }, { x, y: high }])]);
  const mirrored = scatter ? points.map((point) => ({ x: point.y, y: point.x })) : [];
  const all = [...points, ...mirrored, ...(spec.y.span ?? []).map((y) => ({ y }))];
  const x = axis(all, "x", frame.left, frame.right, { log: spec.x.log, margin: labels ? 0.015 : 0.03 });
  const y = axis(all, "y", frame.bottom, frame.top, { log: spec.y.log, zero: spec.y.zero, margin: scatter ? 0.03 : 0.04, least: spec.y.whole ? 2 : 0 });
  const body = [...levels(spec, y, frame)];
  under?.names.forEach((text, k) => body.push(below(text, x.place(places?.[under.chosen[k]] ?? under.chosen[k]), frame.bottom, under.turned)));
  if (!labels) body.push(...across(spec, x, frame, width, points.reduce((least, point) => (point.x < least ? point.x : least), 0)));
  const beside = widthOf(spec.y.label, 12) > width - frame.left ? 0 : frame.left;
  body.push(...titles.map((text, i) => label(text, { x: beside, y: 10 + 14 * i })), label(spec.x.label, { x: frame.right, y: height - 4, "text-anchor": "end" }));
  if (holds(y, spec.y.line)) body.push(dashed(frame.left, y.place(spec.y.line), frame.right, y.place(spec.y.line)));
  if (holds(x, spec.x.line)) body.push(dashed(x.place(spec.x.line), frame.top, x.place(spec.x.line), frame.bottom));
  if (scatter) body.push(dashed(x.place(x.low), y.place(x.low), x.place(x.high), y.place(x.high)));
  body.push(...series.map((one) => curve(one, x, y, scatter || spec.cloud, spec.series.length > 24)));
  const named = spec.named ? lineNames(series, x, y, frame, width) : [];
  body.push(...named.map((name) => name.text));
  if (spec.annotate) body.push(...annotations(series, x, y, frame, width, named));
  const at = (px, py) => nearestPoint(series, x, y, px, py);
  return { width, height, name: `${spec.y.label} by ${spec.x.label}`, body: body.join(""), at };
}

function levels(spec, y, frame) {
  const values = rounds(y.low, y.high, (frame.bottom - frame.top) / 50, spec.y.log, spec.y.whole);
  const digits = digitsOf(values);
  return values.map((value) => line(frame.left, y.place(value), frame.right, y.place(value)) + label(spec.y.format(value, digits), { x: frame.left - 8, y: y.place(value) + 4, "text-anchor": "end" }));
}

/** Whether an axis has a value, if there is one. */
const holds = (axis, value) => Number.isFinite(value) && axis.low <= value && value <= axis.high;

function across(spec, x, frame, width, least) {
  const values = rounds(x.low, x.high, width / 110, spec.x.log, spec.x.whole);
  const digits = spec.scatter || spec.x.whole ? digitsOf(values) : undefined;
  return values.filter((value) => value >= least || spec.scatter).map((value) => line(x.place(value), frame.bottom, x.place(value), frame.bottom + 4) + below(spec.x.format(value, digits), x.place(value), frame.bottom));
}

/** Whether a point has a place: both numbers known, and above zero on a log scale. */
const drawable = (point, x, y) => Number.isFinite(x.place(point.x)) && Number.isFinite(y.place(point.y));

function curve({ color, dash, marker: kind, points, band }, x, y, scatter, dense) {
  let path = "";
  let pen = "M";
  for (const point of points) {
    if (!drawable(point, x, y)) { pen = "M"; continue; } // a gap, never a bridge
    path += `${pen}${x.place(point.x).toFixed(1)} ${y.place(point.y).toFixed(1)}`;
    pen = "L";
  }
  const ink = tone(color);
  const marks = {
    point: { r: 2.4, stroke: "none", "fill-opacity": 0.55 }, dot: { r: 3.2 }, full: { r: 3.2 },
    hollow: { r: 3.2, fill: theme.card }, ring: { r: 4, fill: theme.card, "stroke-width": 2 },
  };
  const drawn = points.filter((point) => point.mark && drawable(point, x, y)).map((point) => {
    const { r, ...attributes } = marks[point.mark];
    return marker(kind, x.place(point.x), y.place(point.y), r, attributes);
  });
  const stroke = scatter ? "" : shape("path", { class: "line", d: path, fill: "none", "stroke-width": dense ? 1 : 1.8, "stroke-linejoin": "round", "stroke-dasharray": dash });
  return shape("g", { class: "series", stroke: ink, fill: ink }, band ? area(band, points, x, y) : "", stroke, ...drawn);
}

/** The area between a line and the low ends of its band. */
function area(band, points, x, y) {
  const at = (value, level) => `${x.place(value).toFixed(1)} ${y.place(level).toFixed(1)}`;
  const known = band.filter(({ low }, i) => Number.isFinite(y.place(low)) && drawable(points[i], x, y));
  const outline = [...known.map((one) => at(one.x, one.high)), ...known.reverse().map((one) => at(one.x, one.low))];
  return shape("path", { d: outline.length ? `M${outline.join("L")}z` : "", stroke: "none", "fill-opacity": 0.18 });
}

/** How much of the width the names at the ends of lines take: none where the chart is narrow, or lines are many. */
function nameRoom({ named, series: all }, series, width) {
  if (!named || width < 520 || all.length > 14) return 0;
  return Math.min(width * 0.24, Math.max(...series.map((one) => widthOf(one.name, 12)), 0) + 14);
}

/** Names at the ends of lines, [{text, box}], in the order of the ends; none where they have no room near them. */
function lineNames(series, x, y, frame, width) {
  if (frame.right > width - 20) return [];
  const last = series.map((one) => [...one.points].reverse().find((point) => drawable(point, x, y)));
  const at = series.map((_, k) => k).filter((k) => last[k]);
  const places = spreadOut(at.map((k) => y.place(last[k].y)), 14, frame.top, frame.bottom);
  if (!places || at.some((k, i) => Math.abs(places[i] - y.place(last[k].y)) > 70)) return []; // too far to be followed
  return at.map((k, i) => {
    const [px, py, left] = [x.place(last[k].x), y.place(last[k].y), frame.right + 10];
    const most = Math.floor((width - left - 2) / (0.62 * 12));
    const name = series[k].name.length > most ? `${series[k].name.slice(0, most - 1)}…` : series[k].name;
    const leader = shape("path", { d: `M${(px + 5).toFixed(1)} ${py.toFixed(1)}L${left - 3} ${places[i].toFixed(1)}`, stroke: tone(series[k].color), "stroke-width": 0.8, "stroke-dasharray": "1 3", fill: "none" });
    const box = [left, places[i] - 6, left + widthOf(name, 12), places[i] + 6];
    return { text: leader + onTop(name, { x: left, y: places[i] + 3.5 }), box };
  });
}

/** Boxes [left, top, right, bottom] in strips of 32 pixels, so that a new one is compared with those near it alone. */
function boxes(first) {
  const strips = new Map();
  const apart = (box, other) => box[0] >= other[2] || box[2] <= other[0] || box[1] >= other[3] || box[3] <= other[1];
  const over = (box) => Array.from({ length: Math.floor(box[2] / 32) - Math.floor(box[0] / 32) + 1 }, (_, i) => Math.floor(box[0] / 32) + i);
  const add = (box) => over(box).forEach((strip) => (strips.get(strip) ?? strips.set(strip, []).get(strip)).push(box));
  first.forEach(add);
  return { add, leaves: (box) => over(box).every((strip) => (strips.get(strip) ?? []).every((other) => apart(box, other))) };
}

/** Names of checkpoints beside their points, wherever there is room: the last and the first of each line before others. */
function annotations(series, x, y, frame, width, named) {
  const found = [];
  const taken = boxes(named.map((name) => name.box));
  for (const one of series) {
    const known = one.points.filter((point) => drawable(point, x, y)).map((point) => [x.place(point.x), y.place(point.y)]);
    known.forEach(([px, py], i) => {
      const [qx, qy] = known[i + 1] ?? [px, py];
      const steps = Math.ceil(Math.hypot(qx - px, qy - py) / 6) || 1;
      for (let k = 0; k < steps; k++) taken.add([px + ((qx - px) * k) / steps - 2.5, py + ((qy - py) * k) / steps - 2.5, px + ((qx - px) * k) / steps + 2.5, py + ((qy - py) * k) / steps + 2.5]);
    });
  }
  const free = (box) => box[0] > frame.left && box[2] < width && box[1] > frame.top - 8 && box[3] < frame.bottom && taken.leaves(box);
  for (const one of [...series].sort((a, b) => (b.first ? 1 : 0) - (a.first ? 1 : 0))) {
    const said = one.points.filter((point) => point.label && drawable(point, x, y));
    for (const point of new Set([said.at(-1), said[0], ...said].filter(Boolean))) {
      const [px, py, size] = [x.place(point.x), y.place(point.y), widthOf(point.label, 12)];
      for (const [dx, dy] of [[5, -7], [5, 15], [-size - 5, -7], [-size - 5, 15], [-size / 2, -9], [-size / 2, 18]]) {
        const box = [px + dx - 3, py + dy - 11, px + dx + size + 3, py + dy + 4];
        if (!free(box)) continue;
        taken.add(box);
        found.push(onTop(point.label, { x: px + dx, y: py + dy }));
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
  return { x: cx, y: cy, cursor, series: best.k, lines: [best.one.title ?? best.one.name, ...best.point.tip()] };
}
