// Which chart shows what: each function turns the numbers of a study into what lineChart or barChart draws.

const DASHES = [null, "7 4", "2 3", "9 3 2 3"];
const MEANS = { backward: "Bwd.", in_distribution: "ID", forward: "Fwd." };
const MANY = 40; // points that can be told apart on one line

/** At most eight positions, evenly chosen, with the first and the last. */
const some = (length) => [...new Set(Array.from({ length: 8 }, (_, i) => Math.round((i * (length - 1)) / 7)))];

/** Figure 1 of TiC-LM: the mean over all evaluated periods against what it took to get there, in tokens or `flops`. */
function costChart(studies, name, unit, log) {
  const shown = studies.map((one) => one.views.find((other) => other.name === name));
  const { metric } = shown.find(Boolean);
  const series = studies.flatMap((one, k) => (shown[k] ? one.methods.map((method, i) => {
    const curve = shown[k].curves[i];
    const names = yearLabels(curve.labels);
    const points = curve.labels.map((label, j) => ({
      x: curve[unit][j] ?? NaN, y: curve.mean[j] ?? NaN, label: names[j], mark: curve.missing[j] ? "hollow" : names[j] || curve.labels.length <= MANY ? "full" : null,
      tip: () => [`trained to ${pretty(label)}`, `${count(curve.tokens[j] ?? NaN)} tokens, ${scientific(curve.flops[j])} FLOPs`,
        `mean ${valueText(shown[k], curve.mean[j] ?? NaN)}`, ...(curve.missing[j] ? [`${curve.missing[j]} cells missing`] : [])],
    }));
    return { name: method.label, color: method.color, dash: method.oracle ? "4 3" : DASHES[k % 4], first: method.oracle, points };
  }) : []));
  const y = { label: `mean ${metric.titled}, ${better({ metric })}`, format: signed };
  const x = { label: `cumulative cost, ${unit === "flops" ? "FLOPs" : unit}`, format: unit === "flops" ? scientific : count, log };
  return { series, x, y, annotate: true };
}

/** What curves over time can show of a view, [name, title]. */
function valuesOf(view) {
  const { log, titled } = view.metric;
  return [...(log ? [["perplexity", "Perplexity"]] : []), ["value", upper(titled)], ...(view.reference ? [["regret", "Regret"]] : [])];
}

/** What has lines and what has places on the axis: checkpoints and evaluated periods, or the other way round. */
function timeAxes(study, view, byPeriod) {
  const [across, along] = [{ labels: study.checkpoints, places: study.places }, { labels: view.evaluated, places: view.places }];
  return byPeriod ? [along, across] : [across, along];
}

/** The curves of one method: a line for each checkpoint, or (`byPeriod`) for each evaluated period; eight, or `all`. */
function timeChart(study, view, method, value, { byPeriod = false, all = false } = {}) {
  const [of, by] = timeAxes(study, view, byPeriod);
  const chosen = all ? of.labels.map((_, i) => i) : some(of.labels.length);
  const colors = ramp(report.palette.lines, chosen.length);
  const series = chosen.map((place, k) => ({ name: pretty(of.labels[place]), color: colors[k], points: timePoints(view, method, value, place, by, byPeriod) }));
  const named = { perplexity: "perplexity", value: view.metric.titled, regret: `regret${view.metric.difference && ` (${view.metric.difference})`}` }[value];
  const y = { label: `${named}, ${value === "regret" || !view.metric.higher ? "lower" : "higher"} is better`, format: signed };
  return { series, x: { label: byPeriod ? "trained to" : "evaluated period" }, y, ...by };
}

/** One line: row `place` of the matrix along its columns, or (`byPeriod`) column `place` along its rows. */
function timePoints(view, method, value, place, by, byPeriod) {
  const { values, shown, columns } = numbers(view);
  const matrix = (value === "regret" ? shown : values)[method];
  const cell = (i) => matrix[byPeriod ? i * columns + place : place * columns + i];
  const own = by.labels.map((_, i) => (value === "perplexity" ? Math.exp(cell(i)) : cell(i)));
  const sign = view.metric.higher && value !== "regret" ? -1 : 1;
  const known = own.map((y, i) => [sign * y, i]).filter(([y]) => Number.isFinite(y));
  const ringed = byPeriod ? known.reduce((best, one) => (one[0] < (best?.[0] ?? Infinity) ? one : best), null)?.[1] : view.nearest[place];
  const say = (y) => (value === "regret" ? `regret ${differenceText(view, y)}` : value === "perplexity" ? `perplexity ${signed(y)}` : valueText(view, y));
  return own.map((y, i) => ({
    x: by.places[i], y, mark: i === ringed ? "ring" : own.length <= MANY ? "dot" : null,
    tip: () => [`${byPeriod ? "trained to" : "evaluated on"} ${pretty(by.labels[i])}${i === ringed ? (byPeriod ? ": the best" : ", nearest in time") : ""}`, say(y)],
  }));
}

/** Figure 5 of TiC-LM: how long after each evaluated period the best checkpoint for it was trained. */
function lagChart(study, { evaluated, places, lags }, hidden = new Set()) {
  /** Methods other than `i` whose lag on period `j` is the same, since their points hide each other. */
  const same = (i, j) => study.methods.filter((one, k) => k !== i && lags[k].months[j] === lags[i].months[j] && !hidden.has(one.label)).map((one) => one.label);
  const also = (names) => (names.length ? [`also ${names.slice(0, 4).join(", ")}${names.length > 4 ? ` and ${names.length - 4} more` : ""}`] : []);
  const series = study.methods.map((method, i) => ({
    name: method.label, color: method.color, dash: method.oracle ? "4 3" : null,
    points: lags[i].months.map((months, j) => ({
      x: places[j], y: months ?? NaN, mark: evaluated.length > MANY ? null : lags[i].edge[j] ? "hollow" : "full",
      tip: () => [`evaluated on ${pretty(evaluated[j])}, best trained to ${pretty(lags[i].best[j] ?? "")}`, `${plus(months ?? NaN, 1)} months${lags[i].edge[j] ? ", its first or last model" : ""}`, ...also(same(i, j))],
    })),
  }));
  const y = { label: "months from it to the best checkpoint", format: (value) => plus(value, 0), line: 0 };
  return { series, x: { label: "evaluated period" }, y, labels: evaluated, places };
}

const hasLags = (study, view) => view.evaluated.length > 1 && study.checkpoints.length > 1;

function ratesChart(study, log) {
  const series = study.rates.map((one) => ({
    name: one.methods.map((i) => study.methods[i].label).join(", "),
    color: one.color,
    points: one.steps.map((step, i) => ({ x: step, y: one.rates[i], tip: () => [`step ${thousands(step)}, ${pretty(one.periods[i])}`, `rate ${one.rates[i].toExponential(2)}`] })),
  }));
  const y = { label: "learning rate", format: (v) => (v ? v.toExponential(v.toExponential(1).includes(".0") ? 0 : 1) : "0"), log };
  return { series, x: { label: "step", format: count }, y };
}

/** The tokens of each period, and the shares of subsets, of which there may be none. */
function textCharts({ labels, tokens, color, subsets }) {
  const series = (name, color, values, say) => ({
    name, color,
    points: values.map((value, i) => ({ x: i, y: value ?? NaN, mark: labels.length <= MANY ? "dot" : null, tip: () => [pretty(labels[i]), say(value ?? NaN)] })),
  });
  const x = { label: "period" };
  const whole = series("train tokens", color, tokens, (value) => `${count(value)} tokens`);
  const parts = subsets.map((one) => series(one.name, one.color, one.shares, (value) => `${share(value)} of the train tokens`));
  return [
    { series: [whole], x, y: { label: "train tokens", format: count, zero: true }, labels },
    { series: parts, x, y: { label: "share of train tokens", format: share, zero: true }, labels },
  ];
}

/** Each model on each period before and after the cleaning of held-out text. */
function contaminationChart(study, pair) {
  const series = pair.series.map((one) => {
    const method = study.methods[one.method];
    const points = one.before.map((x, k) => ({
      x, y: one.after[k], mark: "point",
      tip: () => [`trained to ${pretty(one.trained[k])}, evaluated on ${pretty(one.evaluated[k])}`, `${pair.what} ${signed(x)} before, ${signed(one.after[k])} after`],
    }));
    return { name: method.label, color: method.color, points };
  });
  const [x, y] = pair.splits.map((split) => ({ label: `${pair.what} on ${split}`, format: signed }));
  return { series, x, y, scatter: true };
}

function contaminationText(pair) {
  const drawn = pair.series.reduce((sum, one) => sum + one.before.length, 0);
  return `${upper(pair.told)}.${drawn < pair.whole ? ` Drawn are ${thousands(drawn)} of them.` : ""}`;
}

/** Figures 9 and 11 to 14 of TiC-LM: what was counted of a set, by period and in all. */
function tallyCharts({ name, periods, log, parts, total }) {
  const { apart } = report.palette;
  const stacked = parts && { name: `${name}, by period`, labels: periods, series: parts.classes.map((kind, k) => ({ name: kind, color: apart[k % apart.length], values: parts.counts[k] })) };
  const span = periods.length > 1 ? "all periods" : pretty(periods[0]);
  const whole = total && { name: `${name}, ${span}${log ? " (log scale)" : ""}`, labels: total.classes, log, series: [{ name, color: apart[0], values: total.counts }] };
  return [stacked, whole].filter(Boolean);
}

/** [method, difference, low, high] of all methods against one; ends are NaN where too few periods were evaluated. */
function against(rows, base) {
  return rows.flatMap(([a, b, difference, low, high]) => {
    const [from, to] = [low ?? NaN, high ?? NaN];
    return b === base ? [[a, difference, from, to]] : a === base ? [[b, -difference, -to, -from]] : [];
  });
}
