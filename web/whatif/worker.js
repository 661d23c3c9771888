// The simulator's own thread: gets questions as JSON texts, answers with JSON texts.
import create_program from "sgdsim-program";

const encoder = new TextEncoder();
let program = null;

// Bytes in the program's memory, as [address, length].
function passed(bytes) {
  const address = program._malloc(bytes.length + 1);
  if (address === 0) throw new Error("there is not enough memory");
  program.HEAPU8.set(bytes, address);
  return [address, bytes.length];
}

function text_from(address) {
  if (address === 0) throw new Error("there is not enough memory");
  const text = program.UTF8ToString(address);
  program._free(address);
  return text;
}

function answer({ question, name, bytes }) {
  if (question !== undefined) {
    const [text, length] = passed(encoder.encode(JSON.stringify(question)));
    const reply = program._sgdsim_answer(text, length);
    program._free(text);
    return text_from(reply);
  }
  const [file, file_length] = passed(encoder.encode(name));
  const [content, content_length] = passed(new Uint8Array(bytes));
  const reply = program._sgdsim_add_file(file, file_length, content, content_length);
  program._free(file);
  program._free(content);
  return text_from(reply);
}

async function begin(module) {
  program = await create_program({
    instantiateWasm(imports, done) {
      WebAssembly.instantiate(module, imports).then((instance) => done(instance));
      return {};
    },
    print: () => {},
    printErr: () => {},
  });
  program._sgdsim_begin();
}

self.onmessage = async ({ data }) => {
  const before = performance.now();
  let text;
  try {
    if (data.module) await begin(data.module);
    text = data.module ? "{}" : answer(data);
  } catch (problem) {
    text = JSON.stringify({ error: `failed: ${problem?.message ?? problem}`, exit: 1 });
    self.postMessage({ number: data.number, text, is_broken: true });
    return;
  }
  self.postMessage({ number: data.number, text, milliseconds: performance.now() - before });
};
