// The page: what is chosen, and what is drawn from it.

const $ = (id) => document.getElementById(id);
const state = { study: 0, view: 0, limit: undefined };
const study = () => report.studies[state.study];
const view = () => study().views[state.view];
const hidden = { cost: new Set(), time: new Set(), lag: new Set(), rates: new Set(), text: new Set(), pairs: new Set() };
const settings = { unit: "tokens", logCost: true, value: null, all: false, log: true, method: 0, lines: "checkpoints", against: null, set: 0 };

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
  fill($("study"), report.studies.map((one) => one.name), state.study, (i) => {
    const name = view().name;
    state.study = i;
    state.view = Math.max(0, study().views.findIndex((one) => one.name === name));
    settings.method = 0;
    everything();
  });
  fill($("view"), study().views.map((one) => one.title), state.view, (i) => ((state.view = i), everything()));
}

function drawScale() {
  const box = $("scale");
  const [low, high] = bounds(view(), state.limit);
  const { what, ends } = scaleText(view(), low, high);
  const bar = element("i");
  bar.style.background = `linear-gradient(to right, ${stops(view()).join(", ")})`;
  const ramp = element("span", { className: "ramp" }, what, ...[ends[0], bar, ends[1]].map((part) => element("span", {}, part)));
  const keys = [["own", "in-distribution"], ["near", "nearest in time"], ["hatch", "missing"]].map(([kind, text]) => element("span", { className: "key" }, element("i", { className: kind }), text));
  if (box.firstChild && box.dataset.live) return box.replaceChild(ramp, box.firstChild);
  box.replaceChildren(ramp, ...keys);
  if (!view().reference) return;
  const { widest } = view();
  const slider = element("input", { type: "range", min: 0, max: 100, ariaLabel: "End of the colour scale" });
  slider.value = 100 * Math.sqrt(high / (widest || 1));
  slider.oninput = () => {
    state.limit = Math.max(widest * (slider.value / 100) ** 2, widest / 1000);
    box.dataset.live = "1";
    drawScale();
    delete box.dataset.live;
    requestAnimationFrame(drawMaps);
  };
  box.append(element("label", {}, "contrast ", slider));
}

function drawHeatmaps() {
  drawScale();
  $("heatmaps").className = study().methods.length < 4 ? "grid few" : "grid";
  $("heatmaps").replaceChildren(...study().methods.map((method, i) => {
    const open = element("button", { type: "button", title: "Enlarge", ariaLabel: `Enlarge ${method.label}`, onclick: () => enlarge(i) }, "⤢");
    const caption = element("figcaption", {}, element("span", {}, method.label), open, element("small", {}, view().means[i]));
    return element("figure", {}, caption, element("div", { className: "map" }));
  }));
  drawMaps();
}

function drawMaps() {
  const boxes = [...document.querySelectorAll("#heatmaps .map")];
  const widths = boxes.map(inside); // all before the first is drawn, so that the page is laid out once
  boxes.forEach((box, i) => drawMap(box, i, widths[i]));
  if ($("large").open) drawLarge();
}

function drawMap(box, index, width, options = {}) {
  const chart = heatmap(study(), view(), index, Math.max(120, width), { limit: state.limit, ...options });
  showHeatmap(box, chart, study().checkpoints.length, view().evaluated.length);
}

function enlarge(index) {
  const dialog = $("large");
  dialog.querySelector("h3").textContent = `${study().methods[index].label} · ${view().title}`;
  dialog.dataset.index = index;
  dialog.showModal();
  dialog.onclose = () => tip(0, 0, null);
  drawLarge();
}

function drawLarge() {
  const box = $("large").querySelector(".map");
  drawMap(box, Number($("large").dataset.index), inside(box), { large: true, room: innerHeight * 0.92 - 90, id: "large" });
}

function drawTime() {
  const options = valuesOf(view());
  const value = options.some(([name]) => name === settings.value) ? settings.value : options[0][0];
  switcher("time-value", options, value, (name) => ((settings.value = name), drawTime()));
  fill($("time-method"), study().methods.map((method) => method.label), settings.method, (i) => ((settings.method = i), drawTime()));
  const lines = [["checkpoints", "A line per checkpoint"], ["periods", "A line per evaluated period"]];
  switcher("time-lines", lines, settings.lines, (name) => ((settings.lines = name), hidden.time.clear(), drawTime()));
  const byPeriod = settings.lines === "periods";
  const whole = timeAxes(study(), view(), byPeriod)[0].labels.length;
  const few = some(whole).length;
  switcher("time-all", whole > few ? [[false, `${few} lines`], [true, `all ${whole} lines`]] : [], settings.all, (all) => ((settings.all = all), drawTime()));
  $("time-note").textContent = byPeriod
    ? "A line is an evaluated period; the ring marks the checkpoint that is best on it."
    : "A line is a checkpoint; the ring marks the evaluated period that is nearest to it in time. Left of it lies its past.";
  showChart($("time-chart"), lineChart, timeChart(study(), view(), settings.method, value, { byPeriod, all: settings.all }), hidden.time);
}

function drawLag() {
  if (!section("lag", hasLags(study(), view()))) return;
  showChart($("lag-chart"), lineChart, lagChart(study(), view(), hidden.lag), hidden.lag);
  $("lag-told").replaceChildren(...study().methods.map((method, i) => element("li", {}, element("b", {}, method.label), `: ${view().lags[i].told}`)));
}

function drawDifferences() {
  const found = view().differences;
  if (!section("differences", found)) return;
  $("side").textContent = `${found.up ? "Right" : "Left"} of zero: better.`;
  const base = settings.against ?? found.best;
  fill($("against"), study().methods.map((method) => method.label), base, (i) => ((settings.against = i), drawDifferences()));
  showAll("whiskers", Object.entries(MEANS).map(([mean, title]) => (box) => {
    const rows = against(found[mean] ?? [], base);
    show(box, whiskers({ study: study(), view: view(), rows, base, title }, Math.max(260, inside(box))));
  }));
}

/**
 * Fills `id` with a box for each of `draws`, between what stands around it; a chart asks for the width of its box, so
 * that has to be in the page.
 */
function showAll(id, draws, around = (box) => box) {
  const boxes = draws.map(() => element("div", { className: "chart" }));
  $(id).replaceChildren(...boxes.map(around));
  draws.forEach((draw, k) => draw(boxes[k]));
}

function drawCost() {
  const { unit, logCost } = settings;
  switcher("cost-unit", [["tokens", "Tokens"], ["flops", "FLOPs"]], unit, (value) => ((settings.unit = value), drawCost()));
  switcher("cost-axis", [[true, "Log"], [false, "Linear"]], logCost, (log) => ((settings.logCost = log), drawCost()));
  showChart($("cost-chart"), lineChart, costChart(report.studies, view().name, unit, logCost), hidden.cost);
}

function drawRates() {
  if (!$("rate-chart")) return;
  switcher("rate-axis", [[true, "Log"], [false, "Linear"]], settings.log, (log) => ((settings.log = log), drawRates()));
  showChart($("rate-chart"), lineChart, ratesChart(study(), settings.log), hidden.rates);
}

function drawExamples() {
  const sets = study().examples;
  if (!section("examples", sets.length)) return;
  settings.set = Math.min(settings.set, sets.length - 1);
  fill($("examples-set"), sets.map((one) => one.id), settings.set, (i) => ((settings.set = i), drawExamples()));
  const specs = sets[settings.set].tallies.flatMap(tallyCharts);
  showAll("tallies", specs.map((spec) => (box) => showChart(box, barChart, spec, new Set(), { nameless: spec.series.length < 2 })));
}

function drawText() {
  const { text } = study();
  if (!section("text", text)) return;
  const [tokens, shares] = textCharts(text);
  showChart($("text-tokens"), lineChart, tokens, hidden.text, { nameless: true });
  if (section("text-shares", shares.series.length)) showChart($("text-shares"), lineChart, shares, hidden.text);
}

function drawPairs() {
  const pairs = study().contamination;
  if (!section("contamination", pairs.length)) return;
  const around = (box, i) => element("div", {}, element("h3", {}, pairs[i].name), box, element("p", { className: "note" }, contaminationText(pairs[i])));
  showAll("pairs", pairs.map((pair) => (box) => showChart(box, lineChart, contaminationChart(study(), pair), hidden.pairs)), around);
}

function drawCharts() {
  for (const draw of [drawTime, drawLag, drawDifferences, drawCost, drawRates, drawExamples, drawText, drawPairs]) draw();
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
  state.limit = undefined;
  settings.against = null;
  hidden.time.clear();
  theme = report.themes[dark() ? "dark" : "light"];
  choose();
  drawHeatmaps();
  drawCharts();
}

$("theme").onclick = () => {
  document.documentElement.dataset.theme = dark() ? "light" : "dark";
  redraw();
};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("beforeprint", () => ((printing = true), redraw()));
addEventListener("afterprint", () => ((printing = false), redraw()));
addEventListener("scroll", () => tip(0, 0, null), { passive: true });
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) requestAnimationFrame(redraw);
  width = innerWidth;
});
everything();
