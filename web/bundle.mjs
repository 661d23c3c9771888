// What both pages are made of: style sheet and scripts, bundled and minified, in a template. What a page may
// run and style is only what stands in it, by hash; it may load nothing.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const read = (...path) => readFileSync(join(here, ...path), "utf8");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

// The one table of colours, of the program and its notebooks too, as --series-1 and so on.
const table = JSON.parse(read("..", "app", "plot", "colours.json"));
const series = (colours) => colours.map((colour, place) => `--series-${place + 1}: ${colour};`).join(" ");

export async function bundled(options) {
  const result = await build({ bundle: true, minify: true, write: false, legalComments: "none", charset: "ascii", target: "es2022", logLevel: "error", ...options });
  return result.outputFiles[0].text.trim();
}

// web/NAME/page.html with web/NAME/main.js and web/NAME/page.css in it. `may`: what its policy allows besides, as
// {"script-src": "'wasm-unsafe-eval'"}.
export async function page_of(name, may = {}) {
  const dark = read("common", "theme-dark.css").replace(/\/\*[\s\S]*?\*\//, "") + series(table.dark);
  const theme = read("common", "theme.css").replace("/* series */", series(table.light)).replaceAll("/* dark */", dark);
  const css = await bundled({ stdin: { contents: theme + read("node_modules", "uplot", "dist", "uPlot.min.css") + read(name, "page.css"), loader: "css" } });
  // "</script" and "<!--" inside a script would end or hide it.
  const script = (await bundled({ entryPoints: [join(here, name, "main.js")], format: "iife" }))
    .replace(/<\/(script)/gi, "<\\/$1").replaceAll("<!--", "<\\!--");
  const rules = { "default-src": "'none'", "script-src": hash(script), "style-src": hash(css), "img-src": "data: blob:", "base-uri": "'none'", "form-action": "'none'" };
  for (const [rule, more] of Object.entries(may)) rules[rule] = rules[rule] ? `${rules[rule]} ${more}` : more;
  const policy = Object.entries(rules).map(([rule, value]) => `${rule} ${value}`).join("; ");
  const page = filled(read(name, "page.html"), { policy, style: css, script });
  // One letter of another alphabet, and a browser keeps ten megabytes in two bytes a letter: a click waits 50 ms longer.
  const foreign = page.match(/[^\x00-\x7f]/u);
  if (foreign) throw new Error(`web/${name}: write "${foreign[0]}" as an entity or an escape`);
  return page;
}

// Functions as replacements: "$&" in a bundle is no pattern.
export function filled(page, parts) {
  return Object.entries(parts).reduce((text, [name, part]) => text.replace(`/* ${name} */`, () => part), page);
}
