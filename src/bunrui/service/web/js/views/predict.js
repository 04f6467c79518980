// Predict: a text, its label or its labels, why, and what it should have been.

import { address, get, post, unless } from "../api.js";
import { bars, inLarge } from "../bars.js";
import { correct, relabel, tellChange, undo } from "../changes.js";
import { button, checkbox, data, drawing, field, h, inRow, muted, replace, show, tick, view } from "../dom.js";
import { fileButton, takesDrops, textOf } from "../files.js";
import { bind, percent, t } from "../i18n.js";
import { finder, picker, setPicker } from "../picker.js";
import { copying, curl, file, literal, program, quoted, same } from "../same.js";
import { later, turn, visible } from "../show.js";
import { answering, canWrite, events, hasSets, labels, state, thresholds } from "../state.js";
import { guarded, lastOf, oneAtATime, problem, watched } from "../tell.js";

export const LONGEST_EXPLAINED = 100000; // characters, as the service has it
const LONGEST_LINKED = 2000;
const LONGEST_EXAMPLE = 2000;
const SHORT_EXAMPLE = 60;
const WAIT = 350; // milliseconds without a key
const MOST_BARS = 10;
const MOST_CHIPS = 9;
const MOST_EXAMPLES = 4;
const DEMO = ["politics", "science", "society", "sports", "world"]; // the labels of `bunrui demo`

export function create() {
  const asked = lastOf();
  let found = null; // what is shown: { text, digest, label, chosen, probabilities, explanation, set, second }
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
  const examples = h("div.row.examples", { hidden: true });
  const result = h("section.result", { label: "predict.result", hidden: true });
  const headline = h("p.headline", { "aria-live": "polite" });
  const model = h("p.muted", { hidden: true });
  const shares = h("div.shares");
  const fixing = h("fieldset.fixing");
  const change = h("div.change", { role: "status" });
  const why = h("div.why");
  const second = h("section.second", { hidden: true });
  const several = checkbox("several", () => drawFixing());
  const best = checkbox("best-thresholds", () => run());
  const other = h("select", { id: "other-model", on: { change: () => run() } });
  const linking = h("div.row");
  const elsewhere = same(snippets);
  const own = h("div.own", headline, model, h("div.split", why, h("div.side", shares, fixing, change)));
  result.append(h("div.models", own, second), linking, elsewhere);

  const drop = h("div.drop", h("label", { for: "text", t: "predict.text" }), area);
  const element = view("predict",
    drop,
    inRow(
      button("predict.go", () => run(), "primary"),
      fileButton("predict.file", (file) => take(file)),
      button("predict.clear", () => open(""), "quiet"),
      field("predict.beside", other),
    ),
    examples,
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
  const writtenDigest = () => (isOpened() ? opened.digest : null);

  /** Lock the correction while the result is about another text, and while another correction is under way. */
  function settle() {
    const isOld = found?.text !== written() || found.digest !== writtenDigest();
    fixing.disabled = isChanging || isOld;
    for (const button of change.querySelectorAll("button")) button.disabled = isChanging;
    if (isOld) result.setAttribute("aria-busy", "true");
    else result.removeAttribute("aria-busy");
  }

  const run = guarded(async (label = null) => {
    runLater.stop();
    turn(area);
    const isLast = asked();
    const [text, digest] = [written(), writtenDigest()];
    if (!text.trim() || !state.info) return clear();
    const answer = await ask(text, label);
    if (!isLast()) return;
    found = { ...answer, digest };
    draw();
    if (label !== null) shares.querySelector("[aria-pressed=true]")?.focus(); // the one that was pressed is gone
  });

  /** Ask for all answers to one text, so that the parts of the result are about the same text. */
  async function ask(text, label) {
    const isLong = text.length > LONGEST_EXPLAINED;
    const model = isLong ? "" : other.value;
    const [own, set, beside] = await Promise.all([
      isLong ? askLong(text) : explained(text, { label }),
      hasSets() ? askSet(text) : null,
      model ? explained(text, { model }) : null,
    ]);
    return { text, ...own, set, second: beside && { model, ...beside } };
  }

  async function explained(text, options) {
    const why = await post("/v1/explain", { text, html: true, ...options });
    const [label] = ranked(why.probabilities)[0];
    return { label, chosen: why.label, probabilities: why.probabilities, explanation: why };
  }

  async function askLong(text) {
    const { labels: best, top } = await post("/v1/predict", { texts: [text], top: 1000 });
    return { label: best[0], chosen: best[0], probabilities: sharesOf(top[0]), explanation: null };
  }

  /** The labels that fit, each held against the rest; null where the model cannot tell them so. */
  async function askSet(text) {
    const asked = post("/v1/predict", { texts: [text], several: true, top: Math.max(labels().length, 1) });
    const answer = await unless(asked, ["invalid", "conflict"], () => null);
    if (!answer) return null;
    const [top] = answer.top;
    const cut = (best.checked && thresholds.get()) || {};
    const fitting = top.filter((one) => one.log_odds > (Object.hasOwn(cut, one.label) ? cut[one.label] : 0));
    return { labels: fitting.map((one) => one.label), probabilities: sharesOf(top) };
  }

  function draw() {
    replace(headline, named(found.set ? found.set.labels : [found.label], shownShares()));
    drawShares();
    replace(why, h("h3", { t: "predict.why" }), reasons(found));
    drawSecond();
    drawFixing();
    drawLink();
    elsewhere.redraw();
    settle();
    show(result, true);
  }

  const shownShares = () => (found.set ?? found).probabilities;

  const named = (names, shares) => (names.length ? inLarge(names, shares) : h("span", { t: "predict.nolabel" }));

  /** The best labels, and any other that is asked for. */
  function drawShares() {
    const entries = ranked(shownShares());
    const isShown = ([name], place) => place < MOST_BARS || name === found.chosen;
    const left = entries.length - MOST_BARS;
    const choose = found.explanation && ((label) => run(label));
    const chosen = found.chosen;
    replace(shares,
      h("h3", { t: found.set ? "predict.each" : "predict.shares" }),
      bars(entries.filter(isShown), { choose, chosen, before, label: "predict.shares" }),
      left > 0 && [
        muted(["predict.more", { n: left }]),
        choose && finder("predict.find", entries.map(([name, share]) => [name, percent(share)]), choose),
      ],
      found.set && cutting(),
    );
  }

  /** The threshold between labels that fit and labels that do not. */
  function cutting() {
    if (!thresholds.get()) return muted("predict.zero");
    return tick("predict.best", best);
  }

  function reasons(answer) {
    if (answer.explanation) return drawing(answer.explanation.html);
    const shortened = Array.from(answer.text.slice(0, 20000)).slice(0, 2000).join("");
    return [
      muted(["predict.long", { n: LONGEST_EXPLAINED }]),
      h("div.text", { dir: "auto" }, `${visible(shortened)} …`),
    ];
  }

  function drawSecond() {
    const beside = found.second;
    show(second, Boolean(beside));
    show(bind(model, "predict.own", { model: answering() }), Boolean(beside));
    result.classList.toggle("two", Boolean(beside));
    if (!beside) return replace(second);
    replace(second,
      h("p.headline", inLarge([beside.label], beside.probabilities)),
      muted(["predict.by", { model: beside.model }]),
      bars(ranked(beside.probabilities).slice(0, MOST_BARS), { label: "predict.shares" }),
      h("h3", { t: "predict.why" }),
      reasons(beside),
    );
  }

  function drawFixing() {
    if (!found) return;
    if (!canWrite()) return replace(fixing, muted("predict.readonly"));
    replace(fixing,
      h("h3", { t: "predict.fix" }),
      several.checked ? fixSet() : fixOne(),
      tick("predict.several", several),
    );
  }

  function counted() {
    const names = [...new Set([...ranked(shownShares()).map(([name]) => name), ...labels()])];
    return names.map((name) => [name, state.info.labels[name] ?? 0]);
  }

  function fixOne() {
    const chip = ([name]) =>
      button(data(name), () => fix(name), "chip", { label: ["predict.thisis", { label: visible(name) }] });
    return [h("div.chips", counted().slice(0, MOST_CHIPS).map(chip)), picker({ labels: counted(), onPick: fix })];
  }

  function fixSet() {
    const chosen = found.set?.labels ?? [found.label];
    return setPicker(button("predict.save"), fix, { labels: counted(), chosen });
  }

  const fix = alone(async (given) => {
    const was = found;
    const names = [given].flat();
    const isNew = names.some((name) => !labels().includes(name));
    const done = await (was.digest ? relabel(was.digest, given) : correct(was.text, given));
    const changed = done.kind === "learn" ? "predict.learned" : "predict.relabelled";
    await compareWith(was, done.transaction === null ? "predict.known" : changed, names.join(", "), done, isNew);
  });

  const takeBack = alone(async (done) => {
    const was = found;
    await undo(done);
    await compareWith(was, "predict.undone", "", null);
  });

  /** Tell the change and its effect; if the text was edited meanwhile, there is nothing to compare. */
  async function compareWith(was, key, label, done, isNew = false) {
    before = was.text === written() ? (was.set ?? was).probabilities : null;
    await run();
    const lines = [[key, { label: visible(label) }]];
    if (isNew) lines.push(["predict.new", { label: visible(label) }]);
    if (before && found) {
      const [then, now] = [was, found].map((one) => [visible(one.label), percent(one.probabilities[one.label])]);
      lines.push(["predict.moved", { was: then[0], before: then[1], now: now[0], after: now[1] }]);
    }
    tellChange(change, lines, done, takeBack);
  }

  // --- elsewhere

  /** A link to the text; browsers send the part behind # to no server. */
  function drawLink() {
    if (found.text.length > LONGEST_LINKED) return replace(linking, muted(["predict.nolink", { n: LONGEST_LINKED }]));
    const link = `${location.origin}/#/predict?${new URLSearchParams({ text: found.text })}`;
    replace(linking, h("a", { href: link, t: "predict.link" }), copying(link));
  }

  function snippets() {
    const { text } = found;
    const asked = hasSets() ? { texts: [text], several: true } : { text };
    const python = hasSets() ? `clf.predict_labels([${literal(text)}])` : `clf.explain(${literal(text)})`;
    const shell = `bunrui ${hasSets() ? "predict --labels" : "explain"} ${file()}`;
    return {
      curl: curl(hasSets() ? "/v1/predict" : "/v1/explain", { json: asked }),
      python: program(`print(${python})`),
      shell: hasSets() ? `printf '%s' ${quoted(text)} | ${shell} -` : `${shell} -- ${quoted(text)}`,
    };
  }

  /** Texts to begin with: with the token documents of the file, else those of the demonstration. */
  const offer = watched(async () => {
    const seen = wasSeen;
    const texts = canWrite() && state.info.keep === "text" ? await ownExamples() : demoExamples();
    if (seen !== wasSeen) return; // the token was forgotten meanwhile
    replace(examples,
      h("span.muted", { t: "predict.examples" }),
      texts.map(({ text, digest = null }) => {
        const short = Array.from(text).slice(0, SHORT_EXAMPLE).join("");
        const name = visible(short.length < text.length ? `${short}…` : text);
        return button(data(name), () => open(text, digest), "chip");
      }),
    );
    show(examples, texts.length > 0);
  });

  async function ownExamples() {
    const names = labels().slice(0, MOST_EXAMPLES);
    const asked = names.map((label) =>
      get(address("/v1/documents", { label, limit: 1, characters: LONGEST_EXAMPLE })).catch(() => ({ documents: [] })),
    );
    const pages = await Promise.all(asked);
    const found = new Map(pages.flatMap(({ documents }) => documents).map((one) => [one.digest, one]));
    return [...found.values()].filter(({ text, length }) => text?.trim() && length <= LONGEST_EXAMPLE);
  }

  function demoExamples() {
    const isDemo = DEMO.every((name) => Object.hasOwn(state.info.labels, name));
    const keys = ["predict.example.first", "predict.example.second", "predict.example.third"];
    return isDemo ? keys.map((key) => ({ text: t(key) })) : [];
  }

  function listModels() {
    const { value } = other;
    const models = (state.info.service.models ?? []).filter((name) => name !== answering());
    const option = (name) => h("option", { value: name }, name);
    replace(other, h("option", { value: "", t: "predict.alone" }), models.map(option));
    other.value = models.includes(value) ? value : "";
  }

  function clear() {
    found = before = null;
    show(result, false);
  }

  /** Show another text; of a document that the file keeps, its digest says which one it is. */
  function open(text, digest = null) {
    area.value = text;
    opened = { shown: area.value, text, digest };
    forget();
    settle();
    return run();
  }

  function forget() {
    before = null;
    replace(change);
  }

  const take = guarded(async (given) => {
    if (typeof given === "string") return open(given);
    const text = await textOf(given, 4 * state.info.service.limits.characters);
    if (text === null) return problem(new Error(t("predict.notext", { name: visible(given.name) })));
    return open(text);
  });

  takesDrops(drop, take);
  const runLater = later(WAIT, run);
  area.addEventListener("input", () => {
    turn(area);
    forget();
    settle();
    runLater();
  });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
  });
  let wasSeen = null;
  events.addEventListener("info", () => {
    const seen = [state.info.service.file, canWrite()].join();
    const isFirst = wasSeen === null;
    if (wasSeen !== seen) {
      wasSeen = seen;
      several.checked = hasSets();
      offer();
    }
    listModels();
    if (!fixing.contains(document.activeElement)) drawFixing(); // else somebody is about to pick a label
    if (isFirst) run(); // what was typed until now
  });
  events.addEventListener("open-text", ({ detail }) => open(detail.text, detail.digest));
  return {
    element,
    focus: () => area.focus(),
    shown: (parameters) => {
      const text = parameters?.get("text");
      if (!text || !state.info) return;
      history.replaceState(null, "", "#/predict"); // what is typed now is no longer the text of the link
      open(text.slice(0, LONGEST_LINKED));
    },
  };
}

const sharesOf = (top) => Object.fromEntries(top.map((one) => [one.label, one.probability]));
const ranked = (probabilities) => Object.entries(probabilities).sort(([, a], [, b]) => b - a);
