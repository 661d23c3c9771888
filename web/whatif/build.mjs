// Makes the what-if page of what the wasm preset built: node web/whatif/build.mjs PROGRAM.js PROGRAM.wasm PAGE.html
//
// Everything stands in the one file. The program and its thread's source are packed and only data to the page.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { bundled, filled, page_of } from "../bundle.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const [program, wasm, output] = process.argv.slice(2);
if (!output) {
  console.error("usage: node web/whatif/build.mjs PROGRAM.js PROGRAM.wasm PAGE.html");
  process.exit(2);
}

const packed = (bytes) => gzipSync(bytes, { level: 9 }).toString("base64");
const worker = await bundled({
  entryPoints: [join(here, "worker.js")],
  format: "iife",
  alias: { "sgdsim-program": resolve(program) },
  external: ["fs", "path", "crypto", "perf_hooks", "worker_threads"],  // of Node; a browser does not come there
});
const page = filled(await page_of("whatif", { "script-src": "'wasm-unsafe-eval'", "worker-src": "blob:" }), { worker: packed(worker), program: packed(readFileSync(wasm)) });
writeFileSync(output, page);
console.error(`${output}: ${(page.length / 1e6).toFixed(2)} MB`);
