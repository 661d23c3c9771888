// Reports of single answers: every figure in a table or a tile is one of the JSON, all digits, and each
// line's command gives that line.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { mark_texts, rounded, short_duration } from "../../web/common/figures.js";
import { close_browser, drawn, file_in, open_page, reason_to_skip, root, run_shown, screenshot, sgdsim } from "./pages.mjs";

const skip = reason_to_skip();
const experiment = "app/experiments/googlenet_k80.json";
const answers = {
  fit: ["fit", "traces/measurement/data/nccl_a100x8.json", "--op", "allreduce", "--from-collective", "ring"],
  curve: ["fit", "tests/data/nccl_tests.log"],
  sizes: ["collective", "--sweep", "-a", "ring,be,mst", "-p", "2..16", "-n", "1 KiB..1 MiB", "-c", "topologies/data/10gbe_16.json"],
  plan: ["plan", experiment, "--set", "cluster.nodes=8", "--also", "compression=truncate16"],
  collective: ["collective", "-a", "auto", "-n", "1 MiB", "-c", "topologies/data/dgx_h100_4.json"],
  best: ["sweep", "app/sweeps/nodes_bandwidth.json", "--minimize", "metrics.iteration_us"],
  tune: ["tune", experiment, "--axis", "strategy=wfbp,optimal", "--axis", "cluster.nodes=2..8"],
  advice: ["advise", "traces/data/googlenet_k80.json", "-c", "topologies/data/10gbe_16.json"],
  training: ["goodput", "app/goodput_questions/llama3_405b.json", "--runs", "400", "--until", "75 days"],
  played_training: ["goodput", "app/goodput_questions/memory_copies.json", "--runs", "200"],
  advice_in_days: ["advise", "resnet50_v100", "-c", "25gbe_16", "--steps", "2000000", "--goodput", '{"failures": "llama3_h100", "save": {"stall": "1 min"}}'],
  layouts: ["layout", "llama3.1_8b", "--gpus", "8", "-c", "topologies/data/dgx_h100_4.json"],
  validation: ["validate", "models/strategy/data/pytorch_ddp_dgx1.json", "--rows"],
};
const json = {};

before(() => {
  if (skip) return;
  for (const [name, words] of Object.entries(answers)) {
    const text = sgdsim([...words, "--format", "json"], { codes: [0, 5] });
    writeFileSync(file_in(`${name}.json`), text);
    json[name] = JSON.parse(text);
    sgdsim(["report", file_in(`${name}.json`), ...(name === "tune" ? [experiment] : []), "--out", file_in(`${name}.html`)]);
  }
});
after(close_browser);

const clean = (page) => assert.deepEqual(page.problems, []);
async function open_all(page) {
  await page.$$eval("main details", (nodes) => nodes.forEach((node) => { node.open = true; }));
  await drawn(page);  // some are filled when they open
}

// The table that has this caption: [{title: text}], one object per row.
const rows_of = (page, caption) => page.$$eval("table", (tables, caption) => {
  const table = tables.find((one) => one.caption?.textContent.startsWith(caption));
  const titles = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  return [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell, at) => [titles[at], cell.textContent]));
}, caption);

function numbers_in(value, found = new Set()) {
  if (typeof value === "number") found.add(value);
  else if (value !== null && typeof value === "object") Object.values(value).forEach((one) => numbers_in(one, found));
  return found;
}

test("every exact figure of every kind of answer is a number of its JSON", { skip }, async () => {
  for (const name of Object.keys(answers)) {
    const page = await open_page(file_in(`${name}.html`));
    await open_all(page);
    const shown = await page.$$eval("main td.figure, main [data-exact], main [data-best], main dd[data-key]", (nodes) =>
      nodes.filter((node) => !node.closest(".timeline-table")).map((node) => node.dataset.exact ?? node.dataset.best ?? node.textContent));
    // Of messages start and end are in the JSON, in us, and here start and length.
    for (const row of await page.$$eval("main .timeline-table tbody tr", (nodes) => nodes.map((node) => [...node.querySelectorAll("td.figure")].slice(0, 2).map((cell) => cell.textContent)))) {
      const [start, length] = row.map((text) => Math.round(Number(text) * 1e6));
      shown.push(String(start / 1e6), String((start + length) / 1e6));
    }
    const known = numbers_in(json[name]);
    for (let count = 0; count <= 1000; ++count) known.add(count);  // what the page counts: wins, messages
    assert.ok(shown.length >= 3, name);
    for (const text of shown)
      for (const number of text.match(/-?\d[\d.]*(e[+-]?\d+)?/g) ?? [])
        assert.ok(known.has(Number(number)), `${name}: ${number} in "${text}" is not in the JSON`);
    await screenshot(page, `answer-${name}`);
    clean(page);
    await page.context().close();
  }
});

test("a fit: pieces and series are those of the JSON, row by row", { skip }, async () => {
  const interval = (low, high) => (low === undefined ? undefined : `${low} to ${high}`);
  for (const name of ["fit", "curve"]) {
    const page = await open_page(file_in(`${name}.html`));
    for (const [index, fit] of json[name].fits.entries()) {
      const section = page.locator(`#answer-0-fit-0-${index}`);
      const tables = await section.locator("table").evaluateAll((nodes) => nodes.map((table) => [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent))));
      const pieces = fit.pieces.map((one) => [one.from_B, one.fitted_from_B, one.fitted_to_B, one.rows, one.alpha_us, interval(one.alpha_low_us, one.alpha_high_us), one.beta_ps_per_B,
        interval(one.beta_low_ps_per_B, one.beta_high_ps_per_B), one.gamma_ps_per_B, one.rms_percent, one.max_percent].filter((value) => value !== undefined).map(String));
      assert.deepEqual(tables[0], pieces);
      assert.deepEqual(tables[1].map((cells) => cells.slice(-4)), fit.series.map((one) => [one.ranks, one.rows, one.median_percent, one.max_percent].map(String)));
      const words = await section.textContent();
      for (const value of [fit.rms_percent, fit.max_percent, fit.rows, fit.start_us]) if (value !== undefined) assert.ok(words.includes(String(value)), String(value));
    }
    assert.equal(await page.locator("section[id^=answer-0-fit]").count(), json[name].fits.length);
    clean(page);
  }
});

test("a sweep of collectives: curves, points, tips and commands", { skip }, async () => {
  const page = await open_page(file_in("sizes.html"));
  const { points } = json.sizes;
  assert.equal(points.length, 3 * 4 * 11);
  await open_all(page);
  // Below the curves: times over ranks, one column per algorithm, at the size that is chosen.
  const size = Number(await page.$eval("#table-0-curves .controls", (node) => [...node.querySelectorAll("label.field")].find((label) => label.firstChild.textContent === "size").querySelector("select").selectedOptions[0].textContent));
  const rows = await rows_of(page, "time (us) by ranks");
  assert.equal(rows.length, 4);
  for (const [[, ranks], ...cells] of rows)
    for (const [algorithm, time] of cells) {
      const point = points.find((one) => one.ranks === Number(ranks) && one.size_B === size && one.algorithm === algorithm);
      assert.equal(time, String(point.time_us), `${algorithm} among ${ranks}`);
    }
  // Every value of a point, and its command.
  await page.focus("#table-0-curves .plot");
  await page.keyboard.press("ArrowRight");
  await page.waitForSelector("#table-0-curves .tip code:not(:empty)", { state: "attached" });
  await page.waitForSelector("#table-0-curves .readout pre.command");
  const command = await page.textContent("#table-0-curves .readout pre.command");
  const point = JSON.parse(run_shown(command, "collective"));
  assert.ok(points.some((one) => JSON.stringify(one) === JSON.stringify(point)));
  const values = Object.fromEntries(await page.$$eval("#table-0-curves .readout dd[data-key]", (nodes) => nodes.map((node) => [node.dataset.key, node.textContent.split(" ")[0]])));
  for (const key of ["time_ps", "time_us", "messages", "wire_B", "algbw_GBps", "busbw_GBps"]) assert.equal(values[key], String(point[key]), key);
  clean(page);
});

test("a plan: each strategy shows its own figures and the command of its line", { skip }, async () => {
  const page = await open_page(file_in("plan.html"));
  const plans = json.plan.plans.filter((plan) => plan.iteration_us !== undefined);
  await open_all(page);
  const rows = await rows_of(page, "Iteration by strategy");
  assert.deepEqual(rows.map((cells) => cells.map(([, text]) => text)),
    plans.map((plan) => [plan.strategy + (plan.with ? `, ${plan.with}` : ""), plan.iteration_us, plan.exposed_us, plan.speedup, plan.groups.length].map(String)));
  const names = page.locator("#answer-0-winners .bars button");
  assert.equal(await names.count(), plans.length);
  for (const [index, plan] of plans.entries()) {
    await names.nth(index).focus();
    await page.keyboard.press("Enter");
    const command = await page.textContent("#answer-0-winners .readout pre.command");
    assert.equal(command, plan.command);
    // The two parts of the bar, in the words for screen readers: they add up, without noise of adding.
    const [, total, rest, exposed] = /: ([\d.]+) us: compute and the rest ([\d.]+) us(?:; exposed communication ([\d.]+) us)?$/.exec(await page.locator("#answer-0-winners .bar-row").nth(index).getAttribute("aria-label"));
    const ps = (text) => Math.round(Number(text ?? 0) * 1e6);
    assert.equal(ps(total), ps(rest) + ps(exposed));
    assert.match(rest, /^\d+(\.\d{1,6})?$/);
    assert.ok((await page.locator("#answer-0-winners .bar-row").nth(index).getAttribute("title")).endsWith(`\n${plan.command}`));
    assert.equal(await page.getAttribute("#answer-0-winners .readout [data-key=iteration_us]", "data-exact"), String(plan.iteration_us));
    if (index % 5 === 0) assert.equal(JSON.parse(run_shown(command, "run")).iteration_ps, plan.iteration_ps);
  }
  clean(page);
});

test("marks of an axis have the digits that tell them apart", () => {
  assert.deepEqual(mark_texts([0.99995, 0.99996, 0.99997], rounded), ["0.99995", "0.99996", "0.99997"]);
  assert.deepEqual(mark_texts([44000.1, 44000.2], short_duration), ["44.0001 ms", "44.0002 ms"]);
  assert.deepEqual(mark_texts([0, 0.5, 1], rounded), ["0", "0.500", "1.00"]);
});

test("layouts: every part of a step is in the bars, and what they leave", { skip }, async () => {
  const answer = JSON.parse(sgdsim(["layout", "llama3.1_8b", "--layout", "tp4 pp2 dp2 zero1", "-c", "topologies/data/dgx_h100_4.json", "--fidelity", "flow", "--format", "json"]));
  const [layout] = answer.layouts;
  assert.ok(layout.parts.communication_us > 0.1 * layout.step_us);
  const label_of = async (name) => {
    writeFileSync(file_in(`${name}.json`), JSON.stringify(answer));
    sgdsim(["report", file_in(`${name}.json`), "--out", file_in(`${name}.html`)]);
    const page = await open_page(file_in(`${name}.html`));
    clean(page);
    return page.locator("#answer-0-layouts .bar-row").first().getAttribute("aria-label");
  };
  const whole = await label_of("flow_layout");
  assert.ok(whole.includes(`communication and waiting ${layout.parts.communication_us} us`), whole);
  assert.ok(!whole.includes("rest"), whole);
  layout.parts.communication_us = 0;  // a part that the page does not know
  const rest = /rest ([\d.]+) us$/.exec(await label_of("flow_layout_rest"));
  const others = Object.values(layout.parts).reduce((sum, part) => sum + part, 0);
  assert.ok(Math.abs(Number(rest[1]) + others - layout.step_us) < 1e-3, rest[1]);
});

test("layouts along axes: of what is better when large the largest wins", { skip }, async () => {
  const lines = sgdsim(["layout", "llama3.1_8b", "-c", "dgx_h100_4", "--gpus", "32", "--axis", "layout=tp4 dp8 zero1,tp8 dp4 zero1", "--axis", "sequence=2048,8192", "--axis", "cluster.nic.bandwidth=100Gbps,400Gbps", "--format", "json"]);
  writeFileSync(file_in("layout_points.jsonl"), lines);
  sgdsim(["report", file_in("layout_points.jsonl"), "--out", file_in("layout_points.html")]);
  const points = lines.trim().split("\n").map((line) => JSON.parse(line));
  const page = await open_page(file_in("layout_points.html"));
  for (const [key, word, best] of [["tokens_per_s_per_gpu", "largest", Math.max], ["step_us", "least", Math.min]]) {
    await page.locator("#table-0-map .controls select").first().selectOption(key);
    await page.waitForFunction((text) => document.querySelector("#table-0-map").textContent.includes(text), `The ${word} `);
    const rows = await page.$$eval("#table-0-map table tbody tr", (trs) => trs.map((tr) => [...tr.children].map((cell) => cell.textContent)));
    const head = await page.$$eval("#table-0-map table thead th", (nodes) => nodes.map((node) => node.textContent));
    let compared = 0;
    for (const row of rows)
      for (let column = 1; column < head.length; ++column) {
        const own = points.filter(({ axes }) => [row[0], head[column]].every((text) => Object.values(axes).map(String).includes(text))).map(({ answer }) => answer.layouts[0][key]);
        assert.equal(own.length, 2);
        assert.equal(row[column].split(": ")[1], String(best(...own)), `${row[0]}, ${head[column]}`);
        ++compared;
      }
    assert.equal(compared, 4);
  }
  clean(page);
});

test("lessons: a method has its colour of the figures", { skip }, async () => {
  const words = ["learn", "app/experiments/googlenet_k80.json", "--set", "cluster.nodes=2", "--also", "powersgd: compression=powersgd", "--iterations", "20", "--format", "json"];
  writeFileSync(file_in("lesson.json"), sgdsim(words));
  sgdsim(["report", file_in("lesson.json"), "--out", file_in("lesson.html")]);
  const page = await open_page(file_in("lesson.html"));
  const swatches = await page.$$eval("#answer-0-curves .legend button", (nodes) => nodes.map((node) => [node.textContent, node.querySelector(".swatch").style.background]));
  const { light, names } = JSON.parse(readFileSync(join(root, "app/plot/colours.json"), "utf8"));
  const place = names.strategies.indexOf("powersgd");
  assert.equal(swatches.find(([name]) => name === "powersgd")[1], `var(--series-${place % light.length + 1})`);
  clean(page);
});
