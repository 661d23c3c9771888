// What the first worker computes and sends in one iteration: the slices that --timeline writes.
import { clipped, element, replace_children, table, walkable } from "../common/dom.js";
import { rounded, short_duration } from "../common/figures.js";
import { slice_colours, slice_names } from "../common/parts.js";
import { linear_marks } from "../common/plot.js";
import { canvas_font, canvas_in, fitting_text, tip_in } from "../common/tip.js";
import { colour } from "../common/theme.js";
import { problem } from "./result.js";

const lane_height = 34;
const axis_height = 26;
const left = 84;

export function timeline_view() {
  const place = element("div", { class: "lanes", ...walkable, "aria-label": "Timeline; arrow keys walk over its slices, plus and minus zoom, 0 shows all" });
  const readout = element("p", { class: "readout", role: "status" });
  const trouble = element("div");
  const list = element("div");
  const key = element("ul", { class: "key", "aria-label": "Colours" });
  const buttons = element("div", { class: "row no-print" },
    button("Zoom in", () => zoom(0.5)), button("Zoom out", () => zoom(2)), button("Show all", () => look(0, total)));
  const node = element("section", { class: "card", "aria-labelledby": "timeline-title" },
    element("div", { class: "row spread" }, element("h2", { id: "timeline-title" }, "Timeline of the first worker"), buttons), trouble, place, key, readout, list);
  const tip = tip_in(place);
  let slices = [];
  let lanes = ["compute"];
  let total = 1;
  let view = { from: 0, to: 1 };
  let chosen = -1;

  const width = () => Math.max(1, place.clientWidth - left - 8);
  const at = (us) => left + ((us - view.from) / (view.to - view.from)) * width();
  const canvas = canvas_in(place, () => lanes.length * lane_height + axis_height + 4, draw);

  function draw(context, whole, height) {
    context.textBaseline = "middle";
    context.fillStyle = colour("--muted");
    lanes.forEach((name, lane) => context.fillText(fitting_text(context, name, left - 12), 0, lane * lane_height + lane_height / 2));
    draw_axis(context, height);
    context.save();
    context.beginPath();
    context.rect(left, 0, whole - left, height);
    context.clip();
    slices.forEach((slice, index) => draw_slice(context, slice, index === chosen));
    context.restore();
  }

  function draw_slice(context, slice, is_chosen) {
    const [from, to] = [at(slice.start), at(slice.start + slice.length)];
    if (to < left || from > left + width() + 8) return;
    const top = slice.lane * lane_height + 3;
    const wide = Math.max(0.75, to - from - (to - from > 4 ? 0.75 : 0));
    context.fillStyle = colour(slice_colours[slice.kind] ?? "--waiting");
    context.fillRect(from, top, wide, lane_height - 6);
    if (is_chosen) {
      context.strokeStyle = colour("--text");
      context.lineWidth = 2;
      context.strokeRect(from, top, wide, lane_height - 6);
    }
    if (to - from < 44) return;
    context.fillStyle = colour("--slice-ink");
    context.fillText(fitting_text(context, slice.name, to - from - 8), Math.max(from, left) + 4, top + (lane_height - 6) / 2);
  }

  function draw_axis(context, height) {
    context.font = canvas_font(11);
    context.textAlign = "center";
    for (const mark of linear_marks(view.from, view.to, Math.max(2, Math.floor(width() / 90)))) {
      const x = at(mark);
      context.strokeStyle = colour("--line");
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, height - axis_height + 4);
      context.stroke();
      context.fillStyle = colour("--muted");
      if (x > left + 8 && x < left + width() - 16) context.fillText(short_duration(mark), x, height - 11);
    }
    context.textAlign = "left";
    context.font = canvas_font();
  }

  function look(from, to) {
    const span = Math.min(total, Math.max(to - from, total / 1e5));
    const begin = Math.max(0, Math.min(from, total - span));
    view = { from: begin, to: begin + span };
    canvas.redraw();
  }

  function zoom(factor, middle = (view.from + view.to) / 2) {
    look(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
  }

  const words = (slice) => `${slice.name}: ${short_duration(slice.length, 4)} from ${short_duration(slice.start, 5)}` +
    (slice.size_B ? `, ${rounded(slice.size_B / 1e6, 4)} MB` : "");

  function choose(index) {
    chosen = index;
    readout.textContent = index < 0 ? "" : words(slices[index]);
    canvas.redraw();
  }

  function slice_at(event) {
    const box = place.getBoundingClientRect();
    const us = view.from + ((event.clientX - box.left - left) / width()) * (view.to - view.from);
    const lane = Math.floor((event.clientY - box.top) / lane_height);
    const near = (2 / width()) * (view.to - view.from);
    return slices.findIndex((slice) => slice.lane === lane && us >= slice.start - near && us <= slice.start + slice.length + near);
  }

  let drag = null;
  place.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, ...view }; });
  addEventListener("pointerup", () => { drag = null; });
  place.addEventListener("pointermove", (event) => {
    if (drag && Math.abs(event.clientX - drag.x) > 3) {
      const moved = ((drag.x - event.clientX) / width()) * (drag.to - drag.from);
      return look(drag.from + moved, drag.to + moved);
    }
    const index = slice_at(event);
    if (index !== chosen) choose(index);
    const box = place.getBoundingClientRect();
    if (index < 0) tip.hide();
    else tip.show(event.clientX - box.left, event.clientY - box.top, words(slices[index]));
  });
  place.addEventListener("pointerleave", () => tip.hide());
  place.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey) return;  // the page scrolls
    event.preventDefault();
    const box = place.getBoundingClientRect();
    zoom(event.deltaY > 0 || event.deltaX > 0 ? 1.25 : 0.8, view.from + ((event.clientX - box.left - left) / width()) * (view.to - view.from));
  }, { passive: false });
  place.addEventListener("keydown", (event) => {
    const last = slices.length - 1;
    const steps = { ArrowRight: Math.min(last, chosen + 1), ArrowLeft: Math.max(0, chosen - 1), Home: 0, End: last };
    if (event.key in steps && last >= 0) {
      event.preventDefault();
      choose(steps[event.key]);
      const slice = slices[chosen];
      if (slice.start < view.from || slice.start > view.to) look(slice.start - (view.to - view.from) / 2, slice.start + (view.to - view.from) / 2);
    } else if (event.key === "+" || event.key === "=") {
      zoom(0.5, chosen >= 0 ? slices[chosen].start : undefined);
    } else if (event.key === "-") {
      zoom(2);
    } else if (event.key === "0") {
      look(0, total);
    }
  });

  return {
    node,
    busy: (is_busy) => node.classList.toggle("busy", is_busy),
    show(answer) {
      replace_children(trouble, answer.error && problem(answer.error));
      place.hidden = key.hidden = buttons.hidden = Boolean(answer.error);
      replace_children(list);
      choose(-1);
      if (answer.error) return;
      ({ slices, lanes } = slices_of(answer.timeline.traceEvents));
      const old = total;
      total = Math.max(1e-6, ...slices.map((slice) => slice.start + slice.length));
      if (view.to - view.from >= old * 0.999) view = { from: 0, to: total };
      look(view.from, view.to);
      const kinds = Object.keys(slice_names).filter((kind) => slices.some((slice) => slice.kind === kind));
      replace_children(key, kinds.map((kind) => element("li", {}, element("span", { class: "swatch", style: { background: `var(${slice_colours[kind]})` } }), slice_names[kind])));
      replace_children(list, message_table(slices));
    },
  };
}

const button = (text, click) => element("button", { type: "button", on: { click } }, text);

// Times count from the first slice, which begins the iteration.
function slices_of(events) {
  const shown = events.filter((event) => event.ph === "X");
  const threads = events.filter((event) => event.ph === "M" && event.name === "thread_name").sort((a, b) => a.tid - b.tid);
  const lane_of = new Map(threads.map((thread, lane) => [thread.tid, lane]));
  const first = Math.min(...shown.map((event) => event.ts));
  const slices = shown.map((event) => ({
    name: event.name, kind: event.cat, lane: lane_of.get(event.tid) ?? 0, start: event.ts - first, length: event.dur,
    size_B: event.args.size_B, layers: event.args.layers,
  }));
  slices.sort((a, b) => a.start - b.start || a.lane - b.lane);
  return { slices, lanes: threads.map((thread) => thread.args.name) };
}

function message_table(slices) {
  const messages = slices.filter((slice) => slice.kind === "comm").slice(0, 1000);
  if (messages.length === 0) return null;
  return element("details", {}, element("summary", {}, `Messages as a table (${messages.length})`),
    table("Messages of the first worker", [{ title: "Message" }, { title: "Layers", figure: true }, { title: "Size", figure: true }, { title: "Starts", figure: true }, { title: "Takes", figure: true }],
      messages.map((one) => [clipped(one.name), one.layers?.join(" to ") ?? "", `${rounded(one.size_B / 1e6, 4)} MB`, short_duration(one.start, 5), short_duration(one.length, 5)])));
}
