// What is said to the user beside the results: problems, and results to those who cannot see them.

import { Problem, follow, get, work } from "./api.js";
import { bind, canSay, language } from "./i18n.js";
import { data, h, replace } from "./dom.js";
import { visible } from "./show.js";
import { state } from "./state.js";

const place = (id) => document.getElementById(id);

/** Say something to screen readers. */
export function announce(text) {
  place("status").textContent = text;
}

/** Show what went wrong, until it is closed or something else is done. */
export function problem(error) {
  if (error.name === "AbortError") return;
  const kind = error instanceof Problem ? error.kind : "page";
  replace(
    place("alert"),
    h(
      "div",
      {},
      h("strong", { t: `problem.${kind}` }),
      " ",
      why(kind, error),
      error.ways?.map(({ t: key, run }) => h("button", { type: "button", t: key, on: { click: run } })),
      h("button", { class: "quiet", type: "button", label: "page.close", on: { click: hush } }, "×"),
    ),
  );
  if (!(error instanceof Problem)) console.error(error);
}

// Nothing needs to be said besides the name of the problem.
const PLAIN = ["no-token", "read-only", "busy", "no-room", "changed-since", "several-labels", "unreachable"];

// Errors of these kinds are many: their sentence comes after one that says the kind in the language of the page.
const GENERAL = ["data", "table", "label", "option", "store", "mismatch", "missing-extra", "kernel"];

/** Why, in the language of the page; the sentences of the service, which are English, where the page has none. */
function why(kind, { message, fields = {} }) {
  const { choices, suggests } = fields;
  const known = { ...fields, ...suggests, choices: choices?.join(", ") };
  const words = Object.entries(known).map(([name, value]) => [
    name,
    typeof value === "string" ? visible(value) : value,
  ]);
  const said = [choices ? "cause.choices" : `cause.${fields.cause}`, Object.fromEntries(words)];
  if (language() !== "en" && canSay(...said)) {
    const more = GENERAL.includes(fields.cause) && !choices && h("small", { lang: "en" }, " ", data(message || ""));
    return h("span", {}, h("span", { t: said }), more);
  }
  return language() !== "en" && PLAIN.includes(kind) ? null : data(message || "");
}

export const hush = () => replace(place("alert"));

/** Call a listener; what goes wrong is shown. */
export const guarded =
  (listener) =>
  async (...parameters) => {
    hush();
    try {
      return await listener(...parameters);
    } catch (error) {
      problem(error);
    }
  };

/**
 * Make listeners of which one runs at a time: what is pressed meanwhile does nothing, so that a double click changes
 * something once.  `busy` is told when one begins and when it ends.
 */
export function oneAtATime(busy = () => {}) {
  let isBusy = false;
  return (listener) =>
    guarded(async (...parameters) => {
      if (isBusy) return;
      busy((isBusy = true));
      try {
        return await listener(...parameters);
      } finally {
        busy((isBusy = false));
      }
    });
}

/** A bar that follows work in the background, with a way to stop it. */
function progressBar(stop, unit) {
  const bar = h("progress", { label: "job.progress" });
  const count = h("span", { class: "muted" });
  const element = h(
    "div",
    { class: "progress" },
    bar,
    count,
    h("button", { type: "button", class: "quiet", t: "job.cancel", on: { click: stop } }),
  );
  const progress = ({ progress: { done, total } }) => {
    if (total) {
      bar.max = total;
      bar.value = done;
    }
    bind(count, total ? unit : "job.waiting", { done, total });
  };
  return { element, progress };
}

/** Run work, with a bar in a place while it runs; `unit` is the key that says how much of what is done. */
export async function withProgress(target, start, unit = "job.documents") {
  const aborting = new AbortController();
  const { element, progress } = progressBar(() => aborting.abort(), unit);
  replace(target, element);
  target.setAttribute("aria-busy", "true");
  try {
    return await start({ progress, signal: aborting.signal });
  } finally {
    element.remove();
    target.removeAttribute("aria-busy");
  }
}

/**
 * Work whose result is there again when the page was loaded anew: the service keeps it, and this tab knows its id.
 * `show` is called with the result, and with what was kept beside the id, such as the number of the last change;
 * `grow` with results that are not whole yet.
 */
export function lasting(name, target, show, { unit, grow = () => {} } = {}) {
  const place = `bunrui.job.${name}`;
  const kept = () => JSON.parse(sessionStorage.getItem(place) ?? "null");
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
    const { transactions } = state.info;
    const started = ({ id }) => sessionStorage.setItem(place, JSON.stringify({ id, transactions, ...about }));
    const result = await followed((watch) => work(path, { ...options, ...watch, started }));
    show(result, { transactions, ...about });
    return result;
  }

  const restore = guarded(async () => {
    const known = kept();
    if (isAsked || !known || !state.info) return;
    isAsked = true;
    let job;
    try {
      job = await get(`/v1/jobs/${known.id}`);
    } catch (error) {
      if (error instanceof Problem && ["not-found", "no-token"].includes(error.kind)) return;
      throw error;
    }
    if (job.state === "failed" || job.state === "cancelled") return;
    show(await followed((watch) => follow(job, watch)), known);
  });

  /** What was measured before a change that does not concern it is not old. */
  function keep(before) {
    const known = kept();
    if (known?.transactions !== before) return null;
    const now = { ...known, transactions: state.info.transactions };
    sessionStorage.setItem(place, JSON.stringify(now));
    return now;
  }
  return { start, restore, keep };
}

/** A line that says that the classifier was changed after something was measured; null if it was not. */
export const aged = ({ transactions }) =>
  transactions === state.info.transactions ? null : h("p", { class: "warning", t: "job.old" });
