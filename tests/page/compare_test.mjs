// The page's program in WebAssembly against sgdsim itself: 1,000 random experiments, equal to the last
// picosecond and the last digit of every other figure, and errors in the same words. What runs
// natively is the very command that the page shows.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
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

const folder = mkdtempSync(join(tmpdir(), "sgdsim-compare-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

// The answers of many commands from one shell: [{code, out, log}]. It runs beside the page's program, and
// writes to a file, because nobody empties a pipe meanwhile.
async function run_all(commands) {
  const [script, answers, log] = ["script", "answers", "log"].map((name) => join(folder, name));
  writeFileSync(script, ['sgdsim() { "$SGDSIM" "$@"; }',
    ...commands.map((command) => `${command} 2>"$LOG"; code=$?; echo; echo "${mark}$code"; cat "$LOG"; echo; echo "${mark}log"`)].join("\n"));
  const output = openSync(answers, "w");
  const shell = spawn("sh", [script], { cwd: root, stdio: ["ignore", output, "inherit"], env: { ...process.env, SGDSIM: native, LOG: log } });
  closeSync(output);
  await once(shell, "exit");
  const parts = readFileSync(answers, "utf8").split(new RegExp(`\n${mark}(\\w+)\n`));
  return commands.map((_, index) => ({ out: parts[4 * index], code: Number(parts[4 * index + 1]), log: parts[4 * index + 2] }));
}

// The commit may differ: each program has that of its last build.
const without_tool = ({ tool, ...rest }) => rest;

let equal = 0;
let refused = 0;
let jittered = 0;
let packets = 0;

function compare(input, answer, command, { out, code, log }) {
  if (answer.error) {
    ++refused;
    assert.equal(code, answer.exit, command);
    assert.equal(log.trim().split("\n").at(-1), `sgdsim: ${answer.error}`, command);
    return;
  }
  assert.equal(code, 0, `${command}\n${log}`);
  assert.deepEqual(without_tool(answer.result), without_tool(JSON.parse(out)), command);
  ++equal;
  jittered += command.includes("jitter") ? 1 : 0;
  packets += answer.result.fidelity === "packet" ? 1 : 0;
}

// A refused question has no command: the page shows the error instead. This one only carries the same words.
const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;
const command_of = ({ experiment, cluster, settings }) =>
  `sgdsim run --format json ${experiment} --cluster=${cluster} ${settings.map((setting) => `--set ${quoted(setting)}`).join(" ")}`;

const experiments = random_experiments(catalogue, 18);
function next_batch() {
  const inputs = Array.from({ length: 50 }, () => experiments.next().value);
  const answers = inputs.map((input) => program.ask({ ask: "run", input }));
  return { inputs, answers, commands: answers.map((answer, index) => answer.command ?? command_of(inputs[index])) };
}

let batch = next_batch();
while (equal < wanted) {
  const { inputs, answers, commands } = batch;
  const running = run_all(commands);
  await new Promise((resume) => setTimeout(resume));  // the shell is started before this thread is busy
  if (equal + 50 < wanted) batch = next_batch();
  else batch = null;
  (await running).forEach((ran, index) => compare(inputs[index], answers[index], commands[index], ran));
  batch ??= equal < wanted ? next_batch() : null;
  console.log(`${equal} of ${wanted} equal, ${refused} refused in the same words`);
}
assert.ok(refused > 0 && jittered > 0 && packets > 0, "errors, jitter and packets must have been compared");

// Lessons: every digit of every loss, learned anew and remembered, and too many workers in a sentence.
const taught = ["late: synchronization=pipe_sgd", "sparse: compression=gtopk, density=0.01", "signs: compression=sign"];
for (const settings of [["cluster.nodes=4"], ["cluster.nodes=4", "cluster.nic.bandwidth=1 Gbps"]]) {
  const answer = program.ask({ ask: "learn", input: { experiment: "resnet50_v100", cluster: "25gbe_16", settings }, methods: taught });
  assert.equal(answer.error, undefined);
  const [{ out, code, log }] = await run_all([answer.command]);
  assert.equal(code, 0, `${answer.command}\n${log}`);
  assert.deepEqual(answer.learned, JSON.parse(out), answer.command);
}
const crowd = program.ask({ ask: "learn", input: { experiment: "resnet50_v100", cluster: "25gbe_16", settings: ["cluster.nodes=65"] }, methods: [] });
assert.match(crowd.error, /^65 workers: .* at most 64/);
console.log(`${equal} experiments equal to the last digit (${jittered} of them with jitter, ${packets} of packets), ${refused} refused in the same words`);
