// Loss over simulated time: small models trained in the schedules that the controls describe.
import { busy_switch, clipped, command_block, element, replace_children } from "../common/dom.js";
import { learning_curves, methods_table, said_of } from "../common/learning.js";
import { problem } from "./result.js";

const calm_ms = 400;  // without another change, before lessons are asked for again

// `ask()` asks for the lessons of the state as it is. Nothing is learned before somebody wants it: the first lessons of a
// number of nodes take a second, those of another bandwidth are the same ones at other times.
export function lessons_view(ask) {
  let is_wanted = false;
  let planned = 0;
  const body = element("div");
  const button = element("button", { type: "button", on: { click: () => { is_wanted = true; button.hidden = true; ask(); } } }, "Train small models");
  const node = element("section", { class: "card", "aria-labelledby": "lessons-title" }, element("h2", { id: "lessons-title" }, "Loss over simulated time"),
    element("p", { class: "muted" }, "Which method is trained first: a small network is really trained, and the schedule above says when each of its iterations ends."), button, body);
  return {
    node,
    busy: busy_switch(node),
    changed() {
      clearTimeout(planned);
      if (is_wanted) planned = setTimeout(ask, calm_ms);
    },
    show(answer) {
      if (answer.error) return replace_children(body, problem(answer.error));
      const { learned } = answer;
      replace_children(body, methods_table(learned), ...learning_curves(learned),
        learned.methods.flatMap((method) => said_of(method).map((text) => element("p", { class: "notice warning" }, clipped(`${method.method}: ${text}`, 600)))),
        element("p", { class: "small muted" }, `One seed of a network of ${learned.weights} weights. How many more iterations a method needs is its own, not that of the trace's model. On a command line:`),
        command_block(answer.command.replace(" --format json", "")));
    },
  };
}
