// Heat maps: a matrix as one image of one pixel a cell, under its outlines, its line of nearest evaluations and its labels.

const LEVELS = 255;

const stops = (view) => theme[view.reference ? "diverging" : "sequential"];

/** Ends of the colour scale: regret is symmetric about zero, so that white always means "as the reference". */
const bounds = (view, limit) => (view.reference ? [-(limit ?? view.limit), limit ?? view.limit] : [view.lowest, view.highest]);

/** What the colours of a view stand for, and what stands at the ends of their scale. */
function scaleText(view, low, high) {
  const { digits, difference, titled } = view.metric;
  if (!view.reference) return { what: `${titled}, ${better(view)}`, ends: [signed(low, digits), signed(high, digits)] };
  return { what: `regret${difference && ` (${difference})`}, lower is better`, ends: [`≤ ${signed(low, digits)}`, `≥ ${signed(high, digits)}`] };
}

/**
 * The heat map of method `index` as {width, height, name, body, at, cell}; `cell(row, column)` is what `at` gives.
 * `large`: axis titles, and values where they fit; `room`: how high the cells may be in all; `limit`: the end of the
 * colour scale; `id`: what no other heat map of the page has.
 */
function heatmap(study, view, index, width, { large = false, room = 420, limit, id = index } = {}) {
  const map = { study, view, index, large, rows: study.checkpoints, columns: view.evaluated };
  map.shown = numbers(view).shown[index];
  map.values = numbers(view).values[index];
  fit(map, width, room);
  const [low, high] = bounds(view, limit);
  const level = (value) => Math.max(0, Math.min(LEVELS - 1, Math.round(((LEVELS - 1) * (value - low)) / (high - low || 1))));
  const colors = ramp(stops(view), LEVELS);
  const body = [cells(map, colors, level, id)];
  if (map.size >= 5) body.push(outline(map));
  if (map.rows.length > 1 && map.columns.length > 1) body.push(trace(map));
  if (map.size >= 34) body.push(...writing(map, (value) => colors[level(value)]));
  body.push(...axes(map));
  const cell = (row, column) => describe(map, row, column);
  const at = (x, y) => {
    const [column, row] = [Math.floor((x - map.left) / map.size), Math.floor((y - map.top) / map.size)];
    return row >= 0 && column >= 0 && row < map.rows.length && column < map.columns.length ? cell(row, column) : null;
  };
  return { width, height: map.height, name: `${study.methods[index].label}: trained × evaluated; move with the arrow keys`, body: body.join(""), at, cell };
}

/** Chooses the size of cells and the labels beside them. */
function fit(map, width, room) {
  const { rows, columns, large } = map;
  const title = large ? 20 : 0;
  map.font = large ? 12 : 10.5;
  const widest = (names, chosen) => Math.max(...axisLabels(names, chosen).map((text) => widthOf(text, map.font)));
  const lay = (left, bottom) => {
    const most = large ? room - bottom : room;
    map.size = Math.max(1, Math.min((width - left - 2) / columns.length, Math.max(most / rows.length, 2), 64));
    Object.assign(map, { left, top: 6, bottom: 6 + rows.length * map.size, height: 6 + rows.length * map.size + bottom });
  };
  const all = (names) => widest(names, names.map((_, i) => i));
  // what fits is found with the widest labels; those that are drawn may then be shorter, never longer
  lay(all(rows) + 8 + title, all(columns) + 10 + title);
  map.down = ticks(rows, Math.floor((rows.length * map.size) / (large ? 17 : 12)));
  map.along = ticks(columns, Math.floor((columns.length * map.size) / 13));
  lay(widest(rows, map.down) + 8 + title, widest(columns, map.along) + 10 + title);
}

const corner = (map, row, column) => [map.left + column * map.size, map.top + row * map.size];

function cells(map, colors, level, id) {
  const area = { x: map.left, y: map.top, width: map.columns.length * map.size, height: map.rows.length * map.size };
  const pixels = Array.from(map.shown, (value) => (Number.isFinite(value) ? level(value) : LEVELS));
  const image = shape("image", { ...area, preserveAspectRatio: "none", style: "image-rendering: pixelated", href: png(map.columns.length, map.rows.length, colors, pixels) });
  if (!pixels.includes(LEVELS)) return image;
  const ground = shape("rect", { width: 5, height: 5, fill: theme.missing });
  const strokes = shape("path", { d: "M-1 6L6 -1M-1 1L1 -1M4 6L6 4", stroke: theme.hatch });
  const pattern = shape("pattern", { id: `hatch-${id}`, width: 5, height: 5, patternUnits: "userSpaceOnUse" }, ground, strokes);
  return shape("defs", {}, pattern) + shape("rect", { ...area, fill: `url(#hatch-${id})` }) + image;
}

function outline(map) {
  let path = "";
  numbers(map.view).kinds.forEach((kind, i) => {
    if (kind !== report.kinds.in_distribution) return;
    const [x, y] = corner(map, Math.floor(i / map.columns.length), i % map.columns.length);
    const side = (map.size - 1.5).toFixed(2);
    path += `M${(x + 0.75).toFixed(2)} ${(y + 0.75).toFixed(2)}h${side}v${side}h-${side}z`;
  });
  return shape("path", { d: path, fill: "none", stroke: theme.ink, "stroke-width": map.size >= 9 ? 1.4 : 1 });
}

/** The evaluation nearest in time to each checkpoint, as in Figure 4 of TiC-LM. */
function trace(map) {
  const points = map.view.nearest.map((column, row) => corner(map, row, column).map((at) => (at + map.size / 2).toFixed(2)).join(" ")).join(" ");
  const wide = map.large ? 2.6 : map.size >= 4 ? 1.8 : 1.2;
  const lines = [[theme.card, wide + 1.6], [theme.near, wide]].map(([stroke, width]) => shape("polyline", { points, stroke, "stroke-width": width }));
  return shape("g", { fill: "none", "stroke-linejoin": "round", opacity: map.size >= 34 ? 0.45 : null }, ...lines); // there are numbers in wide cells
}

function writing(map, colorOf) {
  const { log, digits } = map.view.metric;
  return Array.from(map.shown, (value, i) => {
    if (!Number.isFinite(value)) return "";
    const [r, g, b] = channels(colorOf(value));
    const [x, y] = corner(map, Math.floor(i / map.columns.length) + 0.5, (i % map.columns.length) + 0.5);
    const size = Math.min(12, map.size / 3.6);
    const fill = 0.3 * r + 0.59 * g + 0.11 * b > 140 ? "#16181c" : "#fdfcfa";
    return label(signed(value, log ? (map.view.reference ? 3 : 2) : digits), { x, y: y + 0.36 * size, fill, "font-size": size, "text-anchor": "middle" });
  });
}

function axes(map) {
  const { rows, columns, font } = map;
  const turned = (x, y) => ({ transform: `translate(${x.toFixed(2)} ${y.toFixed(2)}) rotate(-90)`, "font-size": font });
  const down = axisLabels(rows, map.down).map((text, k) => label(text, { x: map.left - 5, y: map.top + (map.down[k] + 0.5) * map.size + 0.36 * font, "text-anchor": "end", "font-size": font }));
  const along = axisLabels(columns, map.along).map((text, k) => label(text, { ...turned(map.left + (map.along[k] + 0.5) * map.size + 0.36 * font, map.bottom + 5), "text-anchor": "end" }));
  if (!map.large) return [...down, ...along];
  const evaluated = label("evaluated →", { x: map.left + (columns.length * map.size) / 2, y: map.height - 4, "font-size": font, "text-anchor": "middle" });
  const trained = label("← trained", { ...turned(10, map.top + (rows.length * map.size) / 2), "text-anchor": "middle" });
  return [...down, ...along, evaluated, trained];
}

/** What one cell holds in words, and its frame. */
function describe(map, row, column) {
  const { view, index } = map;
  const place = row * map.columns.length + column;
  const carried = view.carried[index]?.[row];
  const kind = ["forward", "backward", "in-distribution", "in no mean"][numbers(view).kinds[place]] + (view.nearest[row] === column ? ", nearest in time" : "");
  const trained = `trained to ${pretty(map.rows[row])}` + (carried && carried !== map.rows[row] ? ` (the model of ${pretty(carried)})` : "");
  const where = `${trained}, evaluated on ${pretty(map.columns[column])}: ${kind}`;
  const [x, y] = corner(map, row, column);
  const frame = (stroke, width) => shape("rect", { x, y, width: map.size, height: map.size, fill: "none", stroke, "stroke-width": width });
  const cursor = frame(theme.card, 3.5) + frame(theme.ink, 1.6);
  return { row, column, x: x + map.size, y: y + map.size, cursor, lines: [...cellText(map, place), where] };
}

function cellText({ view, values, shown }, place) {
  if (!Number.isFinite(values[place])) return ["missing"];
  const own = valueText(view, values[place]);
  if (!view.reference) return [own];
  return [Number.isFinite(shown[place]) ? `regret ${differenceText(view, shown[place])}` : "regret missing: no reference here", own];
}
