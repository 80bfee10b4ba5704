// Which chart shows what: each function turns the numbers of a study into what lineChart or barChart draws.

const MEANS = { backward: "Bwd.", in_distribution: "ID", forward: "Fwd." };
const MANY = 40; // points that can be told apart on one line
const FEW_ROUNDS = 24; // rounds whose rates are drawn step by step

/** At most eight positions, evenly chosen, with the first and the last. */
const some = (length) => [...new Set(Array.from({ length: 8 }, (_, i) => Math.round((i * (length - 1)) / 7)))];

/** Figure 1 of TiC-LM: the mean over all evaluated periods against what it took to get there, in tokens or `flops`. */
function costChart(studies, name, unit, log) {
  const shown = studies.map((one) => one.views.find((other) => other.name === name));
  const { metric } = shown.find(Boolean);
  const series = studies.flatMap((one, k) => (shown[k] ? one.methods.map((method, i) => {
    const curve = shown[k].curves[i];
    const names = pointLabels(curve.labels);
    const points = curve.labels.map((label, j) => ({
      x: curve[unit][j] ?? NaN, y: curve.mean[j] ?? NaN, label: names[j], mark: curve.missing[j] ? "hollow" : names[j] || curve.labels.length <= MANY ? "full" : null,
      tip: () => [`trained to ${pretty(label)}`, `${count(curve.tokens[j] ?? NaN)} tokens, ${scientific(curve.flops[j])} FLOPs`,
        `mean ${valueText(shown[k], curve.mean[j] ?? NaN)}`, ...(curve.missing[j] ? [`${curve.missing[j]} cells missing`] : [])],
    }));
    return { ...styled(method), first: method.oracle, points };
  }) : []));
  extendFrozen(studies.flatMap((one, k) => (shown[k] ? one.methods : [])), series);
  const y = { label: `mean ${metric.measured}, ${better({ metric })}`, format: signed };
  const x = { label: `cumulative cost, ${unit === "flops" ? "FLOPs" : unit}`, format: unit === "flops" ? scientific : count, log };
  return { series, x, y, annotate: true, named: true };
}

/** Draws a model that is never updated as a level line: it costs no more, however much the others train. */
function extendFrozen(methods, series) {
  const costs = series.flatMap((one) => one.points.map((point) => point.x)).filter((x) => x > 0);
  const [least, most] = [Math.min(...costs), Math.max(...costs)];
  series.forEach((one, i) => {
    const [first] = one.points;
    if (!methods[i].frozen || !first || !(first.x < most)) return;
    if (first.x === 0) first.x = least; // an imported model cost nothing here, and a log axis has no place for that
    one.points.push({ ...first, x: most, mark: null, label: "" });
  });
}

/** The methods that are trained again and again, with their positions: only they have a matrix and lags worth a picture. */
const trainedOnes = (study) => study.methods.map((method, index) => ({ method, index })).filter((one) => !one.method.frozen);

/** What a method looks like in a chart. */
const styled = ({ label, color, dash, marker }) => ({ name: label, color, dash, marker });

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
  const colors = ramp(theme.lines, chosen.length);
  const names = shortLabels(of.labels);
  const series = chosen.map((place, k) => ({ name: names[place], title: pretty(of.labels[place]), color: colors[k], points: timePoints(view, method, value, place, by, byPeriod) }));
  const named = { perplexity: "perplexity", value: view.metric.measured, regret: regretText(view) }[value];
  const y = { label: `${named}, ${value === "regret" || !view.metric.higher ? "lower" : "higher"} is better`, format: signed };
  return { series, x: { label: withYear(byPeriod ? "trained to" : "evaluated period", by.labels) }, y, named: true, ...by };
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
  const say = (y) => (value === "regret" ? worded(view, `regret ${differenceText(view, y)}`, y) : value === "perplexity" ? `perplexity ${signed(y)}` : valueText(view, y));
  return own.map((y, i) => ({
    x: by.places[i], y, mark: i === ringed ? "ring" : own.length <= MANY ? "dot" : null,
    tip: () => [`${byPeriod ? "trained to" : "evaluated on"} ${pretty(by.labels[i])}${i === ringed ? (byPeriod ? ": the best" : ", nearest in time") : ""}`, say(y)],
  }));
}

/** Figure 5 of TiC-LM: how long after each evaluated period the best checkpoint for it was trained, in periods. */
function lagChart(study, { evaluated, places, lags, unit }, hidden = new Set()) {
  /** Methods other than `i` whose lag on period `j` is the same, since their points hide each other. */
  const same = (i, j) => study.methods.filter((one, k) => k !== i && !one.frozen && lags[k].distances[j] === lags[i].distances[j] && !hidden.has(one.label)).map((one) => one.label);
  const also = (names) => (names.length ? [`also ${names.slice(0, 4).join(", ")}${names.length > 4 ? ` and ${names.length - 4} more` : ""}`] : []);
  const series = trainedOnes(study).map(({ method, index: i }) => ({
    ...styled(method), told: lags[i].told,
    points: lags[i].distances.map((distance, j) => ({
      x: places[j], y: distance ?? NaN, mark: evaluated.length > MANY ? null : lags[i].edge[j] ? "hollow" : "full",
      tip: () => [`evaluated on ${pretty(evaluated[j])}, best trained to ${pretty(lags[i].best[j] ?? "")}`, `${plus(distance ?? NaN, 1)} ${unit}s${lags[i].edge[j] ? ", its first or last model" : ""}`, ...also(same(i, j))],
    })),
  }));
  const y = { label: `${unit}s from the period to its best checkpoint`, format: (value) => plus(value, 0), line: 0, whole: true };
  return { series, x: { label: withYear("evaluated period", evaluated) }, y, labels: evaluated, places, named: true };
}

const hasLags = (study, view) => view.evaluated.length > 1 && study.checkpoints.length > 1;

/** Learning rates over the steps; of more than FEW_ROUNDS rounds only the peak of each, above a band down to its lowest rate. */
function ratesChart(studies, log) {
  const series = studies.flatMap((study) => study.rates.map((one) => {
    const name = one.methods.map((i) => study.methods[i].label).join(", ");
    const point = (step, y, tip) => ({ x: step, y, tip: () => tip });
    const points = one.steps.map((step, i) => point(step, one.rates[i], [`step ${thousands(step)}, ${pretty(one.periods[i])}`, `rate ${one.rates[i].toExponential(2)}`]));
    if (new Set(one.periods).size <= FEW_ROUNDS) return { name, color: one.color, dash: one.dash, points };
    const rounds = byRound(one);
    const peaks = rounds.map(({ period, step, low, high }) => point(step, high, [`peak of ${pretty(period)}: ${high.toExponential(2)}`, `lowest rate ${low.toExponential(2)}`]));
    return { name, color: one.color, dash: one.dash, points: peaks, band: rounds.map(({ step, low, high }) => ({ x: step, low, high })) };
  }));
  const y = { label: series.some((one) => one.band) ? "learning rate: peak of each round, and the range below it" : "learning rate", format: (v) => (v ? v.toExponential(v.toExponential(1).includes(".0") ? 0 : 1) : "0"), log };
  return { series, x: { label: "step", format: count }, y, low: true };
}

/** The training loss over the steps: a line a method, each point the mean of some steps. */
function lossChart(studies) {
  const series = studies.flatMap((study) => study.losses.map(({ method, steps, losses, periods }) => ({
    ...styled(study.methods[method]),
    points: steps.map((step, i) => ({ x: step, y: losses[i], tip: () => [`step ${thousands(step)}, ${pretty(periods[i])}`, `training loss ${signed(losses[i])}`] })),
  })));
  return { series, x: { label: "step", format: count }, y: { label: "training loss, nats", format: signed }, low: true };
}

/** The lowest and the highest rate of each round, at its middle step; zero is left out, which a log scale lacks. */
function byRound({ periods, steps, rates }) {
  const found = [];
  periods.forEach((period, i) => {
    if (period !== found.at(-1)?.period) found.push({ period, steps: [], low: Infinity, high: 0 });
    const round = found.at(-1);
    round.steps.push(steps[i]);
    round.high = Math.max(round.high, rates[i]);
    if (rates[i] > 0) round.low = Math.min(round.low, rates[i]);
  });
  return found.map((round) => ({ ...round, low: Math.min(round.low, round.high), step: (round.steps[0] + round.steps.at(-1)) / 2 }));
}

/** The tokens of each period, and the shares of subsets, of which there may be none. */
function textCharts({ labels, tokens, color, subsets }) {
  const series = (name, color, values, say) => ({
    name, color,
    points: values.map((value, i) => ({ x: i, y: value ?? NaN, mark: labels.length <= MANY ? "dot" : null, tip: () => [pretty(labels[i]), say(value ?? NaN)] })),
  });
  const x = { label: withYear("period", labels) };
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
    return { ...styled(method), points };
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

const FORMATS = { signed, plus, count, share };

/** An axis of a chart that came as a value, with the function that writes its numbers. */
const axisOf = (axis) => ({ ...axis, format: FORMATS[axis.format] });

/** A chart that came as a value (display/charts.py) as what `drawOf` draws. */
function specOf(chart) {
  const { kind, labels, stacked } = chart;
  const written = chart.y.format === "signed" ? (value) => signed(value, 2) : FORMATS[chart.y.format];
  if (kind === "bar") return { name: chart.y.label || chart.title, labels, beside: !stacked, log: chart.y.log, format: written, series: chart.series.map((one) => ({ ...one, values: one.y.map((value) => value ?? (stacked ? 0 : null)) })) };
  if (kind === "heat") return { name: chart.title, labels, y: axisOf(chart.y), rows: chart.series.map((one) => ({ ...one, values: one.y.map((value) => value ?? NaN) })), series: [] };
  const [x, y] = [axisOf({ ...chart.x, label: labels.length ? withYear(chart.x.label, labels).replace(/^, /, "") : chart.x.label }), axisOf({ ...chart.y, label: chart.y.label || chart.title })];
  const mark = kind === "points" ? "point" : Math.max(...chart.series.map((one) => one.y.length)) <= MANY ? "full" : null;
  const markOf = (one, i) => (mark === "full" && one.hollow[i] ? "hollow" : mark);
  const say = (one, i) => (one.tips.length ? [one.tips[i]] : [`${chart.x.label || "x"}: ${labels.length ? pretty(labels[i]) : x.whole ? Math.round(one.x[i]) : x.format(one.x[i] ?? NaN)}`, `${y.label}: ${y.format(one.y[i] ?? NaN)}`]);
  const at = (one, i) => (labels.length ? i : one.x[i] ?? NaN);
  const bandOf = (one) => one.low?.map((low, i) => ({ x: at(one, i), low: low ?? NaN, high: one.high[i] ?? NaN }));
  const series = chart.series.map((one) => ({ ...one, band: bandOf(one), points: one.y.map((value, i) => ({ x: at(one, i), y: value ?? NaN, mark: markOf(one, i), tip: () => say(one, i) })) }));
  return { name: chart.title, series, x, y, cloud: kind === "points", named: kind === "line", ...(labels.length ? { labels } : {}) };
}

/** What draws a chart that came as a value. */
const drawOf = ({ kind }) => ({ bar: barChart, heat: heatTable }[kind] ?? lineChart);

/** [method, difference, low, high] of all methods against one; ends are NaN where too few periods were evaluated. */
function against(rows, base) {
  return rows.flatMap(([a, b, difference, low, high]) => {
    const [from, to] = [low ?? NaN, high ?? NaN];
    return b === base ? [[a, difference, from, to]] : a === base ? [[b, -difference, -to, -from]] : [];
  });
}
