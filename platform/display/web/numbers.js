// The numbers of the report and how they are written. Nothing here needs a browser.

const MISSING = 65535;
const SIX_BITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const VALUES = Object.fromEntries(Array.from(SIX_BITS, (c, i) => [c, i]));

function toBase64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 3) {
    const bits = (bytes[i] << 16) | (bytes[i + 1] << 8) | bytes[i + 2];
    for (let k = 0; k < 4; k++) text += i + k > bytes.length ? "=" : SIX_BITS[(bits >> (18 - 6 * k)) & 63];
  }
  return text;
}

function fromBase64(text) {
  const digits = text.replace(/=+$/, "");
  const bytes = new Uint8Array(Math.floor((digits.length * 3) / 4));
  for (let i = 0, at = 0; i < digits.length; i += 4, at += 3) {
    const bits = [0, 1, 2, 3].reduce((all, k) => (all << 6) | (VALUES[digits[i + k]] ?? 0), 0);
    bytes.set([bits >> 16, (bits >> 8) & 255, bits & 255].slice(0, bytes.length - at), at);
  }
  return bytes;
}

/** A matrix of 16-bit steps above the view's lowest value, as numbers; NaN where a cell is missing. */
function decode(view, text) {
  const bytes = fromBase64(text);
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
    const kinds = fromBase64(view.kinds);
    return { values, shown, reference, kinds, columns };
  })();
  return view.numbers;
}

const signed = (value, digits = 3) => (Number.isFinite(value) ? value.toFixed(digits).replace("-", "−") : "missing");
const plus = (value, digits = 3) => (value > 0 ? "+" : "") + signed(value, digits);
const share = (value) => (Number.isFinite(value) ? `${+(100 * value).toPrecision(3)} %` : "missing");
const thousands = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ",");

function count(value) {
  for (const [power, suffix] of [[12, "T"], [9, "B"], [6, "M"], [3, "K"]])
    if (Math.abs(value) >= 0.9995 * 10 ** power) return +(value / 10 ** power).toPrecision(3) + suffix;
  return String(+value.toPrecision(3));
}

const scientific = (value) => (value ? value.toExponential(2).replace(/\.?0*e\+?/, "e") : "0");
const upper = (text) => text[0].toUpperCase() + text.slice(1);

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

/** What a difference of log-losses is worth in perplexity: "perplexity 15 % higher"; "" below a tenth of a percent. */
function worth(view, value) {
  const share = view.metric.log && Number.isFinite(value) ? 100 * Math.expm1(value) : 0;
  if (Math.abs(share) < 0.05) return "";
  const size = Math.abs(share);
  const digits = Math.max(0, 1 - Math.floor(Math.log10(size))); // two that count, as in analysis/metrics.py
  return `perplexity ${digits ? size.toFixed(digits) : thousands(Math.round(size))}\u00a0% ${share > 0 ? "higher" : "lower"}`;
}

/** A difference in words, with its worth in perplexity in brackets. */
const worded = (view, text, value) => (worth(view, value) ? `${text} (${worth(view, value)})` : text);

/** What regret is counted in: regret, nats per token. */
const regretText = ({ metric }) => `regret${metric.counted && `, ${metric.counted}`}`;

const better = (view) => `${view.metric.higher ? "higher" : "lower"} is better`;
