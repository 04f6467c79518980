// Words: what a word says about each label, and the words that say most.

import { address, get } from "../api.js";
import { swing } from "../bars.js";
import { button, data, h, muted, replace, table, view } from "../dom.js";
import { number, t } from "../i18n.js";
import { finder } from "../picker.js";
import { curl, file, labelLiteral, literal, program, quoted, same } from "../same.js";
import { level, shown, signed, visible } from "../show.js";
import { countedLabels, labels, state } from "../state.js";
import { announce, guarded, lastOf, watched } from "../tell.js";

const MOST_LABELS = 30; // that one word is weighed for
const MOST_COLUMNS = 12;
const TOP = 15;

const timesIn = (counts, label) => (Object.hasOwn(counts, label) ? counts[label] : 0);

export function create() {
  let seen = null; // when the classifier was last changed before the lists were made
  const asked = lastOf();
  const listed = lastOf();
  const input = h("input", { id: "word", type: "search", hint: "words.hint", autocomplete: "off", dir: "auto" });
  const answer = h("div.word", { "aria-live": "polite" });
  const columns = h("div.columns");
  const more = h("div");
  const form = h("form.row", { role: "search" },
    h("label.sr", { for: "word", t: "words.search" }),
    input,
    h("button.primary", { type: "submit", t: "words.go" }),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    find(input.value);
  });

  const find = guarded(async (word) => {
    const isLast = asked();
    if (!word.trim()) return replace(answer);
    const [found] = (await get(address("/v1/words", { word }))).words;
    if (!isLast()) return;
    if (!found) return replace(answer, h("p", { t: ["words.none", { word: visible(word) }] }));
    const names = [...new Set([...Object.keys(found.counts), ...labels()])];
    const sorted = names.sort((a, b) => timesIn(found.counts, b) - timesIn(found.counts, a));
    const weighed = sorted.slice(0, MOST_LABELS);
    const weights = await Promise.all(weighed.map((label) => weigh(word, label)));
    if (!isLast()) return;
    const place = h("div", weighing(found, weighed, weights));
    const add = guarded(async (label) => {
      if (label === null || weighed.includes(label)) return;
      weights.push(await weigh(word, label));
      weighed.push(label);
      replace(place, weighing(found, weighed, weights));
    });
    const others = sorted.slice(MOST_LABELS).map((label) => [label, timesIn(found.counts, label)]);
    replace(answer, place, others.length > 0 && finder("words.another", others, add));
    const best = weighed[weights.indexOf(Math.max(...weights))];
    announce(t("words.found", { word: shown(found.word), label: visible(best) }));
  });

  const weigh = async (word, label) => (await get(address("/v1/words", { word, label }))).words[0]?.weight ?? 0;

  function weighing(found, names, weights) {
    const write = signed(weights);
    const largest = Math.max(...weights.map(Math.abs));
    const rows = names.map((name, k) => [name, timesIn(found.counts, name), weights[k]]).sort((a, b) => b[2] - a[2]);
    const head = (key, kind) => h("th", { scope: "col", class: kind, t: key });
    return table({ class: "contributions wide" },
      [head("words.label"), head("words.count", "number"), head("words.weight", "number"), h("td")],
      rows.map(([name, count, weight]) => [
        h("th", { scope: "row" }, data(name)),
        h("td.number", number(count)),
        h("td.number", write(weight)),
        h("td", swing(weight, largest)),
      ]),
      h("caption", data(shown(found.word), { class: "feature" })),
    );
  }

  const list = watched(async () => {
    if (!state.info || seen === state.info.changed) return;
    seen = state.info.changed;
    const isLast = listed();
    const others = countedLabels().slice(MOST_COLUMNS);
    replace(columns);
    const further = () => [muted(["words.more", { n: others.length }]), finder("words.column", others, addColumn)];
    replace(more, others.length > 0 && further());
    // One after the other: with many words each takes its time, and others want answers, too.
    for (const label of labels().slice(0, MOST_COLUMNS)) {
      const place = await column(label);
      if (!isLast()) return;
      columns.append(place);
    }
  });

  async function column(label) {
    const { words } = await get(address("/v1/words", { label, top: TOP })).catch((error) => {
      seen = null; // so that the lists are made again
      throw error;
    });
    return h("section.column", h("h4", data(label)), ranking(label, words));
  }

  const addColumn = guarded(async (label) => label !== null && columns.prepend(await column(label)));

  function ranking(name, words) {
    const largest = words[0]?.weight ?? 0;
    return h("ol",
      words.map(({ word, weight, counts }) => {
        const title = ["words.times", { weight, n: timesIn(counts, name) }];
        const look = () => {
          input.value = word.trim();
          find(word);
          answer.scrollIntoView({ block: "nearest" });
        };
        return h("li", button(data(shown(word)), look, `feature ${level(weight, largest)}`, { title }));
      }),
    );
  }

  const element = view("words",
    form,
    answer,
    h("h3", { t: "words.top" }),
    more,
    columns,
    same(() => {
      const [label = "LABEL"] = labels();
      const word = input.value.trim();
      const python = [labelLiteral(label), ...(word ? [`word=${literal(word)}`] : [])].join(", ");
      return {
        curl: curl(address("/v1/words", word ? { label, word } : { label, top: TOP })),
        python: program(`print(clf.words(${python}))`),
        shell: `bunrui words ${file()} ${quoted(label)}${word ? ` --word ${quoted(word)}` : ` --top ${TOP}`}`,
      };
    }),
  );
  return { element, focus: () => input.focus(), shown: list };
}
