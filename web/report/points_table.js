// Every row of a table, a page at a time: sorted by a column, filtered by a word.
import { clipped, element, replace_children } from "../common/dom.js";
import { exact_figure, words_of } from "../common/figures.js";
import { value_text } from "./data.js";
import { readout_panel } from "./readout.js";

const page_rows = 25;

export async function points_table(table, view) {
  const plain = (column) => !("constant" in column) && column.key !== "point" && column.key !== "id";
  const axes = table.axis_columns.filter((column) => table.axis_columns.length <= 4 || plain(column));
  const wanted = ["iteration_us.mean", "comm_exposed_us", "speedup", "efficiency", "throughput_samples_per_s", "time_us", "algbw_GBps", "busbw_GBps", "messages"];
  const figures = wanted.map((ending) => table.figure_columns.find((column) => column.key.endsWith(ending))).filter(Boolean).slice(0, 5);
  const problems = table.note_columns.filter((column) => ["error", "why_not"].includes(column.key));
  const words = table.kind === "layouts" ? table.note_columns.filter((column) => column.key === "layout") : [];
  const columns = [...axes, ...words, ...(figures.length ? figures : table.figure_columns.slice(0, 5)), ...problems];
  const state = { sort: null, down: false, page: 0, word: "" };
  const readout = readout_panel();
  const body = element("tbody");
  const status = element("span", { class: "small muted", role: "status" });
  const place = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "All points" });
  let order = null;

  const head = element("tr", {}, columns.map((column) => element("th", { scope: "col", class: column.role === "figure" && "figure" },
    element("button", { type: "button", class: "plain sort", on: { click: () => sort_by(column) } }, words_of(column.key.split(".").slice(column.role === "axis" ? -1 : 0).join("."))))));
  place.append(element("table", {}, element("caption", { class: "visually-hidden" }, "All points; a row's button shows it in full"), element("thead", {}, head), body));

  // Sorted once per column; what is filtered keeps that order.
  const orders = new Map();
  async function sorted_rows(column) {
    if (orders.has(column)) return orders.get(column);
    const rows = new Uint32Array(table.rows);
    for (let row = 0; row < table.rows; ++row) rows[row] = row;
    if (column) {
      const numbers = column.role === "axis" ? (await table.axis(column)).places : await table.numbers(column);
      const known = rows.filter((row) => !Number.isNaN(numbers[row])).sort((a, b) => numbers[a] - numbers[b] || a - b);
      return keep(column, known, rows.filter((row) => Number.isNaN(numbers[row])));
    }
    return keep(column, rows, new Uint32Array(0));
  }

  function keep(column, known, without) {
    orders.set(column, { known, without });
    return orders.get(column);
  }

  // Rows without a figure come last, both ways.
  async function ordered_rows() {
    const { known, without } = await sorted_rows(state.sort);
    return Uint32Array.from([...(state.down ? known.toReversed() : known), ...without]);
  }

  async function reorder() {
    const all = await Promise.all(columns.map((column) => table.values(column)));
    order = await ordered_rows();
    if (state.word) {
      const fits = await rows_with(state.word.toLowerCase());
      order = order.filter(fits);
    }
    state.page = Math.min(state.page, Math.max(0, Math.ceil(order.length / page_rows) - 1));
    fill(all);
  }

  // Words are looked for in what was varied and in notes; each different text once.
  async function rows_with(word) {
    const texts = columns.filter((column) => column.role !== "figure");
    const axes = await Promise.all(texts.map((column) => table.axis(column)));
    const found = axes.map((axis) => Uint8Array.from(axis.texts, (text) => (text.toLowerCase().includes(word) ? 1 : 0)));
    return (row) => axes.some((axis, index) => found[index][axis.places[row]] === 1);
  }

  function fill(all) {
    const first = state.page * page_rows;
    const rows = Array.from(order.subarray(first, first + page_rows));
    replace_children(body, ...rows.map((row) => element("tr", {}, columns.map((column, index) => {
      const value = all[index][row];
      const text = column.role === "figure" ? exact_figure(value, column.key) : clipped(value_text(value), 80);
      const cell = index === 0 ? element("button", { type: "button", class: "plain", "aria-label": `Show point ${row}: ${text}`, on: { click: () => readout.show(table, row, view?.metric ?? table.figure_columns[0]) } }, text) : text;
      return element("td", { class: column.role === "figure" && "figure" }, cell);
    }))));
    status.textContent = order.length === 0 ? "No row has this word." : `${first + 1} to ${first + rows.length} of ${order.length}`;
    for (const [index, cell] of [...head.children].entries())
      cell.setAttribute("aria-sort", state.sort === columns[index] ? (state.down ? "descending" : "ascending") : "none");
  }

  function sort_by(column) {
    if (column.role === "note") return;
    state.down = state.sort === column ? !state.down : false;
    state.sort = column;
    state.page = 0;
    reorder();
  }

  const turn = (pages) => () => { state.page = Math.max(0, Math.min(Math.ceil(order.length / page_rows) - 1, state.page + pages)); reorder(); };
  const filter = element("input", { type: "text", "aria-label": "Show rows with this word", placeholder: "Filter", on: { input: (event) => { state.word = event.target.value; state.page = 0; reorder(); } } });
  await reorder();
  return element("section", { class: "card", id: `table-${table.index}-points` },
    element("div", { class: "row spread" }, element("h2", {}, table.kind === "results" ? "All results" : "All points"), element("div", { class: "row no-print" }, filter)),
    place,
    element("div", { class: "row no-print" }, element("button", { type: "button", on: { click: turn(-1) } }, "Previous"), element("button", { type: "button", on: { click: turn(1) } }, "Next"), status),
    readout.node);
}
