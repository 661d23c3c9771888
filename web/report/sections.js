// What all parts of the page are made of: a card with a title, tiles of figures, warnings.
import { clipped, element } from "../common/dom.js";
import { exact_figure, short_figure } from "../common/figures.js";

// Where several answers stand on a page, each part says whose it is.
export const section = (document, name, title, ...content) =>
  element("section", { class: "card", id: `${document.id}-${name}` },
    element("h2", {}, title, document.several && name !== "overview" && element("span", { class: "muted of" }, ` ${clipped(document.value.name ?? document.file, 60)}`)), ...content);

// Figures in a row of tiles; every tile has all digits as its title.
export function tiles(list) {
  return element("dl", { class: "tiles" }, list.filter((tile) => tile.value !== undefined && tile.value !== null).map(({ name, value, key, note }) =>
    element("div", { class: "tile" }, element("dt", {}, name),
      element("dd", { class: "number", title: exact_figure(value, key), "data-key": key, "data-exact": String(value) }, figure_and_unit(short_figure(value, key))),
      note && element("dd", { class: "small muted" }, note))));
}

function figure_and_unit(text) {
  const [number, ...unit] = text.split(" ");
  return [number, unit.length > 0 && element("span", { class: "unit" }, ` ${unit.join(" ")}`)];
}

export const warning_list = (warnings) => (warnings?.length
  ? element("div", { role: "note", "aria-label": "Warnings" }, warnings.slice(0, 50).map((text) => element("p", { class: "notice warning" }, clipped(text, 1000))), warnings.length > 50 && element("p", { class: "muted" }, `${warnings.length - 50} more`))
  : null);
