// How methods are told apart besides their colour: markers on points, dashes of lines, and both in the samples of a legend.

/** Outlines of markers about (0, 0), as wide as a circle of radius 1 looks. */
const OUTLINES = {
  square: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  up: [[0, -1.25], [1.15, 0.85], [-1.15, 0.85]],
  down: [[0, 1.25], [1.15, -0.85], [-1.15, -0.85]],
  diamond: [[0, -1.35], [1.2, 0], [0, 1.35], [-1.2, 0]],
  cross: [[-0.4, -1.25], [0.4, -1.25], [0.4, -0.4], [1.25, -0.4], [1.25, 0.4], [0.4, 0.4], [0.4, 1.25], [-0.4, 1.25], [-0.4, 0.4], [-1.25, 0.4], [-1.25, -0.4], [-0.4, -0.4]],
  bar: [[-0.45, -1.5], [0.45, -1.5], [0.45, 1.5], [-0.45, 1.5]],
  star: Array.from({ length: 10 }, (_, i) => [Math.sin((i * Math.PI) / 5), -Math.cos((i * Math.PI) / 5)].map((part) => part * (i % 2 ? 0.6 : 1.5))),
};

/** A marker of about the radius `r` at (x, y). */
function marker(kind, x, y, r, attributes = {}) {
  const outline = OUTLINES[kind];
  if (!outline) return shape("circle", { class: "mark", cx: x, cy: y, r, ...attributes });
  const corners = outline.map(([dx, dy]) => `${(x + dx * r).toFixed(1)} ${(y + dy * r).toFixed(1)}`);
  return shape("path", { class: "mark", d: `M${corners.join("L")}z`, ...attributes });
}

/** The sample of a series in a legend, 34 × 10: a line with its marker, a point of a scatter plot, or a part of a bar. */
function sample({ color, dash, marker: kind }, type) {
  if (type === "bars") return shape("rect", { x: 17, width: 11, height: 10, rx: 2, fill: tone(color) });
  const ink = tone(color);
  const point = kind || type === "scatter" ? marker(kind, 17, 5, 3.6, { fill: ink }) : "";
  return (type === "scatter" ? "" : shape("path", { d: "M0 5L34 5", stroke: ink, "stroke-width": 1.8, "stroke-dasharray": dash })) + point;
}

/** Names of series whose lines lie exactly on each other, one list for each place. */
function coinciding(series) {
  const groups = {};
  for (const one of series) {
    const known = one.points.filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
    if (known.length) (groups[JSON.stringify(known.map(({ x, y }) => [x, y]))] ??= []).push(one.name);
  }
  return Object.values(groups).filter((names) => names.length > 1);
}

/** Places along one line for texts that are to stand at `wanted`, at least `apart` from each other and inside [low, high]; null where there is no room. */
function spreadOut(wanted, apart, low, high) {
  if (wanted.length * apart > high - low) return null;
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b] || a - b);
  const found = [...wanted];
  let least = low;
  for (const i of order) least = (found[i] = Math.max(wanted[i], least)) + apart;
  let most = high;
  for (const i of order.reverse()) most = (found[i] = Math.min(found[i], most)) - apart;
  return found;
}
