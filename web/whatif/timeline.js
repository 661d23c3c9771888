// What the first worker computes and sends in one iteration: the slices that --timeline writes.
import { busy_switch, element, replace_children } from "../common/dom.js";
import { timeline_view } from "../common/timeline.js";
import { problem } from "./result.js";

export function iteration_view() {
  const body = element("div");
  const node = element("section", { class: "card", "aria-labelledby": "timeline-title" }, element("h2", { id: "timeline-title" }, "Timeline of the first worker"), body);
  let drawn = null;
  return {
    node,
    busy: busy_switch(node),
    show(answer) {
      const before = drawn?.window();
      drawn?.remove();
      drawn = answer.error ? null : timeline_view(columns_of(answer.timeline.traceEvents), "Timeline of one iteration", before);
      replace_children(body, drawn ? drawn.node : problem(answer.error));
    },
  };
}

// Times count from the first slice, which begins the iteration; a slice stands on the track of its thread.
function columns_of(events) {
  const slices = events.filter((event) => event.ph === "X");
  const tracks = events.filter((event) => event.ph === "M" && event.name === "thread_name").map((event) => ({ worker: event.pid, thread: event.tid, index: event.tid, name: event.args.name }));
  const first = slices.reduce((least, event) => Math.min(least, event.ts), Infinity);
  const categories = [...new Set(slices.map((event) => event.cat))];
  const column = (value_of) => slices.map(value_of);
  const ps = (us) => Math.round(us * 1e6);
  return {
    tracks, categories, title: (track) => track.name, count: slices.length, names: column((event) => event.name), name: column((_, index) => index),
    category: column((event) => categories.indexOf(event.cat)), track: column((event) => event.tid),
    start_ps: column((event) => ps(event.ts) - ps(first)), length_ps: column((event) => ps(event.dur)), iteration: column(() => null),
    size_B: column((event) => event.args.size_B), first_layer: column((event) => event.args.layers?.[0]), last_layer: column((event) => event.args.layers?.[1]),
  };
}
