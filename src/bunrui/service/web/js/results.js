// How well the classifier does: the figures, the confusion, and the mistakes behind it.

import { bars } from "./bars.js";
import { button, data, drawing, h, muted, replace } from "./dom.js";
import { number, percent } from "./i18n.js";
import { finder } from "./picker.js";
import { hand } from "./state.js";
import { visible } from "./show.js";

const MANY_LABELS = 12; // more than one looks through in a matrix
const MOST_AROUND = 10;
const MOST_PAIRS = 10;
const MOST_MISTAKES = 50;

export function results(found) {
  const { html } = found;
  const mistakes = h("div.mistakes", { "aria-live": "polite" });
  const choose = (row, column) => replace(mistakes, listed(found, row, column));
  const wrong = found.pairs.filter(([row, column]) => row !== column).sort((a, b) => b[2] - a[2]);
  const list = h("div.mistaken");
  const labels = found.per_class.map(({ label, support }) => [label, support]);
  const look = (label) => replace(list, label !== null && around(label, wrong, choose));
  const frequent = h("ul.pairs", { label: "evaluate.pairs" },
    wrong.slice(0, MOST_PAIRS).map((pair) => h("li", chip(pair, choose))),
  );
  return h("div.results",
    drawing(html.summary),
    h("h3", { t: "evaluate.confusion" }),
    muted("evaluate.confusion.about"),
    h("div.confusions",
      matrix(html, choose),
      h("div",
        frequent,
        labels.length > MANY_LABELS && finder("evaluate.oflabel", labels, look),
        list,
        mistakes,
      ),
    ),
    h("details", h("summary", { t: "evaluate.classes" }), drawing(html.classes)),
  );
}

/** The confusions of one label: the wrong labels of its documents, and the documents that get it wrongly. */
function around(label, wrong, choose) {
  const side = (key, place) => {
    const pairs = wrong.filter((pair) => pair[place] === label).slice(0, MOST_AROUND);
    if (!pairs.length) return muted("evaluate.unmistaken");
    const entries = pairs.map((pair) => [pair[1 - place], pair[2]]);
    const look = (name) => (place ? choose(name, label) : choose(label, name));
    const shown = bars(entries, { most: entries[0][1], write: number, choose: look, label: key });
    return [h("h4", { t: [key, { label: visible(label) }] }), shown];
  };
  return [side("evaluate.takenfor", 0), side("evaluate.takenas", 1)];
}

export function calibration(found) {
  return h("div",
    h("h3", { t: "evaluate.reliability" }),
    muted(["evaluate.reliability.about", { ece: percent(found.ece) }]),
    drawing(found.html.calibration),
  );
}

/** The drawing, whose cells show the mistakes behind them; the address of a cell has the places of its two labels. */
function matrix({ confusion, labels }, choose) {
  const element = h("div", drawing(confusion));
  element.addEventListener("click", (event) => {
    const cell = event.target.closest("a.cell");
    if (!cell) return;
    event.preventDefault();
    const [row, column] = cell.getAttribute("href").slice(1).split("-");
    choose(labels[row], labels[column]);
  });
  return element;
}

function chip([row, column, n], choose) {
  const count = h("span.number", ` ${number(n)}`);
  return button([data(row), " → ", data(column), count], () => choose(row, column), "chip");
}

function listed(found, row, column) {
  const pair = { row: visible(row), column: visible(column) };
  if (!found.mistakes || row === column) {
    return muted([row === column ? "evaluate.right" : "evaluate.private", pair]);
  }
  const here = found.mistakes.filter((one) => one.predicted === column && one.true.includes(row));
  const [, , n] = found.pairs.find((one) => one[0] === row && one[1] === column) ?? [row, column, 0];
  return [
    h("h4", { t: ["evaluate.mistakes", { ...pair, n }] }),
    n > here.length && muted(["evaluate.surest", { n: found.mistakes.length }]),
    h("ol", here.slice(0, MOST_MISTAKES).map((one) => mistake(one, column))),
  ];
}

function mistake(one, column) {
  const sure = ["evaluate.sure", { share: percent(one.probability), column: visible(column) }];
  return h("li",
    h("p.text", { dir: "auto" }, visible(one.text)),
    h("span.muted", { t: sure }),
    " ",
    button("evaluate.open", () => open(one), "quiet"),
  );
}

/** Show a document in the first view. */
export const open = (document) => hand("predict", "open-text", document);
