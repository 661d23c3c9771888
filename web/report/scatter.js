// Predicted against measured, both logarithmic, with the line where they agree.
import { clipped, element, walkable } from "../common/dom.js";
import { short_duration } from "../common/figures.js";
import { colour, series_colour } from "../common/theme.js";
import { canvas_font, canvas_in, tip_in } from "../common/tip.js";

const margin = { left: 78, right: 14, top: 10, bottom: 46 };

// `points`: [{x, y, series, lines: [text]}], x and y above 0, in us. `band`: a share around the line.
export function scatter_plot({ label, x_label, y_label, points, band, on_pick }) {
  const place = element("div", { class: "plot", ...walkable, "aria-label": label });
  const tip = tip_in(place);
  const all = points.flatMap((point) => [point.x, point.y]).filter((value) => value > 0);
  const shown = points.filter((point) => point.x > 0 && point.y > 0);
  const least = all.reduce((a, b) => Math.min(a, b), Infinity) / 1.3;
  const most = all.reduce((a, b) => Math.max(a, b), 0) * 1.3;
  let size = { width: 1, height: 1 };
  let chosen = -1;
  const across = (value) => margin.left + (Math.log(value / least) / Math.log(most / least)) * (size.width - margin.left - margin.right);
  const up = (value) => size.height - margin.bottom - (Math.log(value / least) / Math.log(most / least)) * (size.height - margin.top - margin.bottom);

  const drawing = canvas_in(place, (width) => Math.min(480, Math.max(280, width * 0.7)), (context, width, height) => {
    size = { width, height };
    draw_grid(context);
    if (band) {
      context.fillStyle = colour("--accent");
      context.globalAlpha = 0.1;
      context.beginPath();
      context.moveTo(across(least), up(least * (1 + band)));
      context.lineTo(across(most / (1 + band)), up(most));
      context.lineTo(across(most), up(most));
      context.lineTo(across(most), up(most * (1 - band)));
      context.lineTo(across(least / (1 - band)), up(least));
      context.lineTo(across(least), up(least));
      context.fill();
      context.globalAlpha = 1;
    }
    context.strokeStyle = colour("--muted");
    context.setLineDash([4, 4]);
    context.beginPath();
    context.moveTo(across(least), up(least));
    context.lineTo(across(most), up(most));
    context.stroke();
    context.setLineDash([]);
    shown.forEach((point, index) => {
      context.fillStyle = series_colour(point.series);
      context.globalAlpha = index === chosen ? 1 : 0.75;
      context.beginPath();
      context.arc(across(point.x), up(point.y), index === chosen ? 6 : 3.5, 0, 2 * Math.PI);
      context.fill();
      if (index !== chosen) return;
      context.strokeStyle = colour("--text");
      context.lineWidth = 2;
      context.stroke();
      context.lineWidth = 1;
    });
    context.globalAlpha = 1;
  });

  function draw_grid(context) {
    context.strokeStyle = colour("--line");
    context.fillStyle = colour("--muted");
    context.font = canvas_font(12);
    const decades = Math.log10(most / least);
    const every = Math.max(1, Math.ceil(decades / 6));
    const steps = decades < 1.5 ? [1, 2, 5] : [1];
    for (let power = Math.floor(Math.log10(least)); power <= Math.log10(most); power += every)
      for (const step of steps) {
        const value = Number(`${step}e${power}`);
        if (value < least || value > most) continue;
        context.beginPath();
        context.moveTo(across(value), margin.top);
        context.lineTo(across(value), size.height - margin.bottom);
        context.moveTo(margin.left, up(value));
        context.lineTo(size.width - margin.right, up(value));
        context.stroke();
        context.textAlign = "center";
        context.textBaseline = "top";
        context.fillText(short_duration(value, 1), across(value), size.height - margin.bottom + 6);
        context.textAlign = "right";
        context.textBaseline = "middle";
        context.fillText(short_duration(value, 1), margin.left - 6, up(value));
      }
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillText(x_label, (margin.left + size.width - margin.right) / 2, size.height - 6);
    context.save();
    context.translate(12, (size.height - margin.bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(y_label, 0, 4);
    context.restore();
  }

  function show(index, picks) {
    chosen = index;
    drawing.redraw();
    const point = shown[index];
    tip.show(across(point.x), up(point.y), point.lines.map((line, at) => element(at === 0 ? "strong" : "div", { class: "number" }, clipped(line, 200))));
    if (picks) on_pick?.(point);
  }

  function nearest(event) {
    const bounds = drawing.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    let [best, distance] = [-1, 900];
    shown.forEach((point, index) => {
      const away = (across(point.x) - x) ** 2 + (up(point.y) - y) ** 2;
      if (away < distance) [best, distance] = [index, away];
    });
    return best;
  }
  place.addEventListener("pointermove", (event) => {
    const index = nearest(event);
    if (index < 0) tip.hide();
    else if (index !== chosen) show(index, false);
  });
  place.addEventListener("pointerleave", () => tip.hide());
  place.addEventListener("click", (event) => { const index = nearest(event); if (index >= 0) show(index, true); });
  const order = shown.map((_, index) => index).sort((a, b) => shown[a].x - shown[b].x);
  place.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!step || order.length === 0) return;
    event.preventDefault();
    show(order[Math.max(0, Math.min(order.length - 1, (chosen < 0 ? -step : order.indexOf(chosen)) + step))] ?? order[0], true);
  });
  return place;
}
