// The page: what is chosen, and what is drawn from it.

const every = report.studies.length; // the choice of all studies, side by side
const state = { study: every > 1 ? every : 0, view: 0, limit: undefined };
const asked = () => (state.study === every ? report.studies : [report.studies[state.study]]);
const names = () => [...new Set(asked().flatMap((one) => one.views.map((other) => other.name)))];
/** Their names as they are shown. */
const titles = () => names().map((name) => asked().flatMap((one) => one.views).find((other) => other.name === name).title);

/** What is shown, [{study, view}]: all that have the chosen view, in the same kind of values as the first of them. */
function shown() {
  const name = names()[state.view];
  const found = asked().flatMap((one) => one.views.filter((other) => other.name === name).map((other) => ({ study: one, view: other })));
  const kind = (other) => `${other.metric.name} ${Boolean(other.reference)}`;
  return found.filter((one) => kind(one.view) === kind(found[0].view));
}
const study = () => shown()[0].study;
const view = () => shown()[0].view;
const scales = () => scaleOf(shown().map((one) => one.view), state.limit);
const hidden = { cost: new Set(), time: new Set(), lag: new Set(), rates: new Set(), losses: new Set(), text: new Set(), pairs: new Set() };
const settings = { unit: "tokens", logCost: true, value: null, all: false, log: true, method: null, lines: "checkpoints", against: null, set: 0, pair: null };

let printing = false;
function dark() {
  const chosen = document.documentElement.dataset.theme;
  return !printing && (chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
}

/** A row of buttons of which one is pressed. */
function switcher(id, options, chosen, act) {
  $(id)?.replaceChildren(...(options.length > 1 ? options : []).map(([value, text]) => {
    const button = element("button", { type: "button", onclick: () => act(value) }, text);
    button.setAttribute("aria-pressed", value === chosen);
    return button;
  }));
}

function fill(select, names, chosen, act) {
  select.replaceChildren(...names.map((name, i) => element("option", { value: i, selected: i === chosen }, name)));
  select.onchange = () => act(Number(select.value));
  select.closest("label").hidden = names.length < 2;
}

/** The section with this id, shown only `where` there is something in it; whether it is. */
function section(id, where) {
  if ($(id)) $(id).hidden = !where;
  return Boolean($(id) && where);
}

function choose() {
  const options = [...report.studies.map((one) => one.name), ...(every > 1 ? ["all, side by side"] : [])];
  fill($("study"), options, state.study, (i) => {
    const name = names()[state.view];
    state.study = i;
    state.view = Math.max(0, names().indexOf(name));
    everything();
  });
  fill($("view"), titles(), state.view, (i) => ((state.view = i), everything()));
}

function drawScale() {
  const box = $("scale");
  const colors = scales();
  const { what, ends, means } = scaleText(view(), colors);
  const bar = element("i");
  bar.style.background = `linear-gradient(to right, ${colors.stops.join(", ")})`;
  const ramp = element("span", { className: "ramp" }, what, ...[ends[0], bar, ends[1]].map((part) => element("span", {}, part)), means);
  const keys = [
    ["own", "in-distribution", ({ view }) => hasKind(view, "in_distribution")], ["near", "nearest in time", hasTrace], ["hatch", "missing", ({ view }) => hasMissing(view)],
    ["blank", "not asked by the task", ({ view }) => hasKind(view, "unasked")],
    ["again", "no model was retrained for this period; the older one is shown (″: the one above)", ({ study, view }) => hasRepeats(study, view)],
  ].filter(([, , occurs]) => shown().some(occurs)); // a mark is explained where it occurs
  const words = keys.map(([kind, text]) => element("span", { className: "key" }, element("i", { className: kind }), text));
  if (box.firstChild && box.dataset.live) return box.replaceChild(ramp, box.firstChild);
  box.replaceChildren(ramp, ...words);
  const left = asked().filter((one) => !shown().some((other) => other.study === one) && one.views.some((other) => other.name === view().name));
  if (left.length) box.append(element("span", {}, `Not beside it, as its values are of another kind: ${left.map((one) => one.name).join(", ")}.`));
  if (!view().reference) return;
  const widest = Math.max(...shown().map((one) => one.view.widest)) || 1;
  const slider = element("input", { type: "range", min: 0, max: 100, ariaLabel: "End of the colour scale" });
  slider.value = 100 * Math.sqrt(Math.max(colors.high, -colors.low) / widest);
  slider.oninput = () => {
    state.limit = Math.max(widest * (slider.value / 100) ** 2, widest / 1000);
    box.dataset.live = "1";
    drawScale();
    delete box.dataset.live;
    requestAnimationFrame(drawMaps);
  };
  box.append(element("label", { title: "Where the colours end: further left, small differences show; values beyond the end have its colour" }, "contrast: small differences ", slider, " the extremes"));
}

/** The heat maps that are shown, [{study, view, index}], in the order of their boxes. */
const maps = () => shown().flatMap((one) => trainedOnes(one.study).map(({ index }) => ({ ...one, index })));

function drawHeatmaps() {
  drawScale();
  let at = 0;
  $("heatmaps").className = "maps";
  $("heatmaps").replaceChildren(...shown().flatMap(({ study, view }) => {
    const figures = trainedOnes(study).map(({ method, index: i }) => {
      const place = at++;
      const open = element("button", { type: "button", title: "Enlarge", ariaLabel: `Enlarge ${method.label}`, onclick: () => enlarge(place) }, "⤢");
      const caption = element("figcaption", {}, element("span", {}, method.label), open, element("small", {}, view.means[i]));
      return element("figure", {}, caption, element("div", { className: "map" }));
    });
    return [...(shown().length > 1 ? [element("h3", {}, study.name)] : []), element("div", { className: figures.length < 4 ? "grid few" : "grid" }, ...figures)];
  }));
  drawMaps();
}

function drawMaps() {
  const boxes = [...document.querySelectorAll("#heatmaps .map")];
  const widths = boxes.map(inside); // all before the first is drawn, so that the page is laid out once
  const [all, scale] = [maps(), scales()];
  boxes.forEach((box, i) => drawMap(box, all[i], widths[i], { scale, id: i }));
  if ($("large").open) drawLarge();
  drawDifference();
}

function drawMap(box, { study, view, index }, width, options) {
  const chart = heatmap(study, view, index, Math.max(120, width), options);
  showHeatmap(box, chart, study.checkpoints.length, view.evaluated.length);
}

function enlarge(place) {
  const dialog = $("large");
  const { study, view, index } = maps()[place];
  dialog.querySelector("h3").textContent = `${study.methods[index].label} · ${view.title}`;
  dialog.dataset.place = place;
  dialog.showModal();
  dialog.onclose = () => tip(0, 0, null);
  drawLarge();
}

function drawLarge() {
  const box = $("large").querySelector(".map");
  drawMap(box, maps()[Number($("large").dataset.place)], inside(box), { scale: scales(), large: true, room: innerHeight * 0.92 - 90, id: "large" });
}

/** The specs with one range of values, so that charts side by side can be compared. */
function alike(specs) {
  const values = specs.flatMap((spec) => spec.series.flatMap((one) => one.points.map((point) => point.y))).filter(Number.isFinite);
  const span = values.length ? values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]) : [];
  return specs.map((spec) => ({ ...spec, y: { ...spec.y, span } }));
}

/** Puts a chart for each of `specs` into the box `id`: one as it is, several side by side under their studies' names. */
function showBeside(id, of, specs, hidden) {
  const box = $(id);
  box.classList.toggle("beside", specs.length > 1);
  if (specs.length === 1) return showChart(box, lineChart, specs[0], hidden);
  const boxes = specs.map(() => element("div", { className: "chart" }));
  box.replaceChildren(...boxes.map((one, k) => element("div", {}, element("h3", {}, of[k].study.name), one)));
  boxes.forEach((one, k) => showChart(one, lineChart, alike(specs)[k], hidden));
}

function drawTime() {
  const options = valuesOf(view());
  const value = options.some(([name]) => name === settings.value) ? settings.value : options[0][0];
  switcher("time-value", options, value, (name) => ((settings.value = name), drawTime()));
  const methods = [...new Set(shown().flatMap((one) => trainedOnes(one.study).map(({ method }) => method.name)))];
  const method = methods.includes(settings.method) ? settings.method : methods[0];
  fill($("time-method"), methods, methods.indexOf(method), (i) => ((settings.method = methods[i]), drawTime()));
  const lines = [["checkpoints", "A line per checkpoint"], ["periods", "A line per evaluated period"]];
  switcher("time-lines", lines, settings.lines, (name) => ((settings.lines = name), hidden.time.clear(), drawTime()));
  const byPeriod = settings.lines === "periods";
  const whole = timeAxes(study(), view(), byPeriod)[0].labels.length;
  const few = some(whole).length;
  switcher("time-all", whole > few ? [[false, `${few} lines`], [true, `all ${whole} lines`]] : [], settings.all, (all) => ((settings.all = all), drawTime()));
  $("time-note").textContent = byPeriod
    ? "A line is an evaluated period; the ring marks the checkpoint that is best on it."
    : "A line is a checkpoint; the ring marks the evaluated period that is nearest to it in time. Left of it lies its past.";
  const of = shown().filter((one) => one.study.methods.some((other) => other.name === method));
  const place = (one) => one.study.methods.findIndex((other) => other.name === method);
  showBeside("time-chart", of, of.map((one) => timeChart(one.study, one.view, place(one), value, { byPeriod, all: settings.all })), hidden.time);
}

function drawLag() {
  const of = shown().filter((one) => hasLags(one.study, one.view));
  if (!section("lag", of.length)) return;
  showBeside("lag-chart", of, of.map((one) => lagChart(one.study, one.view, hidden.lag)), hidden.lag);
  $("lag-told").replaceChildren(...of.flatMap((one) => trainedOnes(one.study).map(({ method, index: i }) => element("li", {}, element("b", {}, method.label), `: ${one.view.lags[i].told}`))));
}

function drawDifferences() {
  const of = shown().filter((one) => one.view.differences);
  if (!section("differences", of.length)) return;
  const found = of[0].view.differences;
  $("side").textContent = `${found.up ? "Right" : "Left"} of zero: better.`;
  const choice = found.against ?? study().methods.map((_, i) => i); // of many methods, only a few are compared with all others
  const base = choice.includes(settings.against) ? settings.against : found.best;
  fill($("against"), of.length > 1 ? [] : choice.map((i) => study().methods[i].label), choice.indexOf(base), (i) => ((settings.against = choice[i]), drawDifferences()));
  showAll("whiskers", of.flatMap(({ study, view }) => Object.entries(MEANS).map(([mean, title]) => (box) => {
    const own = of.length > 1 ? view.differences.best : base;
    show(box, whiskers({ study, view, rows: against(view.differences[mean] ?? [], own), base: own, title }, Math.max(260, inside(box))));
  })));
}

function drawCost() {
  const { unit, logCost } = settings;
  switcher("cost-unit", [["tokens", "Tokens"], ["flops", "FLOPs"]], unit, (value) => ((settings.unit = value), drawCost()));
  switcher("cost-axis", [[true, "Log"], [false, "Linear"]], logCost, (log) => ((settings.logCost = log), drawCost()));
  const spec = costChart(report.studies, view().name, unit, logCost);
  $("cost-hollow").hidden = !spec.series.some((one) => one.points.some((point) => point.mark === "hollow"));
  showChart($("cost-chart"), lineChart, spec, hidden.cost);
}

function drawRates() {
  const of = [...new Set(shown().map((one) => one.study))].filter((one) => one.rates.length);
  if (!section("rates", of.length) || !$("rates").open) return;
  switcher("rate-axis", [[true, "Log"], [false, "Linear"]], settings.log, (log) => ((settings.log = log), drawRates()));
  showChart($("rate-chart"), lineChart, ratesChart(of, settings.log), hidden.rates);
  const trained = of.filter((one) => one.losses.length);
  if (section("loss-chart", trained.length)) showChart($("loss-chart"), lineChart, lossChart(trained), hidden.losses);
}

function drawExamples() {
  const sets = [...new Map(asked().flatMap((one) => one.examples.map((set) => [JSON.stringify(set), set]))).values()];
  if (!section("examples", sets.length)) return;
  settings.set = Math.min(settings.set, sets.length - 1);
  fill($("examples-set"), sets.map((one) => one.id), settings.set, (i) => ((settings.set = i), drawExamples()));
  const specs = sets[settings.set].tallies.flatMap(tallyCharts);
  showAll("tallies", specs.map((spec) => (box) => showChart(box, barChart, spec, new Set(), { nameless: spec.series.length < 2 })));
}

/** Charts of the text of each corpus; studies whose text is the same share them. */
function drawText() {
  const texts = [...new Map(asked().filter((one) => one.text).map((one) => [JSON.stringify(one.text), one])).values()];
  if (!section("text", texts.length)) return;
  const specs = texts.flatMap((one) => textCharts(one.text).filter((spec) => spec.series.length).map((spec, k) => ({ spec, k, name: texts.length > 1 ? `${one.name}: ` : "" })));
  showAll("texts", specs.map(({ spec, k, name }) => (box) => showChart(box, lineChart, { ...spec, y: { ...spec.y, label: name + spec.y.label } }, hidden.text, { nameless: k === 0 })));
}

function drawPairs() {
  const pairs = asked().flatMap((study) => study.contamination.map((pair) => ({ study, pair })));
  if (!section("contamination", pairs.length)) return;
  const around = (box, i) => element("div", {}, element("h3", {}, pairs[i].pair.name), box, element("p", { className: "note" }, contaminationText(pairs[i].pair)));
  showAll("pairs", pairs.map(({ study, pair }) => (box) => showChart(box, lineChart, contaminationChart(study, pair), hidden.pairs)), around);
}

/** Charts that came as values, of the studies that are chosen and of those that have no views to choose from. */
function drawValues() {
  const chosen = new Set(asked().map((one) => one.name));
  const others = new Set(report.studies.map((one) => one.name));
  const { task } = view();
  drawSections((one) => (chosen.has(one.study) || !others.has(one.study)) && (!one.task || one.task === task));
}

function drawCharts() {
  for (const draw of [drawTime, drawLag, drawDifferences, drawCost, drawRates, drawExamples, drawText, drawPairs, drawValues]) draw();
}

/** Draws what is chosen anew, where the theme, the width or the paper have changed. */
function redraw() {
  theme = report.themes[dark() ? "dark" : "light"];
  drawScale();
  drawMaps();
  drawCharts();
}

/** Draws another study or view. */
function everything() {
  $("large").close();
  state.limit = undefined;
  settings.against = settings.pair = null;
  hidden.time.clear();
  theme = report.themes[dark() ? "dark" : "light"];
  choose();
  drawHeatmaps();
  drawCharts();
}

$("rates")?.addEventListener("toggle", drawRates);
$("theme").onclick = () => {
  document.documentElement.dataset.theme = dark() ? "light" : "dark";
  redraw();
};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("beforeprint", () => {
  printing = true;
  for (const details of document.querySelectorAll("header details")) details.open = true; // nothing opens on paper
  redraw();
});
addEventListener("afterprint", () => ((printing = false), redraw()));
addEventListener("scroll", () => tip(0, 0, null), { passive: true });
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) requestAnimationFrame(redraw);
  width = innerWidth;
});
everything();
