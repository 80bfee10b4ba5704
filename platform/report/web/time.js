// Curves over time: of each checkpoint, of each evaluated period, and how late the best checkpoint comes.

/** At most eight positions, evenly chosen, with the first and the last. */
const some = (length) => [...new Set(Array.from({ length: 8 }, (_, i) => Math.round((i * (length - 1)) / 7)))];

/** What the curves can show of the evaluation, [name, title]; the chosen one. */
function shownValues() {
  const { log, titled } = view().metric;
  const options = [...(log ? [["perplexity", "Perplexity"]] : []), ["value", titled[0].toUpperCase() + titled.slice(1)]];
  if (view().reference) options.push(["regret", "Regret"]);
  const value = options.some(([name]) => name === settings.value) ? settings.value : options[0][0];
  return { options, value };
}

function drawTime() {
  const { options, value } = shownValues();
  switcher("time-value", options, value, (name) => ((settings.value = name), drawTime()));
  fill($("time-method"), study().methods.map((method) => method.label), settings.method, (i) => ((settings.method = i), drawTime()));
  const lines = [["checkpoints", "A line per checkpoint"], ["periods", "A line per evaluated period"]];
  switcher("time-lines", lines, settings.lines, (name) => ((settings.lines = name), hidden.time.clear(), drawTime()));
  const byPeriod = settings.lines === "periods";
  const [across, along] = [{ labels: study().checkpoints, places: study().places }, { labels: view().evaluated, places: view().places }];
  const [of, by] = byPeriod ? [along, across] : [across, along];
  const few = some(of.labels.length);
  if (of.labels.length > few.length) switcher("time-all", [[false, `${few.length} of them`], [true, `all ${of.labels.length}`]], settings.all, (all) => ((settings.all = all), drawTime()));
  else $("time-all").replaceChildren();
  const chosen = settings.all ? of.labels.map((_, i) => i) : few;
  const colors = ramp(report.palette.lines);
  const series = chosen.map((line, k) => curve(line, of, by, byPeriod, value, `rgb(${colors[Math.round((255 * k) / Math.max(chosen.length - 1, 1))]})`));
  $("time-note").textContent = byPeriod
    ? "A line is an evaluated period; the ring marks the checkpoint that is best on it."
    : "A line is a checkpoint; the ring marks the evaluated period that is nearest to it in time. Left of it lies its past.";
  const named = { perplexity: "perplexity", value: view().metric.titled, regret: `regret${view().metric.difference && ` (${view().metric.difference})`}` }[value];
  const y = { label: `${named}, ${value === "regret" || !view().metric.higher ? "lower" : "higher"} is better`, format: signed };
  drawChart($("time-chart"), { series, x: { label: byPeriod ? "trained to" : "evaluated period" }, y, ...by, hidden: hidden.time });
}

/** One line: row `line` of the matrix along its columns, or (`byPeriod`) column `line` along its rows. */
function curve(line, of, by, byPeriod, value, color) {
  const { values, shown, columns } = numbers(view());
  const at = (i) => (byPeriod ? i * columns + line : line * columns + i);
  const matrix = (value === "regret" ? shown : values)[settings.method];
  const own = by.labels.map((_, i) => (value === "perplexity" ? Math.exp(matrix[at(i)]) : matrix[at(i)]));
  const sign = view().metric.higher && value !== "regret" ? -1 : 1;
  const known = own.map((y, i) => [sign * y, i]).filter(([y]) => Number.isFinite(y));
  const ringed = byPeriod ? known.reduce((best, one) => (one[0] < (best?.[0] ?? Infinity) ? one : best), null)?.[1] : view().nearest[line];
  const say = (y) => (value === "regret" ? `regret ${differenceText(view(), y)}` : value === "perplexity" ? `perplexity ${signed(y)}` : valueText(view(), y));
  const points = own.map((y, i) => ({
    x: by.places[i], y, mark: i === ringed ? "ring" : own.length <= 40 ? "dot" : null,
    tip: [`${byPeriod ? "trained to" : "evaluated on"} ${pretty(by.labels[i])}${i === ringed ? (byPeriod ? ": the best" : ", nearest in time") : ""}`, say(y)],
  }));
  return { name: pretty(of.labels[line]), color, points };
}

/** Figure 5 of TiC-LM: how long after each evaluated period the best checkpoint for it was trained. */
function drawLag() {
  const { evaluated, places, lags } = view();
  $("lag").hidden = evaluated.length < 2 || study().checkpoints.length < 2;
  if ($("lag").hidden) return;
  /** Methods other than `i` whose lag on period `j` is the same, since their points hide each other. */
  const same = (i, j) => study().methods.filter((_, k) => k !== i && lags[k].months[j] === lags[i].months[j] && !hidden.lag.has(study().methods[k].label)).map((one) => one.label);
  const also = (names) => (names.length ? [`also ${names.slice(0, 4).join(", ")}${names.length > 4 ? ` and ${names.length - 4} more` : ""}`] : []);
  const series = study().methods.map((method, i) => ({
    name: method.label, color: method.color, dash: method.oracle ? "4 3" : null,
    points: lags[i].months.map((months, j) => ({
      x: places[j], y: months ?? NaN, mark: evaluated.length > 40 ? null : lags[i].edge[j] ? "hollow" : "full",
      tip: [`evaluated on ${pretty(evaluated[j])}, best trained to ${pretty(lags[i].best[j] ?? "")}`, `${plus(months ?? NaN, 1)} months${lags[i].edge[j] ? ", its first or last model" : ""}`, ...also(same(i, j))],
    })),
  }));
  drawChart($("lag-chart"), { series, x: { label: "evaluated period" }, y: { label: "months from it to the best checkpoint", format: (value) => plus(value, 0), line: 0 }, labels: evaluated, places, hidden: hidden.lag });
  $("lag-told").replaceChildren(...study().methods.map((method, i) => element("li", {}, element("b", {}, method.label), `: ${lags[i].told}`)));
}
