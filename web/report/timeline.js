// What a report draws as timelines: files of --timeline, and the messages of a result or a plan.
import { short_duration } from "../common/figures.js";
import { slice_colours, slice_names } from "../common/parts.js";
import { light_of, save_buttons, timeline_svg } from "../common/save.js";
import { timeline_view } from "../common/timeline.js";
import { file_name } from "./bars.js";
import { unpacked } from "./data.js";

// A timeline with the buttons that save it.
export function timeline_part(timeline, label) {
  return [timeline_view(timeline, label).node, save_buttons(file_name(label), { svg: () => svg_of(timeline, label), rows: () => rows_of(timeline) })];
}

const sorted_tracks = (timeline) => timeline.tracks.toSorted((a, b) => a.worker - b.worker || a.thread - b.thread);
const all_slices = (timeline) => Array.from({ length: timeline.count }, (_, one) => one);

function svg_of(timeline, title) {
  const [start, length] = [timeline.start_ps, timeline.length_ps];
  const ends = all_slices(timeline).reduce(([from, to], one) => [Math.min(from, start[one]), Math.max(to, start[one] + length[one])], [Infinity, 0]);
  const [from, to] = timeline.count > 0 ? ends : [0, 1];
  const own = new Map(sorted_tracks(timeline).map((track) => [track.index, { label: timeline.title(track), slices: [] }]));
  const colours = new Map(timeline.categories.map((category) => [category, light_of(`var(${slice_colours[category] ?? "--series-8"})`)]));
  const colour = (category) => colours.get(category);
  for (const one of all_slices(timeline))
    own.get(timeline.track[one])?.slices.push({ from: start[one], length: length[one], colour: colour(timeline.categories[timeline.category[one]]), text: String(timeline.names[timeline.name[one]]) });
  const used = [...new Set(all_slices(timeline).map((one) => timeline.categories[timeline.category[one]]))];
  return timeline_svg({ title, rows: [...own.values()], from, to, text: (ps) => short_duration(ps / 1e6), legend: used.map((name) => ({ name: slice_names[name] ?? name, colour: colour(name) })) });
}

function rows_of(timeline) {
  const title_of = new Map(timeline.tracks.map((track) => [track.index, timeline.title(track)]));
  return [["track", "name", "kind", "start, ps", "length, ps", "size, B", "iteration"],
    ...all_slices(timeline).map((one) => [title_of.get(timeline.track[one]), timeline.names[timeline.name[one]], timeline.categories[timeline.category[one]], timeline.start_ps[one], timeline.length_ps[one], timeline.size_B[one], timeline.iteration[one]])];
}

// The columns of a timeline file as arrays.
export async function read_timeline(json) {
  const slices = {};
  for (const key of ["names", "track", "start_ps", "length_ps", "name", "category", "iteration", "size_B", "first_layer", "last_layer"]) slices[key] = await unpacked(json[key]);
  const has_many = new Set(json.tracks.map((track) => track.worker)).size > 1;
  return { ...json, ...slices, title: (track) => (has_many ? `${track.process ?? `worker ${track.worker}`}, ${track.name}` : track.name) };
}

// The gradient messages of a result or a plan, on as many lines as go at once.
export function timeline_of_messages(messages) {
  const lanes = [];
  const made = { tracks: [], categories: ["wait", "comm"], names: [], count: 0, track: [], start_ps: [], length_ps: [], name: [], category: [], iteration: [], size_B: [], first_layer: [], last_layer: [], title: (track) => track.name };
  const ps = (us) => Math.round(us * 1e6);
  messages.forEach((message, index) => {
    let lane = lanes.findIndex((end) => end <= message.start_us);
    if (lane < 0) lane = lanes.push(0) - 1;
    const since = Math.max(message.ready_us, lanes[lane]);
    lanes[lane] = message.end_us;
    const add = (category, start, end) => {
      made.track.push(lane); made.start_ps.push(ps(start)); made.length_ps.push(Math.max(0, ps(end) - ps(start)));
      made.name.push(index); made.category.push(category); made.iteration.push(null); made.size_B.push(message.size_B);
      made.first_layer.push(message.layers[0]); made.last_layer.push(message.layers[1]);
      ++made.count;
    };
    made.names.push(`message ${index}`);
    if (message.start_us > since) add(0, since, message.start_us);
    add(1, message.start_us, message.end_us);
  });
  made.tracks = lanes.map((_, lane) => ({ worker: 0, thread: lane, index: lane, name: `channel ${lane}` }));
  return made;
}
