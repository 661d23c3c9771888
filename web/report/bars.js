// Bars of what a time is the sum of, one per row, with a table of the same figures.
import { clipped, element, table } from "../common/dom.js";
import { bars_svg, light_of, save_buttons } from "../common/save.js";
import { exact_figure, short_figure, words_of } from "../common/figures.js";

// `rows`: [{label, values: {key: number}, total, note, command}]; `parts`: [{key, name, colour}]. With `on_pick` labels are
// buttons, and the first row is the chosen one.
export function stacked_bars(caption, parts, rows, { total_key = "total_us", with_table = true, on_pick } = {}) {
  const given = rows;
  [parts, rows] = with_rest(parts, rows, total_key);
  const used = parts.filter((part) => rows.some((row) => row.values[part.key] > 0));
  const widest = Math.max(...rows.map((row) => row.total ?? 0), 0) || 1;
  const legend = element("ul", { class: "legend", "aria-hidden": "true" }, used.map((part) =>
    element("li", { class: "small" }, element("span", { class: "swatch", style: { background: part.colour } }), part.name)));
  const list = element("div", { class: "bars" }, rows.map((row, at) => bar(row, used, widest, total_key, on_pick && ((button) => {
    for (const other of list.querySelectorAll("button")) other.setAttribute("aria-pressed", other === button ? "true" : "false");
    on_pick(given[at]);
  }))));
  list.querySelector("button")?.setAttribute("aria-pressed", "true");
  const figures = element("details", { class: "alternative" }, element("summary", {}, "Figures of these bars"),
    table(caption, [{ title: "" }, ...used.map((part) => ({ title: `${part.name}, ${unit_word(part.key)}`, figure: true })), { title: `sum, ${unit_word(total_key)}`, figure: true }],
      rows.map((row) => [clipped(row.label, 200), ...used.map((part) => plain(row.values[part.key])), plain(row.total)])));
  const files = save_buttons(file_name(caption), {
    svg: () => bars_svg({ title: caption, parts: used.map((part) => ({ name: part.name, colour: light_of(part.colour) })), rows: rows.map((row) => ({ label: row.label, values: used.map((part) => row.values[part.key] ?? 0), text: short_figure(row.total, total_key) })) }),
    rows: () => [["", ...used.map((part) => `${part.name}, ${unit_word(part.key)}`), `sum, ${unit_word(total_key)}`], ...rows.map((row) => [row.label, ...used.map((part) => row.values[part.key]), row.total])],
  });
  return element("figure", { class: "figure-block", "aria-label": caption }, legend, list, files, with_table && figures);
}

// What the parts leave of a total, by more than rounding, is a part of its own.
function with_rest(parts, rows, total_key) {
  const key = `rest_${total_key}`;
  const rests = rows.map((row) => (row.total ?? 0) - parts.reduce((sum, part) => sum + (row.values[part.key] ?? 0), 0));
  const is_any = rests.map((rest, at) => rest > 1e-3 * rows[at].total);
  if (!is_any.includes(true)) return [parts, rows];
  return [[...parts, { key, name: "rest", colour: "var(--muted)" }],
    rows.map((row, at) => (is_any[at] ? { ...row, values: { ...row.values, [key]: Number(rests[at].toPrecision(12)) } } : row))];
}

export const file_name = (caption) => caption.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "chart";
const plain = (value) => (value === undefined || value === null ? "–" : String(value));
const unit_word = (key) => exact_figure(1, key).split(" ").slice(1).join(" ") || words_of(key);

function bar(row, parts, widest, total_key, on_pick) {
  const said = parts.filter((part) => row.values[part.key] > 0)
    .map((part) => `${part.name} ${exact_figure(row.values[part.key], part.key)}`).join("; ");
  const track = element("div", { class: "bar-track" }, parts.map((part) => {
    const value = row.values[part.key];
    if (!(value > 0)) return null;
    const share = row.total > 0 ? ` (${(100 * value / row.total).toFixed(1)} %)` : "";
    return element("span", {
      class: "bar-part", title: row.command ? null : `${part.name}: ${exact_figure(value, part.key)}${share}`,
      style: { width: `${100 * value / widest}%`, background: part.colour },
    });
  }));
  const all = `${clipped(row.label, 200)}: ${exact_figure(row.total, total_key)}: ${said}`;
  const label = on_pick
    ? element("button", { type: "button", class: "plain bar-label", "aria-pressed": "false", on: { click: (event) => on_pick(event.currentTarget) } }, clipped(row.label))
    : element("span", { class: "bar-label" }, clipped(row.label));
  return element("div", { class: "bar-row", role: "group", "aria-label": all, title: row.command && `${all}\n${row.command}` },
    label, track, element("span", { class: "bar-value number" }, short_figure(row.total, total_key), row.note && element("span", { class: "muted" }, ` ${row.note}`)));
}
