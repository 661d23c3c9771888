// Compute and messages over time: a canvas to zoom and pan, by mouse, touch and keys.
//
// Slices narrower than a pixel are drawn once per pixel, so that a hundred thousand of them take as long
// as a screen full. All times are whole picoseconds.
import { clipped, element, replace_children, table, walkable } from "./dom.js";
import { short_duration, short_size } from "./figures.js";
import { slice_colours, slice_names } from "./parts.js";
import { linear_marks } from "./plot.js";
import { colour } from "./theme.js";
import { canvas_font, canvas_in, fitting_text, is_dark, tip_in } from "./tip.js";

const row_height = 26;
const head_height = 22;

// Picoseconds as microseconds with all their digits.
export const exact_us = (ps) => `${Math.floor(ps / 1e6)}.${String(ps % 1e6).padStart(6, "0")} us`;

// `timeline`: {tracks: [{worker, thread, index, name}], title(track), categories, names, count} and, one value per
// slice, track, start_ps, length_ps, name, category (places in these lists), size_B, iteration, first_layer,
// last_layer. `before`: the window() of a timeline whose place this one takes; what was zoomed stays so.
// Gives {node, window(), remove()}.
export function timeline_view(timeline, label, before = null) {
  const tracks = timeline.tracks.toSorted((a, b) => a.worker - b.worker || a.thread - b.thread);
  const rows = tracks.map((track) => {
    const own = [];
    for (let one = 0; one < timeline.count; ++one) if (timeline.track[one] === track.index) own.push(one);
    return own.sort((a, b) => timeline.start_ps[a] - timeline.start_ps[b]);
  });
  const longest = rows.map((own) => own.reduce((most, one) => Math.max(most, timeline.length_ps[one]), 0));
  let [first, last] = [Infinity, 0];
  for (let one = 0; one < timeline.count; ++one) {
    first = Math.min(first, timeline.start_ps[one]);
    last = Math.max(last, timeline.start_ps[one] + timeline.length_ps[one]);
  }
  if (last <= first) last = first + 1;
  let [from, to] = [first, last];
  let chosen = -1;
  let left = 90;
  let span = 100;

  const place = element("div", { class: "plot timeline", ...walkable, "aria-label": `${label}; arrow keys walk over the slices, plus and minus zoom, 0 shows all` });
  const tip = tip_in(place);
  const status = element("p", { class: "small readout-line", role: "status", "aria-live": "polite" });
  const at_x = (ps) => left + ((ps - from) / (to - from)) * span;
  const at_ps = (x) => from + ((x - left) / span) * (to - from);

  const drawing = canvas_in(place, () => head_height + rows.length * row_height + 4, (context, width) => {
    left = Math.min(width < 560 ? 84 : 150, Math.max(...tracks.map((track) => context.measureText(timeline.title(track)).width)) + 14);
    span = width - left - 2;
    const ink = { text: colour("--text"), muted: colour("--muted"), line: colour("--line") };
    draw_marks(context, width, ink);
    rows.forEach((own, row) => draw_row(context, own, row, width));
    context.textBaseline = "middle";
    tracks.forEach((track, row) => {
      context.fillStyle = ink.muted;
      context.font = canvas_font(12);
      context.textAlign = "left";
      context.fillText(fitting_text(context, timeline.title(track), left - 10), 2, top_of(row) + row_height / 2 - 1);
    });
  });
  const top_of = (row) => head_height + row * row_height;

  function draw_marks(context, width, ink) {
    context.strokeStyle = ink.line;
    context.fillStyle = ink.muted;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const us of linear_marks(from / 1e6, to / 1e6, Math.max(2, Math.floor(span / 110)))) {
      const x = Math.round(at_x(us * 1e6)) + 0.5;
      if (x < left) continue;
      context.beginPath();
      context.moveTo(x, head_height - 4);
      context.lineTo(x, head_height + rows.length * row_height);
      context.stroke();
      const text = mark_text(us);
      const half = context.measureText(text).width / 2;
      context.fillText(text, Math.min(Math.max(x, left + half), width - half), head_height / 2);
    }
  }

  const mark_text = (us) => {
    const [unit, scale] = to >= 1e12 ? ["s", 1e6] : to >= 1e9 ? ["ms", 1e3] : ["us", 1];
    return `${Number((us / scale).toPrecision(9))} ${unit}`;
  };

  function first_visible(row) {
    const own = rows[row];
    let [low, high] = [0, own.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (timeline.start_ps[own[middle]] < from - longest[row]) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function draw_row(context, own, row, width) {
    let painted = -1;
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.font = canvas_font(11);
    for (let place = first_visible(row); place < own.length; ++place) {
      const one = own[place];
      const start = timeline.start_ps[one];
      if (start > to) break;
      if (start + timeline.length_ps[one] < from) continue;
      const x = Math.max(left, at_x(start));
      const end = Math.min(width, at_x(start + timeline.length_ps[one]));
      if (end - x < 1 && Math.floor(x) === painted) continue;
      painted = Math.floor(x);
      const category = timeline.categories[timeline.category[one]];
      const fill = colour(slice_colours[category] ?? "--series-8");
      context.fillStyle = fill;
      context.globalAlpha = category === "wait" ? 0.45 : 1;
      const breadth = Math.max(1, end - x - (end - x > 3 ? 1 : 0));
      context.fillRect(x, top_of(row) + 2, breadth, row_height - 5);
      context.globalAlpha = 1;
      if (one === chosen) {
        context.strokeStyle = colour("--text");
        context.lineWidth = 2;
        context.strokeRect(x + 1, top_of(row) + 3, Math.max(1, breadth - 2), row_height - 7);
        context.lineWidth = 1;
      }
      if (breadth < 30) continue;
      context.fillStyle = category === "wait" ? colour("--text") : is_dark(fill) ? "#ffffff" : "#111418";
      context.fillText(fitting_text(context, timeline.names[timeline.name[one]], breadth - 8), x + 4, top_of(row) + row_height / 2);
    }
  }

  function slice_at(x, y) {
    const row = Math.floor((y - head_height) / row_height);
    if (row < 0 || row >= rows.length || x < left) return -1;
    const [near, far] = [at_ps(x - 1.5), at_ps(x + 1.5)];
    let found = -1;
    for (let place = first_visible(row); place < rows[row].length; ++place) {
      const one = rows[row][place];
      if (timeline.start_ps[one] > far) break;
      if (timeline.start_ps[one] + timeline.length_ps[one] >= near && (found < 0 || timeline.length_ps[one] <= timeline.length_ps[found])) found = one;
    }
    return found;
  }

  function words_of_slice(one) {
    const size = timeline.size_B[one];
    const layers = timeline.first_layer[one];
    return [
      `start ${exact_us(timeline.start_ps[one])}, length ${exact_us(timeline.length_ps[one])}, end ${exact_us(timeline.start_ps[one] + timeline.length_ps[one])}`,
      size !== null && size !== undefined ? `${size} B${size >= 1024 ? ` (${short_size(size)})` : ""}` : "",
      layers !== null && layers !== undefined ? `layers ${layers} to ${timeline.last_layer[one]}` : "",
      timeline.iteration[one] !== null ? `iteration ${timeline.iteration[one]}` : "",
    ].filter(Boolean);
  }
  const title_of = (one) => `${clipped(timeline.names[timeline.name[one]], 120)}${timeline.categories[timeline.category[one]] === "wait" ? " (waiting)" : ""}`;

  function choose(one) {
    chosen = one;
    if (one >= 0) {
      const track = timeline.tracks.find((track) => track.index === timeline.track[one]);
      status.textContent = `${timeline.title(track)}: ${title_of(one)}: ${words_of_slice(one).join("; ")}`;
    }
    drawing.redraw();
  }

  function look_at(new_from, new_to) {
    const length = Math.max(1000, Math.min(last - first, new_to - new_from));
    from = Math.max(first, Math.min(last - length, new_from));
    to = from + length;
    tip.hide();
    drawing.redraw();
  }
  const zoom = (factor, around = (from + to) / 2) => look_at(around - (around - from) * factor, around + (to - around) * factor);

  const pointers = new Map();
  let dragged = false;
  const local = (event) => { const bounds = drawing.canvas.getBoundingClientRect(); return { x: event.clientX - bounds.left, y: event.clientY - bounds.top }; };
  place.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, local(event));
    dragged = false;
    place.setPointerCapture(event.pointerId);
  });
  place.addEventListener("pointermove", (event) => {
    const now = local(event);
    const before = pointers.get(event.pointerId);
    if (!before) {
      const one = slice_at(now.x, now.y);
      if (one < 0) return tip.hide();
      return tip.show(now.x, now.y, element("strong", {}, title_of(one)), words_of_slice(one).map((line) => element("div", { class: "number" }, line)));
    }
    if (pointers.size === 2) {
      const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
      zoom(Math.max(4, Math.abs(before.x - other.x)) / Math.max(4, Math.abs(now.x - other.x)), at_ps((now.x + other.x) / 2));
      dragged = true;
    } else if (Math.abs(now.x - before.x) > 1) {
      const shift = ((before.x - now.x) / span) * (to - from);
      look_at(from + shift, to + shift);
      dragged = true;
    }
    pointers.set(event.pointerId, now);
  });
  const release = (event) => {
    if (pointers.delete(event.pointerId) && !dragged && event.type === "pointerup") { const { x, y } = local(event); choose(slice_at(x, y)); }
  };
  place.addEventListener("pointerup", release);
  place.addEventListener("pointercancel", release);
  place.addEventListener("pointerleave", () => tip.hide());
  place.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) {
      event.preventDefault();
      zoom(Math.exp((event.deltaY || event.deltaX) * 0.003), at_ps(local(event).x));
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      const shift = (event.deltaX / span) * (to - from);
      look_at(from + shift, to + shift);
    }
  }, { passive: false });

  function walk(down, right) {
    let row = chosen < 0 ? 0 : tracks.findIndex((track) => track.index === timeline.track[chosen]);
    let index = chosen < 0 ? first_visible(0) - Math.sign(right) : rows[row].indexOf(chosen);
    if (down) {
      row = Math.max(0, Math.min(rows.length - 1, row + down));
      const start = chosen < 0 ? from : timeline.start_ps[chosen];
      index = Math.max(0, rows[row].findIndex((one) => timeline.start_ps[one] + timeline.length_ps[one] >= start));
    } else index = Math.max(0, Math.min(rows[row].length - 1, index + right));
    const one = rows[row][index];
    if (one === undefined) return;
    const [start, end] = [timeline.start_ps[one], timeline.start_ps[one] + timeline.length_ps[one]];
    if (start < from || end > to) look_at(start - (to - from) * 0.2, start + (to - from) * 0.8);
    choose(one);
  }
  place.addEventListener("keydown", (event) => {
    const actions = {
      "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), 0: () => look_at(first, last),
      ArrowLeft: () => (event.shiftKey ? look_at(from - (to - from) / 4, to - (to - from) / 4) : walk(0, -1)),
      ArrowRight: () => (event.shiftKey ? look_at(from + (to - from) / 4, to + (to - from) / 4) : walk(0, 1)),
      ArrowUp: () => walk(-1, 0), ArrowDown: () => walk(1, 0), Home: () => walk(0, -Infinity), End: () => walk(0, Infinity), Escape: () => tip.hide(),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });

  const button = (text, said, action) => element("button", { type: "button", "aria-label": said, on: { click: action } }, text);
  const used = timeline.categories.filter((category) => slice_colours[category]);
  const figures = slices_table(timeline, title_of);
  const view = element("figure", { class: "figure-block", "aria-label": label },
    element("div", { class: "row spread" },
      element("ul", { class: "legend" }, used.map((category) => element("li", { class: "small" }, element("span", { class: "swatch", style: { background: `var(${slice_colours[category]})`, opacity: category === "wait" ? 0.45 : 1 } }), slice_names[category]))),
      element("div", { class: "row no-print" }, button("+", "Zoom in", () => zoom(0.5)), button("−", "Zoom out", () => zoom(2)), button("All", "Show all", () => look_at(first, last)))),
    element("div", { class: "timeline-scroll" }, place), status,
    element("p", { class: "small muted no-print" }, "Drag to move; Ctrl or Shift with the wheel, two fingers, or + and − zoom; arrow keys walk over the slices."),
    figures);
  // For tests and for people who look at the console: what is shown now.
  place.timeline_window = () => ({ from, to, first, last, chosen });
  replace_children(status, `${timeline.count} slices from ${short_duration(first / 1e6)} to ${short_duration(last / 1e6)}`);
  if (before && (before.from > before.first || before.to < before.last)) look_at(before.from, before.to);
  figures.open = Boolean(before?.is_open);
  return { node: view, window: () => ({ from, to, first, last, is_open: figures.open }), remove: () => drawing.remove() };
}

// The first slices as a table, made when it is opened.
function slices_table(timeline, title_of) {
  const shown = Math.min(timeline.count, 400);
  const figures = element("details", { class: "alternative timeline-table" }, element("summary", {}, "Figures of this timeline"));
  figures.addEventListener("toggle", () => {
    if (figures.childElementCount > 1) return;
    figures.append(table(`The first ${shown} of ${timeline.count} slices`, [{ title: "track" }, { title: "what" }, { title: "start, us", figure: true }, { title: "length, us", figure: true }, { title: "size, B", figure: true }],
      Array.from({ length: shown }, (_, one) => {
        const track = timeline.tracks.find((track) => track.index === timeline.track[one]);
        return [timeline.title(track), title_of(one), exact_us(timeline.start_ps[one]).slice(0, -3), exact_us(timeline.length_ps[one]).slice(0, -3), String(timeline.size_B[one] ?? "–")];
      })));
  });
  return figures;
}
