// The text itself: how much of it each period has, and losses before and after its held-out part was cleaned.

const share = (value) => (Number.isFinite(value) ? `${+(100 * value).toPrecision(3)} %` : "missing");

function drawText() {
  const text = study().text;
  if (!$("text")) return;
  $("text").hidden = !text;
  if (!text) return;
  const { labels, subsets } = text;
  const line = (name, color, values, say) => ({
    name, color,
    points: values.map((value, i) => ({ x: i, y: value ?? NaN, mark: labels.length <= 40 ? "dot" : null, tip: [pretty(labels[i]), say(value ?? NaN)] })),
  });
  const x = { label: "period" };
  $("text-shares").hidden = !subsets.length;
  const tokens = line("train tokens", text.color, text.tokens, (value) => `${count(value)} tokens`);
  drawChart($("text-tokens"), { series: [tokens], x, y: { label: "train tokens", format: count, zero: true }, labels, hidden: hidden.text, nameless: true });
  const series = subsets.map((one) => line(one.name, one.color, one.shares, (value) => `${share(value)} of the train tokens`));
  if (subsets.length) drawChart($("text-shares"), { series, x, y: { label: "share of train tokens", format: share, zero: true }, labels, hidden: hidden.text });
}

function drawPairs() {
  if (!$("contamination")) return;
  const pairs = study().contamination;
  $("contamination").hidden = !pairs.length;
  const boxes = pairs.map(() => element("div", { className: "chart" }));
  $("pairs").replaceChildren(...pairs.map((pair, i) => {
    const drawn = pair.series.reduce((sum, one) => sum + one.before.length, 0);
    const some = drawn < pair.whole ? ` Drawn are ${drawn.toLocaleString("en")} of them.` : "";
    return element("div", {}, element("h3", {}, pair.name), boxes[i], element("p", { className: "note" }, `${pair.told[0].toUpperCase()}${pair.told.slice(1)}.${some}`));
  }));
  pairs.forEach((pair, i) => { // a chart asks for the width of its box, so that has to be in the page
    const series = pair.series.map((one) => {
      const method = study().methods[one.method];
      const points = one.before.map((x, k) => ({
        x, y: one.after[k], mark: "point",
        tip: [`trained to ${pretty(one.trained[k])}, evaluated on ${pretty(one.evaluated[k])}`, `${pair.what} ${signed(x)} before, ${signed(one.after[k])} after`],
      }));
      return { name: method.label, color: method.color, points };
    });
    const [x, y] = pair.splits.map((split) => ({ label: `${pair.what} on ${split}`, format: signed }));
    drawChart(boxes[i], { series, x, y, hidden: hidden.pairs, scatter: true });
  });
}
