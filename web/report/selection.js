// Which row of a table stands for a place of a diagram. Pure functions of typed arrays: a hundred thousand
// rows take a few milliseconds.
import { is_gain, is_tie } from "./data.js";

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
// -1 where none has a figure.
export function best_rows(count, groups, fixed, numbers, key) {
  const sizes = groups.map((axis) => axis.values.length);
  const total = sizes.reduce((product, size) => product * size, 1);
  if (total > most_groups) return null;
  const sign = is_gain(key) ? -1 : 1;
  const best = new Int32Array(total).fill(-1);
  for (const row of kept_rows(count, fixed)) {
    const value = numbers[row];
    if (Number.isNaN(value)) continue;
    let place = 0;
    for (let group = 0; group < groups.length; ++group) place = place * sizes[group] + groups[group].places[row];
    const other = best[place];
    if (other < 0 || sign * value < sign * numbers[other]) best[place] = row;
  }
  return best;
}

// Of the rows of a cell (one per compared value, -1 for none) the winner: {place, row, value, ties: [place],
// next (value of the best one that is no tie, or null)}; null if there is none.
export function winner_of(rows, numbers, key) {
  const sign = is_gain(key) ? -1 : 1;
  let place = -1;
  for (let one = 0; one < rows.length; ++one)
    if (rows[one] >= 0 && (place < 0 || sign * numbers[rows[one]] < sign * numbers[rows[place]])) place = one;
  if (place < 0) return null;
  const value = numbers[rows[place]];
  const equal = [];
  let next = null;
  for (let one = 0; one < rows.length; ++one) {
    if (rows[one] < 0) continue;
    const other = numbers[rows[one]];
    if (is_tie(other, value)) equal.push(one);
    else if (next === null || sign * other < sign * next) next = other;
  }
  // The first of equals, as in the program.
  const first = equal[0];
  return { place: first, row: rows[first], value: numbers[rows[first]], ties: equal.slice(1), next };
}

// How strong the winner's colour is: full where the next is 5 % behind, as in `sgdsim sweep --picture`.
export function strength_of(winner) {
  if (winner.ties.length > 0) return 0.25;
  const lead = winner.next !== null && winner.value > 0 ? Math.abs(winner.next / winner.value - 1) : 0.05;
  return 0.25 + 0.55 * Math.min(1, lead / 0.05);
}

// Which axes a diagram begins with.
export function first_choices(axes) {
  const varying = axes.filter((axis) => axis.values.length > 1);
  const named = (words, list) => words.map((word) => list.find((axis) => axis.key.split(".").at(-1) === word)).find(Boolean);
  const comparable = varying.filter((axis) => axis.values.length <= 64);
  const compare = named(["strategy", "algorithm", "compression", "synchronization", "collective", "transport", "fidelity"], comparable.filter((axis) => !axis.numbers)) ??
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
