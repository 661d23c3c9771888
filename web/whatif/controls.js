// Lists, files and sliders. Every control writes one text of the state; what the text means is up to
// the program, which also says what is wrong with it.
import { clipped, element, replace_children } from "../common/dom.js";
import { quantity_of, rounded } from "../common/figures.js";

const mantissas = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];

function ladder(first, last) {
  const steps = [];
  for (let power = Math.floor(Math.log10(first)); power <= Math.log10(last) + 1e-9; ++power)
    for (const mantissa of mantissas) {
      const value = Number(`${mantissa}e${power}`);
      if (value >= first * (1 - 1e-9) && value <= last * (1 + 1e-9)) steps.push(value);
    }
  return steps;
}

const plain = (value) => String(Number(value.toPrecision(6)));
const rate_text = (value) => (value < 1e9 ? `${plain(value / 1e6)} Mbps` : `${plain(value / 1e9)} Gbps`);
const span_text = (value) => (value < 60 ? `${plain(value)} s` : value < 3600 ? `${plain(value / 60)} min` : `${plain(value / 3600)} h`);
const spans = [1, 2, 5, 10, 20, 30, 60, 120, 180, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400];
const span_slider = (title, usual) => ({ title, steps: spans, text: span_text, number: (text) => quantity_of(text)?.value, of: () => usual, unset: "usual" });
const time_text = (value) => (value < 1e-3 ? `${plain(value * 1e6)} us` : `${plain(value * 1e3)} ms`);

// Where a slider can stand, the text of a place, the number in a text, and what the files have.
export const sliders = {
  nodes: {
    title: "Nodes", steps: [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024],
    text: plain, number: Number, of: (cluster) => cluster?.nodes,
  },
  bandwidth: {
    title: "Bandwidth of a network card", steps: ladder(1e8, 1.6e12), text: rate_text, number: (text) => quantity_of(text)?.value,
    of: (cluster) => {
      if (cluster?.nic?.bandwidth !== undefined) return cluster.nic.bandwidth;
      const cost = quantity_of(cluster?.nic?.per_byte);
      return cost ? rate_text(8 / cost.value) : undefined;
    },
  },
  latency: {
    title: "Latency of a network card", steps: ladder(1e-7, 1e-3), text: time_text, number: (text) => quantity_of(text)?.value,
    of: (cluster) => cluster?.nic?.latency,
  },
  speed: { title: "Compute speed", steps: ladder(0.1, 20), text: plain, number: Number, of: () => 1 },
  density: { title: "Density", steps: ladder(0.0001, 1), text: plain, number: Number, of: () => undefined },
};

// Of the whole training: what of it is said, and what is usual. Failures are those of Llama 3 405B.
export const training_sliders = {
  steps: { title: "Steps", steps: ladder(100, 1e8), text: plain, number: Number, of: () => "1000000", unset: "usual" },
  failures: { title: "Failures of a node and day", steps: ladder(1e-5, 1), text: plain, number: Number, of: () => "0.0038", unset: "as Llama 3" },
  stall: span_slider("A save stops it for", "30 s"),
  interval: { ...span_slider("Work between saves", "best"), unset: "the best" },
  restart: span_slider("From a failure to work", "10 min"),
};

// The place on a slider that is nearest to a value, by ratio.
export function nearest_step(steps, value) {
  if (!(value > 0)) return Math.floor(steps.length / 2);
  let best = 0;
  for (let index = 1; index < steps.length; ++index)
    if (Math.abs(Math.log(steps[index] / value)) < Math.abs(Math.log(steps[best] / value))) best = index;
  return best;
}

export function slider(name, on_change, kind = sliders[name]) {
  const id = `slider-${name}`;
  const range = element("input", { type: "range", min: 0, max: kind.steps.length - 1, step: 1, id, "aria-label": kind.title });
  const text = element("input", { type: "text", "aria-label": `${kind.title}, as text`, spellcheck: "false", autocomplete: "off", maxlength: 60 });
  const reset = element("button", { type: "button", class: "plain", on: { click: () => on_change(name, "") } }, "reset");
  const note = element("span", { class: "muted" });
  const node = element("div", { class: "slider" },
    element("div", { class: "name" }, element("label", { for: id }, kind.title), element("span", {}, note, reset)), range, text);
  range.addEventListener("input", () => on_change(name, kind.text(kind.steps[range.value])));
  text.addEventListener("change", () => on_change(name, text.value.trim()));
  text.addEventListener("keydown", (event) => { if (event.key === "Enter") on_change(name, text.value.trim()); });
  return {
    node,
    // `value`: of the state, "" if the files decide; `cluster`: as JSON; `why_off`: why it does not apply.
    show(value, cluster, why_off) {
      const own = kind.of(cluster);
      const now = value !== "" ? value : own === undefined ? "" : String(own);
      if (document.activeElement !== text) text.value = now;
      range.value = nearest_step(kind.steps, kind.number(now));
      range.setAttribute("aria-valuetext", now || "as the program has it");
      range.disabled = text.disabled = Boolean(why_off);
      note.textContent = why_off || (value === "" ? kind.unset ?? "as in the files" : "");
      reset.hidden = value === "" || Boolean(why_off);
      node.toggleAttribute("data-off", Boolean(why_off));
    },
  };
}

// A list with groups: [{title, options: [{value, text, title}]}]. It is built anew only where something else is to be
// chosen from: a slider moves many times, and hundreds of files stay what they are.
export function grouped_choice(label, on_change) {
  const select = element("select", { on: { change: () => on_change(select.value) } });
  let listed = "";
  return {
    node: element("label", { class: "field" }, label, select),
    show(groups, chosen) {
      const known = groups.some((group) => group.options.some((option) => option.value === chosen));
      const all = known ? groups : [...groups, { title: "From the link", options: [{ value: chosen, text: chosen }] }];
      const wanted = JSON.stringify(all);
      if (wanted !== listed) {
        replace_children(select, all.filter((group) => group.options.length > 0).map((group) => {
          const options = group.options.map(({ value, text, title }) => element("option", { value, title: title && clipped(title, 300) }, clipped(text, 70)));
          return group.title ? element("optgroup", { label: group.title }, options) : options;
        }));
        listed = wanted;
      }
      if (select.value !== chosen) select.value = chosen;
    },
  };
}

const largest_file_B = 512 * 2 ** 20;

// What was dropped or chosen, unpacked if it is gzip: [{name, bytes}] or {name, error}.
async function opened(file) {
  if (file.size > largest_file_B) return { name: file.name, error: "is larger than 512 MiB" };
  let bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    try {
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    } catch {
      return { name: file.name, error: "is packed with gzip, and damaged" };
    }
  }
  return { name: file.name, bytes };
}

export function drop_zone(on_file) {
  const input = element("input", { type: "file", multiple: true, class: "visually-hidden", tabindex: -1, "aria-label": "Files of your own" });
  const zone = element("div", { class: "drop" },
    element("div", {}, "Drop a file of your own anywhere: a profile of PyTorch (Kineto), a table of layers (CSV), a trace, a cluster or an experiment. It stays in this browser."),
    element("button", { type: "button", on: { click: () => input.click() } }, "Choose a file"), input);
  const take = async (files) => { for (const file of files) on_file(await opened(file)); };
  input.addEventListener("change", () => { take([...input.files]); input.value = ""; });
  let inside = 0;
  addEventListener("dragenter", (event) => { event.preventDefault(); ++inside; zone.classList.add("over"); });
  addEventListener("dragleave", () => { if (--inside <= 0) { inside = 0; zone.classList.remove("over"); } });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    inside = 0;
    zone.classList.remove("over");
    take([...event.dataTransfer.files]);
  });
  return zone;
}

export const share_text = (part) => `${rounded(100 * part, 3)} %`;
