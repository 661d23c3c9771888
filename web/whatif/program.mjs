// The page's program in Node, for tests and benchmarks: node web/whatif/program.mjs prints what it is.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = join(dirname(fileURLToPath(import.meta.url)), "../../build/wasm/bin");

// `ask(question)` and `add_file(name, bytes)` give answers as the page gets them.
export async function start_program(from = folder) {
  const create = createRequire(import.meta.url)(join(from, "whatif.js"));
  const program = await create({ wasmBinary: readFileSync(join(from, "whatif.wasm")) });
  program._sgdsim_begin();
  const passed = (bytes) => {
    const address = program._malloc(bytes.length + 1);
    program.HEAPU8.set(bytes, address);
    return [address, bytes.length];
  };
  const answer = (reply) => {
    const text = program.UTF8ToString(reply);
    program._free(reply);
    return JSON.parse(text);
  };
  return {
    ask(question) {
      const [text, length] = passed(Buffer.from(JSON.stringify(question)));
      const reply = program._sgdsim_answer(text, length);
      program._free(text);
      return answer(reply);
    },
    add_file(name, bytes) {
      const [file, file_length] = passed(Buffer.from(name));
      const [content, content_length] = passed(bytes);
      const reply = program._sgdsim_add_file(file, file_length, content, content_length);
      program._free(file);
      program._free(content);
      return answer(reply);
    },
    memory_B: () => program.HEAPU8.length,
  };
}
