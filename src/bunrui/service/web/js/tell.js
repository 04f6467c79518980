// Tell the user about problems and progress, and read results aloud to those who cannot see them.

import { follow, get, kept, unless, work } from "./api.js";
import { bind, canSay } from "./i18n.js";
import { button, data, h, replace } from "./dom.js";
import { visible } from "./show.js";
import { events, state } from "./state.js";

const place = (id) => document.getElementById(id);

/** Say something to screen readers. */
export function announce(text) {
  place("status").textContent = text;
}

/** Show a problem, until the user closes it or does something else. */
export function problem(error) {
  if (error.name === "AbortError") return;
  const kind = error.kind ?? "page";
  const title = kind === "invalid" && error.fields.file ? "file" : kind;
  replace(place("alert"),
    h("div",
      h("strong", { t: `problem.${title}` }),
      " ",
      why(BROAD.includes(kind) ? error.message : null, error.fields),
      error.ways?.map(({ t: key, run }) => button(key, run)),
      h("button.quiet", { type: "button", label: "page.close", on: { click: hush } }, "×"),
    ),
  );
  if (!error.kind) console.error(error);
}

// The name of these problems says too little; that of the others is all that needs to be said.
const BROAD = ["conflict", "too-large", "invalid", "missing", "page"];

// Each stands for many problems: the sentence of the service, which is English, comes after it.
const GENERAL = ["data", "table", "label", "option", "store", "mismatch", "missing-extra", "kernel"];

/** Say the fields of an error in the language of the page; without a phrase for them, the message of the service. */
export function why(message, fields = {}) {
  const { cause, choices, file, line } = fields;
  const words = { ...fields, choices: choices?.join(", ") };
  for (const [name, value] of Object.entries(words)) if (typeof value === "string") words[name] = visible(value);
  const key = choices ? "cause.choices" : `cause.${cause}`;
  if (!canSay(key, words)) return message && data(message);
  const isGeneral = GENERAL.includes(cause) && !choices;
  return h("span",
    file && !isGeneral && h("span", { t: [line ? "cause.line" : "cause.in", words] }),
    h("span", { t: [key, words] }),
    isGeneral && h("small", { lang: "en" }, " ", data(message)),
  );
}

export const hush = () => replace(place("alert"));

/** Do something in the background, and show its problem if it fails. */
export const watched =
  (work) =>
  async (...parameters) => {
    try {
      return await work(...parameters);
    } catch (error) {
      problem(error);
    }
  };

/** The same for listeners: the problem of before is over. */
export const guarded = (listener) => (...parameters) => (hush(), watched(listener)(...parameters));

/**
 * Make listeners that run one at a time: a click meanwhile does nothing, so that a double click changes something once.
 * `busy` hears when one begins and when it ends, and disables the controls: best in a fieldset, which also disables
 * controls that are drawn meanwhile.  At the end the focus goes to the element that the listener returns, or back to
 * the pressed control, unless the user has gone elsewhere.
 */
export function oneAtATime(busy = () => {}) {
  let isBusy = false;
  return (listener) =>
    guarded(async (...parameters) => {
      if (isBusy) return;
      const pressed = document.activeElement;
      let result;
      busy((isBusy = true));
      try {
        return (result = await listener(...parameters));
      } finally {
        busy((isBusy = false));
        const next = result instanceof Element ? result : pressed;
        if ([document.body, pressed].includes(document.activeElement)) next.focus({ preventScroll: next === pressed });
      }
    });
}

/** Count calls: each call gets a function that tells whether it is still the last one. */
export function lastOf() {
  let turn = 0;
  return () => {
    const mine = ++turn;
    return () => mine === turn;
  };
}

/** Run work, and show its progress in a place, with a way to cancel it; `unit` is the phrase for the progress. */
export async function withProgress(target, start, unit = "job.documents") {
  const aborting = new AbortController();
  const bar = h("progress", { label: "job.progress" });
  const count = h("span.muted");
  const cancel = button("job.cancel", () => aborting.abort(), "quiet");
  const element = h("div.progress", bar, count, cancel);
  const progress = ({ progress: { done, total } }) => {
    if (total) Object.assign(bar, { max: total, value: done });
    bind(count, total ? unit : "job.waiting", { done, total });
  };
  replace(target, element);
  target.setAttribute("aria-busy", "true");
  try {
    return await start({ progress, signal: aborting.signal });
  } finally {
    if (target.contains(element)) target.removeAttribute("aria-busy");
    element.remove();
  }
}

/**
 * Work whose result is there again when the page was loaded anew: the service keeps it, and this tab knows its id.
 * `show` is called with the result, and with the facts that were kept beside the id, such as the last change;
 * `grow` with results that are not whole yet.
 */
export function lasting(name, target, show, { unit, grow = () => {} } = {}) {
  const last = kept(`job.${name}`);
  const begun = lastOf();
  let isAsked = false; // once for each load of the page

  const followed = (begin) =>
    withProgress(
      target,
      ({ progress, signal }) => {
        const tell = (job) => {
          progress(job);
          if (job.result && job.state === "running") grow(job.result);
        };
        return begin({ progress: tell, signal });
      },
      unit,
    );

  async function start(path, { about = {}, ...options } = {}) {
    isAsked = true;
    const isLast = begun();
    const { transactions } = state.info;
    const started = ({ id }) => last.set({ id, transactions, ...about });
    const result = await followed((watch) => work(path, { ...options, ...watch, started }));
    if (isLast()) show(result, { transactions, ...about });
  }

  const restore = watched(async () => {
    const known = last.get();
    if (isAsked || !known || !state.info) return;
    isAsked = true;
    const isLast = begun();
    const job = await unless(get(`/v1/jobs/${known.id}`), ["not-found", "no-token"], () => null);
    if (!job || job.state === "failed" || job.state === "cancelled") return;
    const result = isLast() && (await followed((watch) => follow(job, watch)));
    if (isLast()) show(result, known);
  });

  /** Keep a result as new after a change that does not concern it. */
  function keep(before) {
    const known = last.get();
    if (known?.transactions !== before) return null;
    last.set({ ...known, transactions: state.info.transactions });
    return last.get();
  }
  return { start, restore, keep };
}

/** A place for the line that the classifier was changed after something was measured; it comes when that happens. */
export function aged({ transactions }) {
  const at = h("div.aged", { "data-at": transactions });
  tellAge(at);
  return at;
}

function tellAge(at) {
  replace(at, Number(at.dataset.at) !== state.info.transactions && h("p.warning", { t: "job.old" }));
}

events.addEventListener("info", () => document.querySelectorAll(".aged").forEach(tellAge));
