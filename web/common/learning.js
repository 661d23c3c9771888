// Small models trained in the simulated schedule: methods side by side, losses over simulated time.
import { clipped, element, replace_children, segmented, table } from "./dom.js";
import { rounded, short_duration } from "./figures.js";
import { curve_plot, legend_of } from "./plot.js";
import { curves_svg, save_buttons } from "./save.js";
import { places_of } from "./theme.js";

const grid_points = 200;
const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return Number.isInteger(half) ? (sorted[half - 1] + sorted[half]) / 2 : sorted[Math.floor(half)];
};
export const over_seeds = (range, text) => {
  if (range.median === null) return "-";
  if (range.low === range.high) return text(range.median);
  return `${text(range.median)} (${text(range.low)} to ${range.high === null ? "never" : text(range.high)})`;
};

// What a reader must know of a method's lessons.
export function said_of(method) {
  const ended = method.curves.find((curve) => curve.ended)?.ended;
  return [...(ended ? [ended] : []), ...(method.best_rate_is_at_edge ? ["its best rate is at the edge of the ladder, so a better one may lie beyond"] : []), ...(method.warnings ?? [])];
}

export function methods_table(answer) {
  return table("Methods", [{ title: "method" }, { title: "iteration", figure: true }, { title: "rate", figure: true }, { title: "iterations to target", figure: true }, { title: "time to target", figure: true }, { title: "x dense", figure: true }],
    answer.methods.map((method) => [clipped(method.method), short_duration(method.iteration_us, 4), rounded(method.rate),
      method.iterations_to_target.median === null ? `not within ${answer.iterations}` : over_seeds(method.iterations_to_target, (value) => String(Math.round(value))),
      over_seeds(method.time_to_target_us, (value) => short_duration(value, 4)), over_seeds(method.against_dense, (value) => rounded(value, 3))]));
}

// ---- curves

// The middle seed's figure where `across` has that value, straight between evaluations; none beyond the last one.
function value_at(method, across, at, figure) {
  const values = [];
  for (const { points } of method.curves) {
    const next = points.findIndex((point) => point[across] >= at);
    if (next < 0) continue;
    const [from, to] = [points[Math.max(0, next - 1)], points[next]];
    const length = to[across] - from[across];
    values.push(length > 0 ? from[figure] + (to[figure] - from[figure]) * (at - from[across]) / length : to[figure]);
  }
  return 2 * values.length > method.curves.length ? median(values) : null;
}

export function learning_curves(answer) {
  const looks = places_of(answer.methods.map((method) => method.method));
  const chosen = { across: "time_us", figure: "loss" };
  const hidden = new Set();
  const status = element("p", { class: "small readout-line", role: "status", "aria-live": "polite" }, "Point at a curve, or walk with the arrow keys.");
  const place = element("div");
  let drawn = null;
  const text_of = { time_us: short_duration, iteration: (value) => String(Math.round(value)) };
  const label_of = { time_us: "simulated time", iteration: "iterations" };
  const data = () => {
    const most = Math.max(...answer.methods.flatMap((method) => method.curves.flatMap(({ points }) => points.map((point) => point[chosen.across]))), 0);
    const xs = Array.from({ length: grid_points + 1 }, (_, index) => most * index / grid_points);
    return { xs, series: answer.methods.map((method, at) => ({ name: clipped(method.method), index: looks[at], hidden: hidden.has(at), points: false, values: xs.map((at) => value_at(method, chosen.across, at, chosen.figure)) })) };
  };
  const draw = () => {
    drawn?.remove();
    const { xs, series } = data();
    drawn = curve_plot({
      label: `${chosen.figure} over ${label_of[chosen.across]}; arrow keys walk along the curves`, height: 340,
      on_point: (one, at) => { status.textContent = `${one.name}, ${text_of[chosen.across](xs[at])}: ${chosen.figure} ${rounded(one.values[at])}`; },
      x: { label: label_of[chosen.across], values: xs, text: text_of[chosen.across] }, y: { label: chosen.figure, text: rounded }, series,
    });
    replace_children(place, drawn.node);
  };
  draw();
  const choose = (key) => (value) => { chosen[key] = value; draw(); };
  const has_accuracy = answer.methods.some((method) => method.curves.some(({ points }) => points[0]?.accuracy !== undefined));
  const axes = (series) => ({ x: { label: label_of[chosen.across], text: text_of[chosen.across] }, y: { label: chosen.figure, text: rounded }, series });
  return [
    element("div", { class: "row no-print" },
      segmented("Over", [{ value: "time_us", text: "simulated time" }, { value: "iteration", text: "iterations" }], "time_us", choose("across")),
      has_accuracy && segmented("Figure", [{ value: "loss", text: "loss" }, { value: "accuracy", text: "accuracy" }], "loss", choose("figure"))),
    legend_of(answer.methods.map((method, at) => ({ name: method.method, at, index: looks[at], hidden: hidden.has(at) })), (one, is_shown) => {
      if (is_shown) hidden.delete(one.at); else hidden.add(one.at);
      drawn.show_series(one.at, is_shown);
    }),
    place, status,
    save_buttons("loss-over-time", {
      svg: () => { const { xs, series } = data(); return curves_svg({ title: `${chosen.figure} over ${label_of[chosen.across]}`, ...axes(series.map((one) => ({ name: one.name, place: one.index, points: xs.map((at, index) => [at, one.values[index]]).filter(([, value]) => value !== null) }))) }); },
      rows: () => [["method", "seed", "iteration", "time, us", "loss", "accuracy"], ...answer.methods.flatMap((method) => method.curves.flatMap((curve) => curve.points.map((point) => [method.method, curve.seed, point.iteration, point.time_us, point.loss, point.accuracy ?? ""])))],
    }),
  ];
}
