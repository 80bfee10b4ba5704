// Periods in words: whole in tooltips, short on axes, and which of them an axis has room for.

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** 201305 as 2013-05, 201305-201412 as 2013-05…2014-12, anything else as it is. */
function pretty(label) {
  return label.split("-").map((part) => part.replace(/^(\d{4})(\d\d)(\d\d)?$/, (_, y, m, d) => [y, m, d].filter(Boolean).join("-"))).join("…");
}

/** A class as it is, or as a period where it is one. */
const classText = (label) => (/^[\d-]+$/.test(label) ? pretty(label) : label);

/** The first and the last [year, month, day] of a period, days undefined for whole months; null for other labels. */
function ends(label) {
  const found = label.split("-").map((part) => part.match(/^(\d{4})(0[1-9]|1[0-2])(\d\d)?$/)?.slice(1));
  return found.length <= 2 && found.every(Boolean) ? [found[0], found.at(-1)] : null;
}

const yearOf = (label) => ends(label)?.[0][0] ?? label;

/** The year in which all periods lie, or "". */
function commonYear(labels) {
  const years = new Set(labels.flatMap((label) => ends(label)?.map(([year]) => year) ?? [NaN]));
  return years.size === 1 ? [...years][0] || "" : "";
}

/** What an axis shows, with the year that its labels leave out. */
const withYear = (text, labels) => (commonYear(labels) ? `${text}, ${commonYear(labels)}` : text);

/**
 * Short names of periods: Mar for 2023-03 where all lie in one year, Q1 for a quarter, its first day for a week, and
 * …06-30 for any other span, by its end. Whole names where short ones would be the same.
 */
function shortLabels(labels) {
  if (!labels.every(ends)) return labels.map(classText);
  const year = commonYear(labels);
  const names = labels.map((label) => shortLabel(...ends(label), !year));
  return new Set(names).size === new Set(labels).size ? names : labels.map(pretty);
}

function shortLabel(first, last, dated) {
  const name = ([y, m, d]) => (d ? `${dated ? `’${y.slice(2)}-` : ""}${m}-${d}` : dated ? `${y}-${m}` : MONTHS[m - 1]);
  const [[y, m, d], [until, end]] = [first, last];
  const day = ([y, m, d]) => Date.UTC(y, m - 1, d) / 864e5;
  if (d) return day(last) - day(first) < 7 ? name(first) : `…${name(last)}`;
  const months = 12 * (until - y) + (end - m) + 1;
  if (months === 1) return name(first);
  if (months === 3 && m % 3 === 1) return `${dated ? `’${y.slice(2)} ` : ""}Q${Math.ceil(m / 3)}`;
  return months === 12 && m === "01" ? y : `…${name(last)}`;
}

/** Names on an axis for the `chosen` of its labels: the year alone where that tells three or more apart. */
function axisLabels(labels, chosen) {
  const years = chosen.map((i) => yearOf(labels[i]));
  const plain = labels.every(ends) && years.length > 2 && new Set(years).size === years.length;
  const names = plain ? [] : shortLabels(labels);
  return chosen.map((i, k) => (plain ? `’${years[k].slice(2)}` : names[i]));
}

/**
 * Positions to name, at most `most` and apart: all where they fit, else the first of each year where there are three or
 * more, else every second, third …; `places`: where they lie on their axis, if not evenly.
 */
function ticks(labels, most, places = labels.map((_, i) => i)) {
  const all = labels.map((_, i) => i);
  const firsts = all.filter((i) => i === 0 || yearOf(labels[i]) !== yearOf(labels[i - 1]));
  const every = [2, 3, 4, 6, 12].find((step) => labels.length / step <= most) ?? Math.ceil(labels.length / Math.max(most, 1));
  const chosen = labels.length <= most ? all : firsts.length > 2 && labels.every(ends) ? firsts : all.filter((i) => i % every === 0);
  const whole = ((places.at(-1) - places[0]) * labels.length) / Math.max(labels.length - 1, 1);
  let last = -Infinity;
  return chosen.filter((i) => places[i] - last >= whole / Math.max(most, 1) - 1e-9 && ((last = places[i]), true));
}

/**
 * What stands under an axis `long` pixels wide: {chosen, names, turned}. Names are upright where four or more fit so, or
 * all of them; `size` is that of the font.
 */
function underAxis(labels, long, places, size = 12) {
  const widest = (chosen) => Math.max(...axisLabels(labels, chosen).map((name) => widthOf(name, size)));
  const upright = (most) => ticks(labels, Math.max(1, Math.floor(most)), places);
  let chosen = upright(long / (widest(labels.map((_, i) => i)) + 8));
  const years = upright(long / (widthOf("’00", size) + 8)); // years are shorter, so that more of them may fit
  if (axisLabels(labels, years).every((name) => name.length <= 3)) chosen = years;
  const turned = chosen.length < (labels.every(ends) ? Math.min(4, labels.length) : labels.length); // no class is left out
  if (turned) chosen = upright(long / (1.3 * size));
  return { chosen, names: axisLabels(labels, chosen), turned };
}

/** Names for the points of a line, as in the paper: the year of its newest checkpoint; in a short span, of some of them. */
function pointLabels(labels) {
  const last = labels.map((label) => ends(label)?.[1][0] ?? "");
  if (last.every(Boolean) && new Set(last).size > 2) return last.map((year, i) => (year === last[i + 1] ? "" : `’${year.slice(2)}`));
  const names = shortLabels(labels);
  const every = Math.ceil((labels.length - 1) / 4) || 1;
  const kept = (i) => i === labels.length - 1 || (i % every === 0 && i + every / 2 < labels.length);
  return names.map((name, i) => (kept(i) ? name : ""));
}
