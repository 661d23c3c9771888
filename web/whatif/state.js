// What the page is asked, as one flat object; in the link after #, and as settings of the command line.
import { bytes_of_base64 } from "../common/base64.js";

export const shipped = {
  experiment: "traces/data/resnet50_v100.json",
  cluster: "topologies/data/10gbe_16.json",
};

const defaults = {
  ...shipped,
  strategy: "ddp",
  algorithm: "",
  compression: "",
  density: "",
  nodes: "",
  bandwidth: "",
  latency: "",
  speed: "",
  fidelity: "closed_form",
  more: "",
  steps: "",
  failures: "",
  stall: "",
  interval: "",
  restart: "",
};

export const first_state = () => ({ ...defaults });

// What a field of the page sets. A field that is empty sets nothing.
const fields = {
  strategy: (value) => [`strategy=${value}`],
  algorithm: (value) => [`collective.algorithm=${value}`],
  compression: (value) => [`compression.name=${value}`],
  density: (value, state) => (state.compression ? [`compression.density=${value}`] : []),
  nodes: (value) => [`cluster.nodes=${value}`],
  bandwidth: (value) => [`cluster.nic.bandwidth=${value}`],
  latency: (value) => [`cluster.nic.latency=${value}`],
  speed: (value) => [`trace.compute_scale=${compute_scale(value)}`],
  fidelity: (value) => [`fidelity=${value}`],
  more: (value) => value.split("\n").map((line) => line.trim()).filter((line) => line !== ""),
};

// Twice as fast is half the time. A text that is no number goes to the program, which refuses it.
function compute_scale(speed) {
  const factor = Number(speed);
  return Number.isFinite(factor) && factor > 0 ? String(Number((1 / factor).toPrecision(12))) : speed;
}

// The program's question; `without`: fields that are left as the files have them.
export function input_of(state, imports, without = []) {
  const settings = [];
  for (const [name, settings_of] of Object.entries(fields))
    if (state[name] !== "" && !without.includes(name)) settings.push(...settings_of(state[name], state));
  const input = { experiment: state.experiment, settings };
  if (state.cluster) input.cluster = state.cluster;
  const own = imports.get(state.experiment);
  if (own?.length) input.imports = own;
  return input;
}

const longest_value = 4000;
export const largest_link_B = 200_000;  // of a file that goes into a link, and of one that comes out of it

// The state as the part of a link after #, with the files of the reader that it needs.
export async function fragment_of(state, files) {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) if (value !== defaults[name]) parts.set(name, value);
  for (const [name, text] of files) parts.append("file", JSON.stringify([name, await packed(text)]));
  return parts.toString();
}

// Whatever stands in a link: what is no state is left out, and so are files that the state does not name. `problems`
// says what of the link could not be had.
export async function state_from(fragment) {
  const state = first_state();
  const parts = new URLSearchParams(fragment.replace(/^#/, ""));
  for (const name of Object.keys(defaults)) {
    const value = parts.getAll(name).at(-1);
    if (value !== undefined && value.length <= longest_value) state[name] = value;
  }
  const files = new Map();
  const problems = [];
  for (const text of parts.getAll("file")) {
    try {
      const [name, content] = JSON.parse(text).map(String);
      if (name !== state.experiment && name !== state.cluster) continue;
      const bytes = await unpacked(content);
      if (bytes) {
        files.set(name, bytes);
        continue;
      }
      for (const field of ["experiment", "cluster"]) if (state[field] === name) state[field] = first_state()[field];
      problems.push(`${name.slice(0, 200)}: this link holds more than the ${largest_link_B / 1000} kB that a link can have of a file; drop the file here instead`);
    } catch { /* a link that was cut: the program says what is missing */ }
  }
  return { state, files: [...files], problems };
}

// What comes out of the stream; null as soon as it is more than `most` bytes.
async function through(bytes, stream, most = Infinity) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const pieces = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      reader.cancel().catch(() => {});
      return null;
    }
    pieces.push(value);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

async function packed(bytes) {
  const small = await through(bytes, new CompressionStream("deflate-raw"));
  let letters = "";
  for (const byte of small) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

async function unpacked(text) {
  return through(bytes_of_base64(text.replaceAll("-", "+").replaceAll("_", "/")), new DecompressionStream("deflate-raw"), largest_link_B);
}
