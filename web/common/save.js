// What a chart shows as files: SVG for a paper or a slide, CSV for a spreadsheet. Both are made of the same
// figures that the chart draws, in the light colours whatever the page's own are.
import { download, element } from "./dom.js";
import { mark_texts } from "./figures.js";
import table from "../../app/plot/colours.json";

const escaped = (text) => String(text).replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]).replace(/[\u0000-\u001f]/g, "");
const number = (value) => String(Math.round(value * 100) / 100);
export const light_colour = (place) => table.light[place % table.light.length];
const dash_of = (place) => ["", "6 4", "2 3", "10 3 2 3"][Math.floor(place / table.light.length) % 4];

// Rows of cells by RFC 4180; the first one has the titles.
export function csv_of(rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",") + "\n").join("");
}

// Buttons that make the files when they are asked for. `svg` and `rows` are functions.
export function save_buttons(name, { svg, rows }) {
  const button = (text, save) => element("button", { type: "button", class: "plain", on: { click: save } }, text);
  return element("div", { class: "row no-print save" },
    svg && button("Save SVG", () => download(`${name}.svg`, svg(), "image/svg+xml")),
    rows && button("Save CSV", () => download(`${name}.csv`, csv_of(rows()), "text/csv")));
}

const words = (x, y, text, attributes = "") => `<text x="${number(x)}" y="${number(y)}" ${attributes}>${escaped(text)}</text>\n`;
const drawing = (width, height, title, content) =>
  `<!-- made by sgdsim -->\n<svg xmlns="http://www.w3.org/2000/svg" width="${number(width)}" height="${number(height)}" viewBox="0 0 ${number(width)} ${number(height)}" role="img" font-family="Helvetica, Arial, 'Liberation Sans', sans-serif" font-size="12">\n<title>${escaped(title)}</title>\n<rect width="100%" height="100%" fill="#ffffff"/>\n${content}</svg>\n`;

// `entries`: [{name, colour, dash}]; in rows, each as long as fits. {svg, height}.
function legend_svg(entries, width) {
  let [x, y, svg] = [12, 18, ""];
  for (const { name, colour, dash } of entries) {
    const length = 46 + 6.4 * String(name).length;
    if (x > 12 && x + length > width) [x, y] = [12, y + 18];
    svg += `<path d="M${x} ${y - 4}h24" stroke="${colour}" stroke-width="${dash === null ? 9 : 2}"${dash ? ` stroke-dasharray="${dash}"` : ""}/>\n` + words(x + 30, y, name);
    x += length;
  }
  return { svg, height: entries.length > 0 ? y + 10 : 6 };
}

const marks_of = (least, most, is_log) => {
  if (!is_log) {
    const raw = (most - least) / 6 || 1;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= raw);
    const marks = [];
    for (let index = Math.ceil(least / step); index * step <= most && marks.length < 20; ++index) marks.push(Number((index * step).toPrecision(10)));
    return marks;
  }
  const marks = [];
  for (let power = Math.floor(Math.log10(least)); power <= Math.log10(most) && marks.length < 60; ++power)
    for (const step of Math.log10(most / least) < 3 ? [1, 2, 5] : [1]) {
      const mark = Number(`${step}e${power}`);
      if (mark >= least && mark <= most) marks.push(mark);
    }
  return marks;
};

// Curves, or points where there is nothing between them: `x`, `y`: {label, is_log, text, marks?}; `series`:
// [{name, place, points: [[x, y]]}], those that are shown.
export function curves_svg({ title, x, y, series, points_only = false }) {
  const frame = { left: 76, top: 0, width: 560, height: 320 };
  const legend = legend_svg(series.map(({ name, place }) => ({ name, colour: light_colour(place), dash: points_only ? null : dash_of(place) })), 660);
  frame.top = legend.height;
  const all = series.flatMap((one) => one.points);
  if (all.length === 0) return drawing(660, 60, title, words(12, 30, "There is nothing to draw."));
  const range = (values, is_log, has_zero) => {
    let [least, most] = values.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [has_zero && !is_log ? 0 : Infinity, has_zero && !is_log ? 0 : -Infinity]);
    if (least === most) [least, most] = is_log ? [least / 2, most * 2] : [least - 0.5, most + 0.5];
    const room = is_log ? (most / least) ** 0.03 : (most - least) * 0.03;
    return is_log ? [least / room, most * room] : [least === 0 ? 0 : least - room, most + room];
  };
  const scales = [[x, all.map(([value]) => value), false], [y, all.map(([, value]) => value), true]].map(([axis, values, has_zero]) => {
    const [least, most] = range(values, axis.is_log, has_zero);
    const part = (value) => (axis.is_log ? Math.log(value / least) / Math.log(most / least) : (value - least) / (most - least));
    return { axis, part, marks: (axis.marks ?? marks_of(least, most, axis.is_log)).filter((mark) => mark >= least && mark <= most) };
  });
  const across = (value) => frame.left + scales[0].part(value) * frame.width;
  const up = (value) => frame.top + (1 - scales[1].part(value)) * frame.height;
  let svg = legend.svg;
  const texts = scales.map(({ axis, marks }) => mark_texts(marks, axis.text));
  for (const [at, mark] of scales[1].marks.entries())
    svg += `<path d="M${frame.left} ${number(up(mark))}h${frame.width}" stroke="#e2e2e2"/>\n` + words(frame.left - 6, up(mark) + 4, texts[1][at], 'text-anchor="end"');
  let until = -Infinity;
  for (const [at, mark] of scales[0].marks.entries()) {
    const text = texts[0][at];
    const half = 3.4 * text.length;
    svg += `<path d="M${number(across(mark))} ${frame.top + frame.height}v4" stroke="#222222"/>\n`;
    if (across(mark) - half < until) continue;
    svg += words(across(mark), frame.top + frame.height + 18, text, 'text-anchor="middle"');
    until = across(mark) + half + 6;
  }
  svg += `<path d="M${frame.left} ${frame.top}v${frame.height}h${frame.width}" fill="none" stroke="#222222"/>\n`;
  for (const { place, points } of series) {
    const colour = light_colour(place);
    const dash = dash_of(place);
    if (!points_only && points.length > 1) svg += `<path d="M${points.map(([a, b]) => `${number(across(a))} ${number(up(b))}`).join("L")}" fill="none" stroke="${colour}" stroke-width="2"${dash ? ` stroke-dasharray="${dash}"` : ""}/>\n`;
    if (points_only || points.length <= 60) svg += points.map(([a, b]) => `<circle cx="${number(across(a))}" cy="${number(up(b))}" r="3" fill="${colour}"/>\n`).join("");
  }
  svg += words(frame.left + frame.width / 2, frame.top + frame.height + 38, x.label, 'text-anchor="middle"');
  svg += words(14, frame.top + frame.height / 2, y.label, `text-anchor="middle" transform="rotate(-90 14 ${number(frame.top + frame.height / 2)})"`);
  return drawing(660, frame.top + frame.height + 50, title, svg);
}

const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const mixed = (from, to, part) => { const [a, b] = [channels(from), channels(to)]; return `#${a.map((one, at) => Math.round(one + (b[at] - one) * part).toString(16).padStart(2, "0")).join("")}`; };
const is_dark = (hex) => { const [red, green, blue] = channels(hex); return 0.3 * red + 0.59 * green + 0.11 * blue < 128; };

// `cell(column, row)`: null or {kind, series, strength, part, lines()}, as of the page's map.
export function map_svg({ title, x, y, cell, legend }) {
  const [width, height, left] = [Math.max(26, Math.min(96, 900 / x.texts.length)), 36, 110];
  const names = legend_svg(legend.map(({ name, place }) => ({ name, colour: light_colour(place), dash: null })), left + width * x.texts.length);
  let svg = names.svg;
  for (let row = 0; row < y.texts.length; ++row) {
    const top = names.height + (y.texts.length - 1 - row) * height;
    svg += words(left - 8, top + height / 2 + 4, y.texts[row].slice(0, 16), 'text-anchor="end"');
    for (let column = 0; column < x.texts.length; ++column) {
      const content = cell(column, row);
      const fill = !content ? "#eeeeee" : content.kind === "winner" ? mixed("#ffffff", light_colour(content.series), content.strength) : mixed("#eef5fb", "#08457e", content.part);
      svg += `<rect x="${number(left + column * width)}" y="${number(top)}" width="${number(width - 2)}" height="${height - 2}" fill="${fill}"/>\n`;
      const ink = is_dark(fill) ? "#ffffff" : "#111418";
      const most = Math.floor((width - 4) / 5.6);
      (content?.lines() ?? []).forEach((line, at, lines) => { svg += words(left + (column + 0.5) * width, top + height / 2 + 4 + (at - (lines.length - 1) / 2) * 13, line.slice(0, most), `text-anchor="middle" font-size="10" fill="${ink}"`); });
    }
  }
  const bottom = names.height + y.texts.length * height;
  x.texts.forEach((text, column) => { svg += words(left + (column + 0.5) * width, bottom + 16, text.slice(0, Math.floor(width / 6)), 'text-anchor="middle"'); });
  svg += words(left + width * x.texts.length / 2, bottom + 36, x.label, 'text-anchor="middle"');
  svg += words(14, (names.height + bottom) / 2, y.label, `text-anchor="middle" transform="rotate(-90 14 ${number((names.height + bottom) / 2)})"`);
  return drawing(left + width * x.texts.length + 12, bottom + 46, title, svg);
}

// Bars of parts: `parts`: [{name, colour}]; `rows`: [{label, values: one per part, text, whisker?: [from, to]}].
export function bars_svg({ title, parts, rows }) {
  const [left, width, height] = [300, 420, 22];
  const names = legend_svg(parts.map(({ name, colour }) => ({ name, colour, dash: null })), 720);
  const ends = rows.flatMap((row) => [row.values.reduce((sum, value) => sum + Math.max(0, value), 0), ...(row.whisker ?? [])]);
  const widest = ends.reduce((a, b) => Math.max(a, b), 0) || 1;
  let svg = names.svg;
  rows.forEach((row, at) => {
    const top = names.height + at * height;
    svg += words(left - 8, top + 14, row.label.length > 46 ? `${row.label.slice(0, 45)}…` : row.label, 'text-anchor="end"');
    let from = left;
    row.values.forEach((value, part) => {
      const length = width * Math.max(0, value) / widest;
      if (length > 0) svg += `<rect x="${number(from)}" y="${top + 2}" width="${number(length)}" height="${height - 6}" fill="${parts[part].colour}"/>\n`;
      from += length;
    });
    if (row.whisker?.[1] > 0) {
      const [least, most] = row.whisker.map((value) => left + width * Math.max(0, value) / widest);
      svg += `<path d="M${number(least)} ${top + 10}H${number(most)}M${number(least)} ${top + 5}v10M${number(most)} ${top + 5}v10" stroke="#222222" fill="none"/>\n`;
    }
    svg += words(left + width + 10, top + 14, row.text);
  });
  return drawing(840, names.height + rows.length * height + 10, title, svg);
}

// Slices over time: `rows`: [{label, slices: [{from, length, colour, text}]}], times in ps; slices that no pen
// could draw are left out.
export function timeline_svg({ title, rows, from, to, text, legend }) {
  const [left, width, height] = [160, 900, 24];
  const names = legend_svg(legend.map((entry) => ({ ...entry, dash: null })), left + width);
  const across = (ps) => left + width * (ps - from) / (to - from || 1);
  let svg = names.svg;
  rows.forEach(({ label, slices }, at) => {
    const top = names.height + at * height;
    svg += words(left - 8, top + 15, label.slice(0, 24), 'text-anchor="end"');
    for (const slice of slices) {
      const length = width * slice.length / (to - from || 1);
      if (length < 0.02) continue;
      svg += `<rect x="${number(across(slice.from))}" y="${top + 2}" width="${number(Math.max(length, 0.1))}" height="${height - 6}" fill="${slice.colour}" stroke="#ffffff" stroke-width="${length > 3 ? 0.5 : 0}"/>\n`;
      if (length > 6.5 * slice.text.length) svg += words(across(slice.from) + length / 2, top + 15, slice.text, `text-anchor="middle" font-size="10" fill="${is_dark(slice.colour) ? "#ffffff" : "#111418"}"`);
    }
  });
  const bottom = names.height + rows.length * height;
  for (const part of [0, 0.25, 0.5, 0.75, 1]) svg += words(left + width * part, bottom + 16, text(from + (to - from) * part), 'text-anchor="middle"');
  return drawing(left + width + 50, bottom + 26, title, svg);
}

// The light value of a colour of the page's style, as "var(--forward)".
export function light_of(variable) {
  const name = /^var\((--[a-z0-9-]+)\)$/.exec(variable)?.[1];
  const series = /^--series-(\d+)$/.exec(name ?? "");
  if (series) return light_colour(Number(series[1]) - 1);
  for (const sheet of document.styleSheets)
    for (const rule of sheet.cssRules)
      if (rule.selectorText === ":root" && rule.style.getPropertyValue(name)) return rule.style.getPropertyValue(name).trim();
  return "#6b7280";
}
