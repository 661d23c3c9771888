// One row of a table in full: what was varied, every figure with all its digits, and the commands that
// give it again.
import { clipped, command_block, element, replace_children, shell_word } from "../common/dom.js";
import { exact_figure, short_figure, to_ps, words_of } from "../common/figures.js";
import { iteration_parts } from "../common/parts.js";
import { stacked_bars } from "./bars.js";
import { value_text } from "./data.js";
import { setting_of } from "./exact.js";

const line_of = (words) => words.map(shell_word).join(" ");

// [{title, command}] for a row, given its values by column.
export function commands_of(table, row) {
  const { commands } = table.json;
  const own = table.column("command", "note");
  if (own) return row.get(own) ? [{ title: "This point alone", command: row.get(own) }] : [];
  if (table.kind !== "points") return [];
  const settings = table.axis_columns.flatMap((column) => ["--set", setting_of(column.key, row.get(column), column.large_wholes)]);
  const point = row.get(table.column("point"));
  const found = [];
  const sweep = commands?.sweep ?? ["SWEEP"];
  if (commands?.run)
    found.push({ title: "This point in full", command: line_of(["sgdsim", "run", ...commands.run, ...settings]) });
  found.push({ title: "This line of the sweep", command: line_of(["sgdsim", "sweep", ...sweep, "--shard", `${point}/${table.json.of}`]) });
  return found;
}

// All values of one row, by column.
export async function row_values(table, row) {
  const all = await Promise.all(table.list.map((column) => table.values(column)));
  return new Map(table.list.map((column, index) => [column, all[index][row]]));
}

function axis_values(table, values) {
  return new Map(table.axis_columns.map((column) => [column.key, values.get(column)]));
}

// A panel that shows rows; `show(row)` fills it.
export function readout_panel() {
  const panel = element("div", { class: "readout", role: "status", "aria-live": "polite" },
    element("p", { class: "muted small no-print" }, "Click a point, or walk with the arrow keys: its figures and the command that gives it again appear here."));
  let latest = 0;
  async function show(table, row, metric) {
    const turn = ++latest;
    const values = await row_values(table, row);
    if (turn !== latest) return;
    replace_children(panel, ...content_of(table, values, metric));
  }
  return { node: panel, show };
}

function content_of(table, values, metric) {
  const axes = axis_values(table, values);
  const figures = table.figure_columns.filter((column) => values.get(column) !== null && values.get(column) !== undefined);
  const notes = table.note_columns.filter((column) => values.get(column) !== null && values.get(column) !== undefined && !["warnings", "error", "why_not", "command"].includes(column.key));
  const heading = [...axes].map(([field, value]) => `${words_of(field.split(".").at(-1))} ${clipped(value_text(value), 60)}`).join(" · ");
  const shown = values.get(metric);
  return [
    element("h3", {}, heading || "Point"),
    element("p", { class: "headline" }, element("strong", { class: "number", "data-exact": shown ?? "" }, exact_figure(shown, metric.key)),
      ` ${words_of(metric.key)} (${short_figure(shown, metric.key)})`),
    ...problems_of(values, table),
    breakdown_of(table, values),
    ...commands_of(table, values).map(({ title, command }) => element("div", {}, element("h3", { class: "label" }, title), command_block(command))),
    table.kind === "points" && !table.json.commands && element("p", { class: "small muted" }, "SWEEP stands for the sweep file: give it to sgdsim report too, and whole commands are shown."),
    element("details", {}, element("summary", {}, `All ${figures.length + notes.length} values`),
      element("dl", { class: "values" }, [...figures, ...notes].map((column) => [
        element("dt", {}, words_of(column.key)),
        element("dd", { class: "number", "data-key": column.key }, column.role === "figure" ? exact_figure(values.get(column), column.key) : clipped(value_text(values.get(column)), 300)),
      ]))),
  ].filter(Boolean);
}

function problems_of(values, table) {
  return ["error", "why_not", "warnings"].flatMap((key) => {
    const column = table.column(key, "note");
    const text = column && values.get(column);
    return text ? [element("p", { class: `notice ${key === "warnings" ? "warning" : "bad"}` }, clipped(text, 600))] : [];
  });
}

function breakdown_of(table, values) {
  const parts = {};
  for (const { key } of iteration_parts) {
    const column = table.column(`metrics.${key}`);
    if (column) parts[key] = Number(values.get(column));
  }
  if (Object.keys(parts).length < 2) return null;
  const total = to_ps(Object.values(parts).reduce((sum, value) => sum + (value || 0), 0));
  return stacked_bars("Breakdown of this iteration", iteration_parts, [{ label: "iteration", values: parts, total }], { total_key: "iteration_us", with_table: false });
}
