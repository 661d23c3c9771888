// Light, dark or as the system says; and what has to be drawn again when that changes.
import { segmented } from "./dom.js";

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
