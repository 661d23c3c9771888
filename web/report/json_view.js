// A JSON value as a tree that opens where one looks, and as a file.
import { json_text } from "./exact.js";
import { clipped, download, element } from "../common/dom.js";

const most_members = 500;

export function json_tree(name, value, open = false) {
  if (value === null || typeof value !== "object")
    return element("div", { class: "leaf" }, element("span", { class: "key" }, clipped(name, 200)), " ", element("span", { class: "mono number" }, clipped(typeof value === "string" ? value : JSON.stringify(value), 2000)));
  const entries = Object.entries(value);
  const inside = element("div", { class: "branch" });
  const node = element("details", { class: "tree", open }, element("summary", {}, clipped(name, 200), " ", element("span", { class: "muted small" }, Array.isArray(value) ? `${entries.length} entries` : clipped(typeof value.name === "string" ? value.name : `${entries.length} fields`, 80))), inside);
  const fill = () => {
    if (inside.childElementCount > 0) return;
    for (const [key, member] of entries.slice(0, most_members)) inside.append(json_tree(key, member));
    if (entries.length > most_members) inside.append(element("p", { class: "muted small" }, `${entries.length - most_members} more are in the file.`));
  };
  if (open) fill();
  node.addEventListener("toggle", fill);
  return node;
}

// A button that saves a value as a file.
export function save_button(text, name, value, has_large_wholes = false) {
  return element("button", { type: "button", class: "no-print", on: { click: () => download(name, json_text(value, has_large_wholes, 2) + "\n") } }, text);
}
