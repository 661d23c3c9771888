// Base64 to bytes; a loop, because a callback per byte takes ten times as long.
export function bytes_of_base64(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; ++at) bytes[at] = letters.charCodeAt(at);
  return bytes;
}
