// The difference matrix of two methods, which two selects choose.

/** The methods whose matrices have the axes of the first study that is shown, and were measured on its rows, [{study, view, index}], so that any two have a difference. */
function comparable() {
  const axes = ({ study, view }) => JSON.stringify([study.checkpoints, view.evaluated, view.asked]);
  const every = shown().flatMap((one) => one.study.methods.map((_, index) => ({ ...one, index })));
  return every.filter((one) => one.study === shown()[0].study || (one.view.asked && axes(one) === axes(shown()[0])));
}

/** The two of `every` that are compared first: the best by the mean of its cells, and the best of the others; runs before their rivals. */
function firstPair(every) {
  const mean = ({ view, index }) => {
    const known = Array.from(numbers(view).shown[index]).filter(Number.isFinite);
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : NaN;
  };
  const sign = view().metric.higher && !view().reference ? -1 : 1;
  const last = (value) => (Number.isNaN(value) ? Infinity : value); // one without cells, as on the page of a run that goes on
  const rank = every.map((one, i) => [one.study.methods[one.index].oracle || Boolean(one.study.methods[one.index].frozen), last(sign * mean(one)), i]).sort(([a, x], [b, y]) => a - b || x - y || 0);
  return rank.slice(0, 2).map(([, , i]) => i);
}

/** One method less another, on the cells of both. */
function drawDifference() {
  const every = comparable();
  if (!section("difference", every.length > 1)) return;
  settings.pair ??= firstPair(every);
  const labels = every.map(({ study, index }) => study.methods[index].label);
  ["minuend", "subtrahend"].forEach((id, k) => fill($(id), labels, settings.pair[k], (i) => ((settings.pair = settings.pair.map((old, j) => (j === k ? i : old))), drawDifference())));
  const [one, other] = settings.pair.map((i) => every[i]);
  const scale = differenceScale(differenceOf(one, other));
  const bar = element("i");
  bar.style.background = `linear-gradient(to right, ${scale.stops.join(", ")})`;
  const { higher, digits, measured } = one.view.metric;
  const ends = [scale.low, scale.high].map((end) => plus(higher ? -end : end, digits));
  $("difference-scale").replaceChildren(element("span", { className: "ramp" }, ...[measured, ends[0], bar, ends[1], "blue: the first is better, red: the second"].map((part) => element("span", {}, part))));
  const box = document.querySelector("#difference .map");
  showHeatmap(box, heatmap(one.study, one.view, one.index, Math.max(120, inside(box)), { large: true, scale, id: "difference", minus: other }), one.study.checkpoints.length, one.view.evaluated.length);
}
