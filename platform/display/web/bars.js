// Bars for labels, and differences with their intervals.

/**
 * A bar for each label, its parts from the bottom up; `series` is [{name, color, values}]. With `beside`, the parts stand
 * side by side, and a value may be missing.
 */
function barChart({ labels, series: all, name, log = false, beside = false, format = (value) => signed(value, 2), hidden }, width) {
  const parts = all.filter((part) => !hidden?.has(part.name));
  const under = underAxis(labels, width - 56);
  const deep = under.turned ? 14 + 7.2 * Math.min(16, Math.max(...under.names.map((one) => one.length))) : 26;
  const height = Math.round(Math.min(320, Math.max(200, width * 0.45))) + deep;
  const frame = { left: 50, right: width - 6, top: 22, bottom: height - deep };
  const whole = labels.map((_, i) => (beside ? Math.max(0, ...parts.map((part) => part.values[i] ?? 0)) : parts.reduce((sum, part) => sum + part.values[i], 0)));
  const points = whole.filter((y) => y > 0 || !log).map((y) => ({ y }));
  const y = axis(log ? [...points, { y: Math.min(...points.map((point) => point.y)) / 2 }] : points, "y", frame.bottom, frame.top, { log, zero: !log, margin: 0.03 });
  const step = (frame.right - frame.left) / labels.length;
  const body = rounds(y.low, y.high, 5, log).filter((v) => log || v >= 0).map((value) =>
    line(frame.left, y.place(value), frame.right, y.place(value)) + label(count(value), { x: frame.left - 8, y: y.place(value) + 4, "text-anchor": "end" }));
  const tops = labels.map(() => 0);
  for (const [k, part] of parts.entries()) {
    const rects = part.values.map((value, i) => {
      if (!value) return "";
      if (beside) return shape("rect", { x: frame.left + (i + 0.08 + (0.84 * k) / parts.length) * step, width: Math.max((0.76 * step) / parts.length, 0.5), y: y.place(value), height: Math.max(frame.bottom - y.place(value), 0.5) });
      const [from, to] = [log ? frame.bottom : y.place(tops[i]), y.place(tops[i] + value)];
      tops[i] += value;
      return shape("rect", { x: frame.left + (i + 0.08) * step, width: Math.max(0.84 * step, 0.5), y: to, height: Math.max(from - to, 0.5) });
    });
    body.push(shape("g", { fill: tone(part.color) }, ...rects));
  }
  under.chosen.forEach((i, k) => {
    const text = under.names[k];
    body.push(below(text.length > 16 ? `${text.slice(0, 15)}…` : text, frame.left + (i + 0.5) * step, frame.bottom, under.turned));
  });
  const at = (px, py) => {
    const i = Math.floor((px - frame.left) / step);
    if (!(i in labels)) return null;
    if (beside) return { x: px, y: py, lines: [classText(labels[i]), ...parts.map((part) => `${part.name}: ${format(part.values[i] ?? NaN)}`)] };
    const each = parts.length > 1 ? parts.filter((part) => part.values[i]).map((part) => `${part.name}: ${thousands(part.values[i])}`).reverse() : [];
    return { x: px, y: py, lines: [classText(labels[i]), thousands(whole[i]), ...each] };
  };
  return { width, height, name, body: body.join("") + label(withYear(name, labels), { x: 2, y: 10 }), at };
}

/** Round numbers on an axis of differences, three or more, whose labels have room: [numbers, decimals]. */
function differenceTicks(x, ends, long) {
  const fits = (values) => values.length > 2 && (values[1] - values[0]) * (long / (x.high - x.low)) > widthOf(plus(values.at(-1), digitsOf(values)), 12) + 4;
  const found = Array.from({ length: 9 }, (_, i) => rounds(x.low, x.high, 9 - i)).find(fits);
  if (found) return [found, digitsOf(found)];
  const far = ends.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a), 0) || 1;
  const unit = 10 ** (Math.floor(Math.log10(Math.abs(far) / 2)) - 1);
  const half = Math.sign(far) * Math.floor(Math.abs(far) / 2 / unit) * unit;
  return [[0, half, 2 * half], Math.max(0, -Math.round(Math.log10(unit)))];
}

/** Differences from the method `base` with their intervals: `rows` are [method, difference, low, high]. */
function whiskers({ study, view, rows, base, title }, width) {
  const order = new Map(rows.map(([i], k) => [i, k]));
  const shown = study.methods.flatMap((method, i) => (order.has(i) ? [[method, ...rows[order.get(i)].slice(1)]] : []));
  const step = shown.length > 6 ? 22 : 30; // few rows are given more room, so that the plot is most of its card
  const height = 62 + Math.max(shown.length, 1) * step;
  const most = Math.floor((0.4 * width) / (0.62 * 12));
  const names = shown.map(([{ label }]) => (label.length > most ? `${label.slice(0, most - 1)}…` : label));
  const frame = { left: 12 + Math.max(...names.map((name) => widthOf(name, 12)), 40), right: width - 20, top: 24, bottom: height - 38 };
  const ends = shown.flatMap(([, ...values]) => values).filter(Number.isFinite);
  const x = axis([0, ...ends].map((value) => ({ x: value })), "x", frame.left, frame.right, { margin: 0.06 });
  const [values, digits] = differenceTicks(x, ends, frame.right - frame.left);
  const body = values.map((value) => {
    const at = [x.place(value), frame.top, x.place(value), frame.bottom + 4];
    return (value === 0 ? dashed(...at) : line(...at)) + label(plus(value, digits), { x: x.place(value), y: frame.bottom + 17, "text-anchor": "middle" });
  });
  const against = study.methods[base].label;
  shown.forEach(([method, difference, low, high], k) => {
    const y = frame.top + (k + 0.5) * step;
    const interval = Number.isFinite(low) ? shape("path", { d: `M${x.place(low).toFixed(1)} ${y}H${x.place(high).toFixed(1)}`, "stroke-width": 2.4 }) : "";
    const point = marker(method.marker, x.place(difference), y, 4.6);
    const ink = tone(method.color);
    body.push(label(names[k], { x: 2, y: y + 3.6, fill: theme.ink }), shape("g", { stroke: ink, fill: ink, opacity: low > 0 || high < 0 ? null : 0.45 }, interval, point));
  });
    body.push(label(`${title} against ${against}`, { x: 2, y: 12 }), label(`difference${view.metric.counted && ` in ${view.metric.counted}`}`, { x: frame.right + 16, y: height - 4, "text-anchor": "end" }));
  const at = (px, py) => {
    const row = shown[Math.floor((py - frame.top) / step)];
    if (!row) return null;
    const [method, difference, low, high] = row;
    const say = (value) => differenceText(view, value, view.metric.digits + 1);
    const interval = Number.isFinite(low) ? `95 % interval ${say(low)} to ${say(high)}` : "too few periods for an interval";
    return { x: px, y: py, lines: [`${method.label} − ${against}, ${title}`, worded(view, say(difference), difference), interval] };
  };
  return { width, height, name: `${title}: differences from ${against}`, body: body.join(""), at };
}
