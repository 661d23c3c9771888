// The page's program in WebAssembly against sgdsim itself: 1,000 random experiments, equal to the last
// picosecond and the last digit of every other figure, and errors in the same words. What runs
// natively is the very command that the page shows.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { random_experiments } from "./random_experiments.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const native = process.env.SGDSIM_PROGRAM ?? join(root, "build/release/bin/sgdsim");
const built = join(root, "build/wasm/bin/whatif.js");
const wanted = Number(process.argv[2] ?? 1000);
for (const file of [native, built])
  if (!existsSync(file)) {
    console.log(`skipped: ${file} is not built (./run page builds the page's program)`);
    process.exit(77);
  }

const { start_program } = await import(join(root, "web/whatif/program.mjs"));
const program = await start_program();
const catalogue = program.ask({ ask: "catalogue" });
const mark = "@@@ ";

// The answers of many commands from one shell: [{code, out, log}].
function run_all(commands) {
  const script = ['sgdsim() { "$SGDSIM" "$@"; }',
    ...commands.map((command) => `${command} 2>"$LOG"; code=$?; echo; echo "${mark}$code"; cat "$LOG"; echo; echo "${mark}log"`)].join("\n");
  const log = join(process.env.TMPDIR ?? "/tmp", `sgdsim-compare-${process.pid}`);
  const ran = spawnSync("sh", { cwd: root, input: script, encoding: "utf8", maxBuffer: 1 << 30, env: { ...process.env, SGDSIM: native, LOG: log } });
  const parts = ran.stdout.split(new RegExp(`\n${mark}(\\w+)\n`));
  return commands.map((_, index) => ({ out: parts[4 * index], code: Number(parts[4 * index + 1]), log: parts[4 * index + 2] }));
}

// The commit may differ: each program has that of its last build.
const without_tool = ({ tool, ...rest }) => rest;

let equal = 0;
let refused = 0;
let jittered = 0;
const experiments = random_experiments(catalogue, 18);
while (equal < wanted) {
  const inputs = Array.from({ length: 50 }, () => experiments.next().value);
  const answers = inputs.map((input) => program.ask({ ask: "run", input }));
  // A refused question has no command: the page shows the error instead. This one only carries the same words.
  const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;
  const commands = answers.map((answer, index) => answer.command ??
    `sgdsim run --format json ${inputs[index].experiment} --cluster=${inputs[index].cluster} ${inputs[index].settings.map((setting) => `--set ${quoted(setting)}`).join(" ")}`);
  run_all(commands).forEach(({ out, code, log }, index) => {
    const answer = answers[index];
    if (answer.error) {
      ++refused;
      assert.equal(code, answer.exit, commands[index]);
      assert.equal(log.trim().split("\n").at(-1), `sgdsim: ${answer.error}`, commands[index]);
      return;
    }
    assert.equal(code, 0, `${commands[index]}\n${log}`);
    assert.deepEqual(without_tool(answer.result), without_tool(JSON.parse(out)), commands[index]);
    ++equal;
    if (commands[index].includes("jitter")) ++jittered;
  });
  console.log(`${equal} of ${wanted} equal, ${refused} refused in the same words`);
}
assert.ok(refused > 0, "some experiments must be refused, so that errors are compared, too");
console.log(`${equal} experiments equal to the last digit (${jittered} of them with jitter), ${refused} refused in the same words`);
