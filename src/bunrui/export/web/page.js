// The page: a text, its label, why.

import { bars, inLarge } from "../../service/web/js/bars.js";
import { button, h, muted, replace, show } from "../../service/web/js/dom.js";
import { LANGUAGES, percent, preferred, speak, t } from "../../service/web/js/i18n.js";
import { later, turn, visible, wellFormed } from "../../service/web/js/show.js";
import { Classifier, ranked, unpack } from "./classify.js";
import { explanation } from "./explanation.js";

const WAIT = 120; // milliseconds without a key
const MOST_BARS = 10;
const LONGEST_EXPLAINED = 100000; // characters, as in the service
const LONG = ["export.long", { n: LONGEST_EXPLAINED }];
const DEMO = ["politics", "science", "society", "sports", "world"]; // the labels of `bunrui demo`
const EXAMPLES = ["predict.example.first", "predict.example.second", "predict.example.third"];

function create(classifier, about, text) {
  let chosen = null;
  const { labels } = classifier;
  const area = h("textarea", { id: "text", rows: 5, dir: "auto", spellcheck: "false", hint: "export.hint" });
  const headline = h("p.headline", { "aria-live": "polite" });
  const why = h("div.why");
  const shares = h("div.side.shares");
  const result = h("section.result", { label: "predict.result" }, headline, h("div.split", why, shares));

  function run() {
    runLater.stop();
    turn(area);
    show(result, Boolean(area.value.trim()));
    if (!result.hidden) draw(ask(wellFormed(area.value)));
  }

  /** A long text is not explained: that would take seconds for each key. */
  function ask(given) {
    if (given.length <= LONGEST_EXPLAINED) return classifier.explain(given, chosen);
    const scores = classifier.scores(given);
    return { scores, probabilities: classifier.probabilities(scores, given), label: ranked(scores)[0] };
  }

  function draw(found) {
    const { probabilities, contributions } = found;
    const order = ranked(found.scores);
    const [top] = order;
    replace(headline, inLarge([labels[top]], { [labels[top]]: probabilities[top] }));
    replace(why, h("h2", { t: "predict.why" }), contributions ? explanation(found, labels) : muted(LONG));
    const isBest = (c, place) => place < MOST_BARS || c === found.label;
    const best = order.filter(isBest).map((c) => [labels[c], probabilities[c]]);
    const left = labels.length - best.length;
    replace(shares,
      h("h2", { t: "predict.shares" }),
      bars(best, { choose: contributions && choose, chosen: labels[found.label], label: "predict.shares" }),
      left > 0 && muted(["predict.more", { n: left }]),
    );
  }

  function choose(name) {
    chosen = labels.indexOf(name);
    run();
    shares.querySelector("[aria-pressed=true]")?.focus(); // the one that was pressed is gone
  }

  function open(given) {
    area.value = given;
    chosen = null;
    run();
  }

  const runLater = later(WAIT, run);
  area.addEventListener("input", () => {
    chosen = null;
    runLater();
  });
  open(text);
  return [
    h("label", { for: "text", t: "predict.text" }),
    area,
    DEMO.every((name) => labels.includes(name)) && examples(open),
    result,
    origin(labels.length, about),
  ];
}

const examples = (open) =>
  h("div.row.examples",
    h("span.muted", { t: "predict.examples" }),
    EXAMPLES.map((key) => button(key, () => open(t(key)), "chip")),
  );

/** Where the page comes from, and what it lacks. */
function origin(labels, { documents, model, version, pruning }) {
  return h("footer.muted",
    h("p", { t: ["export.origin", { n: documents, labels, model, version }] }),
    h("p", { t: "export.offline" }),
    pruning && h("p.pruning", { t: lack(pruning) }),
    pruning && h("p", { t: cost(pruning) }),
  );
}

const lack = ({ kept, all }) => (kept === all ? "export.rounded" : ["export.pruned", { kept, all }]);

function cost({ before, after, documents }) {
  if (before === null) return "export.unmeasured";
  return ["export.measured", { before: percent(before), after: percent(after), n: documents }];
}

async function start() {
  const main = document.getElementById("main");
  const { about, phrases } = JSON.parse(document.getElementById("told").textContent);
  const language = h("select", { label: "page.language" },
    Object.entries(LANGUAGES).map(([tag, name]) => h("option", { value: tag, lang: tag }, name)),
  );
  language.value = preferred(null);
  speak(language.value, phrases[language.value]);
  document.querySelector("header").append(h("div.tools", language));
  try {
    const weights = document.getElementById("weights");
    const classifier = new Classifier(await unpack(weights.textContent));
    weights.remove(); // megabytes that nobody needs any more
    globalThis.bunrui = classifier; // for programs: bunrui.explain("…")
    replace(main, create(classifier, about, ""));
    language.addEventListener("change", () => {
      speak(language.value, phrases[language.value]);
      replace(main, create(classifier, about, document.getElementById("text").value));
    });
  } catch (error) {
    const reason = visible(error.message);
    replace(main, h("p.notice", { role: "alert", t: ["export.broken", { reason }] }));
  }
  document.documentElement.dataset.ready = "";
}

start();
