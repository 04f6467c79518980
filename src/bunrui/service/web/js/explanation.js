// An explanation: the text with the words that speak for a label and against it, and a table of the largest of them.

import { data, h, replace, show } from "./dom.js";
import { LONGEST_SHOWN, runs } from "./runs.js";
import { shown, signed, strength, visible } from "./show.js";

const ROWS = 15;
const NAMES = 8;
let n_shown = 0;

/** The same, seen from the other side: why not the label. */
export const turned = (found) => ({
  ...found,
  label: found.against,
  against: found.label,
  bias: -found.bias,
  score: found.against_score,
  against_score: found.score,
  contributions: found.contributions.map((one) => ({ ...one, value: -one.value })),
});

export function explanation(found, { table = true } = {}) {
  const write = signed(found.contributions.map(({ value }) => value));
  return h(
    "div",
    { class: "explanation" },
    h(
      "p",
      { class: "legend" },
      h(
        "span",
        {},
        h("span", { class: "chip for" }, data(found.label)),
        h("span", { class: "muted", t: "explain.for" }),
      ),
      found.against !== null &&
        h(
          "span",
          {},
          h("span", { class: "chip against" }, data(found.against)),
          h("span", { class: "muted", t: "explain.against" }),
        ),
    ),
    text(found, write),
    table && contributions(found, write),
    table && found.unknown.length > 0 && unknown(found.unknown),
  );
}

/** The text: one stop for the tabulator, the arrow keys go from word to word. */
function text(found, write) {
  const characters = Array.from(found.text);
  const pieces = runs(characters, found.contributions);
  const largest = Math.max(0, ...pieces.map(({ value }) => Math.abs(value)));
  const tip = h("div", { class: "tip", role: "tooltip", id: `tip-${++n_shown}`, hidden: true });
  const stops = [];
  const body = h("div", { class: "text", dir: "auto", role: "group", label: "explain.text" });
  for (const piece of pieces) {
    if (!piece.places.length) {
      body.append(visible(piece.text));
      continue;
    }
    const stop = h("span", { class: piece.value < 0 ? "run against" : "run for", role: "button", tabindex: -1 });
    stop.append(visible(piece.text));
    stop.style.setProperty("--depth", strength(piece.value, largest).toFixed(3));
    stop.piece = piece;
    stops.push(stop);
    body.append(stop);
  }
  if (stops.length) stops[0].tabIndex = 0;
  const left = Math.max(0, characters.length - LONGEST_SHOWN) + (found.left_out ?? 0);
  if (left > 0) body.append(h("span", { class: "muted", t: ["explain.more", { left }] }));

  const place = h("div", { class: "placed" }, body, tip);
  const open = (stop) => {
    replace(tip, lines(found, stop.piece, write));
    show(tip, true);
    stop.setAttribute("aria-describedby", tip.id);
    const around = place.getBoundingClientRect();
    const at = stop.getClientRects()[0];
    const most = Math.max(0, around.width - tip.offsetWidth);
    tip.style.left = `${Math.min(Math.max(0, at.left - around.left), most)}px`;
    tip.style.top = `${at.bottom - around.top + 4}px`;
  };
  const close = () => show(tip, false);
  const stopOf = (event) => event.target.closest?.(".run");
  body.addEventListener("pointerover", (event) => (stopOf(event) ? open(stopOf(event)) : close()));
  body.addEventListener("pointerleave", close);
  body.addEventListener("click", (event) => stopOf(event) && open(stopOf(event)));
  body.addEventListener("focusin", (event) => {
    if (!stopOf(event)) return;
    for (const stop of stops) if (stop.tabIndex === 0) stop.tabIndex = -1;
    stopOf(event).tabIndex = 0;
    open(stopOf(event));
  });
  body.addEventListener("focusout", close);
  body.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const at = stops.indexOf(stopOf(event));
    if (event.key === "Escape") close();
    if (event.key === "Enter" && at >= 0) open(stops[at]);
    if (!step || at < 0) return;
    event.preventDefault();
    stops[Math.min(Math.max(at + step, 0), stops.length - 1)].focus();
  });
  return place;
}

/** What stands on a run of characters, the largest first. */
function lines(found, piece, write) {
  const largest = piece.places.slice(0, NAMES).map((place) => found.contributions[place]);
  const more = piece.places.length - largest.length;
  return [
    ...largest.map(({ feature, count, value }) =>
      h("div", { class: "line" }, data(shown(feature)), h("span", { class: "muted" }, `×${count}`), write(value)),
    ),
    more > 0 && h("div", { class: "muted", t: ["explain.others", { n: more }] }),
  ];
}

function contributions(found, write) {
  const first = found.contributions.slice(0, ROWS);
  const rest = found.contributions.slice(ROWS);
  const largest = Math.abs(first[0]?.value ?? 0);
  const sum = rest.reduce((total, { value }) => total + value, 0);
  const row = (name, times, value, isWord) =>
    h(
      "tr",
      { class: isWord ? "" : "muted" },
      h("th", { scope: "row" }, name),
      h("td", { class: "number" }, times),
      h("td", { class: "number" }, write(value)),
      h("td", { class: "diverging" }, isWord && bar(value, largest)),
    );
  return h(
    "table",
    { class: "contributions" },
    h("caption", { class: "sr", t: "explain.table" }),
    h(
      "tbody",
      {},
      first.map(({ feature, count, value }) => row(data(shown(feature)), `×${count}`, value, true)),
      rest.length > 0 && row(h("span", { t: ["explain.rest", { n: rest.length }] }), "", sum, false),
      row(h("span", { t: "explain.bias" }), "", found.bias, false),
      row(h("span", { t: "explain.sum" }), "", found.score - (found.against_score ?? 0), false),
    ),
  );
}

function bar(value, largest) {
  const element = h("span", { class: value < 0 ? "against" : "for" });
  element.style.width = `${largest ? (50 * Math.abs(value)) / largest : 0}%`;
  return element;
}

function unknown(features) {
  const names = features.slice(0, NAMES).map(shown).join(", ");
  const more = features.length - NAMES;
  return h(
    "p",
    { class: "muted" },
    h("span", { t: "explain.unknown" }),
    " ",
    data(names),
    more > 0 && [" ", h("span", { t: ["explain.others", { n: more }] })],
  );
}
