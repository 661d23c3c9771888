// The answers of `sgdsim learn`.
import { clipped, element, table } from "../common/dom.js";
import { rounded } from "../common/figures.js";
import { learning_curves, methods_table, over_seeds, said_of } from "../common/learning.js";
import { curve_plot } from "../common/plot.js";
import { curves_svg, save_buttons } from "../common/save.js";
import { section } from "./sections.js";

export function learn_sections(document) {
  const answer = document.value;
  const goal = goal_of(answer.target);
  const task = typeof answer.task === "string" ? answer.task : answer.task.name;
  const part = (name, title, ...content) => section(document, name, title, ...content);
  return [
    part("overview", clipped(answer.name || "Time to accuracy", 120),
      element("p", { class: "muted" }, clipped(`${task} (${answer.weights} weights) to ${goal}${answer.target_was_asked_for ? "" : ", which dense reaches in half of the iterations"}; ${answer.workers} workers with ${answer.samples} samples each, ${answer.seeds.length} ${answer.seeds.length === 1 ? "seed" : "seeds"}, ${answer.iterations} iterations`, 400)),
      methods_table(answer),
      element("p", { class: "small muted" }, "Median (range) over seeds. How many more iterations a method needs is this small model's, not that of the trace's model."),
      answer.methods.flatMap((method) => said_of(method).map((text) => element("p", { class: "notice warning" }, clipped(`${method.method}: ${text}`, 600))))),
    part("curves", "Loss over simulated time", ...learning_curves(answer)),
    answer.noise && part("noise", "Gradient noise of dense training", noise_table(answer)),
  ].filter(Boolean);
}

function noise_table(answer) {
  const samples = (range) => (range.median === null ? "beyond" : over_seeds(range, (value) => rounded(value, 3)));
  return table("Samples at which noise and mean gradient are alike", [{ title: "iterations" }, { title: "loss", figure: true }, { title: "noise scale, samples", figure: true }],
    [...answer.noise.windows.map((window) => [`${window.from} to ${window.to}`, rounded(window.loss), samples(window.noise_scale)]), ["all", rounded(answer.noise.whole.loss), samples(answer.noise.whole.noise_scale)]]);
}

// ---- with several numbers of samples

const goal_of = (target) => (target.accuracy === undefined ? `loss ${rounded(target.loss)}` : `accuracy ${rounded(target.accuracy)}`);
const figure_or = (value, text = "-") => (value === null || value === undefined ? text : rounded(value));

export function batches_sections(document) {
  const answer = document.value;
  const task = typeof answer.task === "string" ? answer.task : answer.task.name;
  const laws = answer.targets.map((target) => element("p", {}, clipped(law_text(target), 600)));
  return [
    section(document, "overview", clipped(answer.name || "Iterations over samples", 120),
      element("p", { class: "muted" }, clipped(`${task} (${answer.weights} weights), dense training by ${answer.workers} workers; rate ${rounded(answer.rate)} at ${answer.rate_samples} samples (${answer.batch_rate}${answer.rates === "best" ? ", best of five around it" : ""}); ${answer.seeds.length} ${answer.seeds.length === 1 ? "seed" : "seeds"}, at most ${answer.iterations} iterations`, 400)),
      laws, element("p", { class: "small muted" }, "Iterations are the median of seeds, intervals those of 95 % from what the fit leaves. A small task's law is its own.")),
    section(document, "batches", "Iterations over samples", ...batches_plot(answer), answer.targets.map(batch_table)),
  ];
}

function law_text(target) {
  if (!target.fit) return `To ${goal_of(target)}: no law: ${target.why_no_fit}.`;
  const { fit } = target;
  return `To ${goal_of(target)}: at least ${rounded(fit.least_iterations)} iterations; critical batch ${rounded(fit.critical_batch)} samples (${rounded(fit.critical_batch_low, 3)} to ${figure_or(fit.critical_batch_high, "any")})${fit.noise_scale === null ? "" : `; measured noise scale ${rounded(fit.noise_scale, 3)}`}.`;
}

function batch_table(target) {
  return table(`To ${goal_of(target)}`, [{ title: "samples", figure: true }, { title: "rate", figure: true }, { title: "iterations", figure: true }, { title: "by the law", figure: true }, { title: "samples in all", figure: true }, { title: "noise scale", figure: true }],
    target.lessons.map((one) => [String(one.samples), rounded(one.rate), one.iterations === null ? "not reached" : over_seeds({ median: one.iterations, low: one.iterations_low, high: one.iterations_high }, rounded), figure_or(one.by_the_law), figure_or(one.samples_in_all), figure_or(one.noise_scale)]));
}

// Points as measured, lines by the law.
function batches_plot(answer) {
  const samples = answer.targets[0].lessons.map((one) => one.samples);
  const x = { label: "samples of an iteration", is_log: true, text: rounded };
  const y = { label: "iterations", is_log: true, text: rounded };
  const series = answer.targets.flatMap((target, index) => [
    { name: `to ${goal_of(target)}`, index, points: true, values: target.lessons.map((one) => one.iterations) },
    ...(target.fit ? [{ name: `to ${goal_of(target)}, by the law`, index, points: false, values: target.lessons.map((one) => one.by_the_law) }] : []),
  ]);
  if (series.every((one) => one.values.every((value) => value === null))) return [element("p", {}, "No target was reached.")];
  const status = element("p", { class: "small readout-line", role: "status", "aria-live": "polite" }, "Point at a value, or walk with the arrow keys.");
  const plot = curve_plot({
    label: "Iterations over samples; arrow keys walk along the curves", height: 300,
    on_point: (one, at) => { status.textContent = `${one.name}, ${samples[at]} samples: ${rounded(one.values[at])} iterations`; },
    x: { ...x, values: samples }, y, series,
  });
  return [plot.node, status, save_buttons("iterations-over-samples", {
    svg: () => curves_svg({ title: "Iterations over samples", x, y, series: series.map((one, place) => ({ name: one.name, place, points: samples.map((at, index) => [at, one.values[index]]).filter(([, value]) => value !== null) })) }),
    rows: () => [["target", "samples", "rate", "iterations", "by the law", "noise scale"], ...answer.targets.flatMap((target) => target.lessons.map((one) => [goal_of(target), one.samples, one.rate, one.iterations ?? "", one.by_the_law ?? "", one.noise_scale ?? ""]))],
  })];
}
