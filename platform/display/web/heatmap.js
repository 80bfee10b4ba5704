// Heat maps: a matrix as one image of one pixel a cell, under its outlines, its line of nearest evaluations and its labels.

const LEVELS = 254; // a PNG has 256 colours: these, that of what is not asked, and none for what is missing

/** −1 or 1 where all regret of these views lies below or above zero, but for a hundredth of its scale; 0 where it does not. */
function sideOf(views) {
  const [low, high] = views.reduce(([a, b], view) => numbers(view).shown.flatMap((m) => Array.from(m)).filter(Number.isFinite).reduce(([c, d], v) => [Math.min(c, v), Math.max(d, v)], [a, b]), [0, 0]);
  const slack = Math.max(...views.map((view) => view.limit)) / 100;
  return low >= -slack ? 1 : high <= slack ? -1 : 0;
}

/**
 * The common colour scale of views, {low, high, stops, side}: the range of their values; or of regret the half where all
 * of it lies, else both halves about zero, so that the pale colour always means "as the reference". `limit`: its end.
 */
function scaleOf(views, limit = Math.max(...views.map((view) => view.limit))) {
  if (!views[0].reference) return { low: Math.min(...views.map((view) => view.lowest)), high: Math.max(...views.map((view) => view.highest)), stops: theme.sequential, side: 0 };
  const side = sideOf(views);
  return { low: side > 0 ? 0 : -limit, high: side < 0 ? 0 : limit, side, stops: theme[["better", "diverging", "worse"][side + 1]] };
}

/** What the colours of a view stand for, what stands at the ends of their scale, and what they mean. */
function scaleText(view, { low, high, side }) {
  const { digits, measured } = view.metric;
  if (!view.reference) return { what: `${measured}, ${better(view)}`, ends: [signed(low, digits), signed(high, digits)], means: "" };
  const out = beyond(view, low, high);
  const end = (sign, value) => `${out ? sign : ""}${signed(value, digits)}`;
  const ground = theme.dark ? "the darkest" : "white";
  const far = side ? `the ${theme.dark ? "brighter" : "darker"} the ${side > 0 ? "worse" : "better"}` : "red: worse, blue: better"; // a half has more colours than one
  const means = `${ground}: as the reference, ${far}`;
  return { what: `${regretText(view)}, lower is better`, ends: [side > 0 ? "0" : end("≤ ", low), side < 0 ? "0" : end("≥ ", high)], means: means + out };
}

/** The matrices that have a picture: not the one row of a model that is never updated, carried forward. */
const drawnMatrices = (view) => numbers(view).shown.filter((_, i) => view.lags[i]);

/** How far values reach beyond the ends of a scale, in words: the cells there look the same. */
function beyond(view, low, high) {
  const known = drawnMatrices(view).flatMap((matrix) => Array.from(matrix).filter(Number.isFinite));
  const slack = (high - low) / 1000; // of the rounding of what travels
  const out = known.filter((value) => (low < 0 && value < low - slack) || (high > 0 && value > high + slack));
  if (!out.length) return "";
  const far = out.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a));
  return `; ${thousands(out.length)} of ${thousands(known.length)} cells lie beyond, as far as ${signed(far, view.metric.digits)}, and share the last colour`;
}

/** Whether a row of an Oracle's matrix repeats the model of an older row. */
const repeats = (study, view, index, row) => Boolean(view.carried[index]?.[row]) && view.carried[index][row] !== study.checkpoints[row];
const hasRepeats = (study, view) => study.methods.some((_, i) => study.checkpoints.some((_, row) => repeats(study, view, i, row)));

/** Whether a view has cells of a kind: `unasked` are those that a task leaves out on purpose, as of other periods than a checkpoint's own. */
const hasKind = (view, kind) => numbers(view).kinds.includes(report.kinds[kind]);
const hasTrace = ({ study, view }) => study.checkpoints.length > 1 && view.evaluated.length > 1;
/** Whether a heat map has a hatched cell: one that is asked for and has no value. */
const hasMissing = (view) => drawnMatrices(view).some((matrix) => matrix.some((value, i) => !Number.isFinite(value) && numbers(view).kinds[i] !== report.kinds.unasked));

/**
 * The heat map of method `index` as {width, height, name, body, at, cell}; `cell(row, column)` is what `at` gives.
 * `large`: axis titles, and values where they fit; `room`: how high the cells may be in all; `scale`: the colours;
 * `id`: what no other heat map of the page has; `minus`: {study, view, index} of the method that is subtracted, cell by cell.
 */
function heatmap(study, view, index, width, { large = false, room = 420, scale = scaleOf([view]), id = index, minus = null } = {}) {
  const map = { study, view, index, width, large, minus, rows: study.checkpoints, columns: view.evaluated };
  map.values = numbers(view).values[index];
  map.shown = minus ? differenceOf({ view, index }, minus) : numbers(view).shown[index];
  map.repeated = study.checkpoints.map((_, row) => repeats(study, view, index, row));
  fit(map, width, room);
  const { low, high } = scale;
  const level = (value) => Math.max(0, Math.min(LEVELS - 1, Math.round(((LEVELS - 1) * (value - low)) / (high - low || 1))));
  const colors = ramp(scale.stops, LEVELS);
  const body = [cells(map, [...colors, theme.card], level, id), ...again(map, (value) => colors[level(value)])];
  if (map.size >= 5) body.push(outline(map));
  if (map.rows.length > 1 && map.columns.length > 1) body.push(trace(map));
  if (map.size >= 34) body.push(...writing(map, (value) => colors[level(value)]));
  body.push(...axes(map));
  const cell = (row, column) => describe(map, row, column);
  const at = (x, y) => {
    const [column, row] = [Math.floor((x - map.left) / map.size), Math.floor((y - map.top) / map.size)];
    return row >= 0 && column >= 0 && row < map.rows.length && column < map.columns.length ? cell(row, column) : null;
  };
  const name = study.methods[index].label + (minus ? ` − ${minus.study.methods[minus.index].label}` : "");
  return { width, height: map.height, name: `${name}: trained × evaluated; move with the arrow keys`, body: body.join(""), at, cell };
}

/** The values of one method less those of another on the same cells, turned so that below zero the first one is better. */
function differenceOf(one, other) {
  const values = numbers(other.view).values[other.index];
  const sign = one.view.metric.higher ? -1 : 1;
  return numbers(one.view).values[one.index].map((value, i) => sign * (value - values[i]));
}

/** The colour scale of a difference matrix: both halves about zero, to the largest difference. */
function differenceScale(values) {
  const limit = values.reduce((most, value) => (Math.abs(value) > most ? Math.abs(value) : most), 0) || 1;
  return { low: -limit, high: limit, side: 0, stops: theme.diverging };
}

/** Chooses the size of cells and the labels beside them. */
function fit(map, width, room) {
  const { rows, columns, large } = map;
  const title = large ? 20 : 0;
  map.font = 12;
  const widest = (names, chosen) => Math.max(...axisLabels(names, chosen).map((text) => widthOf(text, map.font)));
  const lay = (left, bottom) => {
    const most = large ? room - bottom : room;
    map.size = Math.max(1, Math.min((width - left - 2) / columns.length, Math.max(most / rows.length, 2), 64));
    Object.assign(map, { left, top: 6, bottom: 6 + rows.length * map.size, height: 6 + rows.length * map.size + bottom });
  };
  const all = (names) => widest(names, names.map((_, i) => i));
  // what fits is found with the widest labels; those that are drawn may then be shorter, never longer
  lay(all(rows) + 8 + title, all(columns) + 10 + title);
  map.down = ticks(rows, Math.floor((rows.length * map.size) / (large ? 17 : 14)));
  const long = columns.length * map.size;
  map.under = underAxis(columns, long, undefined, map.font);
  const deep = map.under.turned ? Math.max(...map.under.names.map((text) => widthOf(text, map.font))) + 10 : map.font + 8;
  lay(widest(rows, map.down) + 8 + title, deep + title);
}

const corner = (map, row, column) => [map.left + column * map.size, map.top + row * map.size];

function cells(map, colors, level, id) {
  const area = { x: map.left, y: map.top, width: map.columns.length * map.size, height: map.rows.length * map.size };
  const { kinds } = numbers(map.view);
  const pixels = Array.from(map.shown, (value, i) => (Number.isFinite(value) ? level(value) : kinds[i] === report.kinds.unasked ? LEVELS : LEVELS + 1));
  const image = shape("image", { ...area, preserveAspectRatio: "none", style: "image-rendering: pixelated", href: png(map.columns.length, map.rows.length, colors, pixels) });
  if (!pixels.includes(LEVELS + 1)) return image;
  const ground = shape("rect", { width: 5, height: 5, fill: theme.missing });
  const strokes = shape("path", { d: "M-1 6L6 -1M-1 1L1 -1M4 6L6 4", stroke: theme.hatch });
  const pattern = shape("pattern", { id: `hatch-${id}`, width: 5, height: 5, patternUnits: "userSpaceOnUse" }, ground, strokes);
  return shape("defs", {}, pattern) + shape("rect", { ...area, fill: `url(#hatch-${id})` }) + image;
}

function outline(map) {
  let path = "";
  numbers(map.view).kinds.forEach((kind, i) => {
    if (kind !== report.kinds.in_distribution) return;
    const [row, column] = [Math.floor(i / map.columns.length), i % map.columns.length];
    if (map.repeated[row]) return; // trained before, so it is the model of another row that is in-distribution there
    const [x, y] = corner(map, row, column);
    const side = (map.size - 1.5).toFixed(2);
    path += `M${(x + 0.75).toFixed(2)} ${(y + 0.75).toFixed(2)}h${side}v${side}h-${side}z`;
  });
  return shape("path", { d: path, fill: "none", stroke: theme.ink, "stroke-width": map.size >= 9 ? 1.4 : 1 });
}

/** A veil of slanted lines over the rows that repeat an older model: pale on dark cells, dark on pale ones. */
function again(map, colorOf) {
  const wide = map.columns.length * map.size;
  const high = map.size;
  if (high < 4) return [];
  const veils = { [theme.card]: "", [theme.ink]: "" };
  map.repeated.forEach((repeated, row) => {
    for (let x = 0; repeated && x < wide; x += 7) {
      const under = colorOf(map.shown[row * map.columns.length + Math.floor(x / map.size)]) ?? theme.missing;
      const stroke = contrast(under, theme.card) > contrast(under, theme.ink) ? theme.card : theme.ink;
      veils[stroke] += `M${(map.left + x).toFixed(1)} ${(map.top + (row + 1) * high).toFixed(1)}l${Math.min(high, wide - x).toFixed(1)} ${(-Math.min(high, wide - x)).toFixed(1)}`;
    }
  });
  return Object.entries(veils).filter(([, d]) => d).map(([stroke, d]) => shape("path", { class: "again", d, stroke, "stroke-width": 1, opacity: stroke === theme.ink ? 0.35 : 0.5, fill: "none" }));
}

/** The evaluation nearest in time to each checkpoint, as in Figure 4 of TiC-LM. */
function trace(map) {
  const points = map.view.nearest.flatMap((column, row) => (map.repeated[row] ? [] : [corner(map, row, column).map((at) => (at + map.size / 2).toFixed(2)).join(" ")])).join(" ");
  const wide = map.large ? 2.6 : map.size >= 4 ? 1.8 : 1.2;
  const lines = [[theme.card, wide + 1.6], [theme.near, wide]].map(([stroke, width]) => shape("polyline", { points, stroke, "stroke-width": width }));
  return shape("g", { fill: "none", "stroke-linejoin": "round", opacity: map.size >= 34 ? 0.45 : null }, ...lines); // there are numbers in wide cells
}

function writing(map, colorOf) {
  const { log, digits, higher } = map.view.metric;
  const sign = map.minus && higher ? -1 : 1; // colours say which side is better, numbers what is subtracted
  return Array.from(map.shown, (value, i) => {
    if (!Number.isFinite(value)) return "";
    const [x, y] = corner(map, Math.floor(i / map.columns.length) + 0.5, (i % map.columns.length) + 0.5);
    const text = signed(sign * value, log ? (map.view.reference ? 3 : 2) : digits);
    return widthOf(text, 12) > map.size ? "" : label(text, { x, y: y + 4.3, fill: inkOn(colorOf(value)), "text-anchor": "middle" });
  });
}

/** Whether a row repeats the row above it. */
const asAbove = ({ view, index, repeated }, row) => repeated[row] && row > 0 && view.carried[index][row] === view.carried[index][row - 1];

function axes(map) {
  const { rows, columns, font } = map;
  const turned = (x, y) => ({ transform: `translate(${x.toFixed(2)} ${y.toFixed(2)}) rotate(-90)`, "font-size": font });
  const down = axisLabels(rows, map.down).map((text, k) => label(asAbove(map, map.down[k]) ? "″" : text, { x: map.left - 5, y: map.top + (map.down[k] + 0.5) * map.size + 0.36 * font, "text-anchor": "end", "font-size": font }));
  const along = map.under.names.map((text, k) => {
    const middle = map.left + (map.under.chosen[k] + 0.5) * map.size;
    const x = map.under.turned ? middle : Math.min(middle, map.width - widthOf(text, font) / 2); // the last name stays inside
    return label(text, map.under.turned ? { ...turned(x + 0.36 * font, map.bottom + 5), "text-anchor": "end" } : { x, y: map.bottom + font + 3, "font-size": font, "text-anchor": "middle" });
  });
  if (!map.large) return [...down, ...along];
  const evaluated = label(`${withYear("evaluated", columns)} →`, { x: map.left + (columns.length * map.size) / 2, y: map.height - 4, "font-size": font, "text-anchor": "middle" });
  const trained = label(`← ${withYear("trained", rows)}`, { ...turned(10, map.top + (rows.length * map.size) / 2), "text-anchor": "middle" });
  return [...down, ...along, evaluated, trained];
}

/** What one cell holds in words, and its frame. */
function describe(map, row, column) {
  const { view, index } = map;
  const place = row * map.columns.length + column;
  const carried = view.carried[index]?.[row];
  const kind = ["forward", "backward", "in-distribution", "in no mean", "not asked by the task"][numbers(view).kinds[place]] + (view.nearest[row] === column ? ", nearest in time" : "");
  const trained = `trained to ${pretty(map.rows[row])}` + (carried && carried !== map.rows[row] ? ` (the model of ${pretty(carried)})` : "");
  const where = `${trained}, evaluated on ${pretty(map.columns[column])}: ${kind}`;
  const [x, y] = corner(map, row, column);
  const frame = (stroke, width) => shape("rect", { x, y, width: map.size, height: map.size, fill: "none", stroke, "stroke-width": width });
  const cursor = frame(theme.card, 3.5) + frame(theme.ink, 1.6);
  return { row, column, x: x + map.size, y: y + map.size, cursor, lines: [...cellText(map, place), where] };
}

function cellText({ study, view, index, values, shown, minus }, place) {
  if (minus) {
    const other = numbers(minus.view).values[minus.index][place];
    const own = [[study.methods[index], values[place]], [minus.study.methods[minus.index], other]].map(([method, value]) => `${method.label}: ${valueText(view, value)}`);
    return [Number.isFinite(shown[place]) ? worded(view, `difference ${differenceText(view, view.metric.higher ? -shown[place] : shown[place])}`, shown[place]) : "no difference: a value is missing", ...own];
  }
  if (!Number.isFinite(values[place])) return [numbers(view).kinds[place] === report.kinds.unasked ? "no value" : "missing"];
  const own = valueText(view, values[place]);
  if (!view.reference) return [own];
  return [Number.isFinite(shown[place]) ? worded(view, `regret ${differenceText(view, shown[place])}`, shown[place]) : "regret missing: no reference here", own];
}
