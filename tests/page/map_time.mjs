// The page's map in WebAssembly under Node: what its question takes of the processor.
import { start_program } from "../../web/whatif/program.mjs";

const question = {
  ask: "grid",
  input: { experiment: "traces/data/resnet50_v100.json", cluster: "topologies/data/10gbe_16.json", settings: ["fidelity=closed_form"] },
  axes: {
    "cluster.nodes": [2, 4, 8, 16, 32, 64, 128, 256],
    "cluster.nic.bandwidth": ["1 Gbps", "2 Gbps", "5 Gbps", "10 Gbps", "25 Gbps", "50 Gbps", "100 Gbps"],
    strategy: ["wfbp", "sync_easgd", "mg_wfbp", "optimal", "ddp", "horovod", "bytescheduler", "p3"],
  },
};

// Milliseconds of the processor, the least of 30.
export async function wasm_ms() {
  const program = await start_program();
  let least = Infinity;
  for (let turn = 0; turn < 30; ++turn) {  // the first ones run before the engine has optimised the code
    const before = process.cpuUsage();
    const { points, errors } = program.ask(question);
    const used = process.cpuUsage(before);
    if (points !== 448 || errors.length > 0) throw new Error("wrong answer");
    least = Math.min(least, (used.user + used.system) / 1000);
  }
  return least;
}
