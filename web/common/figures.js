// Numbers as the program prints them (study/table.cpp), and with all their digits.
//
// C rounds ties to even, JavaScript away from zero; both start from the exact value of the double, so
// only exact ties differ. tests/data/short_figures.json holds both to the same table.

const is_tie = (rest) => /^50*$/.test(rest);

// As printf("%.*f").
export function fixed(value, decimals) {
  const rounded_up = value.toFixed(decimals);
  const exact = Math.abs(value) < 1e21 ? value.toFixed(100) : rounded_up;
  const point = exact.indexOf(".");
  if (point < 0 || !is_tie(exact.slice(point + 1 + decimals))) return rounded_up;
  const cut = decimals === 0 ? exact.slice(0, point) : exact.slice(0, point + 1 + decimals);
  return Number(cut.at(-1)) % 2 === 0 ? cut : rounded_up;
}

// As printf("%.*e"): two digits of exponent at least.
function scientific(value, decimals) {
  const pad = (text) => text.replace(/e([+-])(\d)$/, "e$10$2");
  const rounded_up = value.toExponential(decimals);
  const [digits, exponent] = value.toExponential(100).split("e");
  const point = digits.indexOf(".");
  if (!is_tie(digits.slice(point + 1 + decimals))) return pad(rounded_up);
  const cut = decimals === 0 ? digits.slice(0, point) : digits.slice(0, point + 1 + decimals);
  return pad(Number(cut.at(-1)) % 2 === 0 ? `${cut}e${exponent}` : rounded_up);
}

// So many significant digits, without an exponent between 1e-3 and 1e9.
export function rounded(value, digits = 4) {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return String(value);
  const magnitude = Math.floor(Math.log10(Math.abs(value))) + 1;
  if (magnitude > 9 || magnitude < -3) return scientific(value, digits - 1);
  return fixed(value, Math.max(0, digits - magnitude));
}

// Texts of the marks of an axis, by `text(value, digits)`: with as many digits, three at least, as tell
// neighbours apart, so that each stands where it says (as mark_texts() of app/plot/scale.h).
export function mark_texts(marks, text) {
  const digits = digits_of_marks(marks);
  return marks.map((mark) => text(mark, digits));
}

function digits_of_marks(marks) {
  const nearest = (value, at) => Math.min(...[marks[at - 1], marks[at + 1]].filter((one) => one !== undefined && one !== value).map((one) => Math.abs(one - value)));
  const fits = (digits) => marks.every((value, at) => Math.abs(Number(value.toPrecision(digits)) - value) <= 0.02 * nearest(value, at));
  for (let digits = 3; digits < 15; ++digits) if (fits(digits)) return digits;
  return 15;
}

export function short_duration(us, digits = 3) {
  if (us === 0) return "0";
  if (us < 1e3) return rounded(us, digits) + " us";
  if (us < 1e6) return rounded(us / 1e3, digits) + " ms";
  return rounded(us / 1e6, digits) + " s";
}

// As span_text() of study/goodput/spans.h.
export function short_span(seconds, digits = 3) {
  if (seconds < 60) return short_duration(seconds * 1e6, digits);
  if (seconds < 3600) return rounded(seconds / 60, digits) + " min";
  if (seconds < 86400) return rounded(seconds / 3600, digits) + " h";
  return rounded(seconds / 86400, digits) + " days";
}

// A sum or difference of times, without what adding doubles leaves behind: whole picoseconds.
export const to_ps = (us) => Math.round(us * 1e6) / 1e6;

export function short_size(size_B) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (size_B >= 1024 && unit + 1 < units.length) {
    size_B /= 1024;
    ++unit;
  }
  return fixed(size_B, Number.isInteger(size_B) ? 0 : 1) + " " + units[unit];
}

// The unit at the end of a key: iteration_us, size_B, error_percent.
const units = [
  ["_GB_per_s", "GB/s"], ["_samples_per_s", "samples/s"], ["_ps_per_B", "ps/B"], ["_GBps", "GB/s"],
  ["_GiB", "GiB"], ["_percent", "%"], ["_us", "us"], ["_ps", "ps"], ["_ns", "ns"], ["_ms", "ms"],
  ["_B", "B"], ["_s", "s"], ["_h", "h"], ["_days", "days"],
];
export function unit_of(key) {
  const field = String(key).split(".").filter((step) => !/^(mean|median|low|high|p50|p95|p99|max|n)$/.test(step)).at(-1) ?? "";
  const is_count = /\.n$/.test(key);
  return is_count ? "" : (units.find(([ending]) => field.endsWith(ending))?.[1] ?? "");
}

// A number of a column for people: few digits and the unit that fits its size.
export function short_figure(value, key = "", digits = undefined) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  const unit = unit_of(key);
  const minus = value < 0 ? "-" : "";
  if (unit === "us") return minus + short_duration(Math.abs(value), digits);
  if (unit === "ps") return minus + short_duration(Math.abs(value) / 1e6, digits);
  if (unit === "B") return minus + short_size(Math.abs(value));
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value) + (unit && ` ${unit}`);
  return rounded(value, digits) + (unit && ` ${unit}`);
}

// All digits, as the JSON has them, and the unit of the key.
export function exact_figure(value, key = "") {
  if (value === null || value === undefined) return "–";
  const unit = typeof value === "number" ? unit_of(key) : "";
  return String(value) + (unit && ` ${unit}`);
}

// A key for people, without its unit, which is said beside the figures: "exposed communication".
const said = new Map(Object.entries({
  "iteration_us.mean": "iteration time", iteration_us: "iteration time", iteration_ps: "iteration time", "iteration_us.n": "iterations",
  comm_exposed_us: "exposed communication", comm_overlapped_us: "overlapped communication", comm_total_us: "communication",
  throughput_samples_per_s: "throughput", wire_B: "bytes on the wire", overlap_ratio: "overlap", algbw_GBps: "algorithm bandwidth",
  busbw_GBps: "bus bandwidth", size_B: "size", time_us: "time", time_ps: "time", total_ps: "all iterations",
}));
export function words_of(key) {
  let text = String(key).replace(/^(metrics|quality|convergence)\./, "");
  if (said.has(text)) return said.get(text);
  const unit = units.find(([ending]) => text.split(".").some((step) => step.endsWith(ending)));
  if (unit) text = text.split(".").map((step) => (step.endsWith(unit[0]) ? step.slice(0, -unit[0].length) : step)).join(".");
  return text.replaceAll("_", " ").replaceAll(".", ", ");
}

// A quantity of a file ("10 Gbps", "25 MiB", "1.5 us") or a number: {kind, value}; null for other texts.
const scales = new Map();
for (const [kind, table] of Object.entries({
  time: { ps: 1e-12, ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 },
  size: { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 },
  cost: { "ps/B": 1e-12, "ns/B": 1e-9, "us/B": 1e-6, "ms/B": 1e-3, "s/B": 1 },
}))
  for (const [unit, scale] of Object.entries(table)) scales.set(unit, { kind, scale });
for (const [prefix, scale] of Object.entries({ "": 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 })) {
  for (const bits of ["bps", "b/s", "bit/s"]) scales.set(prefix + bits, { kind: "rate", scale });
  for (const bytes of ["Bps", "B/s"]) scales.set(prefix + bytes, { kind: "rate", scale: 8 * scale });
}
export function quantity_of(value) {
  if (typeof value === "number") return { kind: "number", value };
  if (typeof value !== "string" || value.length > 64) return null;
  const parts = /^\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z\u00b5/]+)\s*$/.exec(value);
  if (!parts || !scales.has(parts[2])) return null;
  const { kind, scale } = scales.get(parts[2]);
  const number = Number(parts[1]);
  return Number.isFinite(number) ? { kind, value: number * scale } : null;
}
