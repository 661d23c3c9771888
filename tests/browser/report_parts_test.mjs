// What the page of a report computes, without a browser: who wins, and JSON with all its digits.
import assert from "node:assert/strict";
import { test } from "node:test";
import { root } from "./pages.mjs";

const { contestants, is_contest } = await import(`${root}/web/report/selection.js`);
const { json_text, setting_of } = await import(`${root}/web/report/exact.js`);

test("who has no opponent wins nothing", () => {
  // Cells of three values, of which the last has no figure anywhere.
  const cells = Int32Array.from([0, 1, -1, 2, -1, -1, -1, -1, -1]);
  const takes_part = contestants(cells, 3);
  assert.deepEqual([...takes_part], [1, 1, 0]);
  assert.deepEqual([0, 3, 6].map((at) => is_contest(cells.subarray(at, at + 3), takes_part)), [true, false, false]);
  assert.equal(is_contest(Int32Array.from([4, -1]), contestants(Int32Array.from([4, -1, 5, -1]), 2)), false, "one alone");
});

test("whole numbers beyond 2^53 leave the page as numbers", () => {
  const rows = [
    ["a number", "9007199254740993", "9007199254740993"],
    ["below zero", "-4611686018427387904", "-4611686018427387904"],
    ["the largest", "18446744073709551615", "18446744073709551615"],
    ["a text of digits that a number could hold", "9007199254740992", '"9007199254740992"'],
    ["inside", { a: ["9007199254740993", "b"] }, '{"a":[9007199254740993,"b"]}'],
    ["a name", { "9007199254740993": 1 }, '{"9007199254740993":1}'],
    ["quotes inside of a text", 'x "9007199254740993" y', '"x \\"9007199254740993\\" y"'],
  ];
  for (const [why, value, expected] of rows) assert.equal(json_text(value, true), expected, why);
  assert.equal(json_text({ seed: "9007199254740993" }, true, 2), '{\n  "seed": 9007199254740993\n}');
  assert.equal(json_text("9007199254740993", false), '"9007199254740993"');
});

test("settings: what would be read as JSON is quoted", () => {
  assert.equal(setting_of("seed", "9007199254740993", true), "seed=9007199254740993");
  assert.equal(setting_of("name", "9007199254740993"), 'name="9007199254740993"');
  assert.equal(setting_of("name", "12"), 'name="12"');
  assert.equal(setting_of("strategy", "ddp"), "strategy=ddp");
  assert.equal(setting_of("strategy", { name: "ddp" }), 'strategy={"name":"ddp"}');
  assert.equal(setting_of("cluster.nodes", 4), "cluster.nodes=4");
});
