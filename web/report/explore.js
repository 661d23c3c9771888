// A table of points to look at: who wins, how figures scale, a map over two axes, every point.
import { choice, clipped, element, replace_children, segmented, table as html_table } from "../common/dom.js";
import { exact_figure, short_figure, unit_of, words_of } from "../common/figures.js";
import { curve_plot, legend_of, swatch } from "../common/plot.js";
import { places_of, series_variable } from "../common/theme.js";
import { curves_svg, map_svg, save_buttons } from "../common/save.js";
import { tip_in } from "../common/tip.js";
import { iteration_parts } from "../common/parts.js";
import { stacked_bars } from "./bars.js";
import { breathe, short_names } from "./data.js";
import { map_plot } from "./map.js";
import { points_table } from "./points_table.js";
import { commands_of, readout_panel, row_values } from "./readout.js";
import { best_of_all, best_rows, bound_rows, contestants, error_between, first_choices, is_contest, joint_axis, method_axes, spans_decade, strength_of, winner_of } from "./selection.js";

const most_series = 24;
const most_cells = 400;  // of an axis of the map

// Functions that make the parts of the page for a table, each null where it has nothing to show.
export async function explore_sections(table) {
  const axes = [];
  for (const column of table.axis_columns) {
    await breathe();
    const axis = await table.axis(column);
    if (axis.values.length > 1) axes.push(axis);
  }
  const names = short_names(axes.map((axis) => axis.key));
  axes.forEach((axis, index) => { axis.name = words_of(names[index]); axis.unit = unit_of(axis.key); axis.looks = places_of(axis.texts); });
  const metrics = [];
  for (const column of table.figure_columns) if (!("constant" in column) || metrics.length === 0) metrics.push(column);
  const metric = ["metrics.iteration_us.mean", "metrics.iteration_us", "time_us", "time_to_target_us.median"].map((key) => table.column(key)).find(Boolean) ?? metrics[0];
  if (!metric || axes.length === 0) return [() => points_table(table, null)];
  await breathe();
  const view = { table, axes, metrics: metrics.includes(metric) ? metrics : [metric, ...metrics], metric, numbers: await table.numbers(metric), ...first_choices(axes), fixed: new Map() };
  for (const axis of axes) view.fixed.set(axis, Math.floor((axis.values.length - 1) / 2));
  view.reread = async function reread(key) { this.metric = this.metrics.find((column) => column.key === key); this.numbers = await table.numbers(this.metric); };
  await breathe();
  view.joint = joint_axis(method_axes(axes), table.rows);
  if (view.joint) view.joint.looks = places_of(view.joint.texts);
  view.rate = await rate_of(view);
  await breathe();
  view.is_bound = await bound_rows(table);
  return [winners_card, curves_card, map_card, breakdown_card, () => points_table(table, view)].map((make) => () => make(view));
}

const most_rated = 20_000;

// Where more nodes are compared, a shorter iteration is no answer: samples a second, or the efficiency.
async function rate_of({ x, metrics, table }) {
  if (!x || !/(^|\.)(nodes|workers|ranks|gpus)$/.test(x.key)) return null;
  if (table.rows > most_rated) return null; // one more column of a hundred thousand numbers keeps clicks waiting
  for (const key of ["metrics.throughput_samples_per_s", "metrics.efficiency"]) {
    const metric = metrics.find((column) => column.key === key);
    const numbers = metric && await table.numbers(metric);
    if (numbers?.some((value) => value > 0)) return { metric, numbers };
  }
  return null;
}

const metric_text = (column) => `${words_of(column.key)}${unit_of(column.key) ? ` (${unit_of(column.key)})` : ""}`;
const axis_option = (axis) => ({ value: axis.key, text: axis.name });

function metric_choice(view, redraw) {
  return choice("Figure", view.metrics.map((column) => ({ value: column.key, text: metric_text(column) })), view.metric.key, async (key) => { await view.reread(key); redraw(); });
}

// Choices for the axes that a drawing does not use.
function fixed_choices(view, used, redraw) {
  const most = 2000;
  const places_of = (axis) => [...axis.texts.keys()].filter((place) => place < most || place === view.fixed.get(axis));
  return view.axes.filter((axis) => !used.includes(axis)).map((axis) =>
    choice(axis.name, [{ value: best_of_all, text: "best of all" }, ...places_of(axis).map((place) => ({ value: String(place), text: axis.texts[place] }))],
      String(view.fixed.get(axis)), (value) => { view.fixed.set(axis, value === best_of_all ? value : Number(value)); redraw(); }));
}

// The same in words, for paper, where there is nothing to choose.
function fixed_note(view, used) {
  const words = view.axes.filter((axis) => !used.includes(axis)).map((axis) => `${axis.name} ${view.fixed.get(axis) === best_of_all ? "best of all" : clipped(axis.texts[view.fixed.get(axis)])}`);
  return element("p", { class: "print-only small" }, [words_of(view.metric.key), ...words].join(", "));
}

const fixed_of = (view, used) => new Map([...view.fixed].filter(([axis]) => !used.includes(axis)));

// The rows that cannot be chosen where the best over these axes is: a strategy that is a bound wins nothing.
function never_best(view, compared, fixed = new Map()) {
  const chosen = [...compared, ...[...fixed].filter(([, place]) => place === best_of_all).map(([axis]) => axis)];
  return chosen.flatMap(parts_of).some((axis) => view.table.json.comparing.choose_strategy.includes(axis.key)) ? view.is_bound : null;
}

const parts_of = (axis) => axis.of ?? [axis];
const sign_of = (view) => view.table.sign_of(view.metric.key);
const best_word = (view) => view.table.best_word(view.metric.key);
const error_of = (view, compare) => error_between(view.table.json.comparing, parts_of(compare), view.metric.key);
const as_good_text = (error) => (error > 0 ? `within ${Number((100 * error).toPrecision(3))} %, the error of such predictions` : "to a millionth");

function tip_content(view, row) {
  const { table, metric } = view;
  const box = element("div", {}, element("strong", {}, short_figure(view.numbers[row], metric.key)), ` ${words_of(metric.key)}`);
  const more = element("div", { class: "small" }, exact_figure(view.numbers[row], metric.key));
  const command = element("code", {});
  const axes = element("div", { class: "small muted" }, view.axes.map((axis) => `${axis.name} ${clipped(axis.texts[axis.places[row]], 40)}`).join(" · "));
  row_values(table, row).then((values) => {
    const found = commands_of(table, values)[0];
    if (found) command.textContent = clipped(found.command, 240);
    const exact = values.get(metric);
    more.textContent = exact_figure(exact, metric.key);
  });
  return [axes, box, more, command];
}

// ---- who wins

function winners_card(view) {
  const compare = view.joint ?? view.compare;
  if (!compare) return null;
  const place = element("div");
  const card = element("section", { class: "card", id: section_id(view, "winners") }, element("h2", {}, "Winners"), place);
  function redraw() {
    const others = view.axes.filter((axis) => axis !== compare && !compare.of?.includes(axis));
    const cells = best_rows(view.table.rows, [...others, compare], new Map(), view.numbers, sign_of(view), never_best(view, [compare]));
    if (!cells) return replace_children(place, element("p", { class: "muted" }, "There are too many combinations to count winners."));
    const error = error_of(view, compare);
    const count = compare.values.length;
    const alone = new Array(count).fill(0);
    const shared = new Array(count).fill(0);
    const takes_part = contestants(cells, count);
    let total = 0;
    let incomplete = 0;
    let best = null;
    for (let at = 0; at < cells.length; at += count) {
      const rows = cells.subarray(at, at + count);
      const winner = winner_of(rows, view.numbers, sign_of(view), error);
      if (!winner) continue;
      if (!best || sign_of(view) * winner.value < sign_of(view) * best.value) best = winner;
      if (!is_contest(rows, takes_part)) { ++incomplete; continue; }
      ++total;
      if (winner.ties.length === 0) ++alone[winner.place];
      else for (const one of [winner.place, ...winner.ties]) ++shared[one];
    }
    const order = compare.values.map((_, one) => one).filter((one) => alone[one] + shared[one] > 0).sort((a, b) => alone[b] + shared[b] - alone[a] - shared[a]);
    const bars = element("div", { class: "bars" }, order.slice(0, 16).map((one) => element("div", { class: "bar-row" },
      element("span", { class: "bar-label" }, clipped(compare.texts[one])),
      element("div", { class: "bar-track", role: "img", "aria-label": `${alone[one]} alone, ${shared[one]} tied, of ${total}` },
        [["bar-part", alone[one]], ["bar-part faded", shared[one]]].filter(([, wins]) => wins > 0).map(([kind, wins]) =>
          element("span", { class: kind, style: { width: `${100 * wins / total}%`, background: series_variable(compare.looks[one]) } }))),
      element("span", { class: "bar-value number" }, `${alone[one]}`, shared[one] > 0 && element("span", { class: "muted" }, ` + ${shared[one]} tied`)))));
    const said = [];
    if (best) {
      const where = view.axes.map((axis) => `${axis.name} ${clipped(axis.texts[axis.places[best.row]], 60)}`).join(", ");
      said.push(element("p", {}, `The ${best_word(view)} `, words_of(view.metric.key), " of all: ",
        element("strong", { class: "number", "data-best": String(best.value) }, short_figure(best.value, view.metric.key)), `, with ${where}.`));
    }
    replace_children(place, element("p", { class: "muted" }, `How many of ${total} ${others.length ? "combinations of the other fields" : "comparisons"} each ${compare.name} wins by the ${best_word(view)} ${words_of(view.metric.key)}; pale: as good as another ${as_good_text(error)}.${incomplete_words(incomplete, "combination", compare)}${bound_words(view, compare)}`), bars, ...said,
      save_buttons(section_id(view, "winners"), { rows: () => [[compare.name, "wins alone", "wins tied", "of"], ...order.map((one) => [compare.texts[one], alone[one], shared[one], total])] }));
  }
  redraw();
  return card;
}

// Who has no opponent wins nothing.
function incomplete_words(count, what, compare) {
  if (count === 0) return "";
  return ` ${count} more ${count === 1 ? `${what} is` : `${what}s are`} incomplete and ${count === 1 ? "counts" : "count"} for nobody: not every ${compare.name} has a figure there, or there is only one.`;
}

function bound_words(view, compare) {
  if (!never_best(view, [compare])) return "";
  const { bounds } = view.table.json.comparing;
  return ` ${bounds.join(", ")} is a bound, which no program reaches; it wins nothing.`;
}

const section_id = (view, name) => `table-${view.table.index}-${name}`;

// ---- curves

function curves_card(of_table) {
  if (!of_table.x) return null;
  const view = { ...of_table, ...of_table.rate };
  const controls = element("div", { class: "controls no-print" });
  const place = element("div");
  const readout = readout_panel();
  const card = element("section", { class: "card", id: section_id(view, "curves") }, element("h2", {}, "Curves"), controls, place, readout.node);
  const state = { x: view.x, compare: view.compare, log_x: null, log_y: null, hidden: new Set() };
  let drawn = null;

  function redraw() {
    const { x, compare } = state;
    const used = [x, compare].filter(Boolean);
    const scale_x = x.numbers && spans_decade(x.numbers);
    const groups = compare ? [compare, x] : [x];
    const fixed = fixed_of(view, used);
    const rows = best_rows(view.table.rows, groups, fixed, view.numbers, sign_of(view), never_best(view, [], fixed)) ?? new Int32Array(0);
    const count = x.values.length;
    const names = compare ? compare.texts : [words_of(view.metric.key)];
    const series = [];
    for (let one = 0; one < names.length && series.length < most_series; ++one) {
      const own = rows.subarray(one * count, (one + 1) * count);
      const values = Array.from(own, (row) => (row < 0 ? null : view.numbers[row]));
      if (values.some((value) => value !== null)) series.push({ name: names[one], index: compare ? compare.looks[one] : 0, at: one, values, rows: own, hidden: state.hidden.has(one) });
    }
    const known = series.flatMap((one) => one.values.filter((value) => value !== null));
    const can_log_y = known.length > 0 && known.every((value) => value > 0);
    const log_x = scale_x && (state.log_x ?? true);
    const log_y = can_log_y && (state.log_y ?? spans_decade(known));
    const xs = x.numbers ?? x.values.map((_, at) => at);
    const text_of_x = new Map(xs.map((number, at) => [number, x.texts[at]]));
    drawn?.remove();
    const figure = plot_scale(view.metric.key);
    drawn = curve_plot({
      label: `${words_of(view.metric.key)} over ${x.name}${compare ? `, one curve per ${compare.name}` : ""}; arrow keys walk along the curves`,
      height: innerWidth < 560 ? 300 : 400,
      points_only: !x.numbers,
      x: { label: x.name, values: xs, is_log: log_x, marks: count <= 24 || !x.numbers ? xs : null, text: (value, digits) => clipped(text_of_x.get(value) ?? short_figure(value, x.key, digits), 14) },
      y: { label: plot_label(view.metric.key), is_log: log_y, text: figure },
      series,
      on_point: (one, at, where) => { if (one.rows[at] >= 0) tip.show(where.left + 64, where.top, compare && element("div", {}, swatch(one.index), clipped(one.name)), ...tip_content(view, one.rows[at])); },
      on_pick: (one, at) => { if (one.rows[at] >= 0) readout.show(view.table, one.rows[at], view.metric); },
    });
    const tip = tip_in(drawn.node);
    drawn.node.addEventListener("pointerleave", () => tip.hide());
    replace_children(place, fixed_note(view, used), compare && legend_of(series, (one, is_shown) => {
      drawn.show_series(series.indexOf(one), is_shown);
      if (is_shown) state.hidden.delete(one.at); else state.hidden.add(one.at);
    }), drawn.node, curve_files(view, { x, compare, series, xs, log_x, log_y, text_of_x }),
      compare && names.length > series.length && series.length === most_series && element("p", { class: "small muted" }, `The first ${most_series} of ${names.length} are drawn.`),
      curve_table(view, x, compare, series));
    replace_children(controls, metric_choice(view, redraw),
      choice("Over", view.axes.map(axis_option), x.key, (key) => { state.x = view.axes.find((axis) => axis.key === key); if (state.x === state.compare) state.compare = null; redraw(); }),
      choice("One curve per", [{ value: "", text: "–" }, ...view.axes.filter((axis) => axis !== x && axis.values.length <= 512).map(axis_option)], compare?.key ?? "", (key) => { state.compare = view.axes.find((axis) => axis.key === key) ?? null; state.hidden.clear(); redraw(); }),
      ...fixed_choices(view, used, redraw),
      scale_x && check("log across", log_x, (value) => { state.log_x = value; redraw(); }),
      can_log_y && check("log up", log_y, (value) => { state.log_y = value; redraw(); }));
  }
  redraw();
  return card;
}

// Axis labels in one unit per mark.
// Times and sizes say their unit at every mark, because it changes; others say it once, beside the axis.
const own_unit = (key) => ["us", "ps", "B"].includes(unit_of(key));
const plot_scale = (key) => (value, digits = 4) => (value === 0 ? "0" : own_unit(key) ? short_figure(value, key, digits) : String(Number(value.toPrecision(Math.max(4, digits)))));
const plot_label = (key) => `${words_of(key)}${own_unit(key) || !unit_of(key) ? "" : ` (${unit_of(key)})`}`;

function check(text, value, on_change) {
  return element("label", { class: "check" }, element("input", { type: "checkbox", checked: value, on: { change: (event) => on_change(event.target.checked) } }), text);
}

// What is shown, as files.
function curve_files(view, { x, compare, series, xs, log_x, log_y, text_of_x }) {
  const shown = () => series.filter((one) => !one.hidden);
  return save_buttons(section_id(view, "curves"), {
    svg: () => curves_svg({
      title: `${metric_text(view.metric)} by ${x.name}`, points_only: !x.numbers,
      x: { label: x.name, is_log: log_x, marks: xs.length <= 24 || !x.numbers ? xs : undefined, text: (value, digits) => clipped(text_of_x.get(value) ?? short_figure(value, x.key, digits), 14) },
      y: { label: plot_label(view.metric.key), is_log: log_y, text: plot_scale(view.metric.key) },
      series: shown().map((one) => ({ name: one.name, place: one.index, points: one.values.map((value, at) => [xs[at], value]).filter(([, value]) => value !== null) })),
    }),
    rows: () => [[x.key, ...shown().map((one) => (compare ? one.name : view.metric.key))], ...x.values.map((_, at) => [x.texts[at], ...shown().map((one) => one.values[at])])],
  });
}

function curve_table(view, x, compare, series) {
  const shown = x.values.slice(0, 500);
  return element("details", { class: "alternative" }, element("summary", {}, "Figures of these curves"),
    html_table(`${metric_text(view.metric)} by ${x.name}`, [{ title: x.name }, ...series.map((one) => ({ title: clipped(one.name, 40), figure: true }))],
      shown.map((_, at) => [x.texts[at], ...series.map((one) => (one.values[at] === null ? "–" : String(one.values[at])))])));
}

// ---- the map

function map_card(view) {
  if (!view.x || !view.y || view.x === view.y) return null;
  const controls = element("div", { class: "controls no-print" });
  const place = element("div");
  const readout = readout_panel();
  const card = element("section", { class: "card", id: section_id(view, "map") }, element("h2", {}, "Map"), controls, place, readout.node);
  const small = view.axes.filter((axis) => axis.values.length <= most_cells);
  if (!small.includes(view.x) || !small.includes(view.y)) return null;
  const state = { x: view.x, y: view.y, compare: view.compare, mode: view.compare ? "winner" : "value" };
  let drawn = null;

  function redraw() {
    const { x, y } = state;
    const compare = state.compare && ![x, y].includes(state.compare) ? state.compare : null;
    const mode = compare ? state.mode : "value";
    const used = mode === "winner" ? [x, y, compare] : [x, y];
    const fixed = fixed_of(view, used);
    const rows = best_rows(view.table.rows, mode === "winner" ? [y, x, compare] : [y, x], fixed, view.numbers, sign_of(view), never_best(view, mode === "winner" ? [compare] : [], fixed));
    if (!rows) { state.mode = "value"; return redraw(); }  // a figure per cell is never too many
    const { cells, incomplete } = mode === "winner" ? winner_cells(view, rows, compare) : { cells: value_cells(view, rows), incomplete: 0 };
    const at = (column, row) => cells[row * x.values.length + column] ?? null;
    drawn?.remove();
    drawn = map_plot({
      label: `${mode === "winner" ? `Best ${compare.name} by the ${best_word(view)} ${words_of(view.metric.key)}` : words_of(view.metric.key)} over ${x.name} and ${y.name}; arrow keys walk over the cells`,
      x: { label: x.name, texts: x.texts }, y: { label: y.name, texts: y.texts },
      cell: at,
      tip_of: (column, row) => { const cell = at(column, row); return [cell.title && element("div", {}, element("strong", {}, cell.title())), ...tip_content(view, cell.row)].filter(Boolean); },
      on_pick: (column, row) => readout.show(view.table, at(column, row).row, view.metric),
    });
    const seen = mode === "winner" ? [...new Set(cells.filter(Boolean).map((cell) => cell.place))].sort((a, b) => a - b) : [];
    replace_children(place, fixed_note(view, used),
      mode === "winner" && element("ul", { class: "legend" }, seen.map((one) => element("li", { class: "small" }, swatch(compare.looks[one]), clipped(compare.texts[one], 40)))),
      mode === "winner" && element("p", { class: "small muted" }, `The ${best_word(view)} ${words_of(view.metric.key)} of each cell; full colour where the next is 5 % behind, pale where several are as good (${as_good_text(error_of(view, compare))}); +n: n others are.${incomplete_words(incomplete, "cell", compare)}`),
      drawn.node, mode === "value" && scale_legend(view, cells), save_buttons(section_id(view, "map"), {
        svg: () => map_svg({ title: `${mode === "winner" ? `Best ${compare.name} by the ${best_word(view)} ` : ""}${metric_text(view.metric)}`, x: { label: x.name, texts: x.texts }, y: { label: y.name, texts: y.texts }, cell: at, legend: seen.map((one) => ({ name: compare.texts[one], place: compare.looks[one] })) }),
        rows: () => [[y.key, x.key, ...(mode === "winner" ? [compare.key] : []), view.metric.key], ...y.texts.flatMap((text, row) => x.texts.map((other, column) => { const cell = at(column, row); return [text, other, ...(mode === "winner" ? [cell?.name()] : []), cell?.value]; }))],
      }), map_table(view, x, y, at));
    const compare_axes = view.axes.filter((axis) => axis !== x && axis !== y && axis.values.length <= 64);
    replace_children(controls, metric_choice(view, redraw),
      choice("Across", small.map(axis_option), x.key, (key) => { const next = small.find((axis) => axis.key === key); if (next === y) state.y = x; state.x = next; redraw(); }),
      choice("Up", small.map(axis_option), y.key, (key) => { const next = small.find((axis) => axis.key === key); if (next === x) state.x = y; state.y = next; redraw(); }),
      compare_axes.length > 0 && element("div", { class: "field" }, segmented("What is shown", [{ value: "winner", text: "Winner" }, { value: "value", text: "Figure" }], mode, (value) => { state.mode = value; state.compare ??= compare_axes[0]; redraw(); })),
      mode === "winner" && compare_axes.length > 1 && choice("Winner among", compare_axes.map(axis_option), compare.key, (key) => { state.compare = view.axes.find((axis) => axis.key === key); redraw(); }),
      ...fixed_choices(view, used, redraw));
  }
  redraw();
  return card;
}

function winner_cells(view, rows, compare) {
  const count = compare.values.length;
  const error = error_of(view, compare);
  const takes_part = contestants(rows, count);
  const cells = [];
  let incomplete = 0;
  for (let at = 0; at < rows.length; at += count) {
    const compared = rows.subarray(at, at + count);
    const winner = winner_of(compared, view.numbers, sign_of(view), error);
    if (!winner) { cells.push(null); continue; }
    if (!is_contest(compared, takes_part)) { cells.push(null); ++incomplete; continue; }
    const name = () => compare.texts[winner.place] + (winner.ties.length ? ` +${winner.ties.length}` : "");
    const title = () => [winner.place, ...winner.ties.slice(0, 8)].map((one) => clipped(compare.texts[one], 40)).join(" = ");
    cells.push({ kind: "winner", place: winner.place, series: compare.looks[winner.place], strength: strength_of(winner), row: winner.row, value: winner.value, name, title, lines: () => [name(), short_figure(winner.value, view.metric.key)] });
  }
  return { cells, incomplete };
}

function value_cells(view, rows) {
  const known = Array.from(rows).filter((row) => row >= 0).map((row) => view.numbers[row]);
  const [least, most] = [known.reduce((a, b) => Math.min(a, b), Infinity), known.reduce((a, b) => Math.max(a, b), -Infinity)];
  const is_log = least > 0 && most / least >= 8;
  const part = (value) => (most > least ? (is_log ? Math.log(value / least) / Math.log(most / least) : (value - least) / (most - least)) : 0.5);
  return Array.from(rows, (row) => (row < 0 ? null : { kind: "value", part: part(view.numbers[row]), row, value: view.numbers[row], lines: () => [short_figure(view.numbers[row], view.metric.key)] }));
}

function scale_legend(view, cells) {
  const known = cells.filter(Boolean).map((cell) => cell.value);
  if (known.length === 0) return null;
  const [least, most] = [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))];
  return element("div", { class: "scale small number" }, element("span", {}, short_figure(least, view.metric.key)), element("span", { class: "scale-colours", "aria-hidden": "true" }), element("span", {}, short_figure(most, view.metric.key)), least > 0 && most / least >= 8 && element("span", { class: "muted" }, "logarithmic"));
}

function map_table(view, x, y, at) {
  if (x.values.length * y.values.length > 5000) return null;
  return element("details", { class: "alternative" }, element("summary", {}, "Figures of this map"),
    html_table(`${metric_text(view.metric)}: ${y.name} down, ${x.name} across`, [{ title: y.name }, ...x.texts.map((text) => ({ title: clipped(text, 40), figure: true }))],
      y.texts.map((text, row) => [text, ...x.texts.map((_, column) => { const cell = at(column, row); return cell ? `${cell.name ? `${clipped(cell.name(), 40)}: ` : ""}${cell.value}` : "–"; })])));
}

// ---- breakdown of the compared values at one place

function breakdown_card(view) {
  const columns = iteration_parts.map((part) => view.table.column(`metrics.${part.key}`)).filter(Boolean);
  const compare = view.compare ?? (view.axes.length === 1 ? view.axes[0] : null);
  if (columns.length < 2 || !compare) return null;
  const controls = element("div", { class: "controls no-print" });
  const place = element("div");
  const card = element("section", { class: "card", id: section_id(view, "breakdown") }, element("h2", {}, "Breakdown"), controls, place);
  const iteration = view.table.column("metrics.iteration_us.mean") ?? view.table.column("iteration_ps");
  async function redraw() {
    const parts = await Promise.all(columns.map((column) => view.table.numbers(column)));
    const times = await view.table.numbers(iteration);
    const fixed = fixed_of(view, [compare]);
    const rows = best_rows(view.table.rows, [compare], fixed, times, 1, never_best(view, [], fixed)) ?? new Int32Array(0);
    const bars = Array.from(rows, (row, one) => ({ row, one })).filter(({ row }) => row >= 0).slice(0, 40).map(({ row, one }) => ({
      label: compare.texts[one],
      values: Object.fromEntries(columns.map((column, index) => [column.key.replace("metrics.", ""), parts[index][row]])),
      total: iteration.key === "iteration_ps" ? times[row] / 1e6 : times[row],
    }));
    replace_children(place, fixed_note({ ...view, metric: iteration }, [compare]), bars.length > 0 ? stacked_bars(`What an iteration consists of, by ${compare.name}`, iteration_parts, bars, { total_key: "iteration_us" }) : element("p", { class: "muted" }, "There is no result at this place."));
    replace_children(controls, ...fixed_choices(view, [compare], redraw));
  }
  redraw();
  return card;
}
