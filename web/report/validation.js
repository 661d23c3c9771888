// Predicted against measured: suites, errors by label, every row where --rows gave them.
import { clipped, element, replace_children, table } from "../common/dom.js";
import { exact_figure, short_figure } from "../common/figures.js";
import { curves_svg, save_buttons } from "../common/save.js";
import { series_variable } from "../common/theme.js";
import { scatter_plot } from "./scatter.js";

const errors = (one) => [String(one.rows), exact_figure(one.median_percent), exact_figure(one.p90_percent), exact_figure(one.max_percent), exact_figure(one.signed_median_percent)];
const error_columns = [{ title: "rows", figure: true }, { title: "median error, %", figure: true }, { title: "90 % within, %", figure: true }, { title: "largest, %", figure: true }, { title: "signed median, %", figure: true }];
const uses = ["held", "fitted", "reported", "below range"];

export function validation_sections(document) {
  const answer = document.value;
  const verdict = element("section", { class: "card", id: `${document.id}-verdict` }, element("h2", {}, "Predicted against measured"),
    element("p", { class: `notice ${answer.within ? "" : "bad"}` }, answer.within ? "All suites are within their tolerance." : "Some suites are beyond their tolerance."),
    table("Suites: errors of the rows that are held to the tolerance", [{ title: "suite" }, { title: "verdict" }, ...error_columns], answer.suites.map((suite) => [clipped(suite.name, 120), suite.within ? "within" : "beyond", ...errors(suite.held)])),
    answer.suites.flatMap((suite) => suite.breaches).slice(0, 50).map((text) => element("p", { class: "notice bad" }, clipped(text, 600))));
  return [verdict, ...answer.suites.map((suite, index) => suite_section(document, suite, index))];
}

function suite_section(document, suite, index) {
  const rows = suite.cases.flatMap((one) => (one.rows ?? []).map((row) => ({ ...row, case: one.name })));
  return element("section", { class: "card", id: `${document.id}-suite-${index}` }, element("h2", {}, clipped(suite.name, 120)),
    element("p", { class: "muted small number" }, `Tolerance: median ${exact_figure(suite.tolerance.median_percent)} %, 90 % within ${exact_figure(suite.tolerance.p90_percent)} %, median of a label ${exact_figure(suite.tolerance.per_algorithm_median_percent)} %, from ${suite.tolerance.from_size_B} B`),
    suite.perfect_scaling && element("p", { class: "small number" }, `Perfect scaling (the time of one worker, which a prediction has to beat): median error ${exact_figure(suite.perfect_scaling.median_percent)} %, 90 % within ${exact_figure(suite.perfect_scaling.p90_percent)} %, largest ${exact_figure(suite.perfect_scaling.max_percent)} %, over ${suite.perfect_scaling.rows} rows`),
    rows.length > 0 ? scatter(rows, suite) : element("p", { class: "small muted" }, "sgdsim validate --rows --format json gives every row, which is then drawn here."),
    error_bars(suite),
    element("details", { class: "alternative", open: suite.labels.length <= 12 }, element("summary", {}, "Errors by label"),
      table("Errors by label", [{ title: "label" }, { title: "use" }, ...error_columns], suite.labels.map((label) => [clipped(label.label, 120), label.use, ...errors(label)]))),
    element("details", { class: "alternative" }, element("summary", {}, "Errors by case"),
      table("Errors by case", [{ title: "case" }, { title: "grade" }, ...error_columns], suite.cases.map((one) => [clipped(one.name, 120), one.grade, ...errors(one.held)]))),
    rows.length > 0 && element("details", { class: "alternative" }, element("summary", {}, `Every row (${rows.length})`), rows_table(rows)));
}

const name_of = (row) => [row.label, row.set?.join(" "), row.ranks !== undefined && `${row.ranks} ranks`, row.size_B !== undefined && `${row.size_B} B`, row.of].filter(Boolean).join(", ");

function rows_table(rows) {
  return table(`The first ${Math.min(rows.length, 1000)} of ${rows.length} rows`, [{ title: "case" }, { title: "row" }, { title: "use" }, { title: "measured, us", figure: true }, { title: "predicted, us", figure: true }, { title: "error, %", figure: true }],
    rows.slice(0, 1000).map((row) => [clipped(row.case, 80), clipped(name_of(row), 160), row.use, String(row.measured_us), String(row.predicted_us), String(row.error_percent)]));
}

function scatter(rows, suite) {
  const status = element("p", { class: "small readout-line", role: "status", "aria-live": "polite" }, "Point at a row, or walk with the arrow keys.");
  const points = rows.map((row) => ({
    x: row.measured_us, y: row.predicted_us, series: Math.max(0, uses.indexOf(row.use)),
    lines: [name_of(row), `measured ${exact_figure(row.measured_us)} us`, `predicted ${exact_figure(row.predicted_us)} us`, `error ${exact_figure(row.error_percent)} %`, `${row.case}, ${row.use}`, ...[row.reason, row.wrong].filter(Boolean)],
  }));
  const used = uses.map((use, index) => ({ use, index })).filter(({ use }) => rows.some((row) => row.use === use));
  return element("figure", { class: "figure-block" },
    element("ul", { class: "legend" }, used.map(({ use, index }) => element("li", { class: "small" }, element("span", { class: "swatch", style: { background: series_variable(index) } }), use)), element("li", { class: "small muted" }, `band: ± ${short_figure(suite.tolerance.p90_percent, "x_percent")}`)),
    scatter_plot({ label: `Predicted over measured times of ${rows.length} rows; arrow keys walk from the shortest to the longest`, x_label: "measured", y_label: "predicted", points, band: Math.min(0.95, suite.tolerance.p90_percent / 100), on_pick: (point) => replace_children(status, point.lines.map((line) => clipped(line, 300)).join("; ")) }), status,
    save_buttons("predicted-over-measured", {
      svg: () => curves_svg({
        title: "Predicted over measured times", points_only: true, x: { label: "measured", is_log: true, text: (us) => short_figure(us, "x_us") }, y: { label: "predicted", is_log: true, text: (us) => short_figure(us, "x_us") },
        series: used.map(({ use, index }) => ({ name: use, place: index, points: points.filter((point) => point.series === index && point.x > 0 && point.y > 0).map((point) => [point.x, point.y]) })),
      }),
      rows: () => [["row", "use", "measured, us", "predicted, us", "error, %"], ...rows.map((row) => [name_of(row), row.use, row.measured_us, row.predicted_us, row.error_percent])],
    }));
}

function error_bars(suite) {
  const labels = suite.labels.filter((label) => label.rows > 0);
  if (labels.length === 0) return null;
  const widest = Math.max(...labels.map((label) => label.p90_percent), suite.tolerance.p90_percent, 0.1);
  return element("div", { class: "bars part", "aria-label": "Median and 90th percentile of the error by label", role: "group" }, labels.slice(0, 40).map((label) => element("div", { class: "bar-row" },
    element("span", { class: "bar-label" }, clipped(label.label, 60)),
    element("div", { class: "bar-track", role: "img", "aria-label": `median ${label.median_percent} %, 90 % within ${label.p90_percent} %` },
      element("span", { class: "bar-part", style: { width: `${100 * label.median_percent / widest}%`, background: series_variable(Math.max(0, uses.indexOf(label.use))) } }),
      element("span", { class: "bar-part faded", style: { width: `${100 * Math.max(0, label.p90_percent - label.median_percent) / widest}%`, background: series_variable(Math.max(0, uses.indexOf(label.use))) } })),
    element("span", { class: "bar-value number" }, short_figure(label.median_percent, "x_percent"), element("span", { class: "muted" }, ` / ${short_figure(label.p90_percent, "x_percent")}`)))));
}
