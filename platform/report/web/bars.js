// Bars: how much a set of examples has of what, by period and in all.

/** A class as it is, or as a period where it is one. */
const classText = (label) => (/^[\d-]+$/.test(label) ? pretty(label) : label);

/** A bar for each label, its parts from the bottom up; `parts` is [{name, color, values}]. */
function drawBars(box, { labels, parts: all, name, log = false }, gone = new Set()) {
  const parts = all.filter((part) => !gone.has(part.name));
  const width = Math.max(280, box.clientWidth - 26);
  const turned = labels.some((label) => classText(label).length > 3);
  const deep = turned ? 14 + 6 * Math.min(16, Math.max(...labels.map((label) => classText(label).length))) : 26;
  const frame = { left: 50, right: 6, top: 22, bottom: deep };
  const height = Math.round(Math.min(320, Math.max(200, width * 0.45))) + deep;
  const whole = labels.map((_, i) => parts.reduce((sum, part) => sum + part.values[i], 0));
  const points = whole.filter((y) => y > 0 || !log).map((y) => ({ y }));
  const y = axis(log ? [...points, { y: Math.min(...points.map((point) => point.y)) / 2 }] : points, "y", height - frame.bottom, frame.top, { log, zero: !log, margin: 0.03 });
  const step = (width - frame.left - frame.right) / labels.length;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": name });
  const bottom = height - frame.bottom;
  for (const value of rounds(y.low, y.high, 5, log).filter((v) => log || v >= 0)) {
    svg.append(shape("line", { class: "gridline", x1: frame.left, x2: width - frame.right, y1: y.place(value), y2: y.place(value) }));
    svg.append(shape("text", { x: frame.left - 8, y: y.place(value) + 4, "text-anchor": "end" }, count(value)));
  }
  const below = labels.map(() => 0);
  for (const part of parts) {
    const group = shape("g", { class: "bar", style: `--color: ${part.color}` });
    part.values.forEach((value, i) => {
      if (!value) return;
      const [from, to] = [log ? bottom : y.place(below[i]), y.place(below[i] + value)];
      below[i] += value;
      group.append(shape("rect", { x: frame.left + (i + 0.08) * step, width: Math.max(0.84 * step, 0.5), y: to, height: Math.max(from - to, 0.5) }));
    });
    svg.append(group);
  }
  for (const i of ticks(labels, Math.floor((width - frame.left) / 13))) {
    const at = frame.left + (i + 0.5) * step;
    const text = classText(labels[i]);
    const place = turned ? { transform: `translate(${at + 4} ${bottom + 8}) rotate(-90)`, "text-anchor": "end", style: "font-size: 10px" } : { x: at, y: bottom + 17, "text-anchor": "middle" };
    svg.append(shape("text", place, text.length > 16 ? `${text.slice(0, 15)}…` : text));
  }
  svg.append(shape("text", { x: 2, y: 10 }, name));
  svg.onpointermove = svg.onpointerdown = (event) => {
    const area = svg.getBoundingClientRect();
    const i = Math.floor((((event.clientX - area.left) * width) / area.width - frame.left) / step);
    if (!(i in labels)) return tip(0, 0, null);
    const said = parts.length > 1 ? parts.filter((part) => part.values[i]).map((part) => `${part.name}: ${part.values[i].toLocaleString("en")}`).reverse() : [];
    tip(event.clientX, event.clientY, [classText(labels[i]), whole[i].toLocaleString("en"), ...said]);
  };
  svg.onpointerleave = () => tip(0, 0, null);
  const key = all.length < 2 ? [] : [element("div", { className: "legend" }, ...all.map((part) => {
    const square = element("i", { className: "square" });
    square.style.setProperty("--color", part.color);
    const button = element("button", { type: "button" }, square, part.name);
    button.setAttribute("aria-pressed", !gone.has(part.name));
    button.onclick = () => (gone.delete(part.name) || gone.add(part.name), drawBars(box, { labels, parts: all, name, log }, gone));
    return button;
  }))];
  box.replaceChildren(svg, ...key);
}

function drawExamples() {
  if (!$("examples")) return;
  const sets = study().examples;
  $("examples").hidden = !sets.length;
  if (!sets.length) return;
  settings.set = Math.min(settings.set ?? 0, sets.length - 1);
  fill($("examples-set"), sets.map((one) => one.id), settings.set, (i) => ((settings.set = i), drawExamples()));
  const boxes = [];
  $("tallies").replaceChildren(...sets[settings.set].tallies.flatMap(({ name, periods, log, parts, total }) => {
    const drawn = [];
    if (parts) drawn.push([`${name}, by period`, { labels: periods, parts: parts.classes.map((kind, k) => ({ name: kind, color: report.palette.apart[k % report.palette.apart.length], values: parts.counts[k] })) }]);
    if (total) {
      drawn.push([`${name}, ${periods.length > 1 ? "all periods" : pretty(periods[0])}`, { labels: total.classes, log, parts: [{ name, color: report.palette.apart[0], values: total.counts }] }]);
    }
    return drawn.map(([title, bars]) => {
      const box = element("div", { className: "chart" });
      boxes.push([box, { ...bars, name: title + (bars.log ? " (log scale)" : "") }]);
      return box;
    });
  }));
  boxes.forEach(([box, bars]) => drawBars(box, bars)); // a chart asks for the width of its box, so that has to be in the page
}
