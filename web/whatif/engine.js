// The simulator behind promises. It runs in a thread of its own, so that the page answers while it
// works; a question that takes too long is ended with its thread, and a new thread gets the same files.
import { bytes_of_base64 } from "../common/base64.js";

// What ran was ended: by the reader, or to make room for newer questions.
class Stopped extends Error {
  constructor(by_reader) {
    super("stopped");
    this.by_reader = by_reader;
  }
}

const stopped = { error: "stopped before it was done", exit: 130 };
const most_ms = 1000;  // that a newer question waits for an older one

async function unpacked(id) {
  const packed = bytes_of_base64(document.getElementById(id).textContent.trim());
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

// `ask(question)` gives {answer, milliseconds}; `insist(question)` and `add_file(name, bytes)` give the answer, and are
// not given up to make room. `stop()` ends what runs; `make_room()` ends a question that has run for a second.
export async function start_engine() {
  const source = URL.createObjectURL(new Blob([await unpacked("worker")], { type: "text/javascript" }));
  const module = await WebAssembly.compile(await unpacked("program"));
  const files = new Map();
  let worker = null;
  let waiting = new Map();
  let last = 0;
  let since = 0;  // when the question that runs was begun

  function send(message, transfer = []) {
    return new Promise((resolve, reject) => {
      const number = ++last;
      if (waiting.size === 0) since = performance.now();
      waiting.set(number, { resolve, reject, is_question: message.question !== undefined });
      worker.postMessage({ ...message, number }, transfer);
    });
  }

  function begin() {
    worker = new Worker(source);
    worker.onmessage = ({ data }) => {
      const { resolve } = waiting.get(data.number);
      waiting.delete(data.number);
      since = performance.now();
      resolve({ answer: JSON.parse(data.text), milliseconds: data.milliseconds ?? 0 });
      if (data.is_broken) restart(true);
    };
    worker.onerror = () => restart(true);
    // The next thread gets them again, if this one is ended.
    const given = [send({ module }), ...[...files].map(([name, bytes]) => send({ name, bytes }))];
    for (const reply of given) reply.catch(() => {});
  }

  async function insist(message) {
    for (;;) {
      try {
        return (await send(message)).answer;
      } catch (problem) {
        if (!(problem instanceof Stopped)) throw problem;
        if (problem.by_reader) return stopped;
      }
    }
  }

  function restart(by_reader) {
    worker.terminate();
    const ended = waiting;
    waiting = new Map();
    begin();
    for (const { reject } of ended.values()) reject(new Stopped(by_reader));
  }

  begin();
  return {
    ask: (question) => send({ question }),
    insist: (question) => insist({ question }),
    async add_file(name, bytes) {
      const answer = await insist({ name, bytes });
      if (!answer.error) files.set(name, bytes);
      return answer;
    },
    stop: () => restart(true),
    make_room() {
      const [running] = waiting.values();
      if (running?.is_question && performance.now() - since > most_ms) restart(false);
    },
  };
}

// When what was drawn last is on the screen; in a page that nobody sees, a moment later.
const most_unseen_ms = 100;
let drawn = Promise.resolve();
const painted = () => new Promise((resolve) => {
  requestAnimationFrame(() => setTimeout(resolve));
  setTimeout(resolve, most_unseen_ms);
});

// Views take turns, a frame each, so that the first ones are seen while the others are drawn.
function turn() {
  const mine = drawn;
  drawn = mine.then(painted);
  return mine;
}

// Of every kind of question only the newest matters: one is being answered, one waits, the others are
// dropped. `use(answer, milliseconds)` is called for each that is answered; a question that is null asks
// for nothing any more. `version`: of the files that it is about.
export function newest(engine, use, on_change, version = () => 0) {
  let wanted = "null";  // the newest question, as text
  let running = false;
  let next = null;

  async function answer_of(question) {
    try {
      return await engine.ask(question);
    } catch (problem) {
      if (!(problem instanceof Stopped)) throw problem;
      return problem.by_reader ? { answer: stopped, milliseconds: 0 } : null;
    }
  }

  async function work() {
    running = true;
    on_change(true);
    while (next !== null) {
      const text = next;
      next = null;
      const reply = await answer_of(JSON.parse(text).question);
      await turn();
      if (wanted === "null") continue;
      if (reply === null) {  // it made room for others, and is asked again if nothing newer is
        next ??= text;
        continue;
      }
      const { answer, milliseconds } = reply;
      if (answer.exit === 130 && next === null) wanted = "";  // whoever asks the same again gets an answer
      if (next === null || !answer.error) use(answer, milliseconds);
      if (next === text) next = null;
    }
    running = false;
    on_change(false);
  }

  return (question) => {
    const text = question === null ? "null" : JSON.stringify({ version: version(), question });
    if (text === wanted) return;
    wanted = text;
    next = question && text;
    if (!running) work();
  };
}
