// All browser tests for CTest; exit code 77 and the reason where they cannot run.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { reason_to_skip } from "./pages.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const reason = reason_to_skip();
if (reason) {
  console.log(`skipped: ${reason}`);
  process.exit(77);
}
const tests = readdirSync(here).filter((name) => name.endsWith("_test.mjs")).map((name) => join(here, name));
process.exit(spawnSync(process.execPath, ["--test", ...tests], { stdio: "inherit" }).status ?? 1);
