// Fitted start-up times and times per byte: the pieces, their lines, how well they meet each series.
import { clipped, element, table } from "../common/dom.js";
import { exact_figure, short_duration, short_size } from "../common/figures.js";
import { curve_plot } from "../common/plot.js";
import { curves_svg, save_buttons } from "../common/save.js";

export function fit_sections(document) {
  const answer = document.value;
  const all = [{ title: clipped(answer.name, 120), fit: answer }, ...(answer.inside ? [{ title: "Inside nodes", fit: answer.inside }] : [])];
  return all.flatMap(({ title, fit }, place) => fit.fits.map((one, index) => fit_section(document, title, fit, one, `${place}-${index}`)));
}

function fit_section(document, title, answer, fit, id) {
  return element("section", { class: "card", id: `${document.id}-fit-${id}` }, element("h2", {}, `${title}: ${fit.kind === "link" ? "one message" : "curve"}`),
    element("p", { class: "muted small number" }, `${fit.rows} measured points from ${short_size(fit.valid_from_B)} to ${short_size(fit.valid_to_B)}; root of the mean square error ${exact_figure(fit.rms_percent)} %, largest ${exact_figure(fit.max_percent)} %`),
    once(fit).map((text) => element("p", { class: "small number" }, text)),
    pieces_plot(fit),
    figures_table("Pieces, with 95 % confidence intervals", piece_columns, fit.pieces),
    figures_table("How well the fit meets each series", series_columns, fit.series.slice(0, most_rows)),
    fit.outliers && figures_table("Outliers: measured over what the other rows say; they count in the fit", outlier_columns, fit.outliers.slice(0, most_rows)),
    [["Held out", fit.held_out ?? answer.held_out], ["Simulated as collectives", answer.played]].filter(([, one]) => one).map(([name, one]) =>
      element("p", { class: "number" }, `${name}${one.by ? ` by ${one.by}` : ""}: ${one.rows} rows, median error ${exact_figure(one.median_percent)} %, largest ${exact_figure(one.max_percent)} %`)),
    answer.notes.slice(0, 30).map((note) => element("p", { class: "notice warning" }, clipped(note, 600))),
    element("p", { class: "small muted" }, `Sources: ${clipped(answer.sources.join(", "), 600)}`));
}

const most_rows = 300;

const size_marks = Array.from({ length: 10 }, (_, at) => 32 ** at);  // 1 B, 32 B, 1 KiB ...

const interval = (low, high) => (low === undefined && high === undefined ? undefined : `${low ?? "–"} to ${high ?? "–"}`);
const figure = (title, value) => ({ title, value, figure: true });
const bounds = (title, name, unit) => figure(title, (piece) => interval(piece[`${name}_low_${unit}`], piece[`${name}_high_${unit}`]));

const piece_columns = [
  figure("from, B", (piece) => piece.from_B), figure("fitted from, B", (piece) => piece.fitted_from_B), figure("to, B", (piece) => piece.fitted_to_B), figure("rows", (piece) => piece.rows),
  figure("start-up, us", (piece) => piece.alpha_us), bounds("interval, us", "alpha", "us"),
  figure("per byte, ps", (piece) => piece.beta_ps_per_B), bounds("interval, ps", "beta", "ps_per_B"),
  figure("fold per byte, ps", (piece) => piece.gamma_ps_per_B), bounds("interval, ps", "gamma", "ps_per_B"),
  figure("rms error, %", (piece) => piece.rms_percent), figure("largest error, %", (piece) => piece.max_percent),
];
const series_columns = [
  { title: "series", value: (series) => clipped([series.operation, series.algorithm, series.type, series.group, series.placement, series.note, series.in_place && "in place"].filter(Boolean).join(", "), 120) },
  figure("block, B", (series) => series.block_B), figure("ranks", (series) => series.ranks), figure("rows", (series) => series.rows),
  figure("median error, %", (series) => series.median_percent), figure("largest, %", (series) => series.max_percent),
];
const outlier_columns = [
  { title: "series", value: (row) => `number ${row.series}` }, figure("size, B", (row) => row.size_B), figure("times the fit", (row) => row.times_fitted),
];

// A table of the columns that some row has a value for.
function figures_table(caption, columns, rows) {
  const used = columns.filter(({ value }) => rows.some((row) => value(row) !== undefined));
  return table(caption, used, rows.map((row) => used.map(({ value }) => String(value(row) ?? "–"))));
}

// What a run costs once, and what was given instead of fitted.
function once(fit) {
  const bounds_text = interval(fit.start_low_us, fit.start_high_us);
  return [
    fit.start_us !== undefined && `Start of a run: ${exact_figure(fit.start_us, "start_us")}${bounds_text ? ` (${bounds_text} us)` : ""}`,
    fit.given_start_us !== undefined && `Start of a run, as given: ${exact_figure(fit.given_start_us, "start_us")}`,
    fit.given_gamma_ps_per_B !== undefined && `Fold per byte, as given: ${exact_figure(fit.given_gamma_ps_per_B, "gamma_ps_per_B")}`,
  ].filter(Boolean);
}

// a + b M on a logarithmic grid of sizes; a piece rules from its size on.
function pieces_plot(fit) {
  const least = Math.max(1, fit.valid_from_B);
  const most = Math.max(least * 2, fit.valid_to_B);
  const sizes = Array.from({ length: 80 }, (_, index) => least * (most / least) ** (index / 79));
  const times = sizes.map((size) => {
    const piece = fit.pieces.findLast((one) => one.from_B <= size) ?? fit.pieces[0];
    return piece.alpha_us + piece.beta_ps_per_B * size / 1e6;
  });
  const shown = times.every((time) => time > 0);
  const status = element("p", { class: "small readout-line", role: "status", "aria-live": "polite" }, "Point at the line, or walk with the arrow keys.");
  const plot = curve_plot({
    label: "Fitted time over size; arrow keys walk along the line", height: 260,
    on_point: (one, at) => { status.textContent = `${short_size(Math.round(sizes[at]))}: ${short_duration(one.values[at], 4)}`; },
    x: { label: "size", values: sizes, marks: size_marks, is_log: true, text: short_size }, y: { label: "time", is_log: shown, text: short_duration },
    series: [{ name: "fit", index: 0, values: times, points: false }],
  });
  const files = save_buttons("fitted-time-over-size", {
    svg: () => curves_svg({ title: "Fitted time over size", x: { label: "size", marks: size_marks, is_log: true, text: short_size }, y: { label: "time", is_log: shown, text: short_duration }, series: [{ name: "fit", place: 0, points: sizes.map((size, at) => [size, times[at]]) }] }),
    rows: () => [["size, B", "time, us"], ...sizes.map((size, at) => [size, times[at]])],
  });
  return [plot.node, status, files];
}
