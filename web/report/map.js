// A map over two axes: who wins in each cell, or how large a figure is there.
//
// Drawn on a canvas, because a sweep may have a hundred thousand cells; arrow keys walk over the cells,
// and what is chosen is told in the readout.
import { element, walkable } from "../common/dom.js";
import { canvas_font, canvas_in, fitting_text, is_dark, mixed, tip_in } from "../common/tip.js";
import { colour, series_colour } from "../common/theme.js";

const margin = { left: 84, right: 8, top: 8, bottom: 48 };

// `x`, `y`: {label, texts}; `cell(column, row)` gives null or {kind: "winner", series, strength, lines()} or
// {kind: "value", part (0 to 1), lines()}; `tip_of(column, row)` gives nodes; `on_pick(column, row)`.
export function map_plot({ x, y, label, cell, tip_of, on_pick }) {
  const place = element("div", { class: "plot", ...walkable, "aria-label": label });
  const tip = tip_in(place);
  let at = null;
  let shape = { left: margin.left, top: margin.top, width: 1, height: 1 };

  const row_height = (width) => Math.max(3, Math.min(width < 560 ? 34 : 46, 560 / y.texts.length));
  const height_of = (width) => margin.top + margin.bottom + row_height(width) * y.texts.length;
  const left_of = (context) => Math.min(150, 14 + Math.max(30, ...y.texts.slice(0, 400).map((text) => context.measureText(text.slice(0, 40)).width)));

  function draw(context, width, height) {
    const left = left_of(context) + 16;
    shape = { left, top: margin.top, width: (width - left - margin.right) / x.texts.length, height: (height - margin.top - margin.bottom) / y.texts.length };
    const gap = shape.width > 8 && shape.height > 8 ? 2 : 0;
    const colours = { card: colour("--card"), text: colour("--text"), muted: colour("--muted"), low: colour("--heat-low"), high: colour("--heat-high"), fills: new Map(), line: colour("--line") };
    for (let row = 0; row < y.texts.length; ++row)
      for (let column = 0; column < x.texts.length; ++column) draw_cell(context, column, row, gap, colours);
    draw_axes(context, width, height, colours);
    place_mark();
  }

  // An element of its own, so that a chosen cell does not mean drawing all the others again.
  const mark = element("div", { class: "cell-mark", hidden: true });
  place.append(mark);
  function place_mark() {
    mark.hidden = !at;
    if (!at) return;
    const at_left = shape.left + at.column * shape.width;
    for (const [property, value] of Object.entries({ left: at_left, top: top_of(at.row), width: shape.width, height: shape.height })) mark.style.setProperty(property, `${value}px`);
  }

  // The first value stands below, as in a diagram.
  const top_of = (row) => shape.top + (y.texts.length - 1 - row) * shape.height;

  // A few hundred different colours, however many cells.
  function fill_of(content, colours) {
    const steps = 64;
    const part = Math.round((content.kind === "winner" ? content.strength : content.part) * steps);
    const name = content.kind === "winner" ? (content.series + 1) * (steps + 1) + part : part;
    if (!colours.fills.has(name))
      colours.fills.set(name, content.kind === "winner" ? mixed(colours.card, series_colour(content.series), part / steps) : mixed(colours.low, colours.high, part / steps));
    return colours.fills.get(name);
  }

  function draw_cell(context, column, row, gap, colours) {
    const content = cell(column, row);
    const [left, top] = [shape.left + column * shape.width, top_of(row)];
    const [width, height] = [Math.max(0.5, shape.width - gap), Math.max(0.5, shape.height - gap)];
    if (!content) {
      context.fillStyle = colours.line;
      context.globalAlpha = 0.4;
      context.fillRect(left, top, width, height);
      context.globalAlpha = 1;
      return;
    }
    const fill = fill_of(content, colours);
    context.fillStyle = fill;
    context.fillRect(left, top, width, height);
    if (width < 34 || height < 17) return;
    context.fillStyle = is_dark(fill) ? "#ffffff" : "#111418";
    context.textAlign = "center";
    context.textBaseline = "middle";
    const lines = height >= 34 && width >= 46 ? content.lines() : content.lines().slice(-1);
    lines.forEach((line, index) => {
      context.font = canvas_font(lines.length > 1 && index === 0 ? 12 : 11, lines.length > 1 && index === 0 ? 600 : 400);
      context.fillText(fitting_text(context, line, width - 6), left + width / 2, top + height / 2 + (index - (lines.length - 1) / 2) * 15);
    });
  }

  function draw_axes(context, width, height, colours) {
    context.fillStyle = colours.muted;
    context.font = canvas_font(12);
    context.textBaseline = "middle";
    context.textAlign = "right";
    const each_row = Math.ceil(15 / shape.height);
    for (let row = 0; row < y.texts.length; row += each_row)
      context.fillText(fitting_text(context, y.texts[row], shape.left - 24), shape.left - 8, top_of(row) + shape.height / 2);
    context.textAlign = "center";
    const widest = Math.max(...x.texts.slice(0, 400).map((text) => context.measureText(text.slice(0, 24)).width));
    const each_column = Math.max(1, Math.ceil((Math.min(widest, 110) + 10) / shape.width));
    for (let column = 0; column < x.texts.length; column += each_column)
      context.fillText(fitting_text(context, x.texts[column], each_column * shape.width - 4), shape.left + (column + 0.5) * shape.width, height - margin.bottom + 12);
    context.fillText(x.label, shape.left + (width - shape.left) / 2, height - 12);
    context.save();
    context.translate(10, shape.top + (shape.height * y.texts.length) / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(fitting_text(context, y.label, shape.height * y.texts.length), 0, 0);
    context.restore();
  }

  const drawing = canvas_in(place, height_of, draw);

  function cell_at(event) {
    const bounds = drawing.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - bounds.left - shape.left) / shape.width);
    const row = y.texts.length - 1 - Math.floor((event.clientY - bounds.top - shape.top) / shape.height);
    return column >= 0 && column < x.texts.length && row >= 0 && row < y.texts.length ? { column, row } : null;
  }

  function show_tip(found) {
    const content = cell(found.column, found.row) ? tip_of(found.column, found.row) : [element("div", {}, "no result")];
    tip.show(shape.left + (found.column + 0.5) * shape.width, top_of(found.row) + shape.height / 2, ...content);
  }

  place.addEventListener("pointermove", (event) => {
    const found = cell_at(event);
    if (!found) return tip.hide();
    show_tip(found);
  });
  place.addEventListener("pointerleave", () => tip.hide());
  place.addEventListener("click", (event) => {
    const found = cell_at(event);
    if (!found) return;
    at = found;
    place_mark();
    if (cell(found.column, found.row)) on_pick(found.column, found.row);
  });
  place.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (event.key === "Escape") return tip.hide();
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    at = at ? { column: clamp(at.column + move[0], x.texts.length), row: clamp(at.row + move[1], y.texts.length) } : { column: 0, row: 0 };
    place_mark();
    show_tip(at);
    if (cell(at.column, at.row)) on_pick(at.column, at.row);
  });
  place.addEventListener("blur", () => tip.hide());
  return { node: place, remove: () => drawing.remove() };
}

const clamp = (value, count) => Math.max(0, Math.min(count - 1, value));
