// The page's data, unpacked when it is asked for.
//
// Columns say their values as shortly as they can (app/report/columns.h); here they become arrays, one
// value per row, and axes places in a sorted list of their values.
import { bytes_of_base64 } from "../common/base64.js";
import { quantity_of } from "../common/figures.js";

// What app/report/packing.h has deflated, or the value itself.
export async function unpacked(value) {
  if (value === null || typeof value !== "object" || typeof value.deflated !== "string") return value;
  const bytes = bytes_of_base64(value.deflated);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// Lets the browser answer a click or a key: what takes long is done a piece at a time.
export const breathe = () => new Promise((resume) => { setTimeout(resume); });

export function read_data() {
  return JSON.parse(document.getElementById("data").textContent);
}

// An axis value for people, as in the program's tables: of an object its name, then what is special.
export function value_text(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "object") return String(value);
  if (typeof value.name !== "string") return JSON.stringify(value);
  const rest = Object.entries(value).filter(([key]) => key !== "name").map(([key, field]) => ` ${key}=${value_text(field)}`);
  return value.name + rest.join("");
}

export class Table {
  constructor(json, index) {
    this.json = json;
    this.index = index;
    this.rows = json.rows;
    this.kind = json.kind;
    this.cache = new Map();
    this.list = json.columns.map((column, place) => ({ ...column, place }));
    // What does not vary is no axis to choose.
    this.axis_columns = this.list.filter((column) => column.role === "axis");
    this.figure_columns = this.list.filter((column) => column.role === "figure" && column.key !== "point");
    this.note_columns = this.list.filter((column) => column.role === "note");
  }

  // 1 where less of a column is better, -1 where more is: by the program's table.
  sign_of(key) { return this.json.comparing.gains.includes(key) ? -1 : 1; }
  best_word(key) { return this.sign_of(key) < 0 ? "largest" : "least"; }

  column(key, role) {
    return this.list.find((column) => column.key === key && (!role || column.role === role));
  }

  // The values of a column, one per row, as in the JSON that was reported.
  values(column) {
    if (!this.cache.has(column.place)) this.cache.set(column.place, this.read(column));
    return this.cache.get(column.place);
  }

  async read(column) {
    if ("constant" in column) return new Array(this.rows).fill(column.constant);
    if ("same_as" in column) return this.values(this.list[column.same_as]);
    if ("dictionary" in column) {
      const [dictionary, places] = await Promise.all([unpacked(column.dictionary), unpacked(column.places)]);
      return places.map((place) => dictionary[place]);
    }
    return unpacked(column.values);
  }

  // As doubles; NaN where there is none.
  async numbers(column) {
    const key = `numbers ${column.place}`;
    if (!this.cache.has(key))
      this.cache.set(key, this.values(column).then(as_numbers));
    return this.cache.get(key);
  }

  async axis(column) {
    const key = `axis ${column.place}`;
    if (!this.cache.has(key)) this.cache.set(key, this.read_axis(column));
    return this.cache.get(key);
  }

  async read_axis(column) {
    if (!("dictionary" in column)) {
      const { values, places } = different_values(await this.values(column));
      return axis_of(column.key, values, places);
    }
    const [values, places] = await Promise.all([unpacked(column.dictionary), unpacked(column.places)]);
    return axis_of(column.key, values, new Uint32Array(places));
  }
}

// In a loop, which takes a tenth of the time of Float64Array.from with a function.
function as_numbers(values) {
  const numbers = new Float64Array(values.length);
  for (let row = 0; row < values.length; ++row) {
    const value = values[row];
    numbers[row] = typeof value === "number" ? value : value === null || value === undefined || value === "" ? NaN : Number(value);
  }
  return numbers;
}

function different_values(rows) {
  const place_of = new Map();
  const values = [];
  const places = new Uint32Array(rows.length);
  for (let row = 0; row < rows.length; ++row) {
    const value = rows[row];
    const name = typeof value === "object" ? JSON.stringify(value) : `${typeof value} ${value}`;
    let place = place_of.get(name);
    if (place === undefined) {
      place = values.length;
      place_of.set(name, place);
      values.push(value);
    }
    places[row] = place;
  }
  return { values, places };
}

// {key, values, texts, numbers (or null), places: one per row}, the values in growing order.
function axis_of(key, values, places) {
  const quantities = values.map(quantity_of);
  const is_scale = values.length > 0 && quantities.every((one) => one && one.kind === quantities[0].kind);
  if (!is_scale) return { key, values, texts: values.map(value_text), numbers: null, places };
  const order = values.map((_, place) => place).sort((a, b) => quantities[a].value - quantities[b].value);
  const rank = new Uint32Array(order.length);
  order.forEach((place, at) => { rank[place] = at; });
  for (let row = 0; row < places.length; ++row) places[row] = rank[places[row]];
  return {
    key, places,
    values: order.map((place) => values[place]),
    texts: order.map((place) => value_text(values[place])),
    numbers: order.map((place) => quantities[place].value),
  };
}

// Axis names without the words that all have in common: "nodes", "bandwidth", "strategy".
export function short_names(keys) {
  return keys.map((key) => {
    const words = key.split(".");
    for (let count = 1; count <= words.length; ++count) {
      const text = words.slice(-count).join(".");
      if (keys.filter((other) => other === text || other.endsWith("." + text)).length <= 1) return text;
    }
    return key;
  });
}

// Results agree if they do to a millionth, as in the program.
export const is_tie = (a, b) => Math.abs(a - b) <= 1e-6 * Math.max(Math.abs(a), Math.abs(b));
