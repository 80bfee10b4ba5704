// Bars for labels, and differences with their intervals.

/** A bar for each label, its parts from the bottom up; `series` is [{name, color, values}]. */
function barChart({ labels, series: all, name, log = false, hidden }, width) {
  const parts = all.filter((part) => !hidden?.has(part.name));
  const turned = labels.some((one) => classText(one).length > 3);
  const deep = turned ? 14 + 6 * Math.min(16, Math.max(...labels.map((one) => classText(one).length))) : 26;
  const height = Math.round(Math.min(320, Math.max(200, width * 0.45))) + deep;
  const frame = { left: 50, right: width - 6, top: 22, bottom: height - deep };
  const whole = labels.map((_, i) => parts.reduce((sum, part) => sum + part.values[i], 0));
  const points = whole.filter((y) => y > 0 || !log).map((y) => ({ y }));
  const y = axis(log ? [...points, { y: Math.min(...points.map((point) => point.y)) / 2 }] : points, "y", frame.bottom, frame.top, { log, zero: !log, margin: 0.03 });
  const step = (frame.right - frame.left) / labels.length;
  const body = rounds(y.low, y.high, 5, log).filter((v) => log || v >= 0).map((value) =>
    line(frame.left, y.place(value), frame.right, y.place(value)) + label(count(value), { x: frame.left - 8, y: y.place(value) + 4, "text-anchor": "end" }));
  const under = labels.map(() => 0);
  for (const part of parts) {
    const rects = part.values.map((value, i) => {
      if (!value) return "";
      const [from, to] = [log ? frame.bottom : y.place(under[i]), y.place(under[i] + value)];
      under[i] += value;
      return shape("rect", { x: frame.left + (i + 0.08) * step, width: Math.max(0.84 * step, 0.5), y: to, height: Math.max(from - to, 0.5) });
    });
    body.push(shape("g", { fill: tone(part.color, 0.18) }, ...rects));
  }
  for (const i of ticks(labels, Math.floor((width - frame.left) / 13))) {
    const text = classText(labels[i]);
    body.push(below(text.length > 16 ? `${text.slice(0, 15)}…` : text, frame.left + (i + 0.5) * step, frame.bottom, turned));
  }
  const at = (px, py) => {
    const i = Math.floor((px - frame.left) / step);
    if (!(i in labels)) return null;
    const each = parts.length > 1 ? parts.filter((part) => part.values[i]).map((part) => `${part.name}: ${thousands(part.values[i])}`).reverse() : [];
    return { x: px, y: py, lines: [classText(labels[i]), thousands(whole[i]), ...each] };
  };
  return { width, height, name, body: body.join("") + label(name, { x: 2, y: 10 }), at };
}

/** Differences from the method `base` with their intervals: `rows` are [method, difference, low, high]. */
function whiskers({ study, view, rows, base, title }, width) {
  const order = new Map(rows.map(([i], k) => [i, k]));
  const shown = study.methods.flatMap((method, i) => (order.has(i) ? [[method, ...rows[order.get(i)].slice(1)]] : []));
  const step = 34;
  const height = 50 + Math.max(shown.length, 1) * step;
  const frame = { left: 10, right: width - 12, top: 24, bottom: height - 26 };
  const ends = shown.flatMap(([, ...values]) => values).filter(Number.isFinite);
  const x = axis([0, ...ends].map((value) => ({ x: value })), "x", frame.left, frame.right, { margin: 0.06 });
  const values = rounds(x.low, x.high, width / 80);
  const body = values.map((value) => {
    const at = [x.place(value), frame.top - 6, x.place(value), frame.bottom + 4];
    return (value === 0 ? dashed(...at) : line(...at)) + label(plus(value, digitsOf(values)), { x: x.place(value), y: height - 8, "text-anchor": "middle" });
  });
  const against = study.methods[base].label;
  shown.forEach(([method, difference, low, high], k) => {
    const y = frame.top + (k + 0.8) * step;
    const interval = Number.isFinite(low) ? shape("path", { d: `M${x.place(low).toFixed(1)} ${y}H${x.place(high).toFixed(1)}`, "stroke-width": 1.8 }) : "";
    const point = shape("circle", { cx: x.place(difference), cy: y, r: 3.8 });
    const ink = tone(method.color);
    body.push(onTop(method.label, { x: frame.left, y: y - 9 }), shape("g", { stroke: ink, fill: ink, opacity: low > 0 || high < 0 ? null : 0.45 }, interval, point));
  });
  body.push(label(`${title} against ${against}`, { x: frame.left, y: 12 }));
  const at = (px, py) => {
    const row = shown[Math.floor((py - frame.top) / step - 0.2)];
    if (!row) return null;
    const [method, difference, low, high] = row;
    const say = (value) => differenceText(view, value, view.metric.digits + 1);
    const interval = Number.isFinite(low) ? `95 % interval ${say(low)} to ${say(high)}` : "too few periods for an interval";
    return { x: px, y: py, lines: [`${method.label} − ${against}, ${title}`, say(difference), interval] };
  };
  return { width, height, name: `${title}: differences from ${against}`, body: body.join(""), at };
}
