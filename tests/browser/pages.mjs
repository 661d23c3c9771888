// What the browser tests share: the program, pages made by it, and a browser that looks at them.
//
// Chromium is Debian's; playwright-core and nothing else comes from web/package.json. Where one of them is
// missing, the tests are skipped and say so.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const program = process.env.SGDSIM_PROGRAM ?? join(root, "build/release/bin/sgdsim");
const browser_file = process.env.SGDSIM_CHROMIUM ?? "/usr/bin/chromium";
const screenshots = process.env.SGDSIM_SCREENSHOTS;

function playwright() {
  try {
    return createRequire(join(root, "web/package.json"))("playwright-core");
  } catch {
    return null;
  }
}

// Why the tests cannot run here, or nothing.
export function reason_to_skip() {
  if (!existsSync(program)) return `${program} is not built`;
  if (!existsSync(browser_file)) return `${browser_file} is not installed`;
  if (!playwright()) return "playwright-core is not installed: npm --prefix web ci";
  return false;
}

export const folder = mkdtempSync(join(tmpdir(), "sgdsim-browser-"));
export const file_in = (name) => join(folder, name);

// Runs the program in the root of the repository; its standard output. `codes`: exit codes that are right.
export function sgdsim(words, { codes = [0], input } = {}) {
  try {
    return execFileSync(program, words, { cwd: root, input, encoding: "utf8", maxBuffer: 1 << 30, stdio: ["pipe", "pipe", "pipe"] });
  } catch (error) {
    if (codes.includes(error.status)) return error.stdout;
    throw new Error(`sgdsim ${words.join(" ")}: exit code ${error.status}: ${error.stderr}`);
  }
}

// What a command that a page shows gives on this machine, as JSON. `word`: of the program, as "run".
export function run_shown(command, word) {
  const script = `sgdsim() { "${program}" "$@"; }\n${command.replace(`sgdsim ${word} `, `sgdsim ${word} --format json `)}`;
  return execFileSync("sh", ["-c", script], { cwd: root, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] });
}

let browser = null;
export async function open_browser() {
  browser ??= await playwright().chromium.launch({ executablePath: browser_file, args: ["--no-sandbox"] });
  return browser;
}
export async function close_browser() {
  await browser?.close();
  browser = null;
}

// A page from file://, as people open it. What its console says and what it asks the network for is kept.
// `before`: a function that runs in it before its own script.
export async function open_page(file, { width = 1280, height = 900, theme = "light", touch = false, before } = {}) {
  const context = await (await open_browser()).newContext({ viewport: { width, height }, colorScheme: theme, hasTouch: touch, permissions: [] });
  if (before) await context.addInitScript(before);
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) problems.push(message.text()); });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("dialog", (dialog) => { problems.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (!/^(file|data|blob):/.test(request.url())) problems.push(`asks for ${request.url()}`); });
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector("html[data-ready=true]", { timeout: 30_000 });
  page.problems = problems;
  return page;
}

export async function screenshot(page, name) {
  if (!screenshots) return;
  mkdirSync(screenshots, { recursive: true });
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
}

// What was moved or scrolled is drawn, and scroll events, which close tips, have been.
export const drawn = (page) => page.evaluate(() => new Promise((resume) => requestAnimationFrame(() => requestAnimationFrame(resume))));

// Milliseconds from an action in the page until the next frame after it is drawn.
export async function time_of(page, action) {
  return page.evaluate(`(async () => {
    const before = performance.now();
    await (${action})();
    await new Promise((resume) => requestAnimationFrame(() => setTimeout(resume)));
    return performance.now() - before;
  })()`);
}
