// Experiments drawn at random from everything that the what-if page offers, the same ones in every run.

// A generator of its own (mulberry32): Math.random has no seed.
function generator(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let bits = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 4294967296;
  };
}

const strategies = [
  "naive", "wfbp", "sync_easgd", "mg_wfbp", "optimal", "fixed_buckets", "ddp", "horovod", "bytescheduler", "p3", "omgs", "bsp_lp",
  '{"name": "ddp", "bucket": "10 MiB"}', '{"name": "fixed_buckets", "bucket": "3 MB"}',
];
const jitters = [
  '{"distribution": "lognormal", "sigma": 0.1}', '{"distribution": "uniform", "spread": 0.2}', '{"distribution": "exponential", "mean": 0.05}',
  '{"distribution": "normal", "sigma": 0.05, "per": "layer"}', '{"distribution": "gamma", "shape": 4}', '{"distribution": "pareto", "shape": 3}',
];
const sparse = ["topk", "topk2", "gtopk", "lags"];  // compressions that have a density

// Inputs as the page asks them, without end. `catalogue` is the page's own. Some are refused, so that errors
// are compared, too: a few at random, others because parts do not go together.
export function* random_experiments(catalogue, seed) {
  const random = generator(seed);
  const one_of = (list) => list[Math.floor(random() * list.length)];
  const chance = (part) => random() < part;
  const between = (least, most) => Number((least * (most / least) ** random()).toPrecision(1 + Math.floor(random() * 6)));
  const small = catalogue.traces.toSorted((a, b) => a.gradient_B - b.gradient_B).slice(0, 2);  // packets take time by the byte
  while (true) {
    const fidelity = one_of(["closed_form", "closed_form", "closed_form", "message", "message", "flow", "packet"]);
    const cluster = one_of(catalogue.clusters);
    const settings = [`fidelity=${fidelity}`, `strategy=${one_of(strategies)}`];
    const most_nodes = { closed_form: 1024, message: 12, flow: 6, packet: 2 }[fidelity];
    if (cluster.json.nodes !== undefined && (!cluster.json.ports || chance(0.1))) settings.push(`cluster.nodes=${1 + Math.floor(random() * most_nodes)}`);
    else if (fidelity !== "closed_form" && cluster.workers > 16) continue;  // minutes, not milliseconds
    if (cluster.json.nic && chance(0.8)) settings.push(`cluster.nic.bandwidth=${between(0.1, 800)} Gbps`);
    if (cluster.json.nic && chance(0.5)) settings.push(`cluster.nic.latency=${between(0.1, 300)} us`);
    if (chance(0.5)) settings.push(`trace.compute_scale=${between(0.1, 10)}`);
    if (chance(0.6)) settings.push(`collective.algorithm=${one_of(catalogue.algorithms).name}`);
    const compression = chance(0.35) ? one_of(catalogue.compressions).name : "";
    if (compression) settings.push(`compression.name=${compression}`);
    if (compression && chance(sparse.includes(compression) ? 0.7 : 0.05)) settings.push(`compression.density=${between(0.0001, 1)}`);
    if (chance(0.2)) settings.push(`channels=${1 + Math.floor(random() * 4)}`);
    if (chance(0.2)) settings.push(`interference=${1 + Math.floor(random() * 100) / 100}`);
    if (["closed_form", "message"].includes(fidelity) && chance(0.3)) settings.push(`iterations=${1 + Math.floor(random() * 5)}`, `seed=${Math.floor(random() * 1e9)}`);
    if (chance(fidelity === "message" ? 0.6 : 0.02)) settings.push(`workers={"jitter": ${one_of(jitters)}}`);
    const traces = fidelity === "packet" ? small : catalogue.traces;
    yield { experiment: one_of(traces).file, cluster: cluster.file, settings };
  }
}
