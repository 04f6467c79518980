// Audit: documents whose label the others do not believe, one by one.

import { kept, work } from "../api.js";
import { relabel, undo } from "../changes.js";
import { button, data, drawing, forReaders, h, inRow, muted, replace, view } from "../dom.js";
import { percent, t } from "../i18n.js";
import { keyButton, keysOf, labelButton, pressKey } from "../keys.js";
import { picker, setPicker } from "../picker.js";
import { curlJob, file, program, same } from "../same.js";
import { level, shown, visible } from "../show.js";
import { canWrite, countedLabels, events, labels } from "../state.js";
import { announce, oneAtATime, withProgress } from "../tell.js";

const keptLabels = kept("kept"); // digests of documents whose label is right
const keptKeys = kept("keys");
const MOST_WORDS = 8;
const LONGEST_SAID = 300;

export function create() {
  let suspects = [];
  let at = 0;
  let total = 0;
  let keys = null; // of labels: a key means one label as long as the tab is open
  const done = []; // what was decided, to take it back: changes, and null where the label was kept
  const running = h("div");
  const card = h("div.card", { tabindex: -1 });
  const begin = button("audit.go", () => start(), "primary");

  const deciding = h("fieldset", card);
  const alone = oneAtATime((isBusy) => {
    deciding.disabled = isBusy;
    lock();
  });

  /** Give labels that are new the next keys; one that is gone keeps its own, in case it comes back. */
  function settleKeys() {
    const known = labels();
    keys ??= new Map((keptKeys.get() ?? []).filter(([label]) => known.includes(label)));
    keys = keysOf([...new Set([...keys.keys(), ...known])], keys);
    keptKeys.set([...keys]);
  }

  const start = alone(async () => {
    replace(card);
    const json = { kept: keptLabels.get() ?? [] };
    const found = await withProgress(running, (options) => work("/v1/audit", { json, ...options }));
    suspects = found.suspects;
    total = found.n_suspects;
    at = 0;
    done.length = 0;
    draw();
  });

  function draw() {
    if (at >= suspects.length) {
      const key = total > suspects.length ? "audit.next" : suspects.length ? "audit.end" : "audit.none";
      replace(card, said(), h("p", { t: [key, { n: total - suspects.length }] }), done.length > 0 && undoing());
      announce(t(key, { n: total - suspects.length }));
      return;
    }
    settleKeys();
    const one = suspects[at];
    const isOne = one.given.length === 1 && !one.doubts.length;
    const given = one.given.map(visible).join(", ");
    const words = {
      given,
      suggested: visible(one.suggested),
      share: percent(one.suggested_probability),
      own: percent(one.probability),
    };
    replace(card,
      muted(["audit.place", { at: at + 1, of: suspects.length, total }]),
      said(),
      one.doubts.length
        ? [h("p.doubt", { t: ["audit.set", { given }] }), h("ul", one.doubts.map(about))]
        : h("p.doubt", { t: ["audit.doubt", words] }),
      one.explanation && one.explanation.against !== null
        ? [speaking(given, one.explanation.contributions), drawing(one.html)]
        : h("p.text", { dir: "auto" }, visible(one.text)),
      h("div.row.decide",
        key("k", "audit.keep", given, keep),
        isOne
          ? key("r", "audit.relabel", visible(one.suggested), () => choose(one.suggested))
          : key("r", "audit.relabel", better(one).map(visible).join(", "), () => change(better(one))),
        done.length > 0 && undoing(),
      ),
      isOne ? choices() : sets(one),
    );
    const doubts = one.doubts.map((doubt) => t(...told(doubt))).join(" ");
    announce(`${doubts || t("audit.doubt", words)} ${one.text.slice(0, LONGEST_SAID)}`);
  }

  /** The last decision. */
  function said() {
    if (at === 0 || done.length === 0) return null;
    const shownLabels = (names) => [names].flat().map(visible).join(", ");
    const words = { from: shownLabels(suspects[at - 1].given), to: shownLabels(done.at(-1)?.label ?? "") };
    return muted([done.at(-1) ? "audit.relabelled" : "audit.kept", words]);
  }

  /** The words that speak most against the label. */
  function speaking(label, contributions) {
    const against = contributions.filter(({ value }) => value > 0).slice(0, MOST_WORDS);
    const largest = against[0]?.value;
    return h("p.speaking",
      h("span.muted", { t: ["audit.against", { label }] }),
      against.map(({ feature, value }) => h("span", { class: level(-value, largest) }, data(shown(feature)))),
    );
  }

  /** All labels: the first by their keys, each by a search. */
  function choices() {
    const known = labels();
    const keyed = [...keys].filter(([label]) => known.includes(label));
    return [
      muted("audit.others"),
      h("div.chips", keyed.map(([label, name]) => labelButton(name, label, () => choose(label)))),
      picker({ labels: countedLabels(), onPick: (label) => label !== null && choose(label) }),
    ];
  }

  /** The labels that a document with several should have; where none of them is in doubt, one is added. */
  const better = ({ given, suggested, doubts, better: names }) => (doubts.length ? names : [...given, suggested]);

  /** Whether a single label seems to be wrong, or to be missing. */
  const told = ({ label, is_given, probability }) => [
    is_given ? "audit.surplus" : "audit.missing",
    { label: visible(label), share: percent(probability) },
  ];
  const about = (doubt) => h("li", { t: told(doubt) });

  /** The labels of a document that has several: all of them are chosen anew, so that none is lost unseen. */
  function sets({ given }) {
    const save = keyButton("s", "audit.save", null, "");
    return [muted("audit.several"), setPicker(save, change, { labels: countedLabels(), chosen: given })];
  }

  const undoing = () => keyButton("u", "audit.undo", back);
  const key = (name, phrase, label, act) => keyButton(name, [phrase, { label }], act, "primary");

  const keep = alone(async () => {
    keptLabels.set([...(keptLabels.get() ?? []), suspects[at].digest]);
    done.push(null);
    return move(1);
  });
  const change = alone(async (label) => {
    done.push({ ...(await relabel(suspects[at].digest, label)), label });
    return move(1);
  });
  const choose = (label) => (suspects[at].given.includes(label) ? keep() : change(label));
  const back = alone(async () => {
    if (done.at(-1)) await undo(done.at(-1));
    else keptLabels.set(keptLabels.get().slice(0, -1));
    done.pop();
    return move(-1);
  });

  function move(by) {
    at += by;
    draw();
    return card; // the button that was pressed is gone
  }

  const lock = () => (begin.disabled = deciding.disabled || !canWrite());
  events.addEventListener("info", lock);
  const element = view("audit",
    forReaders("audit.readonly"),
    inRow(begin),
    running,
    deciding,
    same(() => ({
      curl: curlJob("/v1/audit", { json: {}, token: true }),
      python: program("for suspect in bunrui.selection.audit(clf).suspects[:20]:", "    print(suspect)"),
      shell: `bunrui audit ${file()}`,
    })),
  );
  return {
    element,
    shown: lock,
    focus: () => card.querySelector("input")?.focus(),
    key: (name) => pressKey(card, name),
  };
}
