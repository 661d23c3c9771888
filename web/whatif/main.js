// The page: state in, questions to the simulator, answers into views.
import { clipped, element, replace_children } from "../common/dom.js";
import { theme_switch } from "../common/theme.js";
import { drop_zone, grouped_choice, nearest_step, slider, sliders, training_sliders } from "./controls.js";
import { curves_view } from "./curves.js";
import { newest, start_engine } from "./engine.js";
import { lessons_view } from "./lessons.js";
import { map_view } from "./map.js";
import { plan_view } from "./plan.js";
import { reproduce_view } from "./reproduce.js";
import { problem, result_view } from "./result.js";
import { fragment_of, input_of, largest_link_B, shipped, state_from } from "./state.js";
import { iteration_view } from "./timeline.js";
import { training_question, training_view } from "./training.js";

// The strategies of the map and the curves: those of app/sweeps/nodes_bandwidth.json.
const compared = ["wfbp", "sync_easgd", "mg_wfbp", "optimal", "ddp", "horovod", "bytescheduler", "p3"];
const map_nodes = [2, 4, 8, 16, 32, 64, 128, 256];
const map_rates = [1, 2, 5, 10, 25, 50, 100];
const map_latencies = ["0.5 us", "1 us", "2 us", "5 us", "10 us", "20 us", "50 us", "100 us"];
const curve_nodes = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
// What lessons compare with dense training: late, local, sparse and short gradients.
const taught = ["one iteration late: synchronization=pipe_sgd", "an average every 4: synchronization=local_sgd", "largest 1 %: compression=topk, density=0.01", "gTop-k 0.1 %: compression=gtopk, density=0.001", "signs: compression=sign"];
const fidelities = [
  ["closed_form", "closed form: the published formula"], ["message", "message: every message of every worker"],
  ["flow", "flow: links are shared max-min fairly"], ["packet", "packet: queues, marks and drops"],
];
const too_slow = "Packets take a second and more for one experiment; sgdsim sweep and sgdsim plan compare many.";

async function start() {
  const page = document.getElementById("page");
  try {
    const engine = await start_engine();
    const { answer } = await engine.ask({ ask: "catalogue" });
    if (answer.error) throw new Error(answer.error);
    const from_link = await state_from(location.hash);
    replace_children(page, ...(await page_of(engine, answer, from_link)));
  } catch (trouble) {
    replace_children(page, element("main", { class: "starting" }, problem(`The simulator cannot start in this browser: ${trouble?.message ?? trouble}`)));
    throw trouble;
  }
}

async function page_of(engine, catalogue, from_link) {
  let state = from_link.state;
  let timeline = null;
  let version = 0;  // of the files: the same question about another file of one name is another question
  const own = { traces: [], clusters: [], experiments: [] };
  const imports = new Map();
  const dropped = new Map();  // files by name, as the program has them
  const messages = element("div", { role: "status" });

  const choices = {
    experiment: grouped_choice("Trace: the network that is trained", (value) => change("experiment", value)),
    cluster: grouped_choice("Cluster", (value) => change("cluster", value)),
    strategy: grouped_choice("Strategy: when gradients are sent", (value) => change("strategy", value)),
    algorithm: grouped_choice("Algorithm of the all-reduce", (value) => change("algorithm", value)),
    compression: grouped_choice("Compression of gradients", (value) => change("compression", value)),
    fidelity: grouped_choice("Fidelity", (value) => change("fidelity", value)),
  };
  const moved = Object.fromEntries(Object.keys(sliders).map((name) => [name, slider(name, change)]));
  const of_training = Object.fromEntries(Object.entries(training_sliders).map(([name, kind]) => [name, slider(name, change, kind)]));
  const more = element("textarea", { id: "more", rows: 2, spellcheck: "false", maxlength: 4000, placeholder: "cluster.nic.efficiency=0.9", on: { change: () => change("more", more.value) } });

  const result = result_view();
  const lanes = iteration_view();
  const map = map_view(compared, (chosen) => change_all(chosen));
  const curves = curves_view(compared);
  const lessons = lessons_view(() => ask_lessons({ ask: "learn", input: input_of(state, imports), methods: taught }));
  const plan = plan_view((name) => change("strategy", name));
  const training = training_view(of_training, (text) => change("interval", text));
  const reproduce = reproduce_view({
    save: () => engine.insist({ ask: "save", input: input_of(state, imports) }),
    files: () => [...dropped],
    timeline: () => timeline,
  });

  const of_files = () => version;
  const ask_run = newest(engine, (answer) => { result.show(answer); ask_end(answer.result?.iteration_ps ?? 0); document.documentElement.dataset.ready = "true"; if (answer.command) reproduce.show(answer.command.replace(" --format json", "")); }, result.busy, of_files);
  const ask_timeline = newest(engine, (answer) => { timeline = answer.timeline ?? null; lanes.show(answer); }, lanes.busy, of_files);
  let axes = null;
  const ask_map = newest(engine, (answer, milliseconds) => { map.show(axes, answer, milliseconds); mark(); }, map.busy, of_files);
  const ask_curves = newest(engine, (answer) => curves.show(curve_nodes, answer), curves.busy, of_files);
  const ask_lessons = newest(engine, (answer) => lessons.show(answer), lessons.busy, of_files);
  const ask_plan = newest(engine, (answer) => plan.show(answer, state.strategy), plan.busy, of_files);

  // Of the step as it was simulated last.
  const ask_training = newest(engine, training.show, training.busy, of_files);
  let step_ps = 0;
  let of_step = "";  // the question that it answers
  function ask_end(iteration_ps) {
    step_ps = iteration_ps;
    if (step_ps > 0) ask_training({ ask: "training", input: input_of(state, imports), step_ps, goodput: training_question(state) });
    else nothing(ask_training, training, "There is no step whose training could end.");
  }

  const cluster_json = () => {
    const all = [...catalogue.clusters, ...own.clusters];
    return all.find((one) => one.file === state.cluster)?.json ?? own.experiments.find((one) => one.file === state.experiment)?.json.cluster;
  };

  function change(name, value) { change_all({ [name]: value }); }
  function change_all(changes) {
    state = { ...state, ...changes };
    if ("experiment" in changes) fit_cluster();
    if ("compression" in changes) state.density = "";  // not every compression has one
    show();
  }

  // An experiment has a cluster of its own, a trace has none.
  function fit_cluster() {
    if (own.experiments.some((one) => one.file === state.experiment)) state = { ...state, cluster: "", strategy: "", fidelity: "" };
    else if (state.cluster === "") state = { ...state, cluster: shipped.cluster, strategy: state.strategy || "ddp", fidelity: state.fidelity || "closed_form" };
  }

  function show_controls() {
    const named = (list) => list.map(({ name, meaning }) => ({ value: name, text: name, title: meaning }));
    const files = (list, text) => list.map((one) => ({ value: one.file, text: text(one), title: one.source }));
    const is_experiment = own.experiments.some((one) => one.file === state.experiment);
    const as_file = (text) => ({ title: "", options: [{ value: "", text }] });
    const trace_text = (one) => `${one.model || one.name} · ${one.device || one.name}${one.batch ? `, batch ${one.batch}` : ""} (${one.layers} layers)`;
    choices.experiment.show([
      { title: "Your files", options: [...files(own.experiments, (one) => `${one.name} (experiment)`), ...files(own.traces, (one) => `${one.name} (${one.layers} layers)`)] },
      { title: "Traces that ship", options: files(catalogue.traces, trace_text) }], state.experiment);
    choices.cluster.show([
      is_experiment ? as_file("as in the experiment") : { options: [] },
      { title: "Your files", options: files(own.clusters, (one) => `${one.name} (${one.workers} workers)`) },
      { title: "Clusters that ship", options: files(catalogue.clusters, (one) => `${one.name} · ${one.shape}, ${one.workers} workers`) }], state.cluster);
    choices.strategy.show([is_experiment ? as_file("as in the experiment") : { options: [] }, { title: "", options: named(catalogue.strategies) }], state.strategy);
    choices.algorithm.show([as_file("as usual on this cluster"), { title: "", options: named(catalogue.algorithms) }], state.algorithm);
    choices.compression.show([as_file("none"), { title: "", options: named(catalogue.compressions) }], state.compression);
    choices.fidelity.show([is_experiment ? as_file("as in the experiment") : { options: [] }, { title: "", options: fidelities.map(([value, text]) => ({ value, text })) }], state.fidelity);
    const cluster = cluster_json();
    const no_nic = cluster && !cluster.nic ? "this cluster has none" : "";
    moved.nodes.show(state.nodes, cluster, cluster && cluster.nodes === undefined ? "set by the shape" : "");
    moved.bandwidth.show(state.bandwidth, cluster, no_nic);
    moved.latency.show(state.latency, cluster, no_nic);
    moved.speed.show(state.speed, cluster, "");
    moved.density.show(state.density, cluster, state.compression ? "" : "needs a compression");
    for (const [name, one] of Object.entries(of_training)) one.show(state[name], cluster, "");
    if (document.activeElement !== more) more.value = state.more;
  }

  // Nodes and bandwidth, or latency where the shape fixes the number of nodes.
  function map_axes() {
    const cluster = cluster_json();
    if (!cluster?.nic) return null;
    const base = sliders.bandwidth.number(sliders.bandwidth.of(cluster) ?? "") ?? 1e10;
    const factor = base > 1e11 ? base / 5e10 : 1;
    const rates = map_rates.map((rate) => sliders.bandwidth.text(rate * 1e9 * factor));
    const columns = { name: "bandwidth", title: "bandwidth", texts: rates, values: rates };
    if (cluster.nodes === undefined) return [{ name: "latency", title: "latency", texts: map_latencies, values: map_latencies }, columns];
    return [{ name: "nodes", title: "nodes", texts: map_nodes.map((nodes) => `${nodes} nodes`), values: map_nodes.map(String) }, columns];
  }

  const fields = { nodes: "cluster.nodes", bandwidth: "cluster.nic.bandwidth", latency: "cluster.nic.latency" };

  function grid_question(rows_and_columns) {
    const names = rows_and_columns.map((axis) => axis.name);
    const of_axis = (axis) => [fields[axis.name], axis.name === "nodes" ? axis.values.map(Number) : axis.values];
    return {
      ask: "grid", input: input_of(state, new Map(), [...names, "strategy"]),
      axes: Object.fromEntries([...rows_and_columns.map(of_axis), ["strategy", compared]]),
    };
  }

  function mark() {
    if (!axes) return;
    const cluster = cluster_json();
    const place_of = (axis) => {
      const kind = sliders[axis.name];
      const now = kind.number(state[axis.name] || String(kind.of(cluster) ?? ""));
      return nearest_step(axis.values.map(kind.number), now);
    };
    map.mark({ row: place_of(axes[0]), column: place_of(axes[1]) });
  }

  // The newest answers come first: of one experiment, then the map.
  function show() {
    show_controls();
    engine.make_room();
    const input = input_of(state, imports);
    ask_run({ ask: "run", input });
    const question = JSON.stringify([version, input]);
    if (question === of_step && step_ps > 0) ask_end(step_ps);  // nothing else comes of the same question
    of_step = question;
    if (is_of_packets(input.settings)) {
      axes = null;
      for (const [ask, view] of [[ask_map, map], [ask_curves, curves], [ask_plan, plan]]) nothing(ask, view, too_slow);
    } else {
      ask_many();
    }
    ask_timeline({ ask: "timeline", input });
    lessons.changed();
    mark();
    remember();
  }

  function nothing(ask, view, sentence) {
    ask(null);
    view.nothing(sentence);
  }

  const is_of_packets = (settings) =>
    (settings.findLast((one) => one.startsWith("fidelity="))?.slice(9) ?? own.experiments.find((one) => one.file === state.experiment)?.json.fidelity) === "packet";

  function ask_many() {
    axes = map_axes();
    if (axes) ask_map(grid_question(axes));
    else nothing(ask_map, map, "This cluster lists its links one by one; a map needs network cards that are alike.");
    if (axes?.[0].name === "nodes") ask_curves(grid_question([{ name: "nodes", values: curve_nodes }]));
    else nothing(ask_curves, curves, "The number of nodes of this cluster follows from its shape; there is nothing to scale.");
    ask_plan({ ask: "plan", input: input_of(state, new Map()) });
  }

  let remembered = "";  // the link of what is shown, as it was opened or as this page wrote it
  function write(hash) {
    remembered = hash;
    if (location.hash === hash) return;
    try { history.replaceState(null, "", hash); } catch { location.hash = hash; }
  }

  let planned = 0;
  function remember() {
    clearTimeout(planned);
    document.documentElement.dataset.linked = "false";  // the link is not yet of what is shown
    const mine = setTimeout(async () => {
      const needed = [...dropped].filter(([name, bytes]) => (name === state.experiment || name === state.cluster) && bytes.length <= largest_link_B);
      const fragment = await fragment_of(state, needed);
      if (mine !== planned) return;
      write(`#${fragment}`);
      document.documentElement.dataset.linked = "true";
    }, 250);
    planned = mine;
  }

  const tell = (...children) => replace_children(messages, ...children);

  // What the program says of a file decides where it belongs. What was made of it is what it now has.
  async function add(name, bytes, is_from_link = false) {
    const answer = await engine.add_file(name, bytes);
    if (answer.error) return tell(problem(answer.error));
    const list = own[`${answer.kind}s`];
    const known = list.findIndex((one) => one.file === answer.file);
    list.splice(known < 0 ? list.length : known, known < 0 ? 0 : 1, answer);
    if (answer.imports.length > 0) imports.set(answer.file, answer.imports);
    version += 1;
    dropped.set(answer.file, answer.text === undefined ? bytes : new TextEncoder().encode(answer.text));
    if (is_from_link) return;
    tell(element("p", { class: "notice" }, clipped(`${name}: read as a ${answer.kind}`, 400)),
      (answer.notes ?? []).map((note) => element("p", { class: "notice warning" }, clipped(note, 800))));
    change(answer.kind === "cluster" ? "cluster" : "experiment", answer.file);
  }

  const zone = drop_zone((file) => (file.error ? tell(problem(`${file.name}: ${file.error}`)) : add(file.name, file.bytes)));
  async function take_files({ files, problems }) {
    for (const [name, bytes] of files) await add(name, bytes, true);
    if (problems.length > 0) tell(problems.map((one) => problem(one)));
  }

  // A link that is opened where the page is open already. Of several, the last one counts.
  let opened = 0;
  async function open_link({ newURL }) {
    const { hash } = new URL(newURL);  // the page may have written another one since
    if (hash === remembered || hash === "#answers") return;  // its own, and the skip link
    clearTimeout(planned);
    planned = 0;
    write(hash);  // so that another one, be it the one before this, is another one
    const number = ++opened;
    const link = await state_from(hash);
    if (number !== opened) return;
    tell();
    await take_files(link);
    if (number !== opened) return;
    state = link.state;
    show();
  }

  await take_files(from_link);
  addEventListener("hashchange", open_link);
  setTimeout(show);

  const controls = element("form", { class: "card controls", "aria-label": "Experiment", on: { submit: (event) => event.preventDefault() } },
    choices.experiment.node, zone, messages, choices.cluster.node, choices.strategy.node, choices.algorithm.node, choices.compression.node, choices.fidelity.node,
    element("hr"), Object.values(moved).map((one) => one.node), element("hr"),
    element("label", { class: "field", for: "more" }, "Other fields, one per line, as after --set"), more,
    element("div", { class: "row" },
      element("button", { type: "button", on: { click: () => engine.stop() } }, "Stop what runs"),
      element("button", { type: "button", on: { click: () => { location.hash = ""; } } }, "Start over")));
  return [
    element("a", { class: "skip", href: "#answers" }, "Skip to the answers"),
    element("header", { class: "top" },
      element("div", {}, element("h1", {}, "What if?"), element("p", { class: "small muted" }, `sgdsim ${catalogue.version} (${catalogue.commit}), in this page; nothing leaves it`)), element("div", { class: "no-print" }, theme_switch())),
    element("div", { class: "columns" }, controls,
      element("main", { class: "answers", id: "answers", tabindex: -1 }, result.node, lanes.node, map.node, curves.node, plan.node, training.node, lessons.node, reproduce.node)),
  ];
}

start();
