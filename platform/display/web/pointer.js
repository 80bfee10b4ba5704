// Charts on the page: what the pointer and the keyboard find in them, their legends, and the one tooltip.

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) key in node ? (node[key] = value) : node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/** The one tooltip: bold first line, plain others; beside the point, inside the window. */
function tip(x, y, lines) {
  const box = document.getElementById("tip");
  box.hidden = !lines;
  if (!lines) return;
  const [first, ...rest] = lines;
  box.replaceChildren(element("b", {}, first), ...rest.flatMap((line) => [element("br"), line]));
  (document.querySelector("dialog[open]") ?? document.body).append(box);
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(6, Math.min(x + 14, innerWidth - width - 6))}px`;
  box.style.top = `${y + height + 24 > innerHeight ? Math.max(6, y - height - 12) : y + 16}px`;
}

/** How wide a chart in `box` may be. */
function inside(box) {
  const { paddingLeft, paddingRight } = getComputedStyle(box);
  return box.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
}

/**
 * Puts a chart into `box`; gives the function that points out what `chart.at` or `chart.cell` has found there, and calls
 * `noted` with it.
 */
function show(box, chart, noted = () => {}) {
  box.innerHTML = svgOf(chart);
  const svg = box.firstElementChild;
  const cursor = svg.appendChild(document.createElementNS(svg.namespaceURI, "g"));
  const select = (found) => {
    noted(found);
    cursor.innerHTML = found?.cursor ?? "";
    if (found?.series !== undefined || !found) light(box, found?.series);
    const area = svg.getBoundingClientRect();
    const zoom = area.width / chart.width;
    tip(area.left + (found?.x ?? 0) * zoom, area.top + (found?.y ?? 0) * zoom, found?.lines);
  };
  const follow = (event) => {
    const area = svg.getBoundingClientRect();
    const zoom = chart.width / area.width; // 1 unless the page is scaled
    select(chart.at((event.clientX - area.left) * zoom, (event.clientY - area.top) * zoom));
  };
  svg.onpointermove = svg.onpointerdown = follow;
  svg.onpointerleave = (event) => (event.pointerType === "mouse" || !chart.cell) && select(null);
  return { svg, select };
}

/** Makes a series stand out, or none. */
function light(box, chosen) {
  box.classList.toggle("focus", chosen !== undefined);
  box.querySelectorAll(":scope > svg .series").forEach((group, k) => group.classList.toggle("lit", k === chosen));
}

/** A heat map that the arrow keys walk through. */
function showHeatmap(box, chart, rows, columns) {
  let at = null;
  const { svg, select } = show(box, chart, (found) => {
    at = found;
    if (found) box.dispatchEvent(new CustomEvent("cell", { bubbles: true, detail: found })); // copy.js offers its command
  });
  svg.setAttribute("tabindex", 0);
  svg.onblur = () => select(null);
  svg.onkeydown = (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const clip = (value, size) => Math.max(0, Math.min(size - 1, value));
    select(chart.cell(clip((at?.row ?? 0) + step[0], rows), clip((at?.column ?? 0) + step[1], columns)));
  };
}

/** Draws the chart of `spec` by `draw` in `box`, with a button for each series that points it out, and hides or shows it. */
function showChart(box, draw, spec, hidden, { nameless = false } = {}) {
  const chart = draw({ ...spec, hidden }, Math.max(280, inside(box)));
  show(box, chart);
  const kind = draw === barChart ? "bars" : (spec.scatter || spec.cloud) && "scatter";
  const same = kind ? [] : coinciding(spec.series.filter((one) => !hidden.has(one.name)));
  if (same.length) box.append(element("p", { className: "note" }, `Equal values, drawn on each other: ${same.map((names) => names.join(" = ")).join("; ")}.`));
  if (nameless || spec.series.length > 24) return; // too many to list: pointing at a line names it
  const drawn = spec.series.filter((one) => !hidden.has(one.name));
  box.append(element("div", { className: "legend" }, ...spec.series.map((one) => {
    const button = element("button", { type: "button" });
    button.innerHTML = shape("svg", { viewBox: "0 0 34 10" }, sample(one, kind));
    button.append(one.name);
    if (one.title) button.title = one.title;
    button.setAttribute("aria-pressed", !hidden.has(one.name));
    button.onclick = () => {
      hidden.delete(one.name) || hidden.add(one.name);
      showChart(box, draw, spec, hidden);
    };
    button.onpointerenter = () => light(box, drawn.includes(one) ? drawn.indexOf(one) : undefined);
    button.onpointerleave = () => light(box);
    return button;
  })));
}
