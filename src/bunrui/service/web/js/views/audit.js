// Audit: documents whose label the others do not believe, one by one.

import { work } from "../api.js";
import { relabel, undo } from "../changes.js";
import { data, drawing, h, replace, view } from "../dom.js";
import { percent, t } from "../i18n.js";
import { picker } from "../picker.js";
import { level, shown, visible } from "../show.js";
import { canWrite, events, labels, state } from "../state.js";
import { announce, oneAtATime, withProgress } from "../tell.js";

const KEPT = "bunrui.kept";
const ORDER = "bunrui.order";
const MOST_DIGITS = 9;
const MOST_WORDS = 8;
const LONGEST_SAID = 300;

export function create() {
  let suspects = [];
  let at = 0;
  let total = 0;
  let order = null; // the labels as the keys have them: a key means one label as long as the tab is open
  const done = []; // what was decided, to take it back: changes, and null where the label was kept
  const running = h("div");
  const card = h("div", { class: "card", tabindex: -1 });
  const locked = h("p", { class: "muted", t: "audit.readonly" });
  const begin = h("button", { type: "button", class: "primary", t: "audit.go", on: { click: () => start() } });

  const kept = () => JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
  const keepAll = (digests) => sessionStorage.setItem(KEPT, JSON.stringify(digests));

  const alone = oneAtATime((isBusy) => {
    for (const control of card.querySelectorAll("button, input")) control.disabled = isBusy;
  });

  /** Give labels that are new the next keys; one that is gone keeps its own, in case it comes back. */
  function settleKeys() {
    const known = labels();
    order ??= JSON.parse(sessionStorage.getItem(ORDER) ?? "[]").filter((label) => known.includes(label));
    order.push(...known.filter((label) => !order.includes(label)));
    sessionStorage.setItem(ORDER, JSON.stringify(order));
  }

  const start = alone(async () => {
    replace(card);
    const json = { kept: kept() };
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
      replace(card, h("p", { t: [key, { n: total - suspects.length }] }), done.length > 0 && undoing());
      announce(t(key, { n: total - suspects.length }));
      return;
    }
    settleKeys();
    const one = suspects[at];
    const isOne = one.given.length === 1;
    const given = one.given.map(visible).join(", ");
    const words = {
      given,
      suggested: visible(one.suggested),
      share: percent(one.suggested_probability),
      own: percent(one.probability),
    };
    replace(
      card,
      h("p", { class: "muted", t: ["audit.place", { at: at + 1, of: suspects.length, total }] }),
      said(),
      h("p", { class: "doubt", t: ["audit.doubt", words] }),
      one.explanation && one.explanation.against !== null
        ? [speaking(given, one.explanation.contributions), drawing(one.html)]
        : h("p", { class: "text", dir: "auto" }, visible(one.text)),
      h(
        "div",
        { class: "row decide" },
        key("k", ["audit.keep", { label: given }], keep, "primary"),
        isOne && key("r", ["audit.relabel", { label: visible(one.suggested) }], () => choose(one.suggested), "primary"),
        done.length > 0 && undoing(),
      ),
      isOne ? choices() : h("p", { class: "warning", t: "audit.several" }),
    );
    announce(`${t("audit.doubt", words)} ${one.text.slice(0, LONGEST_SAID)}`);
  }

  /** What was decided last. */
  function said() {
    if (at === 0 || done.length === 0) return null;
    const words = { from: suspects[at - 1].given.map(visible).join(", "), to: visible(done.at(-1)?.label ?? "") };
    return h("p", { class: "muted", t: [done.at(-1) ? "audit.relabelled" : "audit.kept", words] });
  }

  /** The words that speak most against the label. */
  function speaking(label, contributions) {
    const against = contributions.filter(({ value }) => value > 0).slice(0, MOST_WORDS);
    const largest = against[0]?.value;
    return h(
      "p",
      { class: "speaking" },
      h("span", { class: "muted", t: ["audit.against", { label }] }),
      against.map(({ feature, value }) => h("span", { class: level(-value, largest) }, data(shown(feature)))),
    );
  }

  /** All labels: the first by their keys, each by a search. */
  function choices() {
    const known = labels();
    const chip = (label, name) => key(name, null, () => choose(label), "chip", label);
    const keyed = order.slice(0, MOST_DIGITS).map((label, k) => known.includes(label) && chip(label, String(k + 1)));
    const counted = known.map((label) => [label, state.info.labels[label]]);
    return [
      h("p", { class: "muted", t: "audit.others" }),
      h("div", { class: "chips" }, keyed),
      picker({ labels: counted, onPick: choose }),
    ];
  }

  const undoing = () => key("u", ["audit.undo", {}], back, "quiet");

  function key(name, text, act, kind, label) {
    const inside = text ? h("span", { t: text }) : data(label);
    return h(
      "button",
      { type: "button", class: kind, "aria-keyshortcuts": name, "data-key": name, on: { click: act } },
      name && [h("kbd", {}, name), " "],
      inside,
    );
  }

  const keep = alone(async () => {
    keepAll([...kept(), suspects[at].digest]);
    done.push(null);
    move(1);
  });
  const change = alone(async (label) => {
    done.push({ ...(await relabel(suspects[at].digest, label)), label });
    move(1);
  });
  const choose = (label) => (suspects[at].given.includes(label) ? keep() : change(label));
  const back = alone(async () => {
    if (done.at(-1)) await undo(done.at(-1));
    else keepAll(kept().slice(0, -1));
    done.pop();
    move(-1);
  });

  function move(by) {
    at += by;
    draw();
    card.focus(); // the button that was pressed is gone
  }

  const lock = () => {
    locked.hidden = canWrite();
    begin.disabled = !canWrite();
  };
  events.addEventListener("info", lock);
  const element = view(
    "audit",
    locked,
    h("div", { class: "row" }, begin),
    running,
    card,
  );
  return {
    element,
    shown: lock,
    focus: () => card.querySelector("input")?.focus(),
    key: (name) => card.querySelector(`button[data-key="${CSS.escape(name)}"]`)?.click(),
  };
}
