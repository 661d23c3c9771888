// Every strategy on the same experiment, best first: what `sgdsim plan` prints.
import { busy_switch, clipped, element, replace_children, table } from "../common/dom.js";
import { rounded, short_duration } from "../common/figures.js";
import { problem } from "./result.js";

// What is as good as the first, as far as measurements could tell, wins with it; a bound never wins.
function behind(plan, best) {
  if (plan.iteration_us === best && !plan.is_bound) return "–";
  const percent = 100 * (plan.iteration_us / best - 1);
  const text = `${percent < 0 ? "" : "+"}${rounded(percent, 3)} %`;
  if (plan.is_bound) return `bound, ${text}`;
  return plan.is_winner ? `${text}, as good` : text;
}

export function plan_view(on_pick) {
  const body = element("div");
  const node = element("section", { class: "card half", "aria-labelledby": "plan-title" }, element("h2", { id: "plan-title" }, "All strategies"), body);
  return {
    node,
    busy: busy_switch(node),
    show(answer, chosen) {
      if (answer.error) return replace_children(body, problem(answer.error));
      const { plans } = answer.plan;
      const best = plans[0].iteration_us;
      const pick = (name) => element("button", { type: "button", class: "plain", "aria-pressed": name === chosen ? "true" : "false", on: { click: () => on_pick(name) } }, name);
      replace_children(body, table("Best first; click a name to choose it",
        [{ title: "Strategy" }, { title: "Iteration", figure: true }, { title: "Exposed", figure: true }, { title: "Messages", figure: true }, { title: "Behind", figure: true }],
        plans.map((plan) => (plan.why_not
          ? [pick(plan.strategy), element("span", { title: plan.why_not }, clipped(plan.why_not, 60)), "", "", ""]
          : [pick(plan.strategy), element("span", { title: `${plan.iteration_ps} ps` }, short_duration(plan.iteration_us, 5)), short_duration(plan.exposed_us, 4),
            String(plan.groups.length), behind(plan, best)]))));
    },
    nothing: (sentence) => replace_children(body, element("p", { class: "muted" }, sentence)),
  };
}
