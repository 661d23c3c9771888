// Elements without markup: every text becomes a text node, so that no name in a file can be read as HTML.

// element("p", {class: "muted", on: {click: f}}, "text", other_element, ...)
export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg_element(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (name === "style") {
      for (const [property, setting] of Object.entries(value)) node.style.setProperty(property, setting);
    } else {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const child of children.flat(Infinity))
    if (child !== undefined && child !== null && child !== false)
      node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  return node;
}

export function replace_children(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

// Tells whether a part of a page is worked on: at once in its class, and to the eye when it takes longer. A transition
// would do the same, and would have each part painted on a layer of its own while the simulator needs the processor.
const noticed_ms = 250;
export function busy_switch(node) {
  let planned = 0;
  return (is_busy) => {
    clearTimeout(planned);
    node.classList.toggle("busy", is_busy);
    node.setAttribute("aria-busy", String(is_busy));
    if (is_busy) planned = setTimeout(() => node.classList.add("faded"), noticed_ms);
    else node.classList.remove("faded");
  };
}

// Attributes of a drawing whose points are walked by keys: a screen reader passes the keys on, and what is
// chosen is told in a status beside it.
export const walkable = { tabindex: 0, role: "application", "aria-roledescription": "diagram" };

// A labelled select; options are texts or {value, text}.
export function choice(label, options, chosen, on_change) {
  const select = element("select", { on: { change: () => on_change(select.value) } });
  for (const option of options) {
    const { value, text } = typeof option === "object" ? option : { value: option, text: option };
    select.append(element("option", { value, selected: value === chosen }, clipped(text, 80)));
  }
  return element("label", { class: "field" }, label, select);
}

// A few exclusive choices side by side.
export function segmented(label, options, chosen, on_change) {
  const group = element("div", { class: "segmented", role: "group", "aria-label": label });
  for (const { value, text } of options)
    group.append(element("button", {
      type: "button", "aria-pressed": value === chosen ? "true" : "false",
      on: {
        click: (event) => {
          for (const button of group.children) button.setAttribute("aria-pressed", button === event.currentTarget ? "true" : "false");
          on_change(value);
        },
      },
    }, text));
  return group;
}

// A table: columns {title, figure}, rows of cells (text, or a node).
export function table(caption, columns, rows, attributes = {}) {
  const head = element("tr", {}, columns.map((column) => element("th", { scope: "col", class: column.figure && "figure" }, column.title)));
  const body = rows.map((cells) => element("tr", {}, cells.map((cell, index) =>
    element(index === 0 ? "th" : "td", { scope: index === 0 ? "row" : undefined, class: columns[index]?.figure && "figure" }, cell))));
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption, ...attributes },
    element("table", {}, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, body)));
}

// A long text with its end left out; the whole stands in files and tables.
export function clipped(text, most = 60) {
  const letters = Array.from(String(text).slice(0, 4 * most + 4));
  return letters.length > most || String(text).length > 4 * most + 4 ? letters.slice(0, most - 1).join("") + "…" : String(text);
}

// A command for a shell, with a button that copies it.
export function command_block(command) {
  const status = element("span", { role: "status", class: "small muted" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(command);
    } catch {  // pages from file:// may not use the clipboard in some browsers
      const area = element("textarea", { class: "visually-hidden", readonly: true });
      area.value = command;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    status.textContent = "Copied";
    setTimeout(() => { status.textContent = ""; }, 1500);
  };
  return element("div", { class: "command-block" },
    element("pre", { class: "command", tabindex: 0, "aria-label": "Command" }, command),
    element("div", { class: "row no-print" }, element("button", { type: "button", class: "plain", on: { click: copy } }, "Copy command"), status));
}

// A word in single quotes if a shell would read anything in it.
export function shell_word(text) {
  return /^[A-Za-z0-9_.,:=@%+\/-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'";
}

export function download(name, text, type = "application/json") {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
