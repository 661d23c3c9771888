// The whole training of this step on machines that fail: sliders, and what formulas say at once.
import { busy_switch, command_block, element, replace_children } from "../common/dom.js";
import { rounded, short_figure, short_span } from "../common/figures.js";
import { curve_plot } from "../common/plot.js";
import { share_text, training_sliders } from "./controls.js";
import { fact, problem } from "./result.js";

// The question of `sgdsim goodput`, but for the step and the nodes. A text that is no number goes to the program,
// which refuses it.
export function training_question(state) {
  const said = (name) => state[name] || training_sliders[name].of();
  const number = (name) => (Number.isFinite(Number(said(name))) ? Number(said(name)) : said(name));
  return {
    steps: number("steps"),
    failures: { causes: [{ name: "node", unit: "node", per_day: number("failures") }] },
    save: { stall: said("stall"), interval: said("interval") },
    restart: { in_place: said("restart") },
  };
}

const span_marks = [1, 10, 60, 600, 3600, 21600, 86400, 864000];

// `moved`: the sliders by name; `on_interval(text)`: of a point of the curve.
export function training_view(moved, on_interval) {
  const body = element("div");
  const curve = element("div");
  const readout = element("p", { class: "readout", role: "status" });
  const again = element("div");
  const node = element("section", { class: "card", "aria-labelledby": "training-title" },
    element("h2", { id: "training-title" }, "The whole training"),
    element("p", { class: "small muted" }, "Nodes fail at random; all stop, go back to the last save and restart. By exact formulas; sgdsim goodput plays it."),
    element("div", { class: "training-sliders no-print" }, Object.values(moved).map((one) => one.node)), body, curve, readout, again);
  let plot = null;

  function draw(intervals) {
    plot?.remove();
    plot = null;
    if (!(intervals?.length > 1)) return replace_children(curve);
    const least = Math.min(...intervals.map((one) => one.days));
    const seconds = intervals.map((one) => one.interval_s);
    const more = intervals.map((one) => one.days - least);
    plot = curve_plot({
      x: { label: "work between saves", values: seconds, marks: span_marks, is_log: true, text: (value) => short_span(value, 2) },
      y: { label: "days more than the least", text: rounded },
      series: [{ name: "end", values: more, index: 0 }],
      height: 220,
      label: "Days more than with the best of these intervals, over the work between saves; arrow keys walk over the points",
      on_point: (_one, at) => { readout.textContent = `A save every ${short_span(seconds[at])}: ${short_figure(intervals[at].days, "end_days")}`; },
      on_pick: (_one, at) => on_interval(`${Number(seconds[at].toPrecision(6))} s`),
    });
    replace_children(curve, plot.node);
  }

  return {
    node,
    busy: busy_switch(node),
    show(answer) {
      readout.textContent = "";
      if (answer.error) {
        draw(null);
        replace_children(again);
        return replace_children(body, problem(answer.error));
      }
      const { end, interval, failures, nodes } = answer;
      replace_children(body, element("div", { class: "headline" },
        element("div", { class: "fact", "aria-live": "polite" },
          element("span", { class: "big", id: "training-days", "data-days": end.days, title: `${end.days} days` }, short_figure(end.days, "end_days")),
          element("span", { class: "name" }, `on ${nodes} nodes that fail`)),
        fact("productive", share_text(end.productive), String(end.productive)),
        fact("failures", rounded(failures), String(failures)),
        fact("work between saves", short_span(end.interval_s), `${end.interval_s} s`),
        interval && fact("within 1 % of the best", `${short_span(interval.flat_from_s)} to ${short_span(interval.flat_to_s)}`)));
      draw(answer.intervals);
      replace_children(again, command_block(answer.command));
    },
    nothing(sentence) {
      draw(null);
      replace_children(again);
      replace_children(body, element("p", { class: "muted" }, sentence));
    },
  };
}
