// An explanation: the labels, the text in colours, the words that add most.  It looks as bunrui/views/explanation.py
// draws it, and views.js lets the arrow keys go from word to word.

import { swing } from "../../service/web/js/bars.js";
import { data, h } from "../../service/web/js/dom.js";
import { level, shown, signed, visible } from "../../service/web/js/show.js";

const ROWS = 15; // of the table
const NAMES = 8; // under the pointer, or of words that are not known
const LONGEST_SHOWN = 10000; // code points, as all characters here

export function explanation(found, labels) {
  const write = signed(found.contributions.map(({ value }) => value));
  return h("div.explanation",
    legend(found, labels),
    found.text && markedText(found, write),
    contributions(found, write),
    found.unknown.length > 0 && unknown(found),
  );
}

function legend({ label, against }, labels) {
  const chip = (side, c, said) =>
    h("span", h("b", { class: `chip ${side}` }, data(labels[c])), h("span.muted", { t: said }));
  return h("p.legend",
    chip("for", label, "explain.for"),
    against !== null && chip("against", against, "explain.against"),
  );
}

/** How many characters begin before each place in UTF-16: the second half of a pair begins none. */
function charactersBefore(text) {
  const before = new Uint32Array(text.length + 1);
  for (let i = 0; i < text.length; i++) before[i + 1] = before[i] + (i > 0 && text.codePointAt(i - 1) > 0xffff ? 0 : 1);
  return before;
}

/** What stands on each character of a text, and where that changes. */
function* runs({ text, contributions }, before) {
  const values = new Float64Array(text.length);
  const changes = new Map();
  const change = (at, place, by) => {
    if (!changes.has(at)) changes.set(at, []);
    changes.get(at).push([place, by]);
  };
  contributions.forEach(({ value, spans }, place) => {
    const size = spans.reduce((sum, [start, end]) => sum + before[end] - before[start], 0);
    for (const [start, end] of spans) {
      for (let i = start; i < end; i++) values[i] += value / size;
      change(start, place, 1);
      change(end, place, -1);
    }
  });
  const standing = new Map();
  let [start, places] = [0, new Set()];
  const last = before[text.length] > LONGEST_SHOWN ? before.lastIndexOf(LONGEST_SHOWN) : text.length;
  for (let i = 0; i <= last; i++) {
    if (i > start && (i === last || values[i] !== values[start])) {
      yield { piece: text.slice(start, i), value: values[start], places };
      [start, places] = [i, new Set()];
    }
    for (const [place, by] of changes.get(i) ?? []) {
      const n = (standing.get(place) ?? 0) + by;
      if (n) standing.set(place, n);
      else standing.delete(place);
    }
    if (i === start || changes.has(i)) for (const place of standing.keys()) places.add(place);
  }
}

function markedText(found, write) {
  const before = charactersBefore(found.text);
  const all = Array.from(runs(found, before));
  const largest = all.reduce((most, { value }) => Math.max(most, Math.abs(value)), 0);
  let stop = 0; // the first word can be reached by the tabulator
  const pieces = all.map(({ piece, value, places }) => {
    if (!places.size) return visible(piece);
    const run = { class: `run ${level(value, largest)}`, tabindex: stop };
    stop = -1;
    const element = h("span", run, visible(piece));
    element.title = titleOf(found, places, write);
    return element;
  });
  const left = before.at(-1) - LONGEST_SHOWN;
  return h("div.text", { dir: "auto", role: "group", label: "explain.text" },
    pieces,
    left > 0 && h("span.muted", { t: ["explain.more", { left }] }),
  );
}

/** The contributions on a run of characters, the largest first. */
function titleOf({ contributions }, places, write) {
  const sorted = Array.from(places).sort((a, b) => a - b);
  const line = (place) => {
    const { feature, count, value } = contributions[place];
    return `${shown(feature)} ×${count}: ${write(value)}`;
  };
  const lines = sorted.slice(0, NAMES).map(line);
  return (sorted.length > NAMES ? [...lines, `… +${sorted.length - NAMES}`] : lines).join("\n");
}

function contributions(found, write) {
  const rest = found.contributions.slice(ROWS);
  const largest = Math.abs(found.contributions[0]?.value ?? 0) || 1;
  const rows = found.contributions.slice(0, ROWS)
    .map(({ feature, count, value }) => row(data(shown(feature)), `×${count}`, value, write, largest));
  const total = rest.reduce((sum, { value }) => sum + value, 0);
  if (rest.length) rows.push(row(h("span", { t: ["explain.rest", { n: rest.length }] }), "", total, write));
  rows.push(row(h("span", { t: "explain.bias" }), "", found.bias, write));
  rows.push(row(h("span", { t: "explain.sum" }), "", found.difference, write));
  return h("table.contributions", h("caption", { t: "explain.table" }), h("tbody", rows));
}

/** A row of the table, with a bar where `largest` says what a whole one is. */
function row(name, times, value, write, largest = Infinity) {
  return h("tr", { class: largest === Infinity && "muted" },
    h("th", { scope: "row" }, name),
    h("td.number", times),
    h("td.number", write(value)),
    h("td", swing(value, largest)),
  );
}

function unknown({ unknown: names }) {
  const n = names.length - NAMES;
  return h("p.muted",
    h("span", { t: "explain.unknown" }),
    " ",
    data(names.slice(0, NAMES).map(shown).join(", ")),
    " ",
    n > 0 && h("span", { t: ["explain.others", { n }] }),
  );
}
