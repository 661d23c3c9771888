// Light, dark or as the system says; and what has to be drawn again when that changes.
import { segmented } from "./dom.js";
import table from "../../app/plot/colours.json";

const listeners = new Set();
const dark = matchMedia("(prefers-color-scheme: dark)");
const notify = () => { colours.clear(); for (const listener of listeners) listener(); };
dark.addEventListener("change", notify);

// Calls `listener` after every change of the colours.
export function on_theme_change(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const colours = new Map();
// The value of a CSS variable: colour("--series-1"). Asking the browser takes microseconds, and a map asks
// thousands of times.
export function colour(name) {
  if (!colours.has(name)) colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return colours.get(name);
}

const plain = (name) => String(name).toLowerCase().replace(/[^a-z0-9]/g, "");
const known = new Map();
for (const names of Object.values(table.names)) names.forEach((name, place) => { if (!known.has(plain(name))) known.set(plain(name), place); });

// Where each of these names stands in the table of colours: those that it knows have a place of their own
// everywhere, others get the first that are free (as app/plot/looks.h).
export function places_of(names) {
  const used = new Set();
  const places = names.map((name) => {
    const place = known.get(plain(name));
    if (place === undefined || used.has(place)) return -1;
    used.add(place);
    return place;
  });
  let next = 0;
  return places.map((place) => {
    if (place >= 0) return place;
    while (used.has(next)) ++next;
    used.add(next);
    return next;
  });
}

export const series_count = 8;
export const series_colour = (index) => colour(`--series-${(index % series_count) + 1}`);
export const series_variable = (index) => `var(--series-${(index % series_count) + 1})`;
// From the ninth series on, dashes tell equal colours apart.
export const series_dash = (index) => [[], [6, 4], [2, 3], [10, 3, 2, 3]][Math.floor(index / series_count) % 4];

function kept() {
  try { return localStorage.getItem("sgdsim-theme") ?? "auto"; } catch { return "auto"; }
}

export function set_theme(choice) {
  if (choice === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
  try { localStorage.setItem("sgdsim-theme", choice); } catch { /* pages without storage forget it */ }
  notify();
}

export function theme_switch() {
  const choice = kept();
  if (choice !== "auto") set_theme(choice);
  return segmented("Colours", [{ value: "light", text: "Light" }, { value: "auto", text: "Auto" }, { value: "dark", text: "Dark" }], choice, set_theme);
}

// Printed pages are light: what is drawn on canvases is drawn again for it.
matchMedia("print").addEventListener("change", notify);
