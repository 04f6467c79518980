// Predict: a text, its label, why, and what it should have been.

import { post } from "../api.js";
import { bars } from "../bars.js";
import { correct, relabel, undo } from "../changes.js";
import { data, drawing, h, replace, show, view } from "../dom.js";
import { fileButton, takesDrops, textOf } from "../files.js";
import { percent, t } from "../i18n.js";
import { picker } from "../picker.js";
import { visible } from "../show.js";
import { canWrite, events, labels, state } from "../state.js";
import { announce, guarded, oneAtATime, problem } from "../tell.js";

export const LONGEST_EXPLAINED = 100000; // characters, as the service has it
const LONGEST_TURNED = 10000;
const WAIT = 350; // milliseconds without a key
const MOST_BARS = 12;
const MOST_CHIPS = 9;

export function create() {
  let turns = 0;
  let timer = 0;
  let found = null; // what is shown: { text, label, probabilities, explanation }
  let before = null; // the probabilities before a correction
  let opened = { shown: "", text: "", digest: null }; // what was put into the area, and how the area has it
  let isChanging = false;

  const area = h("textarea", {
    id: "text",
    rows: 5,
    dir: "auto",
    spellcheck: "false",
    hint: "predict.hint",
    "aria-keyshortcuts": "Control+Enter",
  });
  const result = h("section", { class: "result", label: "predict.result", hidden: true });
  const headline = h("p", { class: "headline", "aria-live": "polite" });
  const shares = h("div", { class: "shares" });
  const fixing = h("fieldset", { class: "fixing" });
  const change = h("div", { class: "change", role: "status" });
  const why = h("div", { class: "why" });
  result.append(headline, h("div", { class: "split" }, why, h("div", { class: "side" }, shares, fixing, change)));

  const drop = h("div", { class: "drop" }, h("label", { for: "text", t: "predict.text" }), area);
  const element = view(
    "predict",
    drop,
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", class: "primary", t: "predict.go", on: { click: () => run() } }),
      fileButton("predict.file", (file) => take(file)),
      h("button", { type: "button", class: "quiet", t: "predict.clear", on: { click: () => open("") } }),
    ),
    result,
  );

  const alone = oneAtATime((isBusy) => {
    isChanging = isBusy;
    settle();
    if (!isBusy && document.activeElement === document.body) change.querySelector("button")?.focus();
  });

  /** The text; an area has other line breaks than a document that was put into it. */
  const written = () => (isOpened() ? opened.text : area.value);
  const isOpened = () => area.value === opened.shown;

  /** Nobody can correct what is shown while it is that of another text, or while a correction is under way. */
  function settle() {
    const isOld = found?.text !== written();
    fixing.disabled = isChanging || isOld;
    for (const button of change.querySelectorAll("button")) button.disabled = isChanging;
    if (isOld) result.setAttribute("aria-busy", "true");
    else result.removeAttribute("aria-busy");
  }

  const run = guarded(async (label = null) => {
    clearTimeout(timer);
    turn();
    const mine = ++turns;
    const text = written();
    if (!text.trim()) return clear();
    const answer = await ask(text, label);
    if (mine !== turns) return; // another question was asked meanwhile
    found = answer;
    draw();
    if (label !== null) shares.querySelector("[aria-pressed=true]")?.focus(); // the one that was pressed is gone
  });

  async function ask(text, label) {
    if (text.length > LONGEST_EXPLAINED) {
      const { labels: best, top } = await post("/v1/predict", { texts: [text], top: 1000 });
      const probabilities = Object.fromEntries(top[0].map((one) => [one.label, one.probability]));
      return { text, label: best[0], chosen: best[0], probabilities, explanation: null };
    }
    const why = await post("/v1/explain", { text, label, html: true });
    const [predicted] = ranked(why.probabilities)[0];
    return { text, label: predicted, chosen: why.label, probabilities: why.probabilities, explanation: why };
  }

  function draw() {
    const share = found.probabilities[found.label];
    replace(headline, data(found.label, { class: "label" }), " ", h("span", { class: "share" }, percent(share)));
    const entries = ranked(found.probabilities);
    const shownEntries = entries.slice(0, MOST_BARS);
    replace(
      shares,
      h("h3", { t: "predict.shares" }),
      bars(shownEntries, { choose: (label) => run(label), chosen: found.chosen, before, label: "predict.shares" }),
      entries.length > MOST_BARS && h("p", { class: "muted", t: ["predict.more", { n: entries.length - MOST_BARS }] }),
    );
    const shortened = Array.from(found.text.slice(0, 20000)).slice(0, 2000).join("");
    replace(
      why,
      h("h3", { t: "predict.why" }),
      found.explanation
        ? drawing(found.explanation.html)
        : [
            h("p", { class: "muted", t: ["predict.long", { n: LONGEST_EXPLAINED }] }),
            h("div", { class: "text", dir: "auto" }, `${visible(shortened)} …`),
          ],
    );
    drawFixing();
    settle();
    show(result, true);
  }

  function drawFixing() {
    if (!found) return;
    if (!canWrite()) {
      replace(fixing, h("p", { class: "muted", t: "predict.readonly" }));
      return;
    }
    const names = [...new Set([...ranked(found.probabilities).map(([name]) => name), ...labels()])];
    const counts = state.info.labels;
    replace(
      fixing,
      h("h3", { t: "predict.fix" }),
      h(
        "div",
        { class: "chips" },
        names.slice(0, MOST_CHIPS).map((name) => {
          const title = ["predict.thisis", { label: visible(name) }];
          return h(
            "button",
            { type: "button", class: "chip", label: title, on: { click: () => fix(name) } },
            data(name),
          );
        }),
      ),
      picker({ labels: names.map((name) => [name, counts[name] ?? 0]), onPick: fix }),
    );
  }

  const fix = alone(async (label) => {
    const was = found;
    const isNew = !labels().includes(label);
    const { digest } = isOpened() ? opened : { digest: null };
    const done = await (digest ? relabel(digest, label) : correct(was.text, label));
    const changed = done.kind === "learn" ? "predict.learned" : "predict.relabelled";
    await tellChange(done.transaction === null ? "predict.known" : changed, label, was, done, isNew);
  });

  const takeBack = alone(async (done) => {
    const was = found;
    await undo(done);
    await tellChange("predict.undone", "", was, null);
  });

  /** Say what was changed, and what that did; there is nothing to compare where the text was edited meanwhile. */
  async function tellChange(key, label, was, done, isNew = false) {
    before = was.text === written() ? was.probabilities : null;
    await run();
    const lines = [[key, { label: visible(label) }]];
    if (isNew) lines.push(["predict.new", { label: visible(label) }]);
    if (before && found) {
      const [then, now] = [was, found].map((one) => [visible(one.label), percent(one.probabilities[one.label])]);
      lines.push(["predict.moved", { was: then[0], before: then[1], now: now[0], after: now[1] }]);
    }
    const isUndoable = done !== null && done.transaction !== null;
    replace(
      change,
      lines.map((line) => h("p", { t: line })),
      isUndoable && h("button", { type: "button", t: "predict.undo", on: { click: () => takeBack(done) } }),
    );
    announce(lines.map((line) => t(...line)).join(" "));
  }

  function clear() {
    turns++;
    found = before = null;
    show(result, false);
  }

  /** Show another text; of a document that the file keeps, its digest says which one it is. */
  function open(text, digest = null) {
    area.value = text;
    opened = { shown: area.value, text, digest };
    forget();
    return run();
  }

  function forget() {
    before = null;
    replace(change);
  }

  /** Text that runs from right to left does so; to find that out takes seconds for a megabyte. */
  function turn() {
    area.dir = area.value.length > LONGEST_TURNED ? "ltr" : "auto";
  }

  const take = guarded(async (given) => {
    if (typeof given === "string") return open(given);
    const text = await textOf(given, 4 * state.info.service.limits.characters);
    if (text === null) return problem(new Error(t("predict.notext", { name: visible(given.name) })));
    return open(text);
  });

  takesDrops(drop, take);
  area.addEventListener("input", () => {
    clearTimeout(timer);
    turn();
    forget();
    settle();
    timer = setTimeout(run, WAIT);
  });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
  });
  events.addEventListener("info", drawFixing);
  events.addEventListener("open-text", ({ detail }) => open(detail.text, detail.digest));
  return { element, focus: () => area.focus() };
}

const ranked = (probabilities) => Object.entries(probabilities).sort(([, a], [, b]) => b - a);
