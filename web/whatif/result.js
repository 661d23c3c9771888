// One iteration in figures: how long, of what, and what to know before believing it.
import { busy_switch, clipped, element, replace_children, table } from "../common/dom.js";
import { exact_figure, rounded, short_duration, words_of } from "../common/figures.js";
import { iteration_parts } from "../common/parts.js";
import { share_text } from "./controls.js";

export function result_view() {
  const body = element("div");
  const node = element("section", { class: "card", "aria-labelledby": "result-title" }, element("h2", { id: "result-title" }, "One iteration"), body);
  return {
    node,
    busy: busy_switch(node),
    show(answer) {
      if (answer.error) return replace_children(body, problem(answer.error));
      const { result } = answer;
      replace_children(body, headline(result), bar(result.metrics), warnings(result.warnings), all_figures(result));
    },
  };
}

export const problem = (sentence) => element("p", { class: "notice bad", role: "alert" }, clipped(sentence, 1600));

export function fact(name, value, title) {
  return element("div", { class: "fact" }, element("span", { class: "value", title }, value), element("span", { class: "name" }, name));
}

function headline(result) {
  const { metrics } = result;
  const us = metrics.iteration_us.mean;
  return element("div", { class: "headline" },
    element("div", { class: "fact", "aria-live": "polite" },
      element("span", { class: "big", id: "iteration", "data-ps": result.iteration_ps, title: exact_figure(us, "_us") }, short_duration(us, 5)),
      element("span", { class: "name" }, `${clipped(result.strategy, 40)} over ${clipped(result.collective, 40)}, ${result.workers} workers`)),
    fact("speed-up over one worker", rounded(metrics.speedup), String(metrics.speedup)),
    fact("efficiency", share_text(metrics.efficiency), String(metrics.efficiency)),
    metrics.throughput_samples_per_s > 0 && fact("samples per second", rounded(metrics.throughput_samples_per_s), String(metrics.throughput_samples_per_s)),
    fact("communication hidden", share_text(metrics.overlap_ratio), String(metrics.overlap_ratio)),
    fact("messages per iteration", String(result.messages.length)));
}

function bar(metrics) {
  const whole = metrics.iteration_us.mean;
  const pieces = iteration_parts.filter(({ key }) => metrics[key] > 0).map(({ key, name, colour }) => ({ name, colour, us: metrics[key] }));
  const rest = whole - pieces.reduce((sum, { us }) => sum + us, 0);
  if (rest > whole * 1e-9) pieces.push({ name: "rest", colour: "var(--waiting)", us: rest });
  const words = pieces.map(({ name, us }) => `${name} ${short_duration(us, 4)}`).join(", ");
  return [
    element("div", { class: "bar", role: "img", "aria-label": `Of which ${words}` }, pieces.map(({ name, colour, us }) =>
      element("span", { title: `${name}: ${exact_figure(us, "_us")}`, style: { flex: `${us} 0 0`, background: colour } }))),
    element("ul", { class: "key" }, pieces.map(({ name, colour, us }) =>
      element("li", {}, element("span", { class: "swatch", style: { background: colour } }), `${name} ${short_duration(us, 4)} (${share_text(us / whole)})`))),
  ];
}

const warnings = (list) => (list ?? []).map((warning) => element("p", { class: "notice warning" }, clipped(warning, 1600)));

function all_figures(result) {
  const rows = [["iteration_ps", String(result.iteration_ps)]];
  for (const [key, value] of Object.entries(result.metrics)) {
    if (typeof value !== "object") rows.push([words_of(key), exact_figure(value, key)]);
    else for (const [name, one] of Object.entries(value)) rows.push([words_of(`${key}.${name}`), exact_figure(one, `${key}.${name}`)]);
  }
  return element("details", {}, element("summary", {}, "All figures, with all digits"),
    table("As in the result file", [{ title: "Figure" }, { title: "Value", figure: true }], rows));
}
