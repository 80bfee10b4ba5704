// The figures beside the page: the charts of the page, side by side, with what stands around them on the page.

const WIDE = 900;

/** Every figure of the report as [parts of its name, SVG text]. */
function figures() {
  return [...report.studies.flatMap((study) => [
    ...study.views.flatMap((view) => viewFigures(study, view)),
    ...(study.rates.length ? [[["rates", study.name], lineSheet("", [ratesChart([study], true)])]] : []),
    ...(study.losses.length ? [[["training-loss", study.name], lineSheet("", [lossChart([study])])]] : []),
    ...(study.text ? [[["text", study.name], lineSheet("", textCharts(study.text).filter((spec) => spec.series.length))]] : []),
    ...study.contamination.map((pair) => [["contamination", study.name, ...pair.tasks], lineSheet(`${pair.name}\n${contaminationText(pair)}`, [contaminationChart(study, pair)], 560)]),
    ...study.examples.flatMap((set) => set.tallies.map((tally) => [[study.name, "examples", set.id, tally.name], sheet(`${set.id} · ${tally.name}`, tallyCharts(tally).map((spec) => barPanel(spec)))])),
  ]), ...valueFigures()];
}

/** The figures of charts that came as values: those with the same parts of a name share a file. */
function valueFigures() {
  const files = {};
  for (const { charts } of report.sections) for (const chart of charts) (files[JSON.stringify(chart.figure)] ??= []).push(chart);
  return Object.entries(files).map(([name, charts]) => [JSON.parse(name), valueSheet(charts)]);
}

function valueSheet(charts) {
  const specs = charts.map(specOf);
  const { kind } = charts[0];
  const [{ heading: above, title }] = charts;
  const heading = above || (specs.length === 1 && specs[0].name === title && kind === "bar" ? "" : title);
  if (kind === "bar") return sheet(heading, specs.map((spec) => barPanel(spec)), Math.min(2, specs.length));
  if (kind === "heat") return sheet(heading, specs.map((spec) => ({ title: spec.name, chart: heatTable(spec, 640) })), 1);
  return lineSheet(heading, specs, kind === "points" ? 560 : undefined);
}

/** The pictures of the page of a reader without scripts: of each study's first view, its cost and its matrices. */
function pictures() {
  return report.studies.filter((study) => study.views.length).map((study) => ({ cost: costSheet(study, study.views[0]), matrices: matrices(study, study.views[0]) }));
}

const costSheet = (study, view) => lineSheet(view.title, [costChart([study], view.name, "tokens", true)]);

function viewFigures(study, view) {
  const found = [["matrices", matrices(study, view)], ["cost", costSheet(study, view)], ["over-time", overTime(study, view)]];
  if (hasLags(study, view)) {
    const spec = lagChart(study, view);
    spec.series = spec.series.map((one) => ({ ...one, name: `${one.name}: ${one.told}` }));
    found.push(["lag", lineSheet(view.title, [spec])]);
  }
  return found.map(([kind, svg]) => [[kind, study.name, view.name], svg]);
}

function matrices(study, view) {
  const trained = trainedOnes(study);
  const across = Math.min(4, trained.length);
  const colors = scaleOf([view]); // once: it reads every matrix of the view
  const panels = trained.map(({ method, index: i }) => {
    const chart = heatmap(study, view, i, 320, { room: 640, scale: colors });
    return { title: method.label, note: view.means[i], chart };
  });
  return sheet(view.title, panels, across, [scale(study, view)]);
}

/** A panel for each method, on one axis of values. */
function overTime(study, view) {
  const { values } = numbers(view);
  const known = values.flatMap((matrix) => Array.from(matrix).filter(Number.isFinite));
  const span = known.length ? known.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]) : [];
  const panels = trainedOnes(study).map(({ method, index: i }) => {
    const spec = timeChart(study, view, i, "value");
    spec.y.span = span;
    return { title: method.label, chart: lineChart(spec, 440) };
  });
  return sheet(`${view.title}, a line for each checkpoint`, panels, Math.min(3, panels.length), [key(timeChart(study, view, 0, "value").series, 440 * Math.min(3, panels.length))]);
}

const barPanel = (spec) => ({ chart: withKey(barChart(spec, 560), spec.series.length > 1 ? key(spec.series, 560, "bars") : null) });

/** Line charts side by side, each with its key. */
function lineSheet(heading, specs, width = specs.length > 1 ? 600 : WIDE) {
  return sheet(heading, specs.map((spec) => ({ chart: withKey(lineChart(spec, width), spec.series.length > 1 ? key(spec.series, width, (spec.scatter || spec.cloud) && "scatter") : null) })));
}

const moved = (x, y, body) => shape("g", { transform: `translate(${+x.toFixed(2)} ${+y.toFixed(2)})` }, body);
const withKey = (chart, key) => (key ? { ...chart, body: chart.body + moved(0, chart.height + 10, key.body), height: chart.height + 10 + key.height } : chart);

/** The names of series beside samples of them, in lines of at most `width`. */
function key(series, width, kind) {
  const body = [];
  let [x, y] = [0, 0];
  for (const one of series) {
    const long = 52 + widthOf(one.name, 12);
    if (x && x + long > width) [x, y] = [0, y + 18];
    body.push(moved(x, y, sample(one, kind)), label(one.name, { x: x + 40, y: y + 9 }));
    x += long;
  }
  return { body: body.join(""), height: y + 14 };
}

/** The colour scale of a view's matrices, and what else is drawn on them. */
function scale(study, view) {
  const colors = scaleOf([view]);
  const { what, ends, means } = scaleText(view, colors);
  const gradient = colors.stops.map((color, i, all) => shape("stop", { offset: i / (all.length - 1), "stop-color": color }));
  const size = (text) => widthOf(text, 12);
  const from = size(what) + 16 + size(ends[0]);
  const bar = shape("defs", {}, shape("linearGradient", { id: "ends" }, ...gradient)) + shape("rect", { x: from + 8, width: 200, height: 14, fill: "url(#ends)" });
  const texts = [label(what, { y: 12 }), label(ends[0], { x: from, y: 12, "text-anchor": "end" }), label(`${ends[1]}${means && ` · ${means}`}`, { x: from + 216, y: 12 })];
  const own = { x: 2, y: 30, width: 14, height: 11, fill: "none", stroke: theme.ink, "stroke-width": 1.4 };
  const further = `nearest in time${hasMissing(view) ? " · hatched: missing" : ""}${hasKind(view, "unasked") ? " · blank: not asked" : ""}`;
  const keys = shape("rect", own) + label("in-distribution", { x: 24, y: 40 }) + line(150, 36, 172, 36, { stroke: theme.near, "stroke-width": 2.5 }) + label(further, { x: 180, y: 40 });
  const lines = [`rows: ${withYear("trained", study.checkpoints)}; columns: ${withYear("evaluated", view.evaluated)}`, ...(hasRepeats(study, view) ? ["slanted lines and ″: the row repeats an older Oracle (″: the one above)"] : [])];
  const words = lines.map((text, i) => label(text, { y: 60 + 18 * i }));
  const width = Math.max(from + 216 + size(ends[1]) + (means ? size(means) + 18 : 0), ...lines.map(size), 400);
  return { body: [bar, ...texts, keys, ...words].join(""), height: 48 + 18 * lines.length, width };
}

/** Panels {chart, title?, note?}, `across` in a row, below a heading of one or several lines and above what is `under` them. */
function sheet(heading, panels, across = panels.length, under = []) {
  const [edge, gap] = [16, 22];
  const wide = Math.max(...panels.map(({ chart }) => chart.width));
  const width = 2 * edge + Math.max(across * (wide + gap) - gap, ...under.map((part) => part.width ?? 0));
  const titles = heading ? wrapped(heading, width - 2 * edge) : [];
  const body = titles.map((text, i) => label(text, { x: edge, y: 26 + 19 * i, "font-size": i ? 12 : 15, fill: i ? theme.soft : theme.ink }));
  let top = edge + 19 * titles.length + (titles.length ? 8 : 0);
  for (let first = 0; first < panels.length; first += across) {
    const row = panels.slice(first, first + across);
    const heads = (row.some((panel) => panel.title) ? 18 : 0) + (row.some((panel) => panel.note) ? 16 : 0);
    row.forEach(({ chart, title, note }, i) => {
      const x = edge + i * (wide + gap);
      if (title) body.push(label(title, { x, y: top + 12, fill: theme.ink, "font-size": 13 }));
      if (note) body.push(label(note, { x, y: top + 27 }));
      body.push(moved(x, top + heads + 4, chart.body));
    });
    top += heads + 4 + Math.max(...row.map(({ chart }) => chart.height)) + gap;
  }
  for (const part of under) {
    body.push(moved(edge, top - 6, part.body));
    top += part.height + 6;
  }
  const [all, height] = [Math.ceil(width), Math.ceil(top)];
  const ground = shape("rect", { width: all, height, fill: theme.card });
  return svgOf({ width: all, height, name: titles[0] ?? panels[0].chart.name, body: ground + body.join("") }, { width: all, height, "font-family": "DejaVu Sans, Verdana, system-ui, sans-serif" });
}
