// The answer of `sgdsim learn`.
import { clipped, element, table } from "../common/dom.js";
import { rounded } from "../common/figures.js";
import { learning_curves, methods_table, over_seeds, said_of } from "../common/learning.js";
import { section } from "./sections.js";

export function learn_sections(document) {
  const answer = document.value;
  const goal = answer.target.accuracy === undefined ? `loss ${rounded(answer.target.loss)}` : `accuracy ${rounded(answer.target.accuracy)}`;
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
