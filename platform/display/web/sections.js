// Charts that came as values (display/charts.py), each in the section that it belongs to.

const $ = (id) => document.getElementById(id);
const hiddenIn = {}; // names of hidden series by section

/**
 * Fills `id` with a box for each of `draws`, between what stands around it; a chart asks for the width of its box, so
 * that has to be in the page.
 */
function showAll(id, draws, around = (box) => box) {
  const boxes = draws.map(() => element("div", { className: "chart" }));
  $(id).replaceChildren(...boxes.map(around));
  draws.forEach((draw, k) => draw(boxes[k]));
}

/** Draws the charts that are `wanted` in every section. */
function drawSections(wanted = () => true) {
  for (const { id, charts } of report.sections) {
    const hidden = (hiddenIn[id] ??= new Set());
    const own = charts.filter(wanted);
    const around = (box, k) => (own[k].kind === "heat" ? element("div", {}, element("h3", {}, own[k].title), box) : box);
    $(id).hidden = !own.length && charts.some((one) => one.task); // another evaluation is chosen, which has none
    showAll(`${id}-charts`, own.map((chart) => (box) => showChart(box, drawOf(chart), specOf(chart), hidden, { nameless: chart.kind === "heat" || chart.series.length < 2 })), around);
  }
}
