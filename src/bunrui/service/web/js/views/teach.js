// Teach: documents without labels, one after the other, a key for each label, and how good the classifier is by now.

import { address, ask, get, kept, keptText, post, work } from "../api.js";
import { button, checkbox, choice, drawing, field, forReaders, h, inRow, muted } from "../dom.js";
import { replace, show, tick, view } from "../dom.js";
import { percent, t } from "../i18n.js";
import { keyButton, keysOf, labelButton, pressKey } from "../keys.js";
import { picker } from "../picker.js";
import { curlJob, file, program, same } from "../same.js";
import { later, visible } from "../show.js";
import { canWrite, events, hand, hasSets, refresh, state } from "../state.js";
import { announce, guarded, lastOf, oneAtATime, problem, watched, withProgress } from "../tell.js";
import { upload } from "../upload.js";

const tab = keptText("teacher");
const wanted = keptText("wish", localStorage);
const taught = kept("taught"); // the file that this tab teaches with: { read, skip_bad, name }
const WISHES = [0.7, 0.8, 0.85, 0.9, 0.95, 0.98];
const AHEAD = 3; // questions that wait here, so that a key is answered at once
const MOST_ASKED = 10;
const PATIENCE = 700; // milliseconds without a key, before the accuracy is measured again

/** This tab: the service gives no other the same questions. */
function client() {
  if (!tab.get()) tab.set(crypto.randomUUID());
  return tab.get();
}

export function create() {
  let known = null; // how far it is, as the service says
  let order = []; // labels in the order in which they are shown
  let keys = new Map(); // of labels
  let current = null;
  let ready = []; // questions to come
  let chosen = []; // labels of the current document, where there may be several
  let sending = Promise.resolve(); // answers, one after the other
  let waiting = 0; // answers that are not in the file yet
  let asking = null; // for questions: a promise, while that is under way
  let isTaking = false; // whether other documents are about to come
  const begun = lastOf(); // of the documents: questions of others are not shown
  let isThis = null; // whether the documents are still those of now
  const measuring = lastOf();
  const done = []; // what was answered or skipped, to take it back
  const sent = new Set(); // digests that need no answer, whatever the service still says

  const names = h("input", {
    type: "text",
    id: "teach-labels",
    hint: "teach.labels.hint",
    autocomplete: "off",
    maxlength: 1500, // the service takes 3,000 characters of JSON, in which short names are twice as long
  });
  names.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) files.about.querySelector("button.primary")?.click();
  });
  const running = h("div");
  const alone = oneAtATime((isBusy) => {
    isTaking = leaving.disabled = isBusy;
    files.lock(isBusy);
  });
  const leaving = button("teach.others", () => others(), "quiet");
  const files = upload({
    prefix: "teach-",
    labelled: false,
    alone,
    begin() {},
    footer: (_, skip_bad) => [
      h("p.field.wide", h("label", { for: "teach-labels", t: "teach.labels" }), names),
      inRow(button("teach.go", () => take({ read: files.options(), skip_bad, name: files.names()[0] }), "primary")),
    ],
  });
  const beginning = h("div", files.drop, files.about, running);
  const card = h("div.card", { tabindex: -1 });
  // From the search back to the keys: leaving the field closes its list.
  card.addEventListener("keydown", ({ key }) => key === "Escape" && card.focus(), { capture: true });
  const several = checkbox("teach-several", () => {
    chosen = [];
    if (known?.documents) draw();
  });
  const whole = h("p");
  const wishes = WISHES.map((share) => h("option", { value: share }, percent(share)));
  const wish = choice("teach-wish", wishes, wanted.get() || "0.9", (share) => {
    wanted.set(share);
    measure();
  });
  const measured = h("div", { "aria-live": "polite" });
  const place = h("p.muted");
  const pool = h("input", { type: "checkbox", id: "teach-pool", "aria-describedby": "teach-help" });
  const help = h("p.muted", { id: "teach-help", "aria-live": "polite" });
  const session = h("div.split.teaching",
    h("div", place, card),
    h("aside.side", { label: "teach.progress" },
      measured,
      h("p", field("teach.wish", wish)),
      tick("teach.several", several),
      tick("teach.pool", pool),
      help,
      whole,
      leaving,
    ),
  );
  const alike = same(() => ({
    curl: curlJob("/v1/teach?name=inbox.csv", { upload: "inbox.csv", token: true }),
    python: program(
      "",
      "asked = bunrui.selection.queue(clf, texts)",
      "for question in asked:",
      "    asked.answer(question, input(question.text))",
    ),
    shell: `bunrui teach ${file()} inbox.csv`,
  }));
  const element = view("teach", forReaders("teach.readonly"), h("div.writing", beginning, session), alike);

  // --- which documents

  const take = alone(async ({ read, skip_bad, name }) => {
    begun(); // the documents of before are no longer wanted
    const labels = JSON.stringify([...new Set(names.value.split(/[,、，]/).map((one) => one.trim()))].filter(Boolean));
    const path = address("/v1/teach", { ...read, skip_bad, labels });
    await withProgress(running, (more) => work(path, more)).catch(async (error) => {
      await open();
      throw files.offer(error, () => take({ read, skip_bad: true, name }));
    });
    taught.set({ read, skip_bad, name });
    files.forget();
    order = [];
    await open();
  });

  const others = alone(async () => {
    await sending;
    await ask("DELETE", "/v1/teach");
    await open();
  });

  /** Have all rows of the file labelled, in the view for that. */
  const predictAll = guarded(async (taken) => {
    await sending;
    hand("file", "predict-these", taken);
  });

  // --- questions

  /** Begin with the documents that the service has; all of it is drawn at once, when the first questions are here. */
  async function open() {
    if (!canWrite()) return;
    const isLast = begun();
    const found = await get("/v1/teach");
    const questions = found.documents ? await fetchQuestions(AHEAD + 1) : [];
    if (!isLast()) return;
    isThis = isLast;
    known = found;
    const isNew = !order.length || !known.labels.some((label) => order.includes(label));
    if (isNew) {
      keys = new Map();
      several.checked = hasSets();
    }
    order = isNew ? [...known.labels] : [...order, ...known.labels.filter((label) => !order.includes(label))];
    ready = questions;
    current = asking = null;
    sent.clear();
    done.length = 0;
    lock();
    if (!known.documents) return;
    next();
    measure();
  }

  const fetchQuestions = async (n, options) =>
    (await post("/v1/teach/next", { client: client(), n: Math.min(n, MOST_ASKED), ...options })).questions;

  /** Fetch questions, so that some wait here; leave out those that are here already. */
  function more(options) {
    const isStill = isThis;
    const fetching = async () => {
      const questions = await fetchQuestions(AHEAD + waiting + ready.length + 1, options);
      const here = new Set([current?.digest, ...ready.map(({ digest }) => digest), ...sent]);
      if (isStill()) ready.push(...questions.filter(({ digest }) => !here.has(digest)));
    };
    const mine = (asking ??= fetching().finally(() => asking === mine && (asking = null)));
    return mine;
  }

  /** Show the next question; ask for it where none is here. */
  function next() {
    chosen = [];
    current = ready.shift() ?? null;
    draw();
    const isLate = current === null;
    const fetching = watched(async () => {
      if (isLate) await sending;
      if (ready.length < AHEAD) await more();
      if (isLate && current === null) ready.length ? next() : draw();
    });
    if (isLate || ready.length < AHEAD) fetching();
  }

  const left = () => Math.max(known.documents - known.answers - known.skipped, 0);

  function drawPlace() {
    replace(place,
      h("span", { t: ["teach.place", { answers: known.answers, left: left() }] }),
      known.copies > 0 && [" · ", h("span", { t: ["teach.copies", { n: known.copies }] })],
      known.blank > 0 && [" · ", h("span", { t: ["file.blank", { n: known.blank }] })],
    );
    const taken = taught.get();
    const name = visible(known.name);
    replace(whole, taken?.name === known.name && button(["teach.whole", { name }], () => predictAll(taken)));
  }

  function draw() {
    drawPlace();
    const hadFocus = card.contains(document.activeElement);
    if (current === null) {
      const isOver = left() === 0 && waiting === 0;
      replace(card,
        h("p", { t: isOver ? "teach.end" : "teach.waiting" }),
        known.skipped > 0 && button(["teach.again", { n: known.skipped }], again),
        done.length > 0 && keyButton("u", "audit.undo", back),
      );
      if (isOver) announce(t("teach.end"));
      return;
    }
    keys = keysOf(order, keys);
    const guess = current.guess;
    const words = { label: visible(guess ?? ""), share: percent(current.probability) };
    replace(card,
      current.random && muted("teach.random"),
      h("p.text", { dir: "auto" }, visible(current.text)),
      current.cut > 0 && muted(["explain.more", { left: current.cut }]),
      guess !== null && h("p", { t: ["teach.guess", words] }),
      h("div.chips", { role: "group", label: "picker.labels" },
        [...keys].map(([label, name]) => chip(label, name, label === guess)),
        guess !== null && !keys.has(guess) && chip(guess, "y", true),
      ),
      picker({
        labels: order.map((label) => [label, state.info.labels[label] ?? 0]),
        chosen,
        several: several.checked,
        onPick: (picked) => (several.checked ? ((chosen = picked), mark()) : picked !== null && answer([picked])),
        key: order.length ? "picker.find" : "teach.first",
      }),
      h("div.row.decide",
        several.checked && keyButton("Enter", "teach.learn", () => chosen.length && answer(chosen), "primary"),
        keyButton("s", "teach.skip", () => answer(null)),
        done.length > 0 && keyButton("u", "audit.undo", back),
      ),
    );
    mark();
    if (hadFocus) card.focus(); // the button that was pressed is gone
    announce(`${current.text.slice(0, 300)} ${guess === null ? "" : t("teach.guess", words)}`);
  }

  /** A label with its key; where there may be several, a check box. */
  function chip(label, name, isGuess) {
    const press = () => {
      if (!several.checked) return answer([label]);
      chosen = chosen.includes(label) ? chosen.filter((one) => one !== label) : [...chosen, label];
      draw();
    };
    const one = labelButton(name, label, press, isGuess ? "chip guess" : "chip");
    one.dataset.label = label;
    return one;
  }

  function mark() {
    for (const one of card.querySelectorAll("button[data-label]")) {
      if (!several.checked) continue;
      one.setAttribute("role", "checkbox");
      one.setAttribute("aria-checked", String(chosen.includes(one.dataset.label)));
    }
  }

  /** Answer the current question, or skip it with null.  The next one is shown while this one goes to the file. */
  function answer(labels) {
    const question = current;
    if (question === null) return;
    done.push({ question, labels });
    sent.add(question.digest);
    order.push(...(labels ?? []).filter((label) => !order.includes(label)));
    waiting++;
    count(labels, 1);
    sending = sending.then(() => send(question, labels)).finally(() => waiting--);
    next();
    measureSoon();
  }

  const count = (labels, by) => (known[labels ? "answers" : "skipped"] += by);

  function forget(question) {
    const at = done.findIndex((one) => one.question === question);
    if (at >= 0) done.splice(at, 1);
  }

  const send = async (question, labels) => {
    try {
      const found = await post("/v1/teach/answer", { digest: question.digest, labels, client: client() });
      known.answers = found.answers + waiting - 1;
      if (labels && !found.learned) {
        forget(question); // the answer of somebody else is not taken back here
        announce(t("teach.quicker", { label: found.labels.map(visible).join(", ") }));
      }
    } catch (error) {
      // It is asked again, and nothing is lost.
      sent.delete(question.digest);
      forget(question);
      count(labels, -1);
      ready.unshift(question);
      if (current === null) next();
      else drawPlace();
      problem(error);
    }
  };

  const going = oneAtATime();
  const back = going(async () => {
    await sending;
    const last = done.pop();
    if (!last) return;
    if (last.labels) await post("/v1/teach/undo", { digest: last.question.digest, client: client() });
    sent.delete(last.question.digest);
    count(last.labels, -1);
    if (current) ready.unshift(current);
    chosen = several.checked ? (last.labels ?? []) : [];
    current = last.question;
    draw();
    measureSoon();
  });

  const again = going(async () => {
    await sending;
    await asking;
    sent.clear();
    await more({ skipped: true });
    known.skipped = 0;
    next();
  });

  // --- how good it is

  const measure = watched(async () => {
    const isLast = measuring();
    await sending;
    if (!known?.documents) return;
    const found = await get(address("/v1/teach/progress", { wish: wish.value }));
    if (!isLast()) return;
    const figure = (name, value, beside) => h("div", h("dt", { t: name }), h("dd", value, h("small", { t: beside })));
    const { accuracy, low, high, forecast, sample } = found;
    const isKnown = accuracy !== null;
    const isOpen = forecast?.high === null; // nobody can tell the most that it takes
    const takes = !forecast
      ? ["teach.unknown", {}]
      : forecast.likely === 0
        ? [isOpen ? "teach.reached.open" : "teach.reached", { high: forecast.high }]
        : [isOpen ? "teach.takes.open" : "teach.takes", { n: forecast.likely, low: forecast.low, high: forecast.high }];
    replace(measured,
      h("dl.figures",
        isKnown &&
          figure("evaluate.accuracy", percent(accuracy), [
            "teach.interval",
            { low: percent(low), high: percent(high), n: sample },
          ]),
        found.guessed > 0 &&
          figure("teach.agreement", percent(found.agreed / found.guessed), [
            "teach.agreed",
            { n: found.agreed, of: found.guessed },
          ]),
      ),
      !isKnown && muted(found.trained ? "teach.trained" : "teach.early"),
      found.html && drawing(found.html),
      isKnown && h("p", { t: takes }),
    );
    await refresh();
  });
  const measureSoon = later(PATIENCE, measure);

  /** Whether documents without an answer help, and how much. */
  function told() {
    const { unlabelled } = state.info;
    if (!unlabelled) return "teach.pool.about";
    const { n_pool: n, weight, evidence } = unlabelled;
    const value = (wanted) => percent(evidence.find((one) => one.weight === wanted).value);
    if (weight) return ["teach.pool.helps", { n, with: value(weight), without: value(0) }];
    return hasSets() ? "teach.pool.sets" : evidence.length ? "teach.pool.useless" : "teach.pool.early";
  }

  const showHelp = () => {
    pool.checked = Boolean(state.info?.unlabelled);
    if (state.info) replace(help, h("span", { t: told() }));
  };
  const useAlone = oneAtATime((isBusy) => {
    pool.disabled = isBusy;
    if (isBusy) replace(help, h("span", { t: "teach.pool.busy" }));
    else showHelp();
  });
  const usePool = useAlone(async () => {
    await sending;
    await post(pool.checked ? "/v1/teach/unlabelled" : "/v1/unlabelled/unlearn", {});
    await refresh();
    await measure();
  });
  pool.addEventListener("change", usePool);


  function lock() {
    const has = Boolean(known?.documents);
    show(beginning, !has);
    show(session, has);
  }
  events.addEventListener("info", () => {
    lock();
    if (!pool.disabled) showHelp();
  });
  events.addEventListener("teach-these", ({ detail }) => take(detail));
  lock();
  const focus = () => card.querySelector(".picker input")?.focus();
  return {
    element,
    shown: () => {
      lock();
      if (current === null && waiting === 0 && !isTaking) watched(open)();
    },
    focus,
    key: (name) => {
      if (name === "n") return focus(), true;
      if (name === "," && !session.hidden) several.click();
      else pressKey(card, name);
      return false;
    },
  };
}
