// Fitted start-up times and times per byte: the pieces, their lines, how well they meet each series.
import { clipped, element, table } from "../common/dom.js";
import { exact_figure, short_duration, short_size } from "../common/figures.js";
import { curve_plot } from "../common/plot.js";

export function fit_sections(document) {
  const answer = document.value;
  const all = [{ title: clipped(answer.name, 120), fit: answer }, ...(answer.inside ? [{ title: "Inside nodes", fit: answer.inside }] : [])];
  return all.flatMap(({ title, fit }, place) => fit.fits.map((one, index) => fit_section(document, title, fit, one, `${place}-${index}`)));
}

function fit_section(document, title, answer, fit, id) {
  return element("section", { class: "card", id: `${document.id}-fit-${id}` }, element("h2", {}, `${title}: ${fit.kind === "link" ? "one message" : "curve"}`),
    element("p", { class: "muted small number" }, `${fit.rows} measured points from ${short_size(fit.valid_from_B)} to ${short_size(fit.valid_to_B)}; root of the mean square error ${exact_figure(fit.rms_percent)} %, largest ${exact_figure(fit.max_percent)} %`),
    pieces_plot(fit),
    table("Pieces: start-up and time per byte, with 95 % confidence intervals", [{ title: "from, B", figure: true }, { title: "rows", figure: true }, { title: "start-up, us", figure: true }, { title: "interval, us", figure: true }, { title: "per byte, ps", figure: true }, { title: "interval, ps", figure: true }, { title: "largest error, %", figure: true }],
      fit.pieces.map((piece) => [String(piece.from_B), String(piece.rows), String(piece.alpha_us), interval(piece.alpha_low_us, piece.alpha_high_us), String(piece.beta_ps_per_B), interval(piece.beta_low_ps_per_B, piece.beta_high_ps_per_B), String(piece.max_percent)])),
    table("How well the fit meets each series", [{ title: "series" }, { title: "ranks", figure: true }, { title: "rows", figure: true }, { title: "median error, %", figure: true }, { title: "largest, %", figure: true }],
      fit.series.slice(0, 300).map((series) => [clipped([series.operation, series.algorithm, series.type, series.group].filter(Boolean).join(", "), 120), String(series.ranks), String(series.rows), String(series.median_percent), String(series.max_percent)])),
    [["Held out", fit.held_out ?? answer.held_out], ["Played as collectives", answer.played]].filter(([, one]) => one).map(([name, one]) =>
      element("p", { class: "number" }, `${name}: ${one.rows} rows, median error ${exact_figure(one.median_percent)} %, largest ${exact_figure(one.max_percent)} %`)),
    answer.notes.slice(0, 30).map((note) => element("p", { class: "notice warning" }, clipped(note, 600))),
    element("p", { class: "small muted" }, `Sources: ${clipped(answer.sources.join(", "), 600)}`));
}

const interval = (low, high) => (low === undefined ? "–" : `${low} to ${high}`);

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
  return curve_plot({
    label: "Fitted time over size", height: 260,
    x: { label: "size", values: sizes, is_log: true, text: short_size }, y: { label: "time", is_log: shown, text: (value) => short_duration(value) },
    series: [{ name: "fit", index: 0, values: times, points: false }],
  }).node;
}
