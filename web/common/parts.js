// What an iteration and a timeline are made of, with the colours of each.

// Parts of an iteration; they add up to it.
export const iteration_parts = [
  { key: "forward_us", name: "forward", colour: "var(--forward)" },
  { key: "backward_us", name: "backward", colour: "var(--backward)" },
  { key: "update_us", name: "update", colour: "var(--update)" },
  { key: "compression_us", name: "compression", colour: "var(--compression)" },
  { key: "comm_exposed_us", name: "exposed communication", colour: "var(--exposed)" },
];

// Of the slices of a timeline, by category.
export const slice_colours = { forward: "--forward", backward: "--backward", compression: "--compression", update: "--update", comm: "--message", wait: "--waiting" };
export const slice_names = { forward: "forward", backward: "backward", compression: "compression", update: "update", comm: "messages", wait: "waiting" };
