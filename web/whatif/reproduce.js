// How to get the same elsewhere: a command, a file, a link.
import { command_block, download, element, replace_children } from "../common/dom.js";

// `save()` gives {text} or {error}; `files()` are dropped files as [name, bytes]; `timeline()` the last timeline.
export function reproduce_view({ save, files, timeline }) {
  const command = element("div");
  const status = element("span", { role: "status", class: "small muted" });
  const kept = element("div", { class: "row" });
  const say = (text) => { status.textContent = text; };

  async function save_experiment() {
    const answer = await save();
    if (answer.error) return say(answer.error);
    download("whatif.json", answer.text);
    say("Saved; run it with: sgdsim run whatif.json");
  }

  async function copy_link() {
    const block = command_block(location.href);  // its button copies without a clipboard, too
    block.querySelector("button").click();
    say("The link holds everything that is chosen here.");
  }

  const node = element("section", { class: "card", "aria-labelledby": "reproduce-title" },
    element("h2", { id: "reproduce-title" }, "The same on the command line"), command,
    element("div", { class: "row no-print" },
      element("button", { type: "button", on: { click: save_experiment } }, "Save experiment"),
      element("button", { type: "button", on: { click: () => timeline() && download("timeline.json", JSON.stringify(timeline())) } }, "Save timeline (Perfetto)"),
      element("button", { type: "button", on: { click: copy_link } }, "Copy link"), status), kept);
  return {
    node,
    show(text) {
      replace_children(command, command_block(text));
      replace_children(kept, files().map(([name, bytes]) =>
        element("button", { type: "button", class: "plain", on: { click: () => download(name, bytes) } }, `Save ${name.slice(0, 60)}`)));
    },
  };
}
