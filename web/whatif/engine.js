// The simulator behind promises. It runs in a thread of its own, so that the page answers while it
// works; a question that takes too long is ended with its thread, and a new thread gets the same files.

export class Stopped extends Error {}

async function unpacked(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent.trim()), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

// `ask(question)` and `add_file(name, bytes)` give {answer, milliseconds}; `stop()` ends what runs.
export async function start_engine() {
  const source = URL.createObjectURL(new Blob([await unpacked("worker")], { type: "text/javascript" }));
  const module = await WebAssembly.compile(await unpacked("program"));
  const files = new Map();
  let worker = null;
  let waiting = new Map();
  let last = 0;

  function send(message, transfer = []) {
    return new Promise((resolve, reject) => {
      const number = ++last;
      waiting.set(number, { resolve, reject });
      worker.postMessage({ ...message, number }, transfer);
    });
  }

  function begin() {
    worker = new Worker(source);
    worker.onmessage = ({ data }) => {
      const { resolve } = waiting.get(data.number);
      waiting.delete(data.number);
      resolve({ answer: JSON.parse(data.text), milliseconds: data.milliseconds ?? 0 });
      if (data.is_broken) restart();
    };
    worker.onerror = () => restart();
    send({ module });
    for (const [name, bytes] of files) send({ name, bytes });
  }

  function restart() {
    worker.terminate();
    const ended = waiting;
    waiting = new Map();
    begin();
    for (const { reject } of ended.values()) reject(new Stopped("stopped"));
  }

  begin();
  return {
    ask: (question) => send({ question }),
    async add_file(name, bytes) {
      const { answer } = await send({ name, bytes });
      if (!answer.error) files.set(name, bytes);
      return answer;
    },
    stop: restart,
  };
}

// Of every kind of question only the newest matters: one is being answered, one waits, the others are
// dropped. `use(answer, milliseconds)` is called for each that is answered.
export function newest(engine, use, on_change) {
  let running = false;
  let next = null;
  let last_key = null;
  async function work() {
    running = true;
    on_change(true);
    while (next !== null) {
      const { question, key } = next;
      next = null;
      try {
        const { answer, milliseconds } = await engine.ask(question);
        if (next === null || !answer.error) use(answer, milliseconds);
      } catch (problem) {
        if (!(problem instanceof Stopped)) throw problem;
        last_key = null;
        use({ error: "stopped before it was done", exit: 130 }, 0);
      }
      if (next !== null && next.key === key) next = null;
    }
    running = false;
    on_change(false);
  }
  return (question) => {
    const key = JSON.stringify(question);
    if (key === last_key) return;
    last_key = key;
    next = { question, key };
    if (!running) work();
  };
}
