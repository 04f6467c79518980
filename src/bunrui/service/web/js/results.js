// How well the classifier does: the figures, the confusion, and the mistakes behind it.

import { data, h, replace } from "./dom.js";
import { numbers, reliability } from "./charts.js";
import { number, percent } from "./i18n.js";
import { confusion } from "./matrix.js";
import { events } from "./state.js";
import { visible } from "./show.js";

const MOST_IN_MATRIX = 25;
const MOST_PAIRS = 10;
const MOST_MISTAKES = 50;

export function results(found) {
  const mistakes = h("div", { class: "mistakes", "aria-live": "polite" });
  const choose = (row, column) => replace(mistakes, listed(found, row, column));
  const counts = new Map();
  for (const [row, column, n] of found.pairs) {
    if (!counts.has(row)) counts.set(row, new Map());
    counts.get(row).set(column, n);
  }
  const labels = found.per_class.filter((one) => one.support > 0 || counts.has(one.label)).map((one) => one.label);
  const wrong = found.pairs.filter(([row, column]) => row !== column).sort((a, b) => b[2] - a[2]);
  return h(
    "div",
    { class: "results" },
    figures(found),
    h("h3", { t: "evaluate.confusion" }),
    h("p", { class: "muted", t: "evaluate.confusion.about" }),
    labels.length <= MOST_IN_MATRIX && confusion(labels, counts, choose),
    h(
      "ul",
      { class: "pairs", label: "evaluate.pairs" },
      wrong
        .slice(0, MOST_PAIRS)
        .map(([row, column, n]) =>
          h(
            "li",
            {},
            h(
              "button",
              { type: "button", class: "chip", on: { click: () => choose(row, column) } },
              data(row),
              " → ",
              data(column),
              h("span", { class: "number" }, ` ${number(n)}`),
            ),
          ),
        ),
    ),
    mistakes,
    perClass(found),
  );
}

export function calibration(found) {
  return h(
    "div",
    {},
    h("h3", { t: "evaluate.reliability" }),
    h("p", { class: "muted", t: ["evaluate.reliability.about", { ece: percent(found.ece) }] }),
    reliability(found.reliability),
    numbers(
      ["evaluate.confidence", "evaluate.accuracy", "evaluate.documents"],
      found.reliability.map((bin) => [percent(bin.confidence), percent(bin.accuracy), number(bin.doc_count)]),
    ),
  );
}

function figures(found) {
  const figure = (key, value, about) =>
    h(
      "div",
      { class: "figure" },
      h("dt", { t: key }),
      h("dd", {}, value, about && h("small", { class: "muted" }, about)),
    );
  const { low, high } = found.interval;
  return h(
    "dl",
    { class: "figures" },
    figure("evaluate.accuracy", percent(found.accuracy), `${percent(low)} – ${percent(high)}`),
    figure("evaluate.f1", percent(found.macro.f1)),
    figure("evaluate.n", number(found.n)),
    figure("evaluate.wrong", number(found.n - Math.round(found.n * found.accuracy))),
  );
}

function listed(found, row, column) {
  const pair = { row: visible(row), column: visible(column) };
  if (!found.mistakes || row === column) {
    return h("p", { class: "muted", t: [row === column ? "evaluate.right" : "evaluate.private", pair] });
  }
  const here = found.mistakes.filter((one) => one.predicted === column && one.true.includes(row));
  return [
    h("h4", { t: ["evaluate.mistakes", { ...pair, n: here.length }] }),
    h(
      "ol",
      {},
      here.slice(0, MOST_MISTAKES).map((one) =>
        h(
          "li",
          {},
          h("p", { class: "text", dir: "auto" }, visible(one.text)),
          h("span", {
            class: "muted",
            t: ["evaluate.sure", { share: percent(one.probability), column: visible(column) }],
          }),
          " ",
          h("button", { type: "button", class: "quiet", t: "evaluate.open", on: { click: () => open(one) } }),
        ),
      ),
    ),
  ];
}

/** Show a document in the first view. */
function open(document) {
  location.hash = "#/predict";
  events.dispatchEvent(new CustomEvent("open-text", { detail: document }));
}

function perClass(found) {
  const rows = found.per_class.filter((one) => one.support > 0).sort((a, b) => b.support - a.support);
  return h(
    "details",
    {},
    h("summary", { t: "evaluate.classes" }),
    h(
      "div",
      { class: "scroll" },
      h(
        "table",
        { class: "plain" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col", t: "words.label" }),
            ["evaluate.precision", "evaluate.recall", "evaluate.f1.short", "evaluate.documents"].map((key) =>
              h("th", { scope: "col", class: "number", t: key }),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((one) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, data(one.label)),
              [one.precision, one.recall, one.f1].map((share) => h("td", { class: "number" }, percent(share))),
              h("td", { class: "number" }, number(one.support)),
            ),
          ),
        ),
      ),
    ),
  );
}
