// How well the classifier does: the figures, the confusion, and the mistakes behind it.

import { data, drawing, h, replace } from "./dom.js";
import { number, percent } from "./i18n.js";
import { events } from "./state.js";
import { visible } from "./show.js";

const MOST_PAIRS = 10;
const MOST_MISTAKES = 50;

export function results(found) {
  const { html } = found;
  const mistakes = h("div", { class: "mistakes", "aria-live": "polite" });
  const choose = (row, column) => replace(mistakes, listed(found, row, column));
  const wrong = found.pairs.filter(([row, column]) => row !== column).sort((a, b) => b[2] - a[2]);
  return h(
    "div",
    { class: "results" },
    drawing(html.summary),
    h("h3", { t: "evaluate.confusion" }),
    h("p", { class: "muted", t: "evaluate.confusion.about" }),
    matrix(html, choose),
    h(
      "ul",
      { class: "pairs", label: "evaluate.pairs" },
      wrong.slice(0, MOST_PAIRS).map((pair) => h("li", {}, chip(pair, choose))),
    ),
    mistakes,
    h("details", {}, h("summary", { t: "evaluate.classes" }), drawing(html.classes)),
  );
}

export function calibration(found) {
  return h(
    "div",
    {},
    h("h3", { t: "evaluate.reliability" }),
    h("p", { class: "muted", t: ["evaluate.reliability.about", { ece: percent(found.ece) }] }),
    drawing(found.html.calibration),
  );
}

/** The drawing, whose cells show the mistakes behind them. */
function matrix({ confusion, labels }, choose) {
  const element = h("div", {}, drawing(confusion));
  const cells = Array.from(element.querySelectorAll("a.cell"));
  element.addEventListener("click", (event) => {
    const place = cells.indexOf(event.target.closest("a.cell"));
    if (place < 0) return;
    event.preventDefault();
    choose(labels[Math.floor(place / labels.length)], labels[place % labels.length]);
  });
  return element;
}

function chip([row, column, n], choose) {
  const count = h("span", { class: "number" }, ` ${number(n)}`);
  const press = { type: "button", class: "chip", on: { click: () => choose(row, column) } };
  return h("button", press, data(row), " → ", data(column), count);
}

function listed(found, row, column) {
  const pair = { row: visible(row), column: visible(column) };
  if (!found.mistakes || row === column) {
    return h("p", { class: "muted", t: [row === column ? "evaluate.right" : "evaluate.private", pair] });
  }
  const here = found.mistakes.filter((one) => one.predicted === column && one.true.includes(row));
  return [
    h("h4", { t: ["evaluate.mistakes", { ...pair, n: here.length }] }),
    h("ol", {}, here.slice(0, MOST_MISTAKES).map((one) => mistake(one, column))),
  ];
}

function mistake(one, column) {
  const sure = ["evaluate.sure", { share: percent(one.probability), column: visible(column) }];
  return h(
    "li",
    {},
    h("p", { class: "text", dir: "auto" }, visible(one.text)),
    h("span", { class: "muted", t: sure }),
    " ",
    h("button", { type: "button", class: "quiet", t: "evaluate.open", on: { click: () => open(one) } }),
  );
}

/** Show a document in the first view. */
export function open(document) {
  location.hash = "#/predict";
  events.dispatchEvent(new CustomEvent("open-text", { detail: document }));
}
