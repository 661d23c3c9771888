// A small box beside the pointer, and canvases that are sharp on every screen.
import { element, replace_children } from "./dom.js";
import { on_theme_change } from "./theme.js";

// One tip of `place`, shown at a point of it; nothing of it is read aloud, because what it says is in the
// readout too. It stands above all that scrolls, and goes when anything scrolls.
export function tip_in(place) {
  const box = element("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  place.append(box);
  const hide = () => { box.hidden = true; };
  return {
    show(left, top, ...content) {
      replace_children(box, ...content);
      box.hidden = false;
      addEventListener("scroll", hide, { passive: true, capture: true, once: true });
      const { left: place_left, top: place_top } = place.getBoundingClientRect();
      const [x, y] = [place_left + left, place_top + top];
      const [width, height] = [box.offsetWidth, box.offsetHeight];
      const at = x + 14 + width > innerWidth - 4 ? x - 14 - width : x + 14;
      const below = y + 12 + height > innerHeight - 4 ? y - 12 - height : y + 12;
      box.style.left = `${Math.round(Math.max(4, Math.min(at, innerWidth - width - 4)))}px`;
      box.style.top = `${Math.round(Math.max(4, below))}px`;
    },
    hide,
  };
}

// A canvas as wide as its place; `draw(context, width, height)` in CSS pixels, again at every change of
// size or colours. `height_of(width)` may depend on the width.
export function canvas_in(place, height_of, draw) {
  const canvas = element("canvas", { "aria-hidden": "true" });
  place.append(canvas);
  let width = 0;
  let planned = false;
  function redraw() {
    planned = false;
    width = Math.max(240, Math.floor(place.clientWidth));
    const height = Math.round(height_of(width));
    const ratio = Math.max(1, devicePixelRatio);
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = canvas_font();
    draw(context, width, height);
  }
  function plan() {
    if (planned) return;
    planned = true;
    requestAnimationFrame(redraw);
  }
  const watch = new ResizeObserver(() => { if (Math.floor(place.clientWidth) !== width) plan(); });
  watch.observe(place);
  const forget = on_theme_change(redraw);
  canvas.style.height = `${Math.round(height_of(600))}px`;  // until it has a place, and thereby a width
  return { canvas, redraw: plan, redraw_now: redraw, remove() { watch.disconnect(); forget(); canvas.remove(); } };
}

export const canvas_font = (size = 12, weight = 400) =>
  `${weight} ${size}px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif`;

// As much of a text as fits, with an ellipsis.
export function fitting_text(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let least = 0;
  let most = Math.min(text.length, 200);
  while (least < most) {
    const middle = (least + most + 1) >> 1;
    if (context.measureText(text.slice(0, middle) + "…").width <= width) least = middle;
    else most = middle - 1;
  }
  return least > 0 ? text.slice(0, least) + "…" : "";
}

// A colour between two, given as #rrggbb.
export function mixed(from, to, part) {
  const channels = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  const [a, b] = [channels(from), channels(to)];
  return "#" + a.map((value, index) => Math.round(value + (b[index] - value) * part).toString(16).padStart(2, "0")).join("");
}

// Whether white letters are read better on it than black ones.
export function is_dark(fill) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(fill.slice(at, at + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.18;
}
