// Words: what a word says about each label, and the words that say most.

import { address, get } from "../api.js";
import { data, h, replace, svg, view } from "../dom.js";
import { number, t } from "../i18n.js";
import { level, shown, signed, visible } from "../show.js";
import { labels, state } from "../state.js";
import { announce, guarded } from "../tell.js";

const MOST_LABELS = 30; // that one word is weighed for
const MOST_COLUMNS = 12;
const TOP = 15;

const timesIn = (counts, label) => (Object.hasOwn(counts, label) ? counts[label] : 0);

export function create() {
  let seen = null; // when the classifier was last changed before the lists were made
  const input = h("input", { id: "word", type: "search", hint: "words.hint", autocomplete: "off", dir: "auto" });
  const answer = h("div", { class: "word", "aria-live": "polite" });
  const columns = h("div", { class: "columns" });
  const form = h(
    "form",
    { class: "row", role: "search" },
    h("label", { class: "sr", for: "word", t: "words.search" }),
    input,
    h("button", { type: "submit", class: "primary", t: "words.go" }),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    find(input.value);
  });

  const find = guarded(async (word) => {
    if (!word.trim()) return replace(answer);
    const [found] = (await get(address("/v1/words", { word }))).words;
    if (!found) return replace(answer, h("p", { t: ["words.none", { word: visible(word) }] }));
    const names = [...new Set([...Object.keys(found.counts), ...labels()])];
    const weighed = names.sort((a, b) => timesIn(found.counts, b) - timesIn(found.counts, a)).slice(0, MOST_LABELS);
    const weights = await Promise.all(
      weighed.map(async (label) => (await get(address("/v1/words", { word, label }))).words[0]?.weight ?? 0),
    );
    replace(answer, table(found, weighed, weights));
    announce(
      t("words.found", { word: shown(found.word), label: visible(weighed[weights.indexOf(Math.max(...weights))]) }),
    );
  });

  function table(found, names, weights) {
    const write = signed(weights);
    const largest = Math.max(...weights.map(Math.abs));
    const rows = names.map((name, k) => [name, timesIn(found.counts, name), weights[k]]).sort((a, b) => b[2] - a[2]);
    return h(
      "table",
      { class: "contributions wide" },
      h("caption", {}, data(shown(found.word), { class: "feature" })),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col", t: "words.label" }),
          h("th", { scope: "col", class: "number", t: "words.count" }),
          h("th", { scope: "col", class: "number", t: "words.weight" }),
          h("td"),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map(([name, count, weight]) => {
          const size = largest ? (50 * Math.abs(weight)) / largest : 0;
          const [x, fill] = weight < 0 ? [50 - size, "var(--against)"] : [50, "var(--for)"];
          const bar = svg("rect", { x, width: size, height: 8, fill });
          return h(
            "tr",
            {},
            h("th", { scope: "row" }, data(name)),
            h("td", { class: "number" }, number(count)),
            h("td", { class: "number" }, write(weight)),
            h("td", {}, svg("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, bar)),
          );
        }),
      ),
    );
  }

  const list = guarded(async () => {
    if (!state.info || seen === state.info.changed) return;
    seen = state.info.changed;
    const names = labels().slice(0, MOST_COLUMNS);
    const places = names.map((name) => h("section", { class: "column" }, h("h4", {}, data(name))));
    replace(
      columns,
      places,
      labels().length > MOST_COLUMNS &&
        h("p", { class: "muted", t: ["words.more", { n: labels().length - MOST_COLUMNS }] }),
    );
    // One after the other: with many words each takes its time, and others want answers, too.
    for (const [k, label] of names.entries()) {
      places[k].append(ranking(label, (await get(address("/v1/words", { label, top: TOP }))).words));
    }
  });

  function ranking(name, words) {
    const largest = words[0]?.weight ?? 0;
    return h(
      "ol",
      {},
      words.map(({ word, weight, counts }) => {
        const title = ["words.times", { weight, n: timesIn(counts, name) }];
        const press = { type: "button", class: `feature ${level(weight, largest)}`, title };
        const button = h("button", press, data(shown(word)));
        button.addEventListener("click", () => {
          input.value = word.trim();
          find(word);
          answer.scrollIntoView({ block: "nearest" });
        });
        return h("li", {}, button);
      }),
    );
  }

  const element = view(
    "words",
    form,
    answer,
    h("h3", { t: "words.top" }),
    columns,
  );
  return { element, focus: () => input.focus(), shown: list };
}
