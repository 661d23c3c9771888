// Curves by uPlot: in the page's colours, as wide as their place, with a keyboard and a readout.
//
// The library draws and finds the nearest point; colours, words and keys are ours. A curve that has
// no value somewhere has a gap there.
import uPlot from "uplot";
import { clipped, element, walkable } from "./dom.js";
import { mark_texts } from "./figures.js";
import { colour, on_theme_change, series_colour, series_dash, series_variable } from "./theme.js";

const font = (size = 12) => `${size}px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif`;

// Where a logarithmic axis puts its marks: 1, 2, 5 of every decade, as many as fit.
function log_marks(least, most, space) {
  const marks = [];
  const first = Math.floor(Math.log10(least));
  const last = Math.ceil(Math.log10(most));
  const decades = Math.max(1, Math.log10(most / least));
  const steps = space / decades > 120 ? [1, 2, 5] : [1];
  for (let power = first; power <= last; ++power)
    for (const step of steps) {
      const value = Number(`${step}e${power}`);
      if (value >= least * (1 - 1e-9) && value <= most * (1 + 1e-9)) marks.push(value);
    }
  if (marks.length < 2) return [least, most];
  return marks;
}

// `x`: {label, values, marks, is_log, text(value, digits)}; `marks`: at these values only, if given.
// `y`: {label, is_log, text, from_least}; `from_least`: the scale begins at the least value, not at 0.
// `series`: [{name, values, index, hidden, points}]; `index` decides colour and dash.
// `on_point(series, x index)` when a point is under the pointer or chosen by keys; `on_pick` on click.
export function curve_plot({ x, y, series, height = 360, label, on_point, on_pick, points_only = false, bands = [], hooks = {} }) {
  const place = element("div", { class: "plot", ...walkable, "aria-label": label });
  let chosen = { series: -1, index: -1 };
  const options = {
    width: 600,
    height,
    padding: [12, 16, 0, 4],
    legend: { show: false },
    cursor: { focus: { prox: 1e6 }, drag: { x: false, y: false }, points: { size: 9, width: 2 }, y: true },
    focus: { alpha: 1 },
    scales: {
      x: { time: false, distr: x.is_log ? 3 : 1, range: padded_range(x.is_log, 0.02) },
      y: { distr: y.is_log ? 3 : 1, range: y.is_log || y.from_least ? padded_range(y.is_log, 0.06, 1e-3) : from_zero },
    },
    axes: [axis(x, 0), axis(y, 1)],
    series: [{}, ...series.map((one) => ({
      label: one.name,
      show: !one.hidden,
      stroke: () => series_colour(one.index),
      width: points_only || one.points ? 0 : 2,
      dash: series_dash(one.index),
      paths: points_only || one.points ? () => null : undefined,
      spanGaps: false,
      points: { show: points_only || one.points || one.values.length <= 60, size: points_only || one.points ? 7 : 6, fill: () => series_colour(one.index), stroke: () => series_colour(one.index) },
    }))],
    bands,
    hooks: {
      ...hooks,
      setCursor: [(plot) => {
        if (plot.cursor.idx === null || plot.cursor.idx === undefined || !plot.cursor.event) return;
        const nearest = nearest_series(plot, plot.cursor.idx, plot.cursor.top);
        if (nearest >= 0) show(nearest, plot.cursor.idx);
      }],
    },
  };
  const plot = new uPlot(options, [x.values, ...series.map((one) => one.values)], place);

  function show(one, index) {
    if (chosen.series === one && chosen.index === index) return;
    chosen = { series: one, index };
    on_point?.(series[one], index, { left: plot.valToPos(x.values[index], "x"), top: plot.valToPos(series[one].values[index], "y") });
  }

  place.addEventListener("click", () => { if (chosen.series >= 0) on_pick?.(series[chosen.series], chosen.index); });
  place.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -Infinity], End: [0, Infinity] };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const next = step(series, x.values.length, chosen, move);
    if (!next) return;
    show(next.series, next.index);
    plot.setCursor({ left: plot.valToPos(x.values[next.index], "x"), top: plot.valToPos(series[next.series].values[next.index], "y") }, false);
    on_pick?.(series[next.series], next.index);
  });

  const watch = new ResizeObserver(() => {
    const width = Math.max(240, Math.floor(place.clientWidth));
    if (width !== plot.width) plot.setSize({ width, height });
  });
  watch.observe(place);
  const forget = on_theme_change(() => plot.redraw(false, true));

  return {
    node: place,
    plot,
    show_series(index, is_shown) { series[index].hidden = !is_shown; plot.setSeries(index + 1, { show: is_shown }); },
    remove() { watch.disconnect(); forget(); plot.destroy(); place.remove(); },
  };
}

function axis(scale, side) {
  const space = side === 0 ? 64 : 34;
  return {
    label: scale.label,
    labelFont: font(12),
    labelSize: side === 0 ? 26 : 24,
    font: font(12),
    size: side === 0 ? 34 : (_plot, texts) => Math.max(64, 18 + 7 * Math.max(...(texts ?? []).map((text) => text.length))),
    gap: 6,
    space,
    stroke: () => colour("--muted"),
    grid: { stroke: () => colour("--line"), width: 1, show: side === 1 || !scale.marks },
    ticks: { stroke: () => colour("--line-strong"), width: 1, size: 4 },
    splits: (plot, _axis, least, most) => {
      const length = side === 0 ? plot.bbox.width / devicePixelRatio : plot.bbox.height / devicePixelRatio;
      if (scale.marks) return thinned(scale.marks.filter((mark) => mark >= least && mark <= most), plot, length, side, scale);
      if (scale.is_log) return log_marks(least, most, length);
      return linear_marks(least, most, Math.max(2, Math.floor(length / space)));
    },
    filter: (_plot, splits) => splits,
    values: (_plot, splits) => mark_texts(splits, scale.text),
  };
}

// Marks that stand too close to the one before are left out.
function thinned(marks, plot, length, side, scale) {
  const room = side === 0 ? 12 + 7 * Math.max(1, ...marks.map((mark) => scale.text(mark).length)) : 20;
  let last = -Infinity;
  return marks.filter((mark) => {
    const at = plot.valToPos(mark, side === 0 ? "x" : "y");
    if (Math.abs(at - last) < Math.min(room, length)) return false;
    last = at;
    return true;
  });
}

export function linear_marks(least, most, count) {
  const raw = (most - least) / count;
  if (!(raw > 0)) return [least];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((width) => width >= raw);
  const marks = [];
  for (let index = Math.ceil(least / step - 1e-9); index * step <= most + step * 1e-9; ++index) marks.push(Number((index * step).toPrecision(12)));
  return marks;
}

// `least_span`: of the size of the values; what differs by less is drawn as the line that it is.
function padded_range(is_log, part, least_span = 0) {
  return (_plot, least, most) => {
    if (least === null || most === null) return [is_log ? 1 : 0, 10];
    const missing = least_span * Math.max(Math.abs(least), Math.abs(most)) - (most - least);
    if (!is_log && missing > 0) [least, most] = [least - missing / 2, most + missing / 2];
    if (is_log) {
      const room = Math.max((most / least) ** part, 1.05);
      return [least / room, most * room];
    }
    const room = (most - least || Math.abs(most) || 1) * part;
    return [least - room, most + room];
  };
}

// Times and rates are read against zero; what is below stays visible too.
function from_zero(_plot, least, most) {
  if (least === null || most === null) return [0, 1];
  const top = Math.max(0, most);
  const bottom = Math.min(0, least);
  const room = (top - bottom || 1) * 0.06;
  return [bottom < 0 ? bottom - room : 0, top > 0 ? top + room : 0];
}

function nearest_series(plot, index, top) {
  let best = -1;
  let distance = Infinity;
  for (let one = 1; one < plot.series.length; ++one) {
    const value = plot.data[one][index];
    if (!plot.series[one].show || value === null || value === undefined) continue;
    const away = Math.abs(plot.valToPos(value, "y") - top);
    if (away < distance) [best, distance] = [one - 1, away];
  }
  return best;
}

// The next point that has a value, in the direction of the key.
function step(series, count, from, [down, right]) {
  const has = (one, index) => series[one] && !series[one].hidden && series[one].values[index] !== null && series[one].values[index] !== undefined;
  if (from.series < 0) {
    for (let one = 0; one < series.length; ++one)
      for (let index = 0; index < count; ++index) if (has(one, index)) return { series: one, index };
    return null;
  }
  if (right !== 0) {
    const jump = Math.abs(right) === Infinity;
    let index = jump ? (right > 0 ? count - 1 : 0) : from.index + Math.sign(right);
    const direction = jump ? -Math.sign(right) : Math.sign(right);
    for (; index >= 0 && index < count; index += direction) if (has(from.series, index)) return { series: from.series, index };
    return null;
  }
  for (let one = from.series + down; one >= 0 && one < series.length; one += down) if (has(one, from.index)) return { series: one, index: from.index };
  return null;
}

export const swatch = (index) => element("span", { class: "swatch", style: { background: series_variable(index) } });

// Names of curves, as buttons that show and hide them.
export function legend_of(series, on_toggle) {
  return element("ul", { class: "legend", "aria-label": "Curves" }, series.map((one) => element("li", {}, element("button", {
    type: "button", "aria-pressed": one.hidden ? "false" : "true",
    on: {
      click: (event) => {
        const is_shown = event.currentTarget.getAttribute("aria-pressed") !== "true";
        event.currentTarget.setAttribute("aria-pressed", is_shown ? "true" : "false");
        on_toggle(one, is_shown);
      },
    },
  }, swatch(one.index), clipped(one.name, 40)))));
}
