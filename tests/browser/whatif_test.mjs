// The what-if page in a real browser: what it shows is what the command beside it gives; sliders, keys,
// dropped files and links work; names are shown and not run; nothing is loaded.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { deflateRawSync } from "node:zlib";
import { wasm_ms } from "../page/map_time.mjs";
import { close_browser, open_page, program, reason_to_skip, root, run_shown, screenshot } from "./pages.mjs";

const file = join(root, "results/whatif.html");
const skip = reason_to_skip() || (existsSync(file) ? false : "results/whatif.html is not built: ./run page");
const most_ms = 100;  // from a key to the painted map, where its question takes usual_ms of a processor at most
const usual_ms = 20;
after(close_browser);

const clean = (page) => assert.deepEqual(page.problems, []);
const iteration_ps = (page) => page.locator("#iteration").getAttribute("data-ps");
const command = (page) => page.locator("[aria-labelledby=reproduce-title] pre.command").textContent();

const native = (shown) => JSON.parse(run_shown(shown, "run"));

// Nothing is asked or waits for an answer.
async function settled(page) {
  await page.waitForTimeout(100);
  while ((await page.locator(".busy").count()) > 0) await page.waitForTimeout(20);
}

async function moved(page, slider, presses) {
  await page.focus(`#slider-${slider}`);
  for (let press = 0; press < Math.abs(presses); ++press) await page.keyboard.press(presses > 0 ? "ArrowRight" : "ArrowLeft");
  await settled(page);
}

// The link of what is shown, which the page writes a moment after a change.
async function linked(page) {
  await settled(page);
  await page.waitForSelector("html[data-linked=true]");
  return new URL(page.url());
}

// A link comes after what the page is still asked, so that its answer is waited for, however long that takes.
async function opens(page, hash, ps) {
  await page.evaluate((hash) => { location.hash = hash; }, hash);
  await page.waitForSelector(`#iteration[data-ps="${ps}"]`);
  await settled(page);
  assert.equal(await iteration_ps(page), ps);
}

const dropped = (page, name, text) =>
  page.locator("input[type=file]").setInputFiles([{ name, mimeType: "application/octet-stream", buffer: Buffer.from(text) }]);

test("the page is small and closed to the network", { skip }, () => {
  assert.ok(statSync(file).size < 5_000_000);
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(readFileSync(file, "utf8"))[1];
  assert.match(policy, /^default-src 'none';/);
  assert.doesNotMatch(policy, /unsafe-inline|'unsafe-eval'|https?:|connect-src/);
});

test("every figure equals the command's, after every move", { skip }, async () => {
  const page = await open_page(file);
  for (const [slider, presses] of [["nodes", 2], ["bandwidth", 5], ["latency", -3], ["speed", 4]]) {
    await moved(page, slider, presses);
    const result = native(await command(page));
    assert.equal(await iteration_ps(page), String(result.iteration_ps));
    await page.click(".card summary");
    const rows = Object.fromEntries(await page.$$eval("[aria-labelledby=result-title] details table tbody tr", (lines) => lines.map((line) => [...line.cells].map((cell) => cell.textContent))));
    assert.equal(rows.iteration_ps, String(result.iteration_ps));
    const { iteration_us, ...others } = result.metrics;
    assert.equal(Object.keys(rows).length, 1 + Object.keys(iteration_us).length + Object.keys(others).length);
    for (const value of [...Object.values(iteration_us), ...Object.values(others)])
      assert.ok(Object.values(rows).some((text) => text.split(" ")[0] === String(value)), String(value));
  }
  clean(page);
});

// Milliseconds from a key on a slider (when the browser got it) until the frame after the new map is drawn.
async function time_to_map(page, slider, key) {
  const time = page.evaluate((slider) => new Promise((resume) => {
    let pressed = 0;
    document.getElementById(`slider-${slider}`).addEventListener("input", (event) => { pressed = event.timeStamp; }, { once: true });
    new MutationObserver((_, observer) => {
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => resume(performance.now() - pressed)));
    }).observe(document.querySelector("[data-milliseconds]"), { attributes: true });
  }), slider);
  await page.focus(`#slider-${slider}`);
  await page.keyboard.press(key);
  const taken = await time;
  await settled(page);
  return taken;
}

test("a slider is followed by a painted map within 100 ms", { skip }, async () => {
  const page = await open_page(file);
  await settled(page);
  // 161 tensors, eight strategies: the question of the bar.
  assert.match(await page.locator("[data-milliseconds]").textContent(), /^448 points in /);
  assert.equal(await page.locator("label.field:has-text('Trace') select").inputValue(), "traces/data/resnet50_v100.json");
  // The first ones run before the browser has optimised the code. The least of the others counts, because what else
  // runs on the machine is not the page's; where much does, more are tried. A slower machine has longer.
  const alone_ms = await wasm_ms();
  const bar_ms = most_ms * Math.max(1, alone_ms / usual_ms);
  const times = [];
  const sorted = () => times.slice(8).sort((a, b) => a - b);
  for (let turn = 0; turn < 20 || (turn < 60 && sorted()[0] >= bar_ms); ++turn)
    times.push(await time_to_map(page, "latency", turn % 2 === 0 ? "ArrowRight" : "ArrowLeft"));
  const least = sorted()[0];
  console.log(`    from key to painted map: ${times.map((time) => time.toFixed(0)).join(", ")} ms; without the first 8 the least ${least.toFixed(0)}, the median ${sorted()[sorted().length >> 1].toFixed(0)}; the bar is ${bar_ms.toFixed(0)}, as its question takes ${alone_ms.toFixed(0)} of a processor`);
  assert.ok(least < bar_ms, String(times));
  clean(page);
});

test("the end of the training is the command's, after every move of its sliders", { skip }, async () => {
  const page = await open_page(file);
  await settled(page);
  for (const [slider, presses] of [["failures", 6], ["interval", 3], ["stall", -2], ["restart", 2], ["steps", 4], ["nodes", 3]]) {
    await moved(page, slider, presses);
    const shown = await page.locator("[aria-labelledby=training-title] pre.command").textContent();
    const answer = JSON.parse(run_shown(shown, "goodput"));
    assert.equal(await page.locator("#training-days").getAttribute("data-days"), String(answer.wall.closed_form_days));
  }
  await page.fill("input[aria-label='Failures of a node and day, as text']", "many");
  await page.keyboard.press("Enter");
  await settled(page);
  assert.match(await page.locator("[aria-labelledby=training-title] [role=alert]").textContent(), /per_day/);
  clean(page);
});

test("packets: one experiment, no map; what a newer question makes useless is ended", { skip }, async () => {
  const page = await open_page(file);
  const nodes = async (count) => { await page.fill("input[aria-label='Nodes, as text']", String(count)); await page.keyboard.press("Enter"); };
  await nodes(4);
  await page.selectOption("label.field:has-text('Fidelity') select", "packet");
  await settled(page);
  assert.equal(await iteration_ps(page), String(native(await command(page)).iteration_ps));
  assert.equal(await page.locator("table.map").count(), 0);
  assert.equal(await page.locator("main p:has-text('Packets take a second and more')").count(), 3);
  // 1,024 nodes take most of a minute; the next question does not wait for them.
  await nodes(1024);
  await page.waitForTimeout(1500);
  assert.ok((await page.locator(".busy").count()) > 0);
  const before = Date.now();
  await dropped(page, "own.json", readFileSync(join(root, "traces/data/alexnet_p102.json"), "utf8"));  // waits, and is not lost
  await nodes(2);
  await page.waitForSelector('.controls .notice:has-text("own.json: read as a trace")');
  await page.selectOption("label.field:has-text('Trace') select", "traces/data/googlenet_k80.json");
  await settled(page);
  assert.ok(Date.now() - before < 20_000);
  assert.match(await command(page), /cluster\.nodes=2 .*fidelity=packet/);
  assert.equal(await iteration_ps(page), String(native(await command(page)).iteration_ps));
  await page.selectOption("label.field:has-text('Fidelity') select", "closed_form");
  await page.waitForSelector("table.map");
  await settled(page);
  assert.equal(await page.locator(".notice.bad").count(), 0);
  clean(page);
});

test("a cell of the map is where a click leads, and its strategy takes as long as it says", { skip }, async () => {
  const page = await open_page(file);
  await settled(page);
  const cell = page.locator("table.map button").nth(17);
  const words = await cell.getAttribute("aria-label");
  await cell.click();
  const [, nodes, bandwidth, strategy] = /^(\d+) nodes, (.*?): .* by ([a-z0-9_]+)/.exec(words);
  await page.selectOption("label.field:has-text('Strategy') select", strategy);
  await settled(page);
  const shown = await command(page);
  assert.ok(shown.includes(`cluster.nodes=${nodes}`) && shown.includes(`cluster.nic.bandwidth=${bandwidth}`), shown);
  assert.equal(await iteration_ps(page), String(native(shown).iteration_ps));
  assert.ok(words.includes(await page.locator("#iteration").textContent()), words);
  await cell.focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.locator("table.map button").nth(18).evaluate((node) => node === document.activeElement), true);
  clean(page);
});

test("the timeline has the slices of --timeline and tells them to keys", { skip }, async () => {
  const page = await open_page(file);
  await settled(page);
  await page.focus(".timeline");
  await page.keyboard.press("Home");
  assert.match(await page.locator("figure .readout-line").textContent(), /^compute: fwd .*: start 0\.000000 us, length /);
  await page.keyboard.press("End");
  assert.match(await page.locator("figure .readout-line").textContent(), /^compute: update: /);
  // What is zoomed stays so when a slider moves.
  await page.keyboard.press("+");
  const zoomed = () => page.$eval(".timeline", (node) => { const { from, to, first, last } = node.timeline_window(); return [from, to, to - from < last - first]; });
  const [from, to] = await zoomed();
  await moved(page, "latency", -1);
  assert.deepEqual(await zoomed(), [from, to, true]);
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=Save timeline")]);
  const saved = JSON.parse(readFileSync(await download.path(), "utf8"));
  const shown = (await command(page)).replace("sgdsim run ", "sgdsim run --timeline - --format json --out /dev/null ");
  const printed = execFileSync("sh", ["-c", `sgdsim() { "${program}" "$@"; }\n${shown}`], { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const slices = printed.split("\n").filter((line) => line.startsWith('{"ph":"X"')).map((line) => JSON.parse(line.replace(/,$/, "")));
  assert.deepEqual(saved.traceEvents.filter((event) => event.ph === "X"), slices);
  clean(page);
});

test("lessons follow the controls, and are those of sgdsim learn", { skip }, async () => {
  const page = await open_page(file);
  await settled(page);
  const card = page.locator("[aria-labelledby=lessons-title]");
  assert.equal(await card.locator("table").count(), 0);  // nothing is learned before somebody wants it
  await card.getByRole("button", { name: "Train small models" }).click();
  await card.locator("table").waitFor({ timeout: 60_000 });
  const shown = async () => card.locator("tbody tr").evaluateAll((rows) => rows.map((row) => [row.cells[0].textContent, row.cells[3].textContent, row.cells[4].textContent]));
  const before = await shown();
  const learned = JSON.parse(run_shown(await card.locator("pre.command").textContent(), "learn"));
  assert.deepEqual(before.map(([name]) => name), learned.methods.map(({ method }) => method));
  learned.methods.forEach(({ iterations_to_target: { median } }, index) => assert.equal(before[index][1], median === null ? `not within ${learned.iterations}` : String(median)));
  await screenshot(page, "lessons");
  // Another bandwidth: the same iterations at other times.
  await moved(page, "bandwidth", -3);
  await page.waitForTimeout(600);
  await settled(page);
  const after_it = await shown();
  assert.deepEqual(after_it.map(([name, iterations]) => [name, iterations]), before.map(([name, iterations]) => [name, iterations]));
  assert.notEqual(after_it[0][2], before[0][2]);
  clean(page);
});

test("a saved experiment and a link bring the same back", { skip }, async () => {
  const page = await open_page(file);
  await page.selectOption("label.field:has-text('Compression') select", "topk");
  await moved(page, "density", -9);
  const before = await iteration_ps(page);
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=Save experiment")]);
  const result = JSON.parse(execFileSync(program, ["run", await download.path(), "--format", "json"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
  assert.equal(String(result.iteration_ps), before);
  const link = await linked(page);
  const again = await open_page(file);
  await again.goto("about:blank");
  await again.goto(link.href);
  await again.waitForSelector("html[data-ready=true]");
  await settled(again);
  assert.equal(await iteration_ps(again), before);
  clean(again);
});

test("a link that is opened where the page is open brings its state and its files", { skip }, async () => {
  const page = await open_page(file);
  const trace = JSON.parse(readFileSync(join(root, "traces/data/alexnet_p102.json"), "utf8"));
  const slower = { ...trace, update: "1 s" };
  const links = [];
  for (const one of [trace, slower]) {  // of one name
    await dropped(page, "own.json", JSON.stringify(one));
    await page.waitForSelector('.controls .notice:has-text("own.json: read as a trace")');
    links.push({ hash: (await linked(page)).hash, ps: await iteration_ps(page) });
  }
  assert.ok(Number(links[1].ps) - Number(links[0].ps) > 0.9e12, JSON.stringify(links.map((link) => link.ps)));
  const other = await open_page(file);
  for (const { hash, ps } of [links[0], links[1], links[0]]) await opens(other, hash, ps);
  // Away and back before the page has written a link of its own.
  await linked(other);
  await other.evaluate(async (hashes) => {
    for (const hash of hashes)
      await new Promise((resume) => { addEventListener("hashchange", resume, { once: true }); location.hash = hash; });
  }, [links[1].hash, links[0].hash]);
  await linked(other);
  assert.equal(await iteration_ps(other), links[0].ps);
  // A file that is too large is left out with a sentence, and the skip link changes nothing.
  const huge = deflateRawSync(Buffer.alloc(300_000_000, 32), { level: 9 }).toString("base64").replaceAll("+", "-").replaceAll("/", "_");
  await other.evaluate((hash) => { location.hash = hash; }, `#experiment=huge.json&file=${encodeURIComponent(JSON.stringify(["huge.json", huge]))}`);
  await other.waitForSelector('.controls .notice.bad:has-text("huge.json: this link holds more than the 200 kB")');
  await opens(other, links[1].hash, links[1].ps);
  await other.evaluate(() => { location.hash = "#answers"; });
  await other.waitForTimeout(500);
  assert.equal(await iteration_ps(other), links[1].ps);
  clean(other);
});

test("files of one's own: read by the program's importers, refused in its words", { skip }, async () => {
  const page = await open_page(file);
  for (const name of ["layers.csv", "kineto.json", "b_caffe.log"]) {
    await dropped(page, name, readFileSync(join(root, "tests/data", name)));
    await page.waitForSelector(`.controls .notice:has-text("${name}: read as a trace")`);
    await settled(page);
    assert.match(await command(page), new RegExp(`^sgdsim import [a-z-]+ ${name.replaceAll(".", "\\.")} --out=.*&&\nsgdsim run `));
  }
  await dropped(page, "broken.json", '{"schema": "sgdsim/trace/1", "layers": [,]}');
  await page.waitForSelector(".controls .notice.bad");
  assert.match(await page.locator(".controls .notice.bad").textContent(), /^broken\.json: not JSON: line 1, column 41/);
  clean(page);
});

test("hostile names and links are shown, not run", { skip }, async () => {
  const trace = readFileSync(join(root, "traces/data/alexnet_p102.json"), "utf8");
  const page = await open_page(file);
  const hostile = ["<script>alert(1)</script>.json", "<img src=x onerror=alert(1)>.json", "'; rm -rf ~; '.json", "\"quoted\" \u{1f600}.json", `${"x".repeat(10_000)}.json`];
  for (const name of hostile) {
    await dropped(page, name, trace.replace('"alexnet_p102"', JSON.stringify(name.slice(0, 3000))));
    await page.waitForSelector(".controls .notice");
    await settled(page);
    assert.equal(await page.locator(".notice.bad").count(), 0);
  }
  assert.equal(await page.locator("#page script, #page img").count(), 0);
  const width = await page.evaluate("document.documentElement.scrollWidth");
  assert.ok(width <= 1280, String(width));
  await page.goto("about:blank");
  await page.goto(`${pathToFileURL(file).href}#strategy=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&imports=evil&file=x&nodes=1e99`);
  await page.waitForSelector(".notice.bad");
  assert.match(await page.locator(".notice.bad").first().textContent(), /cluster\.nodes=1e99: expected a whole number/);
  assert.ok((await page.locator("label.field:has-text('Strategy') option:checked").textContent()).startsWith("<img"));
  assert.equal(await page.locator("#page img").count(), 0);
  clean(page);
});

test("every control has a name, and the page fits a phone; screenshots", { skip }, async () => {
  for (const [theme, width] of [["light", 1440], ["dark", 1440], ["light", 390], ["dark", 390]]) {
    const page = await open_page(file, { theme, width, height: 900 });
    await settled(page);
    // Pictures are drawn anew once their places have their widths.
    await page.waitForFunction((most) => document.documentElement.scrollWidth <= most, width, { timeout: 5000 });
    const nameless = await page.$$eval("button, select, input, textarea", (nodes) => nodes.filter((node) => !node.textContent.trim() && !node.getAttribute("aria-label") && !node.labels?.length).map((node) => node.outerHTML));
    assert.deepEqual(nameless, []);
    const mute = await page.$$eval("[role=application]", (nodes) => nodes.filter((node) => !node.closest("section").querySelector("[role=status]") || !node.getAttribute("aria-label")).length);
    assert.equal(mute, 0);
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "answers");
    await screenshot(page, `whatif-${theme}-${width}`);
    clean(page);
  }
});
