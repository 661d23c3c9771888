// Makes the what-if page of what the wasm preset built: node web/whatif/build.mjs PROGRAM.js PROGRAM.wasm PAGE.html
//
// Everything stands in the one file. What the page may run and style is only what stands in it, by
// hash; it may load nothing. The program and its thread's source are packed and only data to the page.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const [program, wasm, output] = process.argv.slice(2);
if (!output) {
  console.error("usage: node web/whatif/build.mjs PROGRAM.js PROGRAM.wasm PAGE.html");
  process.exit(2);
}

const read = (...path) => readFileSync(join(here, ...path), "utf8");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const packed = (bytes) => gzipSync(bytes, { level: 9 }).toString("base64");

async function bundled(options) {
  const result = await build({
    bundle: true, minify: true, write: false, legalComments: "none", charset: "ascii", target: "es2022", logLevel: "error", format: "iife",
    ...options,
  });
  return result.outputFiles[0].text.trim();
}

const dark = read("../common/theme-dark.css").replace(/\/\*[\s\S]*?\*\//, "");
const theme = read("../common/theme.css").replaceAll("/* dark */", dark);
const css = await bundled({
  format: undefined,
  stdin: { contents: theme + read("../node_modules/uplot/dist/uPlot.min.css") + read("page.css"), loader: "css" },
});
// "</script" and "<!--" inside a script would end or hide it.
const script = (await bundled({ entryPoints: [join(here, "main.js")] })).replace(/<\/(script)/gi, "<\\/$1").replaceAll("<!--", "<\\!--");
const worker = await bundled({
  entryPoints: [join(here, "worker.js")],
  alias: { "sgdsim-program": resolve(program) },
  external: ["fs", "path", "crypto", "perf_hooks", "worker_threads"],  // of Node; a browser does not come there
});
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)} 'wasm-unsafe-eval'`,
  `style-src ${hash(css)}`,
  "worker-src blob:",
  "img-src data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
// Functions as replacements: "$&" in a bundle is no pattern.
const page = read("page.html")
  .replace("/* policy */", () => policy)
  .replace("/* style */", () => css)
  .replace("/* script */", () => script)
  .replace("/* worker */", () => packed(worker))
  .replace("/* program */", () => packed(readFileSync(wasm)));
writeFileSync(output, page);
console.error(`${output}: ${(page.length / 1e6).toFixed(2)} MB`);
