// Bundles the pages: node web/build.mjs writes them, node web/build.mjs --check compares them with what is
// committed. What a page may run and style is only what stands in it, by hash; it may load nothing.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);

// Each page: its sources here, and the template that the program or a script completes.
const pages = [{ source: "report", output: join(root, "app/report/page.html") }];

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const read = (...path) => readFileSync(join(here, ...path), "utf8");

function theme() {
  const dark = read("common", "theme-dark.css").replace(/\/\*[\s\S]*?\*\//, "");
  return read("common", "theme.css").replaceAll("/* dark */", dark);
}

async function bundled(options) {
  const result = await build({ bundle: true, minify: true, write: false, legalComments: "none", charset: "ascii", target: "es2022", logLevel: "error", ...options });
  return result.outputFiles[0].text.trim();
}

async function page_of(source) {
  const css = await bundled({
    stdin: { contents: theme() + read("node_modules", "uplot", "dist", "uPlot.min.css") + read(source, "page.css"), loader: "css" },
  });
  // "</script" and "<!--" inside a script would end or hide it.
  const script = (await bundled({ entryPoints: [join(here, source, "main.js")], format: "iife" }))
    .replace(/<\/(script)/gi, "<\\/$1").replaceAll("<!--", "<\\!--");
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(css)}; img-src data: blob:; base-uri 'none'; form-action 'none'`;
  // A function as replacement: "$&" in a bundle is no pattern.
  return read(source, "page.html")
    .replace("/* policy */", () => policy)
    .replace("/* style */", () => css)
    .replace("/* script */", () => script);
}

let differs = false;
for (const { source, output } of pages) {
  const text = await page_of(source);
  const is_same = existsSync(output) && readFileSync(output, "utf8") === text;
  if (process.argv.includes("--check")) {
    if (!is_same) console.error(`${output} is not what the sources give; run: node web/build.mjs`);
    differs ||= !is_same;
  } else if (!is_same) {
    writeFileSync(output, text);
  }
}
process.exitCode = differs ? 1 : 0;
