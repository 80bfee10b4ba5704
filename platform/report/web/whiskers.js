// Differences between methods with their intervals, each against one method.

const MEANS = { backward: "Bwd.", in_distribution: "ID", forward: "Fwd." };

/** [method, difference, low, high] of all methods against one; ends are NaN where too few periods were evaluated. */
function against(rows, base) {
  return rows.flatMap(([a, b, difference, low, high]) => {
    const [from, to] = [low ?? NaN, high ?? NaN];
    return b === base ? [[a, difference, from, to]] : a === base ? [[b, -difference, -to, -from]] : [];
  });
}

function drawDifferences() {
  if (!$("differences")) return;
  const found = view().differences;
  $("differences").hidden = !found;
  if (!found) return;
  $("side").textContent = `${found.up ? "Right" : "Left"} of zero: better.`;
  const names = study().methods.map((method) => method.label);
  const base = settings.against ?? found.best;
  fill($("against"), names, base, (i) => ((settings.against = i), drawDifferences()));
  const boxes = Object.keys(MEANS).map(() => element("div", { className: "chart" }));
  $("whiskers").replaceChildren(...boxes);
  Object.entries(MEANS).forEach(([mean, title], k) => drawWhiskers(boxes[k], against(found[mean] ?? [], base), title, names[base]));
}

function drawWhiskers(box, rows, title, base) {
  const width = Math.max(260, box.clientWidth - 26);
  const order = new Map(rows.map(([i], k) => [i, k]));
  const shown = study().methods.flatMap((method, i) => (order.has(i) ? [[method, rows[order.get(i)]]] : []));
  const step = 34;
  const frame = { left: 10, right: 12, top: 24, bottom: 26 };
  const height = frame.top + Math.max(shown.length, 1) * step + frame.bottom;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: differences from ${base}` });
  const ends = shown.flatMap(([, [, ...values]]) => values).filter(Number.isFinite);
  const x = axis([0, ...ends].map((value) => ({ x: value })), "x", frame.left, width - frame.right, { margin: 0.06 });
  const levels = rounds(x.low, x.high, width / 80);
  for (const value of levels) {
    svg.append(shape("line", { class: value === 0 ? "diagonal" : "gridline", x1: x.place(value), x2: x.place(value), y1: frame.top - 6, y2: height - frame.bottom + 4 }));
    svg.append(shape("text", { x: x.place(value), y: height - 8, "text-anchor": "middle" }, plus(value, digitsOf(levels))));
  }
  shown.forEach(([method, [, difference, low, high]], k) => {
    const y = frame.top + (k + 0.8) * step;
    const group = shape("g", { class: `series${low > 0 || high < 0 ? "" : " unclear"}`, style: `--color: ${method.color}` });
    if (Number.isFinite(low)) group.append(shape("path", { d: `M${x.place(low)} ${y}H${x.place(high)}` }));
    group.append(shape("circle", { cx: x.place(difference), cy: y, r: 3.8 }));
    const say = (value) => differenceText(view(), value, view().metric.digits + 1);
    const hit = shape("rect", { x: 0, width, y: y - 0.6 * step, height: step, fill: "transparent" });
    hit.onpointermove = hit.onpointerdown = (event) => tip(event.clientX, event.clientY, [`${method.label} − ${base}, ${title}`,
      say(difference), Number.isFinite(low) ? `95 % interval ${say(low)} to ${say(high)}` : "too few periods for an interval"]);
    hit.onpointerleave = () => tip(0, 0, null);
    svg.append(shape("text", { class: "on", x: frame.left, y: y - 9 }, method.label), group, hit);
  });
  svg.append(shape("text", { x: frame.left, y: 12 }, `${title} against ${base}`));
  box.replaceChildren(svg);
}
