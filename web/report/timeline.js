// What a report draws as timelines: files of `sgdsim run --timeline`, and the messages of a result or a plan.
import { unpacked } from "./data.js";

// The columns of a timeline file as arrays.
export async function read_timeline(json) {
  const slices = {};
  for (const key of ["names", "track", "start_ps", "length_ps", "name", "category", "iteration", "size_B", "first_layer", "last_layer"]) slices[key] = await unpacked(json[key]);
  const has_many = new Set(json.tracks.map((track) => track.worker)).size > 1;
  return { ...json, ...slices, title: (track) => (has_many ? `worker ${track.worker}, ${track.name}` : track.name) };
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
