// Contributions, placed on the characters of a text.

export const LONGEST_SHOWN = 10000;

/**
 * Neighbouring characters of equal value, with the contributions (by place) that stand on them.  The value of a
 * feature is spread evenly over the characters of all places where it stands; where features overlap, they add up.
 */
export function runs(characters, contributions) {
  const n = Math.min(characters.length, LONGEST_SHOWN);
  const values = new Float64Array(n);
  const changes = new Map();
  contributions.forEach(({ value, spans }, place) => {
    const size = spans.reduce((sum, [start, end]) => sum + end - start, 0);
    for (const [start, end] of spans) {
      if (end <= start) continue;
      for (let at = start; at < Math.min(end, n); at++) values[at] += value / size;
      change(changes, start, place, 1);
      change(changes, end, place, -1);
    }
  });
  const found = [];
  const standing = new Map();
  for (let start = 0; start < n;) {
    let end = start;
    const places = new Set();
    for (; end < n && (end === start || values[end] === values[start]); end++) {
      for (const [place, by] of changes.get(end) ?? []) {
        const times = (standing.get(place) ?? 0) + by;
        if (times) standing.set(place, times);
        else standing.delete(place);
      }
      for (const place of standing.keys()) places.add(place);
    }
    const ordered = [...places].sort((a, b) => a - b); // the largest contributions come first
    found.push({ text: characters.slice(start, end).join(""), value: values[start], places: ordered });
    start = end;
  }
  return found;
}

function change(changes, at, place, by) {
  if (!changes.has(at)) changes.set(at, []);
  changes.get(at).push([place, by]);
}
