// JSON that leaves the page again with all its digits.
//
// The page has whole numbers beyond 2^53 as texts of their digits (app/report/packing.h), and says of columns and
// answers whether they have such numbers.
const largest_whole = 2n ** 53n;

function is_large(digits) {
  const whole = BigInt(digits);
  return whole > largest_whole || whole < -largest_whole;
}

// As JSON.stringify, such texts as the numbers that they were. A quote of a text inside would follow a backslash, and
// a name is followed by a colon.
export function json_text(value, has_large_wholes = false, indent = undefined) {
  const text = JSON.stringify(value, null, indent);
  if (!has_large_wholes) return text;
  return text.replace(/(?<!\\)"(-?[1-9][0-9]{15,19})"(?!:)/g, (quoted, digits) => (is_large(digits) ? digits : quoted));
}

// The word after --set: a text that would be read as JSON is quoted.
export function setting_of(field, value, has_large_wholes = false) {
  const json = json_text(value, has_large_wholes);
  return `${field}=${typeof value === "string" && json.startsWith('"') && !is_json(value) ? value : json}`;
}

function is_json(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
