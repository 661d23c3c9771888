// Which row of a table stands for a place of a diagram. Pure functions of typed arrays: a hundred thousand
// rows take a few milliseconds.
import { is_tie } from "./data.js";

export const best_of_all = "best";
const most_groups = 4_000_000;

// The rows that the fixed axes leave: axes with a place keep its rows only, "best" keeps all.
function kept_rows(count, fixed) {
  const conditions = [...fixed].filter(([, place]) => place !== best_of_all).map(([axis, place]) => ({ places: axis.places, place }));
  const rows = new Uint32Array(count);
  let length = 0;
  for (let row = 0; row < count; ++row) {
    let keeps = true;
    for (const { places, place } of conditions) if (places[row] !== place) { keeps = false; break; }
    if (keeps) rows[length++] = row;
  }
  return rows.subarray(0, length);
}

// For every combination of the `groups` axes (the first changes slowest) the row whose figure is best;
// -1 where none has a figure. `sign`: 1 where less is better, -1 where more is. Rows of `is_bound` do not take part.
export function best_rows(count, groups, fixed, numbers, sign, is_bound = null) {
  const sizes = groups.map((axis) => axis.values.length);
  const total = sizes.reduce((product, size) => product * size, 1);
  if (total > most_groups) return null;
  const best = new Int32Array(total).fill(-1);
  for (const row of kept_rows(count, fixed)) {
    const value = numbers[row];
    if (Number.isNaN(value) || is_bound?.[row]) continue;
    let place = 0;
    for (let group = 0; group < groups.length; ++group) place = place * sizes[group] + groups[group].places[row];
    const other = best[place];
    if (other < 0 || sign * value < sign * numbers[other]) best[place] = row;
  }
  return best;
}

// Whether all compared values are in a cell, two at least: only then somebody wins. `takes_part`: 1 for each value that
// can win.
export function is_contest(rows, takes_part) {
  let count = 0;
  for (let one = 0; one < rows.length; ++one) {
    if (!takes_part[one]) continue;
    if (rows[one] < 0) return false;
    ++count;
  }
  return count > 1;
}

// Of the compared values those that can win: with a figure somewhere, and no bound.
export function contestants(cells, count) {
  const takes_part = new Uint8Array(count);
  for (let at = 0; at < cells.length; ++at) if (cells[at] >= 0) takes_part[at % count] = 1;
  return takes_part;
}

// Of the rows of a cell (one per compared value, -1 for none) the winner: {place, row, value, ties: [place],
// next (value of the best one that is not as good, or null)}; null if there is none. As good as the best is what
// is within `error` of it, and in any case what equals it to a millionth.
export function winner_of(rows, numbers, sign, error) {
  let place = -1;
  for (let one = 0; one < rows.length; ++one) {
    if (rows[one] < 0) continue;
    const [value, best] = [numbers[rows[one]], numbers[rows[place]]];
    if (place < 0 || (sign * value < sign * best && !is_tie(value, best))) place = one;
  }
  if (place < 0) return null;
  const value = numbers[rows[place]];
  const ties = [];
  let next = null;
  for (let one = 0; one < rows.length; ++one) {
    if (rows[one] < 0 || one === place) continue;
    const other = numbers[rows[one]];
    if (is_tie(other, value) || (error > 0 && other <= value * (1 + error))) ties.push(one);
    else if (next === null || sign * other < sign * next) next = other;
  }
  return { place, row: rows[place], value, ties, next };
}

// The error of comparing values of these axes by a column, by the program's table of errors: those of several
// kinds of change multiply. 0: none is known.
export function error_between({ errors, step_times }, axes, key) {
  if (!step_times.includes(key) || axes.some((axis) => !(axis.key in errors))) return 0;
  const kinds = Object.assign({}, ...axes.map((axis) => errors[axis.key]));
  return Object.values(kinds).reduce((product, error) => product * (1 + error), 1) - 1;
}

// Which rows are of strategies that no program runs; null if none is.
export async function bound_rows(table) {
  const column = table.column("strategy") ?? table.column("strategy.name");
  if (!column) return null;
  const { values, places } = await table.axis(column);
  const is_bound = values.map((value) => table.json.comparing.bounds.includes(value?.name ?? value));
  if (!is_bound.includes(true)) return null;
  const rows = new Uint8Array(places.length);
  for (let row = 0; row < rows.length; ++row) rows[row] = is_bound[places[row]] ? 1 : 0;
  return rows;
}

// How strong the winner's colour is: full where the next is 5 % behind, as in `sgdsim sweep --picture`.
export function strength_of(winner) {
  if (winner.ties.length > 0) return 0.25;
  const lead = winner.next !== null && winner.value > 0 ? Math.abs(winner.next / winner.value - 1) : 0.05;
  return 0.25 + 0.55 * Math.min(1, lead / 0.05);
}

const methods = ["strategy", "algorithm", "compression", "synchronization", "collective", "transport", "fidelity"];

// The axes that together are how gradients are exchanged.
export const method_axes = (axes) => axes.filter((axis) => !axis.numbers && axis.values.length > 1 && methods.slice(0, 5).includes(axis.key.split(".").at(-1)));

// Several axes as one, whose values are the combinations that occur; null for one axis, or too many values.
export function joint_axis(axes, count) {
  if (axes.length < 2) return null;
  // By a number for each combination: a text for each of a hundred thousand rows takes a third of a second.
  const place_of = new Map();
  const texts = [];
  const places = new Uint32Array(count);
  for (let row = 0; row < count; ++row) {
    let code = 0;
    for (const axis of axes) code = code * axis.texts.length + axis.places[row];
    let place = place_of.get(code);
    if (place === undefined) {
      if (texts.length === 64) return null;
      place = texts.length;
      place_of.set(code, place);
      texts.push(axes.map((axis) => axis.texts[axis.places[row]]).filter((one, at) => at === 0 || one !== "none").join(", "));
    }
    places[row] = place;
  }
  return { key: axes.map((axis) => axis.key).join("+"), name: axes.map((axis) => axis.name).join(" and "), of: axes, values: texts, texts, numbers: null, places };
}

// Which axes a diagram begins with.
export function first_choices(axes) {
  const varying = axes.filter((axis) => axis.values.length > 1);
  const named = (words, list) => words.map((word) => list.find((axis) => axis.key.split(".").at(-1) === word)).find(Boolean);
  const comparable = varying.filter((axis) => axis.values.length <= 64);
  const compare = named(methods, comparable.filter((axis) => !axis.numbers)) ??
    comparable.find((axis) => !axis.numbers && axis.key !== "result") ?? null;
  const others = varying.filter((axis) => axis !== compare);
  const scales = others.filter((axis) => axis.numbers);
  const x = named(["nodes", "ranks", "workers", "size_B"], scales) ?? scales.toSorted((a, b) => b.values.length - a.values.length)[0] ?? others[0] ?? compare;
  const y = scales.find((axis) => axis !== x) ?? others.find((axis) => axis !== x) ?? null;
  return { compare: compare === x ? null : compare, x, y };
}

export const spans_decade = (numbers) => {
  const known = numbers.filter((value) => !Number.isNaN(value));
  return known.length > 1 && Math.min(...known) > 0 && Math.max(...known) / Math.min(...known) >= 8;
};
