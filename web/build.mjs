// Bundles the report's page: node web/build.mjs writes it, node web/build.mjs --check compares it with what is
// committed.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { page_of } from "./bundle.mjs";

const output = join(dirname(fileURLToPath(import.meta.url)), "../app/report/page.html");
const text = await page_of("report");
const is_same = existsSync(output) && readFileSync(output, "utf8") === text;
if (!process.argv.includes("--check")) {
  if (!is_same) writeFileSync(output, text);
} else if (!is_same) {
  console.error(`${output} is not what the sources give; run: node web/build.mjs`);
  process.exitCode = 1;
}
