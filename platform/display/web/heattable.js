// Heat maps that came as values: a cell for each row and label, with its number where that fits.

const CELL = 26; // height of a cell
const LEAST = 34; // narrowest cell that holds a number

/** The chart of {labels, rows: [{name, values}], y}. Cells without a value are blank. */
function heatTable({ name, labels, rows, y }, width) {
  const known = rows.flatMap((row) => row.values).filter(Number.isFinite);
  const [low, high] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
  const colors = ramp(theme.sequential, 64);
  const colorOf = (value) => colors[Math.round(63 * ((value - low) / (high - low || 1)))];
  const left = Math.min(0.4 * width, Math.max(...rows.map((row) => widthOf(row.name, 12)), 30) + 8);
  const step = (width - left - 2) / labels.length;
  const under = underAxis(labels, width - left - 2);
  const deep = under.turned ? 14 + 7.4 * Math.max(...under.names.map((one) => one.length)) : 26;
  const bottom = 6 + rows.length * CELL;
  const body = rows.flatMap((row, i) => [
    label(row.name, { x: left - 6, y: 6 + (i + 0.62) * CELL, "text-anchor": "end" }),
    ...row.values.flatMap((value, k) => (Number.isFinite(value) ? cellOf(value, left + k * step, 6 + i * CELL, step, colorOf(value), y) : [])),
  ]);
  body.push(...under.names.map((text, k) => below(text, left + (under.chosen[k] + 0.5) * step, bottom, under.turned)));
  const at = (px, py) => {
    const [i, k] = [Math.floor((py - 6) / CELL), Math.floor((px - left) / step)];
    if (!rows[i] || !(k in labels)) return null;
    return { x: px, y: py, lines: [`${rows[i].name}, ${pretty(labels[k])}`, `${y.label}: ${y.format(rows[i].values[k])}`] };
  };
  return { width, height: bottom + deep, name, body: body.join(""), at };
}

function cellOf(value, x, y, step, color, axis) {
  const cell = shape("rect", { x, y, width: Math.max(step - 1, 1), height: CELL - 1, fill: color });
  const text = axis.format(value, 2);
  if (step < Math.max(LEAST, widthOf(text, 12))) return [cell];
  return [cell, label(text, { x: x + step / 2, y: y + 0.64 * CELL, fill: inkOn(color), "text-anchor": "middle" })];
}
