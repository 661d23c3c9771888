// The winners' map: a table of buttons, so that it is read aloud, walked by keys and clicked. A cell
// has the colour of the best strategy, stronger the further it is ahead.
import { busy_switch, element, replace_children } from "../common/dom.js";
import { rounded, short_duration } from "../common/figures.js";
import { places_of, series_variable } from "../common/theme.js";
import { problem } from "./result.js";

export function map_view(strategies, on_pick) {
  const looks = places_of(strategies);
  const body = element("div");
  const readout = element("p", { class: "readout", role: "status" });
  const note = element("span", { class: "small muted" });
  const node = element("section", { class: "card", "aria-labelledby": "map-title" },
    element("div", { class: "row spread" }, element("h2", { id: "map-title" }, "Which strategy wins"), note), body, readout);
  let drawn = null;  // the axes for which there are cells
  let cells = [];

  function build(axes) {
    const [rows, columns] = axes;
    cells = [];
    const head = element("tr", {}, element("th", { scope: "col" }, element("span", { class: "visually-hidden" }, `${rows.title} and ${columns.title}`)),
      columns.texts.map((text) => element("th", { scope: "col" }, text)));
    const lines = rows.texts.map((text, row) => element("tr", {}, element("th", { scope: "row" }, text), columns.texts.map((other, column) => {
      const place = { row, column };
      const button = element("button", {
        type: "button", tabindex: cells.length === 0 ? 0 : -1,
        on: {
          click: () => on_pick({ [rows.name]: rows.values[row], [columns.name]: columns.values[column] }),
          focus: () => tell(place), mouseenter: () => tell(place), keydown: (event) => walk(event, place, columns.texts.length),
        },
      });
      cells.push({ button, title: `${text}, ${other}` });
      return element("td", {}, button);
    })));
    replace_children(body, element("div", { class: "map-scroll" }, element("table", { class: "map" },
      element("caption", {}, `${rows.title} downwards, ${columns.title} to the right. Click a cell to go there.`),
      element("colgroup", {}, element("col", { class: "label" })), element("thead", {}, head), element("tbody", {}, lines))), legend());
  }

  const legend = () => element("ul", { class: "key", "aria-label": "Strategies" }, strategies.map((name, index) =>
    element("li", {}, element("span", { class: "swatch", style: { background: series_variable(looks[index]) } }), name)));

  function walk(event, { row, column }, width) {
    const [down, right] = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key] ?? [0, 0];
    if (down === 0 && right === 0) return;
    event.preventDefault();
    const next = column + right >= 0 && column + right < width ? cells[(row + down) * width + column + right] : null;
    if (!next) return;
    for (const cell of cells) cell.button.tabIndex = -1;
    next.button.tabIndex = 0;
    next.button.focus();
  }

  const tell = ({ row, column }) => { readout.textContent = cells[row * drawn[1].texts.length + column].words ?? ""; };

  function fill(answer) {
    answer.winners.forEach((winner, index) => {
      const { button, title } = cells[index];
      if (winner.best === undefined) {
        button.style.background = "var(--sunken)";
        replace_children(button, "–");
        cells[index].words = `${title}: cannot be simulated`;
        return;
      }
      const ahead = winner.ahead_percent ?? 0;
      const names = [winner.best, ...winner.ties].map((one) => strategies[one]);
      const us = answer.iteration_ps[index * strategies.length + winner.best] / 1e6;
      const strength = Math.round(100 * Math.min(1, 0.45 + ahead / 40));
      button.style.background = `color-mix(in oklab, ${series_variable(looks[winner.best])} ${strength}%, var(--card))`;
      button.className = strength > 80 ? "strong" : strength > 56 ? "middle" : "weak";
      const tied = winner.ties.length > 0 ? `+${winner.ties.length}` : "";
      replace_children(button, strategies[winner.best], tied && ` ${tied}`, element("small", {}, short_duration(us, 3)));
      cells[index].words = `${title}: ${short_duration(us, 5)} by ${names.join(", ")}` +
        (winner.ahead_percent === undefined ? "" : `; the next is ${rounded(ahead, 3)} % slower`);
      button.setAttribute("aria-label", cells[index].words);
    });
  }

  return {
    node,
    busy: busy_switch(node),
    // `axes`: two of {name, title, texts, values}, rows first.
    show(axes, answer, milliseconds) {
      readout.textContent = "";
      if (answer.error) {
        drawn = null;
        return replace_children(body, problem(answer.error));
      }
      if (JSON.stringify(drawn) !== JSON.stringify(axes)) build(axes);
      drawn = axes;
      fill(answer);
      note.textContent = `${answer.points} points in ${rounded(milliseconds, 2)} ms`;
      note.dataset.milliseconds = milliseconds;
      if (answer.errors.length > 0) readout.textContent = `${answer.errors[0].points} points cannot be simulated: ${answer.errors[0].error}`;
    },
    // Where the sliders stand.
    mark(place) {
      cells.forEach(({ button }, index) => {
        const is_here = place && index === place.row * drawn[1].texts.length + place.column;
        if (is_here) button.setAttribute("aria-current", "true");
        else button.removeAttribute("aria-current");
      });
    },
    nothing(sentence) {
      drawn = null;
      cells = [];
      note.textContent = "";
      replace_children(body, element("p", { class: "muted" }, sentence));
    },
  };
}
