// Links of the what-if page: what is packed comes out again, and a link that would unpack to more than any link can
// hold is refused with a sentence, without having been unpacked.
import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { first_state, fragment_of, largest_link_B, state_from } from "../../web/whatif/state.js";

const bytes_of = (text) => new TextEncoder().encode(text);

// A link with one file, as the page writes it.
const link_of = (name, packed, more = "") =>
  `#experiment=${encodeURIComponent(name)}${more}&file=${encodeURIComponent(JSON.stringify([name, packed.toString("base64").replaceAll("+", "-").replaceAll("/", "_")]))}`;

test("a state and its files come back", async () => {
  const state = { ...first_state(), experiment: "own.json", cluster: "rack.json", nodes: "8", more: "iterations=2\nseed=3" };
  const files = [["own.json", bytes_of('{"a": 1}')], ["rack.json", bytes_of("x".repeat(largest_link_B))]];
  const back = await state_from("#" + (await fragment_of(state, files)));
  assert.deepEqual(back.state, state);
  assert.deepEqual(back.problems, []);
  assert.deepEqual(back.files.map(([name, bytes]) => [name, Buffer.from(bytes).toString()]), files.map(([name, bytes]) => [name, Buffer.from(bytes).toString()]));
});

test("what unpacks to more than a link can hold is refused by name", async () => {
  for (const [size, is_refused] of [[largest_link_B, false], [largest_link_B + 1, true], [300_000_000, true]]) {
    const link = link_of("own.json", deflateRawSync(Buffer.alloc(size, 32), { level: 9 }));
    const before = process.memoryUsage.rss();
    const { files, problems } = await state_from(link);
    assert.equal(files.length, is_refused ? 0 : 1);
    assert.equal(problems.length, is_refused ? 1 : 0);
    if (is_refused) assert.match(problems[0], /^own\.json: this link holds more than the 200 kB that a link can have of a file; drop the file here instead$/);
    assert.ok(process.memoryUsage.rss() - before < 100_000_000, "it was unpacked");
  }
});

test("files that the state does not name are not unpacked; names of JavaScript are no fields", async () => {
  const small = deflateRawSync(Buffer.from("{}"));
  const both = await state_from(`${link_of("own.json", small)}&file=${encodeURIComponent(JSON.stringify(["other.json", small.toString("base64")]))}`);
  assert.deepEqual(both.files.map(([name]) => name), ["own.json"]);
  const hostile = await state_from("#__proto__=a&constructor=b&toString=c&hasOwnProperty=d&nodes=4&file=x&file=[]&file=%5B%22own%22%5D");
  assert.deepEqual(hostile.state, { ...first_state(), nodes: "4" });
  assert.deepEqual(Object.keys(hostile.state), Object.keys(first_state()));
  assert.deepEqual([hostile.files, hostile.problems], [[], []]);
});

test("a link that was cut loses its files, and nothing else", async () => {
  const whole = link_of("own.json", deflateRawSync(Buffer.from("x".repeat(5000))), "&nodes=8");
  for (let length = 0; length < whole.length; length += 3) {
    const { state } = await state_from(whole.slice(0, length));
    assert.deepEqual(Object.keys(state), Object.keys(first_state()));
  }
});
