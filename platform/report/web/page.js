// The page: what is chosen, and what is drawn from it.

const $ = (id) => document.getElementById(id);
const hidden = { cost: new Set(), time: new Set(), lag: new Set(), rates: new Set(), text: new Set(), pairs: new Set() };
const settings = { unit: "tokens", logCost: true, value: null, all: false, log: true, method: 0, lines: "checkpoints", against: null };
let maps = [];

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

function choose() {
  fill($("study"), report.studies.map((one) => one.name), state.study, (i) => {
    const name = view().name;
    state.study = i;
    state.view = Math.max(0, study().views.findIndex((one) => one.name === name));
    settings.method = 0;
    state.limit = null;
    everything();
  });
  fill($("view"), study().views.map((one) => one.name), state.view, (i) => {
    state.view = i;
    state.limit = null;
    everything();
  });
}

function drawScale() {
  const box = $("scale");
  const [low, high] = bounds(view());
  const relative = Boolean(view().reference);
  const { digits, difference, titled } = view().metric;
  const ends = relative ? [`≤ ${signed(low, digits)}`, `≥ ${signed(high, digits)}`] : [signed(low, digits), signed(high, digits)];
  const what = relative ? `regret${difference && ` (${difference})`}, lower is better` : `${titled}, ${better(view())}`;
  const bar = element("i");
  bar.style.background = `linear-gradient(to right, ${stops(view()).join(", ")})`;
  const ramp = element("span", { className: "ramp" }, what, ...[ends[0], bar, ends[1]].map((part) => element("span", {}, part)));
  const keys = [["own", "in-distribution"], ["near", "nearest in time"], ["hatch", "missing"]].map(([kind, text]) => element("span", { className: "key" }, element("i", { className: kind }), text));
  if (box.firstChild && box.dataset.live) return box.replaceChild(ramp, box.firstChild);
  box.replaceChildren(ramp, ...keys);
  if (!relative) return;
  const slider = element("input", { type: "range", min: 0, max: 100, ariaLabel: "End of the colour scale" });
  slider.value = 100 * Math.sqrt(high / (view().widest || 1));
  slider.oninput = () => {
    state.limit = Math.max(view().widest * (slider.value / 100) ** 2, view().widest / 1000);
    box.dataset.live = "1";
    drawScale();
    delete box.dataset.live;
    requestAnimationFrame(() => maps.forEach((map) => map.draw()));
  };
  box.append(element("label", {}, "contrast ", slider));
}

function drawHeatmaps() {
  drawScale();
  const grid = $("heatmaps");
  grid.className = study().methods.length < 4 ? "grid few" : "grid";
  const figures = study().methods.map((method, i) => {
    const open = element("button", { type: "button", title: "Enlarge", ariaLabel: `Enlarge ${method.label}`, onclick: () => enlarge(i) }, "⤢");
    const means = element("small", {}, view().means[i]);
    return element("figure", {}, element("figcaption", {}, element("span", {}, method.label), open, means), element("canvas", { tabIndex: 0 }));
  });
  grid.replaceChildren(...figures);
  maps = figures.map((figure, i) => new Heatmap(figure.querySelector("canvas"), view(), i));
}

function enlarge(index) {
  const dialog = $("large");
  dialog.querySelector("h3").textContent = `${study().methods[index].label} · ${view().name}`;
  dialog.showModal();
  const map = new Heatmap(dialog.querySelector("canvas"), view(), index, true);
  maps.push(map);
  dialog.onclose = () => {
    maps = maps.filter((one) => one !== map);
    map.select(null);
  };
}

const DASHES = [null, "7 4", "2 3", "9 3 2 3"];

/** Names for points, as in the paper: the year of its newest checkpoint; labels that carry no year as they are. */
function yearLabels(labels) {
  return labels.map((label, i) => (!/^\d{6}$/.test(label) ? pretty(label) : label.slice(0, 4) === labels[i + 1]?.slice(0, 4) ? "" : `’${label.slice(2, 4)}`));
}

function drawCost() {
  const unit = settings.unit;
  switcher("cost-unit", [["tokens", "Tokens"], ["flops", "FLOPs"]], unit, (value) => ((settings.unit = value), drawCost()));
  switcher("cost-axis", [[true, "Log"], [false, "Linear"]], settings.logCost, (log) => ((settings.logCost = log), drawCost()));
  const series = report.studies.flatMap((one, k) => {
    const seen = one.views.find((other) => other.name === view().name);
    return !seen ? [] : one.methods.map((method, i) => {
      const curve = seen.curves[i];
      const names = yearLabels(curve.labels);
      const points = curve.labels.map((label, j) => ({
        x: curve[unit][j] ?? NaN, y: curve.mean[j] ?? NaN, label: names[j], mark: curve.missing[j] ? "hollow" : names[j] || curve.labels.length <= 40 ? "full" : null,
        tip: [`trained to ${pretty(label)}`, `${count(curve.tokens[j] ?? NaN)} tokens, ${scientific(curve.flops[j])} FLOPs`,
          `mean ${valueText(seen, curve.mean[j] ?? NaN)}`,
          ...(curve.missing[j] ? [`${curve.missing[j]} cells missing`] : [])],
      }));
      return { name: method.label, color: method.color, dash: method.oracle ? "4 3" : DASHES[k % 4], first: method.oracle, points };
    });
  });
  const y = { label: `mean ${view().metric.titled}, ${better(view())}`, format: signed };
  const x = { label: `cumulative cost, ${unit === "flops" ? "FLOPs" : unit}`, format: unit === "flops" ? scientific : count, log: settings.logCost };
  drawChart($("cost-chart"), { series, x, y, hidden: hidden.cost, annotate: true });
}

function drawRates() {
  if (!$("rate-chart")) return;
  switcher("rate-axis", [[true, "Log"], [false, "Linear"]], settings.log, (log) => ((settings.log = log), drawRates()));
  const series = study().rates.map((line) => ({
    name: line.methods.map((i) => study().methods[i].label).join(", "),
    color: line.color,
    points: line.steps.map((step, i) => ({ x: step, y: line.rates[i], tip: [`step ${step.toLocaleString("en")}, ${pretty(line.periods[i])}`, `rate ${line.rates[i].toExponential(2)}`] })),
  }));
  const y = { label: "learning rate", format: (v) => (v ? v.toExponential(v.toExponential(1).includes(".0") ? 0 : 1) : "0"), log: settings.log };
  drawChart($("rate-chart"), { series, x: { label: "step", format: count }, y, hidden: hidden.rates });
}

function redraw() {
  drawScale();
  maps.forEach((map) => map.draw());
  drawCost();
  drawTime();
  drawLag();
  drawDifferences();
  drawRates();
  drawExamples();
  drawText();
  drawPairs();
}

function everything() {
  choose();
  hidden.time.clear();
  settings.against = null;
  drawHeatmaps();
  drawCost();
  drawTime();
  drawLag();
  drawDifferences();
  drawRates();
  drawExamples();
  drawText();
  drawPairs();
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
