// Heat maps on canvas: a 114 × 114 matrix is one image of 114 × 114 pixels, scaled without smoothing.

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/** 256 colours [r, g, b] along evenly spaced stops. */
function ramp(stops) {
  const parsed = stops.map(channels);
  return Array.from({ length: 256 }, (_, i) => {
    const place = (i / 255) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    return parsed[low].map((c, k) => Math.round(c + (parsed[low + 1][k] - c) * (place - low)));
  });
}

function stops(view) {
  return report.palette[(view.reference ? "diverging" : "sequential") + (dark() ? "_dark" : "")];
}

/** Ends of the colour scale: regret is symmetric about zero, so that white always means "as the reference". */
function bounds(view) {
  if (!view.reference) return [view.lowest, view.highest];
  const limit = state.limit ?? view.limit;
  return [-limit, limit];
}

function hatch(context, scale) {
  const size = Math.round(5 * scale);
  const tile = element("canvas", { width: size, height: size });
  const pen = tile.getContext("2d");
  pen.fillStyle = dark() ? "#262b32" : "#eceae5";
  pen.fillRect(0, 0, size, size);
  pen.strokeStyle = dark() ? "#7b818b" : "#8b9099";
  pen.lineWidth = scale;
  pen.beginPath();
  for (const shift of [-size, 0, size]) pen.moveTo(shift - 1, size + 1), pen.lineTo(shift + size + 1, -1);
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

class Heatmap {
  /** Draws method `index` of `view` on `canvas`; `large`: axis titles, and values where they fit. */
  constructor(canvas, view, index, large = false) {
    Object.assign(this, { canvas, view, index, large, at: null });
    this.rows = study().checkpoints;
    this.columns = view.evaluated;
    const { shown, values, kinds } = numbers(view);
    Object.assign(this, { shown: shown[index], values: values[index], kinds });
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${study().methods[index].label}: trained × evaluated; move with the arrow keys`);
    canvas.onpointermove = (event) => this.point(event);
    canvas.onpointerdown = (event) => this.point(event);
    canvas.onpointerleave = (event) => event.pointerType === "mouse" && this.select(null);
    canvas.onblur = () => this.select(null);
    canvas.onkeydown = (event) => this.key(event);
    this.draw();
  }

  layout() {
    const card = this.canvas.parentElement;
    const padding = getComputedStyle(card);
    this.width = Math.max(120, card.clientWidth - parseFloat(padding.paddingLeft) - parseFloat(padding.paddingRight));
    const pen = this.canvas.getContext("2d");
    pen.font = this.font = `${this.large ? 12 : 10.5}px system-ui, sans-serif`;
    const widest = (labels, chosen) => Math.ceil(Math.max(...axisLabels(labels, chosen).map((text) => pen.measureText(text).width)));
    const title = this.large ? 20 : 0;
    const all = (labels) => widest(labels, labels.map((_, i) => i));
    // what fits is found with the widest labels; those that are drawn may then be shorter, never longer
    this.fit(all(this.rows) + 8 + title, all(this.columns) + 10 + title);
    this.down = ticks(this.rows, Math.floor((this.rows.length * this.cell) / (this.large ? 17 : 12)));
    this.along = ticks(this.columns, Math.floor((this.columns.length * this.cell) / 13));
    this.fit(widest(this.rows, this.down) + 8 + title, widest(this.columns, this.along) + 10 + title);
  }

  /** The size of cells beside labels that take so much room. */
  fit(left, bottom) {
    this.pad = { left, top: 6, right: 2, bottom };
    const room = this.large ? innerHeight * 0.92 - 90 - bottom : 420;
    const across = (this.width - this.pad.left - this.pad.right) / this.columns.length;
    this.cell = Math.max(1, Math.min(across, Math.max(room / this.rows.length, 2), 64));
    this.height = this.pad.top + this.rows.length * this.cell + this.pad.bottom;
  }

  draw() {
    this.layout();
    const scale = devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(this.height * scale);
    this.canvas.style.height = `${this.height}px`;
    const pen = this.canvas.getContext("2d");
    pen.scale(scale, scale);
    this.paint(pen, scale);
    this.label(pen);
    this.base = element("canvas", { width: this.canvas.width, height: this.canvas.height });
    this.base.getContext("2d").drawImage(this.canvas, 0, 0);
    if (this.at) this.cursor();
  }

  paint(pen, scale) {
    const { left, top } = this.pad;
    const [rows, columns] = [this.rows.length, this.columns.length];
    const [low, high] = bounds(this.view);
    const colors = ramp(stops(this.view));
    const image = new ImageData(columns, rows);
    this.shown.forEach((value, i) => {
      if (!Number.isFinite(value)) return; // stays transparent: the hatching below shows through
      const place = Math.max(0, Math.min(255, Math.round((255 * (value - low)) / (high - low || 1))));
      image.data.set([...colors[place], 255], 4 * i);
    });
    const small = element("canvas", { width: columns, height: rows });
    small.getContext("2d").putImageData(image, 0, 0);
    if (!this.shown.every(Number.isFinite)) {
      pen.fillStyle = hatch(pen, scale);
      pen.save();
      pen.setTransform(1, 0, 0, 1, 0, 0); // a pattern is laid in device pixels
      pen.fillRect(left * scale, top * scale, columns * this.cell * scale, rows * this.cell * scale);
      pen.restore();
    }
    pen.imageSmoothingEnabled = false;
    pen.drawImage(small, left, top, columns * this.cell, rows * this.cell);
    if (this.cell >= 5) this.outline(pen);
    if (rows > 1 && columns > 1) this.trace(pen);
    if (this.cell >= 34) this.write(pen, colors, low, high);
  }

  outline(pen) {
    pen.lineWidth = this.cell >= 9 ? 1.4 : 1;
    pen.strokeStyle = color("ink");
    this.kinds.forEach((kind, i) => {
      if (kind !== report.kinds.in_distribution) return;
      const [x, y] = this.corner(Math.floor(i / this.columns.length), i % this.columns.length);
      pen.strokeRect(x + 0.75, y + 0.75, this.cell - 1.5, this.cell - 1.5);
    });
  }

  /** The evaluation nearest in time to each checkpoint, as in Figure 4 of TiC-LM. */
  trace(pen) {
    pen.beginPath();
    this.view.nearest.forEach((column, row) => {
      const [x, y] = this.corner(row, column);
      pen.lineTo(x + this.cell / 2, y + this.cell / 2);
    });
    pen.lineJoin = "round";
    const wide = this.large ? 2.6 : this.cell >= 4 ? 1.8 : 1.2;
    pen.globalAlpha = this.cell >= 34 ? 0.45 : 1; // there are numbers in the cells
    for (const [ink, width] of [[color("card"), wide + 1.6], [color("near"), wide]]) {
      pen.strokeStyle = ink;
      pen.lineWidth = width;
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  write(pen, colors, low, high) {
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.font = `${Math.min(12, this.cell / 3.6)}px system-ui, sans-serif`;
    this.shown.forEach((value, i) => {
      if (!Number.isFinite(value)) return;
      const [r, g, b] = colors[Math.max(0, Math.min(255, Math.round((255 * (value - low)) / (high - low || 1))))];
      pen.fillStyle = 0.3 * r + 0.59 * g + 0.11 * b > 140 ? "#16181c" : "#fdfcfa";
      const [x, y] = this.corner(Math.floor(i / this.columns.length), i % this.columns.length);
      pen.fillText(signed(value, this.view.metric.log ? (this.view.reference ? 3 : 2) : this.view.metric.digits), x + this.cell / 2, y + this.cell / 2);
    });
  }

  label(pen) {
    const { left, top } = this.pad;
    const bottom = top + this.rows.length * this.cell;
    pen.fillStyle = color("soft");
    pen.font = this.font;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    const rowNames = axisLabels(this.rows, this.down);
    this.down.forEach((i, k) => pen.fillText(rowNames[k], left - 5, top + (i + 0.5) * this.cell));
    axisLabels(this.columns, this.along).forEach((text, k) => {
      pen.save();
      pen.translate(left + (this.along[k] + 0.5) * this.cell, bottom + 5);
      pen.rotate(-Math.PI / 2);
      pen.fillText(text, 0, 0);
      pen.restore();
    });
    if (!this.large) return;
    pen.textAlign = "center";
    pen.fillText("evaluated →", left + (this.columns.length * this.cell) / 2, this.height - 8);
    pen.translate(8, top + (this.rows.length * this.cell) / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText("← trained", 0, 0);
  }

  corner(row, column) {
    return [this.pad.left + column * this.cell, this.pad.top + row * this.cell];
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const zoom = this.width / box.width; // 1 unless the page is scaled
    const column = Math.floor(((event.clientX - box.left) * zoom - this.pad.left) / this.cell);
    const row = Math.floor(((event.clientY - box.top) * zoom - this.pad.top) / this.cell);
    const inside = row >= 0 && column >= 0 && row < this.rows.length && column < this.columns.length;
    this.select(inside ? [row, column] : null);
  }

  key(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const [row, column] = this.at ?? [0, 0];
    const clip = (value, size) => Math.max(0, Math.min(size - 1, value));
    this.select([clip(row + step[0], this.rows.length), clip(column + step[1], this.columns.length)]);
  }

  select(at) {
    this.at = at;
    const pen = this.canvas.getContext("2d");
    pen.save();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.drawImage(this.base, 0, 0);
    pen.restore();
    at ? this.cursor() : tip(0, 0, null);
  }

  cursor() {
    const pen = this.canvas.getContext("2d");
    const scale = this.canvas.width / this.width;
    const [x, y] = this.corner(...this.at);
    pen.save();
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.strokeStyle = color("card");
    pen.lineWidth = 3.5;
    pen.strokeRect(x, y, this.cell, this.cell);
    pen.strokeStyle = color("ink");
    pen.lineWidth = 1.6;
    pen.strokeRect(x, y, this.cell, this.cell);
    pen.restore();
    const box = this.canvas.getBoundingClientRect();
    tip(box.left + x + this.cell, box.top + y + this.cell, this.describe(...this.at));
  }

  describe(row, column) {
    const place = row * this.columns.length + column;
    const carried = this.view.carried[this.index]?.[row];
    const kind = ["forward", "backward", "in-distribution", "in no mean"][this.kinds[place]] + (this.view.nearest[row] === column ? ", nearest in time" : "");
    const trained = `trained to ${pretty(this.rows[row])}` + (carried && carried !== this.rows[row] ? ` (the model of ${pretty(carried)})` : "");
    const where = [`${trained}, evaluated on ${pretty(this.columns[column])}: ${kind}`];
    const value = this.values[place];
    if (!Number.isFinite(value)) return ["missing", ...where];
    const own = valueText(this.view, value);
    if (!this.view.reference) return [own, ...where];
    const regret = this.shown[place];
    return [Number.isFinite(regret) ? `regret ${differenceText(this.view, regret)}` : "regret missing: no reference here", own, ...where];
  }
}
