// A whole training: how far it is over time, what every hour of it was, and what other intervals between saves
// would make of it.
import { clipped, element, table } from "../common/dom.js";
import { rounded, short_figure, short_span } from "../common/figures.js";
import { curve_plot } from "../common/plot.js";
import { curves_svg, save_buttons } from "../common/save.js";
import { colour } from "../common/theme.js";
import { stacked_bars } from "./bars.js";
import { section, tiles, warning_list } from "./sections.js";

const parts = [
  ["productive", "--update"], ["recomputed", "--exposed"], ["stalled", "--message"], ["detecting", "--series-5"],
  ["restarting", "--backward"], ["waiting", "--waiting"], ["slow", "--series-6"], ["planned", "--series-8"],
].map(([name, variable]) => ({ key: `${name}_h`, name, colour: `var(${variable})` }));

export function goodput_sections(document) {
  const answer = document.value;
  return [overview(document, answer), progress_section(document, answer), account_section(document, answer), intervals_section(document, answer), levers_section(document, answer)].filter(Boolean);
}

function overview(document, answer) {
  const { question, wall } = answer;
  return section(document, "overview", clipped(answer.name || "A whole training", 120),
    element("p", { class: "muted" }, clipped(`${question.steps} steps of ${short_span(question.step_s)} on ${question.gpus} GPUs (${question.nodes} nodes), failures of ${question.failures}, policy ${question.policy}`, 300)),
    tiles([
      { name: "ends after", value: wall.mean_days, key: "wall_days", note: `work alone ${short_figure(question.work_days, "work_days")}` },
      { name: "95 % of runs before", value: wall.p95.days, key: "wall_days" },
      { name: "productive", value: answer.productive, key: "productive" },
      { name: "failures", value: answer.failures, key: "failures", note: answer.mean_to_failure_h && `one every ${short_span(3600 * answer.mean_to_failure_h)}` },
      { name: "between saves", value: question.interval_s, key: "interval_s" },
      { name: "cost", value: answer.cost, key: "cost" }, { name: "GPU-hours", value: answer.gpu_hours, key: "gpu_hours" },
      { name: "spares needed", value: answer.spares?.nodes, key: "nodes" }, { name: "late", value: answer.until?.late, key: "late", note: answer.until && `after ${short_figure(answer.until.days, "until_days")}` },
    ]),
    warning_list(answer.warnings),
    answer.assumed.length > 0 && element("ul", { class: "small" }, answer.assumed.map((text) => element("li", {}, clipped(`assumed: ${text}`, 400)))));
}

// All of it, and the end from where runs begin to differ.
function progress_section(document, answer) {
  const points = answer.progress ?? [];
  if (points.length < 2) return null;
  const from = points.findIndex((point) => point.days >= 0.97 * answer.wall.p5.days);
  const status = element("p", { class: "small readout-line", role: "status", "aria-live": "polite" }, "Point at a line, or walk with the arrow keys.");
  const titles = ["days", ...lines.map(([name]) => name)];
  const rows = points.map((point) => [point.days, ...lines.map(([, key]) => point[key])]);
  return section(document, "progress", "Progress",
    element("p", { class: "small muted" }, "Nine of ten runs are within the band. What a failure rolls back counts no longer."),
    progress_plot(points, "Progress", 260, status),
    from > 0 && from < points.length - 2 && [element("h3", {}, "The end"), progress_plot(points.slice(from), "The end", 260, status)],
    status,
    save_buttons("progress", {
      svg: () => curves_svg({ title: "Progress", x: progress_x, y: progress_y, series: lines.map(([name, key], place) => ({ name, place, points: points.map((point) => [point.days, point[key]]) })) }),
      rows: () => [titles, ...rows],
    }),
    element("details", { class: "alternative" }, element("summary", {}, "Figures of these lines"),
      table("Progress over days", titles.map((title) => ({ title, figure: true })), rows.map((cells) => cells.map(String)))));
}

const percent = (part, digits = 3) => `${rounded(100 * part, digits)} %`;
// The middle is drawn last: the band between the others would hide it.
const lines = [["5 % are not as far", "p5"], ["95 % are not as far", "p95"], ["half are not as far", "p50"]];
const progress_x = { label: "days since the start", text: rounded };
const progress_y = { label: "work that is done and kept", text: percent };

function progress_plot(points, name, height, status) {
  const days = points.map((point) => point.days);
  return curve_plot({
    label: `${name}: part of the work that is done, over days; arrow keys walk along the lines`, height,
    x: { ...progress_x, values: days }, y: { ...progress_y, from_least: true },
    series: lines.map(([line, key]) => ({ name: line, index: 0, values: points.map((point) => point[key]) })),
    bands: [{ series: [2, 1], fill: () => colour("--accent-soft") }],
    on_point: (one, at) => { status.textContent = `After ${short_figure(days[at], "wall_days")} ${one.name} as ${percent(one.values[at])}`; },
  }).node;
}

function account_section(document, answer) {
  const values = Object.fromEntries(answer.account.map(({ part, h }) => [`${part}_h`, h]));
  const total = answer.account.reduce((sum, { h }) => sum + h, 0);
  const rest = Object.fromEntries(Object.entries(values).filter(([key]) => key !== "productive_h"));
  const lost = total - values.productive_h;
  const bars = (caption, label, of, sum) => stacked_bars(caption, parts, [{ label, values: of, total: sum }], { total_key: "wall_h", with_table: false });
  return section(document, "account", "What its hours are",
    bars("All hours", "all hours", values, total),
    lost > 0 && bars("Hours that are not productive", "not productive", rest, lost),
    element("details", { class: "alternative" }, element("summary", {}, "Figures of these bars"),
      table("Hours of the mean run", [{ title: "part" }, { title: "hours", figure: true }, { title: "of all", figure: true }], answer.account.map(({ part, h, of_wall }) => [part, String(h), String(of_wall)]))));
}

function intervals_section(document, answer) {
  const points = answer.intervals ?? [];
  if (points.length < 2) return null;
  const { interval, question } = answer;
  const seconds = points.map((point) => point.interval_s);
  const least = Math.min(...points.map((point) => point.days));
  const more = points.map((point) => point.days - least);
  const status = element("p", { class: "small readout-line", role: "status", "aria-live": "polite" }, "Point at the line, or walk with the arrow keys.");
  const x = { label: "work between saves", is_log: true, marks: span_marks, text: (value) => short_span(value, 2) };
  const y = { label: "days more than the least", text: rounded };
  const plot = curve_plot({
    label: "Days more than with the best interval tried, over the work between saves; arrow keys walk along the line", height: 280,
    x: { ...x, values: seconds }, y, series: [{ name: "end", index: 0, values: more }],
    on_point: (_one, at) => { status.textContent = `A save every ${short_span(seconds[at])} (${points[at].steps} steps): ${short_figure(points[at].days, "wall_days")}, ${short_figure(more[at], "wall_days")} more than the least`; },
  });
  return section(document, "intervals", "How often to save",
    interval && element("p", {}, `Saved every ${short_span(question.interval_s)}; by formula best every ${short_span(interval.best_s)}, and within 1 % of that from ${short_span(interval.flat_from_s)} to ${short_span(interval.flat_to_s)}.`),
    plot.node, status, save_buttons("intervals", {
      svg: () => curves_svg({ title: "Days by interval", x, y, series: [{ name: "end", place: 0, points: seconds.map((value, at) => [value, more[at]]) }] }),
      rows: () => [["interval, s", "steps", "days"], ...points.map((point) => [point.interval_s, point.steps, point.days])],
    }),
    element("details", { class: "alternative" }, element("summary", {}, "Figures of this line"),
      table("Days by interval", ["interval, s", "steps", "days"].map((title) => ({ title, figure: true })), points.map((point) => [point.interval_s, point.steps, point.days].map(String)))));
}

// What people say: seconds, minutes, hours, days.
const span_marks = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 432000, 864000];

function levers_section(document, answer) {
  if (answer.levers.length === 0) return null;
  const sources = answer.sources ?? [];
  return section(document, "levers", "What to improve first",
    element("p", { class: "small muted" }, "By how many percent the training takes longer where a field is one percent more."),
    table("Elasticities, the strongest first", [{ title: "field" }, { title: "percent per percent", figure: true }, { title: "standard error", figure: true }],
      answer.levers.map((lever) => [lever.field, String(lever.elasticity), String(lever.standard_error)])),
    sources.length > 0 && table("The same training with the failures of other machines", [{ title: "source" }, { title: "failures per node and day", figure: true }, { title: "days", figure: true }, { title: "productive", figure: true }],
      sources.map((source) => [clipped(source.name, 80), String(source.failures_per_node_day), String(source.mean_days ?? "never ends"), String(source.productive ?? "–")])));
}
