// SVG as text, which a browser shows and a file holds. A chart is {width, height, name, body, at}: `body` is its markup,
// `at(x, y)` what lies there: {lines: the words of the tooltip, x, y, cursor: markup, series: its position}, or null.

let theme = report.themes.light;

const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

/** An element; `children` are markup, attributes that are null or undefined are left out. */
function shape(name, attributes, ...children) {
  let text = `<${name}`;
  for (const [key, value] of Object.entries(attributes))
    if (value != null) text += ` ${key}="${typeof value === "number" ? +value.toFixed(2) : escaped(value)}"`;
  return `${text}>${children.join("")}</${name}>`;
}

const label = (text, attributes) => shape("text", { fill: theme.soft, "font-size": 12, ...attributes }, escaped(text));

/** Text that is to be read on top of lines. */
const onTop = (text, attributes) => label(text, { fill: theme.ink, "paint-order": "stroke", stroke: theme.card, "stroke-width": 3, "stroke-linejoin": "round", ...attributes });

const line = (x1, y1, x2, y2, attributes = { stroke: theme.line }) => shape("line", { x1, y1, x2, y2, ...attributes });
const dashed = (x1, y1, x2, y2) => line(x1, y1, x2, y2, { stroke: theme.soft, "stroke-dasharray": "4 4" });

/** An estimate of how wide a text is, on the wide side. */
const widthOf = (text, size) => 0.62 * size * text.length;

/** Lines of text of at most `width`, beginning anew at line breaks. */
function wrapped(text, width, size = 11) {
  return text.split("\n").flatMap((part) => part.split(" ").reduce((lines, word) => {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    return lines.length && widthOf(longer, size) <= width ? [...lines.slice(0, -1), longer] : [...lines, word];
  }, []));
}

/** A label under an axis: upright, or turned. */
const below = (text, x, y, turned) =>
  turned ? label(text, { transform: `translate(${(x + 4).toFixed(2)} ${(y + 8).toFixed(2)}) rotate(-90)`, "text-anchor": "end" }) : label(text, { x, y: y + 18, "text-anchor": "middle" });

const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const hex = (parts) => `#${parts.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
const mix = (one, other, share) => hex(channels(one).map((part, i) => part + (channels(other)[i] - part) * share));

/** Relative luminance of a colour, 0 to 1, and the contrast of two, 1 to 21 (WCAG 2.2). */
const luminance = (color) => channels(color).map((part) => (part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4)).reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
const contrast = (one, other) => (Math.max(luminance(one), luminance(other)) + 0.05) / (Math.min(luminance(one), luminance(other)) + 0.05);

/** Black or white, whichever is easier to read on a colour: one of them has a contrast of 4.58 or more. */
const inkOn = (color) => (contrast(color, "#000000") > contrast(color, "#ffffff") ? "#000000" : "#ffffff");

/** A colour as the theme has it: lighter on a dark ground, until its contrast with the ground is 2.7; with more, blue and green look alike to some. */
function tone(color, share = 0.18) {
  const found = theme.dark ? mix(color, "#ffffff", share) : color;
  return theme.dark && contrast(found, theme.card) < 2.7 ? tone(color, share + 0.02) : found;
}

/** `count` colours along evenly spaced stops. */
function ramp(stops, count) {
  return Array.from({ length: count }, (_, i) => {
    const place = (i / Math.max(count - 1, 1)) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    return mix(stops[low], stops[low + 1], place - low);
  });
}

const svgOf = ({ width, height, name, body }, attributes = {}) =>
  shape("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${+width.toFixed(2)} ${+height.toFixed(2)}`, role: "img", "aria-label": name, ...attributes }, body);
