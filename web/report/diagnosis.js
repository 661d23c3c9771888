// What slows recorded steps: who does, what repairing a part would save, and where a step's time goes beside a
// predicted one.
import { clipped, element, table } from "../common/dom.js";
import { exact_figure, rounded, short_duration } from "../common/figures.js";
import { curve_plot, swatch } from "../common/plot.js";
import { curves_svg, map_svg, save_buttons } from "../common/save.js";
import { stacked_bars } from "./bars.js";
import { map_plot } from "./map.js";
import { section, tiles, warning_list } from "./sections.js";

const seconds = (value, digits = 4) => (value < 0 ? "-" : "") + short_duration(Math.abs(value) * 1e6, digits);
const percent = (part) => `${rounded(100 * part, 3)} %`;
const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const status_line = (text) => element("p", { class: "small readout-line", role: "status", "aria-live": "polite" }, text);
const most_rows = 200;

export function diagnosis_sections(document) {
  const answer = document.value;
  return [overview(document, answer), map_section(document, answer), repairs_section(document, answer), parts_section(document, answer), steps_section(document, answer)].filter(Boolean);
}

function overview(document, answer) {
  const { field } = answer;
  // Of less than a thousandth, parts mean nothing.
  const explained = (part) => (part === undefined || answer.slowdown < 1.001 ? undefined : 100 * part);
  const place = field.points.filter((point) => answer.slowdown >= point.slowdown).at(-1);
  return section(document, "overview", clipped(`What slows ${answer.record}`, 120),
    element("p", { class: "muted" }, clipped(`${counted(answer.steps.length, "step")} of ${counted(answer.stages, "stage")} and ${counted(answer.replicas, "replica")}, ${answer.operations} operations (${answer.format})`, 300)),
    tiles([
      { name: "step", value: answer.step_s * 1e6, key: "step_us", note: `recorded ${seconds(answer.recorded_s)}, with delays between operations` },
      { name: "balanced", value: answer.balanced_s * 1e6, key: "balanced_us" },
      { name: "slowdown S", value: answer.slowdown, key: "slowdown" },
      { name: "waste", value: 100 * answer.waste, key: "waste_percent" },
      { name: "explained by the last stage", value: explained(answer.last_stage), key: "last_stage_percent" },
      { name: "explained by slow workers", value: explained(answer.slow_workers), key: "slow_workers_percent", note: "the slowest 3 %" },
      { name: "with a layer less on the last stage", value: answer.layer_less && answer.layer_less.step_s * 1e6, key: "step_us", note: answer.layer_less && `and one more on stage ${answer.layer_less.to_stage}` },
    ]),
    element("p", { class: "small muted" }, `Of ${clipped(field.source, 200)} ${field.points.map((point) => `${percent(point.jobs_below)} are below ${rounded(point.slowdown, 3)}`).join(", ")}; this one would be among the ${place ? `slowest ${percent(1 - place.jobs_below)}` : `fastest ${percent(field.points[0].jobs_below)}`}.`),
    answer.what_if && table("The step with other times", [{ title: "change" }, { title: "step, s", figure: true }, { title: "saves, s", figure: true }],
      answer.what_if.map((one) => [clipped(one.change, 120), String(one.step_s), String(one.saved_s)])),
    warning_list(answer.notes));
}

const worker_name = (one) => `stage ${one.stage} of replica ${one.replica}${one.name ? ` (${one.name})` : ""}`;

function map_section(document, answer) {
  if (answer.stages * answer.replicas < 2) return null;
  const workers = new Map(answer.by_worker.map((one) => [one.stage * answer.replicas + one.replica, one]));
  const numbers = (count) => Array.from({ length: count }, (_, number) => String(number));
  const x = { label: "data-parallel rank", texts: numbers(answer.replicas) };
  const y = { label: "stage", texts: numbers(answer.stages) };
  const worker_at = (column, row) => workers.get(row * answer.replicas + column);
  // 1: as fast as the ideal, or faster; twice as slow is as hot as it gets.
  const cell = (column, row) => {
    const { slowdown } = worker_at(column, row);
    return { kind: "value", part: Math.sqrt(Math.min(1, Math.max(0, slowdown - 1))), value: slowdown, lines: () => [slowdown.toFixed(2)] };
  };
  const status = status_line("Point at a cell, or walk with the arrow keys.");
  const map = map_plot({
    label: "Slowdown over replica and stage; arrow keys walk over the cells", x, y, cell,
    tip_of: (column, row) => [element("strong", {}, clipped(worker_name(worker_at(column, row)), 120)), element("div", {}, `slowdown ${exact_figure(worker_at(column, row).slowdown)}`)],
    on_pick: (column, row) => { status.textContent = clipped(`${worker_name(worker_at(column, row))}: slowdown ${worker_at(column, row).slowdown}`, 300); },
  });
  return section(document, "map", "Slow workers",
    element("p", { class: "small muted" }, "The slowdown of a step if only this worker's stage, or only its replica, were as it was recorded: the lesser of both."),
    map.node, status, save_buttons("slow-workers", {
      svg: () => map_svg({ title: "Slowdown by worker", x, y, cell, legend: [] }),
      rows: () => [["stage", "replica", "name", "slowdown"], ...answer.by_worker.map((one) => [one.stage, one.replica, one.name ?? "", one.slowdown])],
    }),
    element("details", { class: "alternative" }, element("summary", {}, "Figures of this map, the slowest first"),
      table("Slowdown of workers", [{ title: "worker" }, { title: "slowdown", figure: true }], answer.by_worker.slice(0, most_rows).map((one) => [clipped(worker_name(one), 120), String(one.slowdown)]))));
}

function repairs_section(document, answer) {
  if (answer.parts.length === 0)
    return section(document, "repairs", "What a repair would save", element("p", {}, "No part is slower than its likes by as much as 0.1 % of the step."));
  const shown = answer.parts.slice(0, most_rows);
  return section(document, "repairs", "What a repair would save",
    element("p", { class: "small muted" }, "Each part alone, if it did as its likes do: the same stage of other replicas, other stages, the usual transfer."),
    stacked_bars("What a step would save", [{ key: "saved_us", name: "saved", colour: "var(--update)" }],
      shown.slice(0, 20).map((part) => ({ label: part.meaning, values: { saved_us: part.saved_s * 1e6 }, total: part.saved_s * 1e6, note: percent(part.saved) })), { total_key: "saved_us", with_table: false }),
    table("Repairs", [{ title: "part" }, { title: "saves, s", figure: true }, { title: "of the step", figure: true }, { title: "slow operations", figure: true }],
      shown.map((part) => [clipped(part.meaning, 160), String(part.saved_s), percent(part.saved), percent(part.slow)])));
}

function parts_section(document, answer) {
  const rows = [
    ...answer.by_stage.map((one) => [`stage ${one.stage}`, one.slowdown]), ...answer.by_replica.map((one) => [`replica ${one.replica}`, one.slowdown]),
    ...answer.by_operation.map((one) => [one.operation, one.slowdown]),
  ].sort((one, other) => other[1] - one[1]);
  return section(document, "parts", "Slowdown by part",
    element("p", { class: "small muted" }, "With only this part as it was recorded, all others balanced. Below 1: it has less to do than the mean."),
    table("Slowdowns", [{ title: "part" }, { title: "slowdown", figure: true }], rows.slice(0, most_rows).map(([name, value]) => [clipped(name, 120), String(value)])),
    rows.length > most_rows && element("p", { class: "muted" }, `${rows.length - most_rows} more`));
}

function steps_section(document, answer) {
  if (answer.steps.length < 2) return null;
  const numbers = answer.steps.map((one) => one.step);
  const lines = [["as recorded", "recorded_s"], ["without delays", "step_s"]];
  const status = status_line("Point at a line, or walk with the arrow keys.");
  const x = { label: "step", text: (value) => (Number.isInteger(value) ? String(value) : "") };
  const y = { label: "time of a step", text: seconds };
  const plot = curve_plot({
    label: "Time of each step; arrow keys walk along the lines", height: 240, x: { ...x, values: numbers }, y: { ...y, from_least: true },
    series: lines.map(([name, key], index) => ({ name, index, values: answer.steps.map((one) => one[key]) })),
    on_point: (one, at) => { status.textContent = `Step ${numbers[at]}, ${one.name}: ${seconds(one.values[at])}`; },
  });
  return section(document, "steps", "Steps",
    element("ul", { class: "legend" }, lines.map(([name], index) => element("li", { class: "small" }, swatch(index), name))), plot.node, status, save_buttons("steps", {
    svg: () => curves_svg({ title: "Time of each step", x, y, series: lines.map(([name, key], place) => ({ name, place, points: answer.steps.map((one) => [one.step, one[key]]) })) }),
    rows: () => [["step", ...lines.map(([name]) => `${name}, s`)], ...answer.steps.map((one) => [one.step, one.recorded_s, one.step_s])],
  }));
}

// ---- measured beside predicted

const time_parts = [
  ["forward", "--forward"], ["backward", "--backward"], ["optimizer", "--update"], ["collection", "--series-8"], ["sends", "--series-4"],
  ["replicas", "--message"], ["embedding", "--series-5"], ["clipping", "--series-6"], ["waiting", "--waiting"], ["launch", "--series-7"],
].map(([name, variable]) => ({ key: `${name}_us`, name, colour: `var(${variable})` }));

export function comparison_sections(document) {
  const answer = document.value;
  const row = (label, key) => {
    const values = Object.fromEntries(answer.parts.map((one) => [`${one.part}_us`, one[key] * 1e6]));
    return { label, values, total: answer.parts.reduce((sum, one) => sum + one[key], 0) * 1e6 };
  };
  const slowest = answer.slowest_part;
  return [section(document, "overview", clipped(`${answer.record} beside ${answer.prediction}`, 160),
    tiles([
      { name: "measured", value: answer.measured_s * 1e6, key: "measured_us" }, { name: "predicted", value: answer.predicted_s * 1e6, key: "predicted_us" },
      { name: "difference", value: 100 * (answer.measured_s / answer.predicted_s - 1), key: "difference_percent" },
    ]),
    slowest && element("p", {}, clipped(`Without the excess of one part, a step would take ${seconds(slowest.saved_s)} less${slowest.explained === undefined ? "" : `, which explains ${percent(slowest.explained)} of the difference`}: ${slowest.meaning}.`, 400)),
    stacked_bars("Where a worker's time goes, on average", time_parts, [row("measured", "measured_s"), row("predicted", "predicted_s")], { total_key: "sum_us" }),
    table("What explains the difference, each part alone", [{ title: "part" }, { title: "measured over predicted", figure: true }, { title: "of the difference", figure: true }],
      answer.explanations.map((one) => [one.part, String(one.factor), percent(one.explained)])),
    warning_list(answer.notes))];
}
