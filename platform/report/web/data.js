// The numbers of the report, and how they are written.

const report = JSON.parse(document.getElementById("data").textContent);
const MISSING = 65535;
const state = { study: 0, view: 0, limit: null };
const study = () => report.studies[state.study];
const view = () => study().views[state.view];

/** A matrix of 16-bit steps above the view's lowest value, as numbers; NaN where a cell is missing. */
function decode(view, text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const steps = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length / 2 }, (_, i) => {
    const step = steps.getUint16(2 * i, true);
    return step === MISSING ? NaN : view.low + step * view.step;
  });
}

/** Everything about one view in numbers, computed once: values, regret where there is a reference, kinds of cells. */
function numbers(view) {
  view.numbers ??= (() => {
    const columns = view.evaluated.length;
    const values = view.matrices.map((text) => decode(view, text));
    const reference = view.reference && decode(view, view.reference);
    const sign = view.metric.higher ? -1 : 1; // of regret, less is better whatever the metric
    const shown = reference ? values.map((m) => m.map((v, i) => sign * (v - reference[i % columns]))) : values;
    const kinds = Uint8Array.from(atob(view.kinds), (c) => c.charCodeAt(0));
    return { values, shown, reference, kinds, columns };
  })();
  return view.numbers;
}

const signed = (value, digits = 3) => (Number.isFinite(value) ? value.toFixed(digits).replace("-", "−") : "missing");
const plus = (value, digits = 3) => (value > 0 ? "+" : "") + signed(value, digits);

function count(value) {
  for (const [power, suffix] of [[12, "T"], [9, "B"], [6, "M"], [3, "K"]])
    if (Math.abs(value) >= 0.9995 * 10 ** power) return +(value / 10 ** power).toPrecision(3) + suffix;
  return String(+value.toPrecision(3));
}

const scientific = (value) => (value ? value.toExponential(2).replace(/\.?0*e\+?/, "e") : "0");

/** 201305 as 2013-05, 201305-201412 as 2013-05…2014-12, anything else as it is. */
function pretty(label) {
  return label.split("-").map((part) => part.replace(/^(\d{4})(\d\d)(\d\d)?$/, (_, y, m, d) => [y, m, d].filter(Boolean).join("-"))).join("…");
}

/** Labels for an axis: the year alone where that tells them apart. */
function axisLabels(labels, chosen) {
  const years = chosen.map((i) => labels[i].slice(0, 4));
  const plain = labels.every((label) => /^\d{6,8}$/.test(label)) && new Set(years).size === years.length;
  return chosen.map((i, k) => (plain ? `’${years[k].slice(2)}` : pretty(labels[i])));
}

/**
 * Positions to label, at most `most` and apart: all where they fit, else the first of each year; `places`: where they lie
 * on their axis, if not evenly.
 */
function ticks(labels, most, places = labels.map((_, i) => i)) {
  let chosen = labels.map((_, i) => i);
  if (chosen.length > most) chosen = chosen.filter((i) => i === 0 || labels[i].slice(0, 4) !== labels[i - 1].slice(0, 4));
  const whole = ((places.at(-1) - places[0]) * labels.length) / Math.max(labels.length - 1, 1);
  let last = -Infinity;
  return chosen.filter((i) => places[i] - last >= whole / Math.max(most, 1) - 1e-9 && ((last = places[i]), true));
}

/** A value of the view's metric in words: log-perplexity 2.451 (perplexity 11.6), accuracy 31.2 %. */
function valueText(view, value, digits = view.metric.digits) {
  const { name, unit, log } = view.metric;
  const shown = `${name} ${signed(value, digits)}${unit && ` ${unit}`}`;
  return log && Number.isFinite(value) ? `${shown} (perplexity ${Math.exp(value).toPrecision(4)})` : shown;
}

/** A difference of two values of it: +0.012, −1.3 points. */
function differenceText(view, value, digits = view.metric.digits) {
  const counted = view.metric.log || !view.metric.difference ? "" : ` ${view.metric.difference}`;
  return `${plus(value, digits)}${Number.isFinite(value) ? counted : ""}`;
}

const better = (view) => `${view.metric.higher ? "higher" : "lower"} is better`;

let printing = false;
function dark() {
  const theme = document.documentElement.dataset.theme;
  return !printing && (theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
}

function color(name) {
  return { near: dark() ? "#cf9bff" : "#8a2be2", ink: dark() ? "#e9e6e0" : "#1c1e22", soft: dark() ? "#a0a5ad" : "#62666e", card: dark() ? "#1b1f25" : "#ffffff" }[name];
}

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) key in node ? (node[key] = value) : node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/** The one tooltip: bold first line, plain others; beside the point, inside the window. */
function tip(x, y, lines) {
  const box = document.getElementById("tip");
  box.hidden = !lines;
  if (!lines) return;
  const [first, ...rest] = lines;
  box.replaceChildren(element("b", {}, first), ...rest.flatMap((line) => [element("br"), line]));
  (document.querySelector("dialog[open]") ?? document.body).append(box);
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(6, Math.min(x + 14, innerWidth - width - 6))}px`;
  box.style.top = `${y + height + 24 > innerHeight ? Math.max(6, y - height - 12) : y + 16}px`;
}
