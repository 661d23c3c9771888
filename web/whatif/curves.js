// Scaling curves: every strategy over the number of nodes.
import { busy_switch, element, replace_children, segmented } from "../common/dom.js";
import { rounded, short_duration } from "../common/figures.js";
import { curve_plot } from "../common/plot.js";
import { places_of, series_variable } from "../common/theme.js";
import { problem } from "./result.js";

const metrics = {
  speedup: { label: "speed-up over one worker", is_log: true, text: (value) => rounded(value, 4), axis: rounded },
  iteration_ps: { label: "iteration", is_log: false, text: (value) => short_duration(value / 1e6, 5), axis: (value, digits) => short_duration(value / 1e6, digits) },
};

export function curves_view(strategies) {
  const looks = places_of(strategies);
  let metric = "speedup";
  let last = null;
  let plot = null;
  const hidden = new Set();
  const body = element("div");
  const readout = element("p", { class: "readout", role: "status" });
  const choice = segmented("Figure", [{ value: "speedup", text: "Speed-up" }, { value: "iteration_ps", text: "Iteration" }], metric, (value) => { metric = value; draw(); });
  const legend = element("ul", { class: "legend", "aria-label": "Strategies" }, strategies.map((name, index) =>
    element("li", {}, element("button", {
      type: "button", "aria-pressed": "true",
      on: { click: ({ currentTarget }) => toggle(name, index, currentTarget) },
    }, element("span", { class: "swatch", style: { background: series_variable(looks[index]) } }), name))));
  const node = element("section", { class: "card half", "aria-labelledby": "curves-title" },
    element("div", { class: "row spread" }, element("h2", { id: "curves-title" }, "Scaling"), element("div", { class: "no-print" }, choice)), body, legend, readout);

  function toggle(name, index, button) {
    if (!hidden.delete(name)) hidden.add(name);
    button.setAttribute("aria-pressed", hidden.has(name) ? "false" : "true");
    plot?.show_series(index, !hidden.has(name));
  }

  const values_of = ({ nodes, answer }, index) => nodes.map((_, at) => answer[metric][at * strategies.length + index]);

  function draw() {
    if (last === null) return;
    const { nodes, answer } = last;
    const kind = metrics[metric];
    readout.textContent = "";
    plot?.remove();
    plot = curve_plot({
      x: { label: "nodes", values: nodes, marks: nodes, is_log: true, text: String },
      y: { label: kind.label, is_log: kind.is_log, text: kind.axis },
      series: strategies.map((name, index) => ({ name, values: values_of(last, index), index: looks[index], hidden: hidden.has(name) })),
      height: 320,
      label: `Curves of ${kind.label} over nodes; arrow keys walk over the points`,
      on_point: (one, index) => { readout.textContent = `${nodes[index]} nodes, ${one.name}: ${kind.text(one.values[index])}`; },
    });
    replace_children(body, plot.node);
  }

  return {
    node,
    busy: busy_switch(node),
    show(nodes, answer) {
      if (answer.error) {
        last = null;
        return replace_children(body, problem(answer.error));
      }
      last = { nodes, answer };
      draw();
    },
    nothing(sentence) {
      last = null;
      replace_children(body, element("p", { class: "muted" }, sentence));
    },
  };
}
