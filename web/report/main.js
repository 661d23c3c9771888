// The report: reads the data that stands in the page and puts its parts together.
import { clipped, command_block, element } from "../common/dom.js";
import { theme_switch } from "../common/theme.js";
import { Table, breathe, read_data, unpacked } from "./data.js";
import { document_sections } from "./documents.js";
import { explore_sections } from "./explore.js";
import { json_tree } from "./json_view.js";
import { read_timeline, timeline_part } from "./timeline.js";

const kinds = {
  points: "Sweep", results: "Results side by side", collectives: "Collectives", layouts: "Layouts along axes", goodputs: "Trainings along axes", lessons: "Time to accuracy along axes", "sgdsim/goodput/1": "Training", "sgdsim/result/1": "Result", "sgdsim/plan/1": "Plan", "sgdsim/best/1": "Best points", "sgdsim/tune/1": "Tuned values",
  "sgdsim/validation/1": "Validation", "sgdsim/fit/1": "Fit", "sgdsim/advice/1": "Advice", "sgdsim/layouts/1": "Layouts", "sgdsim/diagnosis/1": "Recorded steps", "sgdsim/comparison/1": "Measured beside predicted", "sgdsim/learn/1": "Time to accuracy", "sgdsim/learn-batches/1": "Iterations over samples", "sgdsim/collective/1": "Collective", "sgdsim/collective-sweep/1": "Collectives",
};

function header(data) {
  return element("header", { class: "top" },
    element("a", { class: "skip", href: "#main" }, "Skip to the figures"),
    element("div", { class: "row spread wide" },
      element("div", { class: "brand" }, element("span", { class: "logo", "aria-hidden": "true" }, element("i"), element("i"), element("i")), element("span", {}, "sgdsim"), element("span", { class: "muted" }, "report")),
      element("div", { class: "row no-print" }, theme_switch(), element("button", { type: "button", class: "print", on: { click: () => print() } }, "Print"))),
    element("nav", { class: "wide no-print", "aria-label": "Parts of this page", id: "parts" }));
}

// What was asked: files, their kinds, the command.
function asked_card(data, tables, documents, timelines) {
  const rows = [
    ...tables.map((table) => [kinds[table.kind], table.json.files.join(", "), `${table.rows} ${table.kind === "points" ? `of ${table.json.of} points` : "rows"}: ${table.axis_columns.map((column) => column.key).join(" × ")}`]),
    ...documents.map((one) => [kinds[one.schema], one.file, one.value.name ?? ""]),
    ...timelines.map((one) => ["Timeline", one.file, `${one.count} slices`]),
    ...data.asked.map((one) => ["Asked", one.file, one.value.description ?? one.value.name ?? ""]),
  ];
  const notes = [...data.notes, ...tables.flatMap((table) => table.json.notes)];
  const left_out = tables.find((table) => table.json.left_out.length > 0)?.json.left_out;
  return element("section", { class: "card", id: "asked" }, element("h2", {}, "What was asked"),
    element("dl", { class: "asked" }, rows.map(([kind, file, what]) => element("div", {}, element("dt", {}, kind), element("dd", {}, element("span", { class: "mono" }, clipped(file, 300)), what && element("span", { class: "muted" }, ` ${clipped(what, 600)}`))))),
    notes.slice(0, 50).map((note) => element("p", { class: "notice warning" }, clipped(note, 600))),
    warnings_of(tables),
    left_out && element("p", { class: "notice warning" }, `To keep the page small, it leaves out the columns that end in ${left_out.join(", ")}.`));
}

// The warnings of all points, each once.
function warnings_of(tables) {
  const most = 10;
  const given = tables.map((table) => table.json.warnings).filter(Boolean);
  const texts = [...new Set(given.flatMap((one) => one.texts))];
  const more = given.reduce((sum, one) => sum + one.more, Math.max(0, texts.length - most));
  if (texts.length === 0) return null;
  return element("div", { role: "note", "aria-label": "Warnings of points" },
    texts.slice(0, most).map((text) => element("p", { class: "notice warning" }, clipped(text, 1000))),
    more > 0 && element("p", { class: "muted small" }, `and ${more} more; every point shows its own`));
}

function end_card(data) {
  return element("section", { class: "card", id: "made" }, element("h2", {}, "How this page was made"), command_block(data.command),
    element("p", { class: "small muted" }, `sgdsim ${data.version} (commit ${data.commit}). The page holds all its data and loads nothing.`),
    data.asked.map((one) => json_tree(one.file, one.value)));
}

// Of many answers only the beginning of each.
function fill_navigation(groups) {
  const nav = document.getElementById("parts");
  const cards = groups.length > 4 ? groups.map((group) => group[0]) : groups.flat();
  for (const card of cards.filter(Boolean)) nav.append(element("a", { href: `#${card.id}` }, clipped(card.querySelector("h2").textContent, 32)));
}

async function show() {
  await breathe();
  const data = read_data();
  await breathe();
  document.title = `${clipped(data.title, 120)} – sgdsim report`;
  const page = document.getElementById("page");
  const main = element("main", { id: "main", class: "wide", tabindex: -1 }, element("h1", {}, clipped(data.title, 200)));
  page.replaceChildren(header(data), main);
  const tables = data.tables.map((json, index) => new Table(json, index));
  const documents = await Promise.all(data.documents.map(async (json, index) => ({ ...json, id: `answer-${index}`, value: await unpacked(json.value) })));
  data.asked = await Promise.all(data.asked.map(async (json) => ({ ...json, value: await unpacked(json.value) })));
  const timelines = await Promise.all(data.timelines.map(read_timeline));
  for (const one of documents) one.several = documents.length > 1;
  await breathe();
  const groups = [];
  const add = (cards) => { groups.push(cards); main.append(...cards); };
  add([asked_card(data, tables, documents, timelines)]);
  for (const table of tables) {
    const cards = [];
    groups.push(cards);
    for (const make of await explore_sections(table)) {
      await breathe();
      const card = await make();
      if (!card) continue;
      cards.push(card);
      main.append(card);
    }
  }
  for (const one of documents) add(document_sections(one, timelines));
  for (const timeline of timelines.filter((one) => !documents.some((other) => other.value.id === one.config))) {
    const place = timelines.indexOf(timeline);
    add([element("section", { class: "card", id: `timeline-${place}` }, element("h2", {}, "Timeline"), timeline_part(timeline, `Timeline of ${timeline.file}`))]);
  }
  add([end_card(data)]);
  fill_navigation(groups);
  document.documentElement.dataset.ready = "true";
  performance.mark("ready");
  // The other columns are unpacked while nobody waits, so that no first look at a point is slow.
  for (const table of tables)
    for (const column of table.list) {
      await new Promise((resume) => (window.requestIdleCallback ?? setTimeout)(resume));
      await table.values(column);
    }
  document.documentElement.dataset.idle = "true";
}

show().catch((error) => {
  document.getElementById("page").append(element("p", { class: "notice bad", role: "alert" }, `This page could not be shown: ${error.message}`));
  throw error;
});
