// The parts of the page for single answers: a function per kind, each giving sections.
import { clipped, command_block, element, shell_word, table } from "../common/dom.js";
import { exact_figure, short_figure, short_size, to_ps, words_of } from "../common/figures.js";
import { iteration_parts } from "../common/parts.js";
import { bars_svg, light_of, save_buttons } from "../common/save.js";
import { stacked_bars } from "./bars.js";
import { value_text } from "./data.js";
import { comparison_sections, diagnosis_sections } from "./diagnosis.js";
import { setting_of } from "./exact.js";
import { fit_sections } from "./fit.js";
import { goodput_sections } from "./goodput.js";
import { json_tree, save_button } from "./json_view.js";
import { batches_sections, learn_sections } from "./learn.js";
import { section, tiles, warning_list } from "./sections.js";
import { timeline_of_messages, timeline_part } from "./timeline.js";
import { validation_sections } from "./validation.js";

// `document`: {file, schema, value, id, large_wholes}.
export function document_sections(document, timelines) {
  const make = {
    "sgdsim/result/1": result_sections, "sgdsim/plan/1": plan_sections, "sgdsim/best/1": best_sections,
    "sgdsim/tune/1": tune_sections, "sgdsim/validation/1": validation_sections, "sgdsim/fit/1": fit_sections,
    "sgdsim/advice/1": advice_sections, "sgdsim/layouts/1": layouts_sections, "sgdsim/collective/1": collective_sections,
    "sgdsim/learn/1": learn_sections, "sgdsim/learn-batches/1": batches_sections, "sgdsim/collective-sweep/1": () => [], "sgdsim/goodput/1": goodput_sections,
    "sgdsim/diagnosis/1": diagnosis_sections, "sgdsim/comparison/1": comparison_sections,
  }[document.schema];
  return make(document, timelines);
}

// ---- a result

function result_sections(document, timelines) {
  const result = document.value;
  const { metrics } = result;
  const said = [result.strategy && `strategy ${result.strategy}`, result.collective && `over ${result.collective}`, result.workers && `${result.workers} workers`,
    result.compression && result.compression !== "none" && `compression ${result.compression}`, result.synchronization && result.synchronization !== "none" && `synchronization ${result.synchronization}`,
    result.fidelity && `fidelity ${result.fidelity}${result.path ? ` (${result.path})` : ""}`].filter(Boolean).map((text) => clipped(text, 200)).join(", ");
  const values = Object.fromEntries(iteration_parts.map(({ key }) => [key, metrics[key]]).filter(([, value]) => value !== undefined));
  const iterations = metrics.iteration_us;
  const overview = section(document, "overview", clipped(result.name || "Result", 120),
    element("p", { class: "muted" }, said),
    tiles([
      { name: "iteration", value: iterations.mean, key: "iteration_us" }, { name: "speed-up", value: metrics.speedup, key: "speedup" },
      { name: "efficiency", value: metrics.efficiency, key: "efficiency" }, { name: "exposed", value: metrics.comm_exposed_us, key: "comm_exposed_us" },
      { name: "communication", value: metrics.comm_total_us, key: "comm_total_us" }, { name: "overlap", value: metrics.overlap_ratio, key: "overlap_ratio" },
      { name: "throughput", value: metrics.throughput_samples_per_s || undefined, key: "throughput_samples_per_s" },
      { name: "on the wire", value: metrics.wire_B || undefined, key: "wire_B", note: "per iteration" },
    ]),
    iterations.n > 1 && element("p", { class: "small muted number" }, `${iterations.n} iterations: median ${short_figure(iterations.p50, "p50_us")}, 95 % within ${short_figure(iterations.p95, "p95_us")}, 99 % within ${short_figure(iterations.p99, "p99_us")}, longest ${short_figure(iterations.max, "max_us")}`),
    warning_list(result.warnings));
  const breakdown = section(document, "breakdown", "Breakdown",
    Object.keys(values).length > 1 && stacked_bars("What an iteration consists of", iteration_parts, [{ label: "iteration", values, total: iterations.mean }], { total_key: "iteration_us" }),
    critical_bars(result), workers_bars(result), busiest_links(result));
  const own = timelines.filter((timeline) => timeline.config === result.id);
  const lines = own.flatMap((timeline) => timeline_part(timeline, `Timeline of ${clipped(result.name || "the run", 60)}`));
  if (lines.length === 0 && result.messages.length > 0) {
    lines.push(element("p", { class: "small muted" }, "The gradient messages of the last iteration. For compute too, run with --timeline FILE and give that file to sgdsim report."),
      ...timeline_part(timeline_of_messages(result.messages), "Gradient messages of the last iteration"));
  }
  const again = section(document, "inputs", "Inputs", element("p", {}, "The experiment as it was simulated, complete. Saved, it gives the same result again, with the same id:"),
    element("div", { class: "row" }, save_button("Save experiment.json", "experiment.json", result.inputs, document.large_wholes)),
    command_block("sgdsim run experiment.json --format json"),
    element("p", { class: "small mono muted" }, result.id), json_tree("experiment", result.inputs));
  return [overview, breakdown, lines.length > 0 && section(document, "timeline", "Timeline", ...lines), again].filter(Boolean);
}

function critical_bars(result) {
  if (!result.critical) return null;
  const colours = { forward: "var(--forward)", backward: "var(--backward)", update: "var(--update)", encoding: "var(--compression)", decoding: "var(--compression)", messages: "var(--message)", broadcasts: "var(--message)", waiting: "var(--waiting)" };
  const sums = new Map();
  for (const part of result.critical.parts) sums.set(part.what, to_ps((sums.get(part.what) ?? 0) + part.length_us));
  const parts = [...sums.keys()].map((what) => ({ key: `${what}_us`, name: what, colour: colours[what] ?? "var(--series-8)" }));
  return element("div", { class: "part" }, element("h3", {}, "Critical path"),
    element("p", { class: "small muted" }, `The chain that decides when ${result.critical.iterations === 1 ? "the iteration ends" : `${result.critical.iterations} iterations end`}: nothing else would let it end sooner.`),
    stacked_bars("Critical path", parts, [{ label: "critical path", values: Object.fromEntries([...sums].map(([what, value]) => [`${what}_us`, value])), total: result.critical.length_us }], { total_key: "length_us" }));
}

function workers_bars(result) {
  if (!result.per_worker?.length) return null;
  const rows = result.per_worker.map((worker, index) => {
    const values = Object.fromEntries(iteration_parts.map(({ key }) => [key, worker[key] ?? 0]));
    return { label: `worker ${index}`, values, total: to_ps(Object.values(values).reduce((sum, value) => sum + value, 0)) };
  });
  return element("details", {}, element("summary", {}, `Each of ${rows.length} workers`), stacked_bars("Breakdown by worker", iteration_parts, rows.slice(0, 128), { total_key: "iteration_us" }), rows.length > 128 && element("p", { class: "muted small" }, "The first 128 are drawn."));
}

function busiest_links(result) {
  if (!result.busiest?.length) return null;
  return table("Busiest links", [{ title: "link" }, { title: "from" }, { title: "to" }, { title: "in use", figure: true }, { title: "carried", figure: true }],
    result.busiest.map((link) => [clipped(link.kind), clipped(link.from), clipped(link.to), `${short_figure(100 * link.utilisation, "x_percent")}`, short_size(link.carried_B)]));
}

// ---- every strategy

function plan_sections(document) {
  const { plans } = document.value;
  const known = plans.filter((plan) => plan.iteration_us !== undefined)
    .sort((a, b) => (a.is_bound ?? false) - (b.is_bound ?? false) || a.iteration_us - b.iteration_us);
  const label = (plan) => plan.strategy + (plan.with ? `, ${plan.with}` : "");
  const best = known[0];
  const parts = [{ key: "rest_us", name: "compute and the rest", colour: "var(--backward)" }, { key: "exposed_us", name: "exposed communication", colour: "var(--exposed)" }];
  const rows = known.map((plan) => ({ label: label(plan), values: { exposed_us: plan.exposed_us ?? 0, rest_us: to_ps(plan.iteration_us - (plan.exposed_us ?? 0)) }, total: plan.iteration_us, command: plan.command }));
  const failed = plans.filter((plan) => plan.iteration_us === undefined);
  const again = plan_command(plans);
  const chosen = element("div", { class: "readout", role: "status", "aria-live": "polite" });
  const choose = (plan) => chosen.replaceChildren(...plan_readout(plan, clipped(label(plan), 80)));
  if (best) choose(best);
  return [section(document, "winners", "Strategies, best first",
    best && element("p", {}, "Fastest: ", element("strong", {}, clipped(label(best), 80)), ", ", element("span", { class: "number", "data-best": String(best.iteration_us) }, short_figure(best.iteration_us, "iteration_us")), best.speedup !== undefined && `, speed-up ${short_figure(best.speedup, "speedup")}`, "."),
    stacked_bars("Iteration by strategy", parts, rows, { total_key: "iteration_us", with_table: false, on_pick: (row) => choose(known[rows.indexOf(row)]) }),
    element("details", { class: "alternative" }, element("summary", {}, "Figures of these strategies"),
      table("Iteration by strategy", [{ title: "strategy" }, { title: "iteration, us", figure: true }, { title: "exposed, us", figure: true }, { title: "speed-up", figure: true }, { title: "messages", figure: true }],
        known.map((plan) => [clipped(label(plan), 200), String(plan.iteration_us), String(plan.exposed_us ?? "–"), String(plan.speedup ?? "–"), String(plan.groups?.length ?? "–")]))),
    best && element("p", { class: "small muted no-print" }, "The name of a strategy shows its figures, its command and its messages."), chosen,
    failed.length > 0 && element("div", {}, element("h3", {}, "Without an answer"), element("ul", {}, failed.map((plan) => element("li", {}, `${clipped(label(plan), 80)}: ${clipped(plan.why_not ?? "no reason is given", 400)}`)))),
    warning_list([...new Set(plans.flatMap((plan) => plan.warnings ?? []))]),
    again && [element("h3", { class: "label" }, "All strategies again"), command_block(again)])];
}

// The words of a command as they stand there, quoted.
const words_in = (command) => command.match(/(?:'[^']*'|\\.|[^\s'\\])+/g) ?? [];

// What the commands of all lines begin with is the question: its experiment and settings. Null where it cannot be
// told: labels of --method do not say what they change, and a single line may have a strategy of its own.
function plan_command(plans) {
  const commands = plans.filter((plan) => plan.command && plan.with === undefined).map((plan) => words_in(plan.command));
  if (commands.length < 2 || plans.some((plan) => plan.method !== undefined)) return null;
  const differs = commands[0].findIndex((word, at) => commands.some((words) => words[at] !== word));
  const same = commands[0].slice(0, differs < 0 ? undefined : differs);
  if (same.at(-1) === "--set") same.pop();
  if (same[0] !== "sgdsim" || same[1] !== "run" || same.length < 3) return null;
  const also = [...new Set(plans.map((plan) => plan.with).filter((one) => one !== undefined))].flatMap((one) => ["--also", shell_word(one)]);
  const around = plans.find((plan) => plan.around)?.around.percent;
  return ["sgdsim", "plan", ...same.slice(2), ...also, ...(around === undefined ? [] : ["--around", `${around}%`])].join(" ");
}

// One strategy: figures, the command of its line, when its messages went.
function plan_readout(plan, name) {
  const parts = [
    element("h3", {}, name),
    tiles([{ name: "iteration", value: plan.iteration_us, key: "iteration_us" }, { name: "exposed", value: plan.exposed_us, key: "exposed_us" }, { name: "speed-up", value: plan.speedup, key: "speedup" }]),
  ];
  if (plan.command) parts.push(element("h3", { class: "label" }, "This line"), command_block(plan.command));
  if (plan.groups?.length) parts.push(...timeline_part(timeline_of_messages(plan.groups), `Gradient messages under ${name}`));
  return parts;
}

// ---- the best points of a sweep, and tuned values

function best_sections(document) {
  const best = document.value;
  const text = (values) => Object.entries(values).map(([key, value]) => `${words_of(key.split(".").at(-1))} ${value_text(value)}`).join(", ");
  const wins = new Map();
  for (const group of best.groups) if (group.best) wins.set(text(group.best), (wins.get(text(group.best)) ?? 0) + 1);
  const rows = [...wins].sort((a, b) => b[1] - a[1]);
  return [section(document, "best", `Best by ${words_of(best.objective)}`,
    element("p", {}, `Chosen among ${best.over.map((axis) => words_of(axis)).join(", ")}, for ${best.groups.length} combinations of the other fields.`),
    table("How often each wins", [{ title: "choice" }, { title: "wins", figure: true }], rows.slice(0, 50).map(([name, count]) => [clipped(name, 120), String(count)])),
    element("details", { class: "part", open: best.groups.length <= 20 }, element("summary", {}, "Every combination"),
      table("Best of every combination", [{ title: "where" }, { title: "best" }, { title: best.objective, figure: true }, { title: "next", figure: true }, { title: "ties", figure: true }],
        best.groups.slice(0, 2000).map((group) => [clipped(text(group.axes), 200), group.best ? clipped(text(group.best), 120) : "no result", exact_figure(group.value, best.objective), exact_figure(group.next, best.objective), String(group.ties ?? 0)]))))];
}

function tune_sections(document) {
  const tuned = document.value;
  const settings = Object.entries(tuned.best);
  return [section(document, "tune", "Tuned values",
    tiles([{ name: words_of(tuned.objective), value: tuned.value, key: tuned.objective }, { name: "before", value: tuned.before, key: tuned.objective }, { name: "points tried", value: tuned.evaluated, key: "evaluated", note: `of ${tuned.points}` }]),
    settings.length ? table("Best values", [{ title: "field" }, { title: "value" }], settings.map(([field, value]) => [clipped(field, 120), clipped(value_text(value), 200)])) : element("p", {}, "Nothing that was tried is better than the experiment as it stands."),
    element("p", { class: "small muted" }, tuned.method === "exhaustive" ? "Every point was tried." : "One field at a time by golden section: the best only where there is a single valley.", tuned.interrupted ? " The search was interrupted." : "", tuned.failed ? ` ${tuned.failed} points have no result.` : ""),
    warning_list(tuned.warnings), element("h3", { class: "label" }, "The experiment with these values"),
    command_block(`sgdsim run EXPERIMENT${settings.map(([field, value]) => ` --set ${shell_word(setting_of(field, value, document.large_wholes))}`).join("")}`),
    element("p", { class: "small muted" }, "EXPERIMENT stands for what was given to sgdsim tune, the experiment and its options but for --axis: the answer does not name them."))];
}

// ---- advice

// What one can set, what may alter learning, and what has to be bought: three kinds of answers.
const advice_groups = [
  { name: "Settings alone", has: (line) => !line.needs_hardware && !line.alters_learning },
  { name: "May alter learning", has: (line) => !line.needs_hardware && line.alters_learning },
  { name: "Needs hardware", has: (line) => line.needs_hardware },
];

function advice_sections(document) {
  const advice = document.value;
  const { now } = advice;
  const gain = now.end ? gain_in_days : gain_in_percent;
  const ends = (line) => [gain.value(line), ...(gain.interval(line) ?? [])].map(Math.abs);
  const widest = advice.lines.flatMap(ends).reduce((a, b) => Math.max(a, b), 0) || 1;
  const groups = advice_groups.map((group) => ({ ...group, lines: advice.lines.filter(group.has) })).filter((group) => group.lines.length > 0);
  return [section(document, "advice", "What could be changed",
    tiles([{ name: "iteration now", value: now.iteration_us, key: "iteration_us" }, { name: "exposed now", value: now.exposed_us, key: "exposed_us" }, { name: "workers", value: now.workers, key: "workers" }, { name: "changes tried", value: advice.tried, key: "tried" }, { name: "training ends after", value: now.end?.days, key: "end_days" }, { name: "productive", value: now.end?.productive, key: "productive" }]),
    element("p", { class: "muted" }, clipped(`${now.strategy} over ${now.collective}, fidelity ${now.fidelity}`, 300)),
    now.reason && element("p", {}, clipped(now.reason, 600)), command_block(now.command),
    element("p", { class: "small muted" }, `Bars: ${gain.words}. Lines across them: where nine of ten measured gains would be.`),
    groups.map((group) => element("div", { class: "part" }, element("h3", {}, group.name), element("ol", { class: "advice" }, group.lines.map((line) => advice_line(line, widest, gain))))),
    save_buttons("advice", {
      svg: () => bars_svg({ title: gain.title, parts: groups.map((group, at) => ({ name: group.name, colour: light_of(`var(--series-${[3, 5, 6][at]})`) })), rows: groups.flatMap((group) => group.lines.map((line) => ({ label: line.change, values: groups.map((one) => (one === group ? gain.value(line) : 0)), whisker: gain.interval(line), text: signed(gain.value(line), gain.key) }))) }),
      rows: () => [["kind", "change", "gain, %", "from, %", "to, %", "iteration, us", "days saved", "command"], ...groups.flatMap((group) => group.lines.map((line) => [group.name, line.change, line.gain_percent, line.interval_percent?.[0], line.interval_percent?.[1], line.iteration_us, line.days_saved, line.command]))],
    }),
    advice.left_out?.length > 0 && element("details", {}, element("summary", {}, `${advice.left_out.length} changes were not tried`), element("ul", {}, advice.left_out.map((one) => element("li", {}, clipped(`${one.change}: ${one.why}`, 600))))))];
}

const signed = (value, key) => `${value > 0 ? "+" : ""}${short_figure(value, key)}`;

// With a whole training asked, what counts is when that ends.
const gain_in_percent = { value: (line) => line.gain_percent, interval: (line) => line.interval_percent, key: "gain_percent", title: "More samples a second, %", words: "more samples a second" };
const gain_in_days = { value: (line) => line.days_saved, interval: (line) => line.days_saved_interval, key: "saved_days", title: "Days saved of the training", words: "days saved of the whole training" };

function advice_line(line, widest, gain) {
  const width = (value) => `${Math.max(0, 100 * value / widest)}%`;
  const [from, to] = (gain.interval(line) ?? []).map((value) => Math.max(0, value));
  return element("li", {},
    element("div", { class: "bar-row" }, element("strong", { class: "bar-label" }, clipped(line.change, 200)),
      element("div", { class: "bar-track", "aria-hidden": "true" }, element("span", { class: "bar-part", style: { width: width(gain.value(line)), background: "var(--update)" } }),
        to > 0 && element("span", { class: "whisker", style: { left: width(from), width: width(to - from) } })),
      element("span", { class: "bar-value number", title: exact_figure(gain.value(line), gain.key) }, signed(gain.value(line), gain.key))),
    element("details", {}, element("summary", {}, `iteration ${short_figure(line.iteration_us, "iteration_us")}${line.is_bound ? "; a bound, which nobody can set" : ""}${line.alters_learning ? "; may alter learning" : ""}${line.needs_hardware ? "; needs hardware" : ""}`),
      line.interval_percent && element("p", {}, `Nine of ten measured gains would be between ${line.interval_percent.map((value) => short_figure(value, "x_percent")).join(" and ")}.`),
      line.measured && element("p", { class: "small muted" }, clipped(line.measured, 600)), line.how && element("p", {}, clipped(line.how, 600)),
      (line.assumed ?? []).length > 0 && element("ul", { class: "small" }, line.assumed.map((text) => element("li", {}, clipped(text, 400)))), command_block(line.command)));
}

// ---- layouts of a transformer

const layout_parts = [
  ["products_us", "matrix products", "--forward"], ["attention_us", "attention", "--backward"], ["element_wise_us", "element-wise", "--series-6"], ["tensor_us", "tensor", "--series-2"], ["context_us", "context", "--series-7"],
  ["expert_us", "experts", "--series-5"], ["sends_us", "sends", "--series-4"], ["bubble_us", "bubble", "--series-8"], ["data_us", "data", "--series-1"], ["optimizer_us", "optimizer", "--series-3"],
  ["communication_us", "communication and waiting", "--exposed"], ["offload_us", "copies to the host", "--compression"], ["host_us", "waiting for launches", "--waiting"],
].map(([key, name, variable]) => ({ key, name, colour: `var(${variable})` }));

const memory_parts = [
  ["weights_GiB", "weights", "--series-1"], ["gradients_GiB", "gradients", "--series-2"], ["optimizer_GiB", "optimizer", "--series-3"], ["gathered_GiB", "gathered", "--series-6"],
  ["activations_GiB", "activations", "--series-4"], ["recomputed_GiB", "recomputed", "--series-5"], ["ends_GiB", "embedding and loss", "--series-8"],
].map(([key, name, variable]) => ({ key, name, colour: `var(${variable})` }));

function layouts_sections(document) {
  const answer = document.value;
  return [section(document, "layouts", clipped(`${answer.model} on ${answer.gpus} GPUs`, 120),
    element("p", { class: "muted" }, clipped(`${answer.gpu}, ${answer.cluster}, ${answer.precision}, sequences of ${answer.sequence} tokens, ${answer.global_batch} per step; ${answer.fitting} of ${answer.candidates} layouts fit into memory`, 400)),
    stacked_bars("What a step consists of, by layout", layout_parts, answer.layouts.slice(0, 60).map((one) => ({ label: one.layout, values: one.parts, total: one.step_us })), { total_key: "step_us" }),
    element("h3", {}, "Memory of a GPU"), element("p", { class: "small muted" }, `Of the largest stage; a GPU has ${short_size(answer.memory_B)}, of which ${short_size(answer.reserve_B)} stay free.`),
    stacked_bars("Memory of a GPU, by layout", memory_parts, answer.layouts.slice(0, 60).map((one) => ({ label: one.layout, values: one.memory_parts, total: one.memory_GiB })), { total_key: "memory_GiB" }),
    table("Layouts, fastest first", [{ title: "layout" }, { title: "step, us", figure: true }, { title: "mfu", figure: true }, { title: "memory, GiB", figure: true }, { title: "limit" }],
      answer.layouts.slice(0, 500).map((one) => [clipped(one.layout, 80), String(one.step_us), String(one.mfu), String(one.memory_GiB), clipped(one.limit, 60)])), warning_list(answer.warnings))];
}

// ---- one collective

function collective_sections(document) {
  const answer = document.value;
  const candidates = (answer.candidates ?? []).filter((one) => one.time_us !== undefined);
  return [section(document, "collective", clipped(`${answer.algorithm} ${answer.operation} of ${short_size(answer.size_B)}`, 120),
    element("p", { class: "muted" }, clipped(`among ${answer.ranks} ranks on ${answer.cluster}${answer.fidelity ? `, fidelity ${answer.fidelity}` : ""}`, 300)),
    tiles([{ name: "time", value: answer.time_us, key: "time_us" }, { name: "algorithm bandwidth", value: answer.algbw_GBps, key: "algbw_GBps" }, { name: "bus bandwidth", value: answer.busbw_GBps, key: "busbw_GBps" }, { name: "messages", value: answer.messages, key: "messages" }, { name: "on the wire", value: answer.wire_B, key: "wire_B" }]),
    candidates.length > 0 && stacked_bars("Candidates", [{ key: "time_us", name: "time", colour: "var(--message)" }], candidates.map((one) => ({ label: value_text(one.algorithm), values: { time_us: one.time_us }, total: one.time_us })), { total_key: "time_us" }),
    answer.why_not && element("p", { class: "notice bad" }, clipped(answer.why_not, 600)), warning_list(answer.warnings), busiest_links(answer),
    answer.command && [element("h3", { class: "label" }, "Again"), command_block(answer.command)])];
}
