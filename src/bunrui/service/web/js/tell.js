// What is said to the user beside the results: problems, and results to those who cannot see them.

import { Problem } from "./api.js";
import { bind } from "./i18n.js";
import { data, h, replace } from "./dom.js";

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
      error.line && h("span", { t: ["upload.line", { n: error.line }] }),
      " ",
      data(error.message || ""),
      error.ways?.map(({ t: key, run }) => h("button", { type: "button", t: key, on: { click: run } })),
      h("button", { class: "quiet", type: "button", label: "page.close", on: { click: hush } }, "×"),
    ),
  );
  if (!(error instanceof Problem)) console.error(error);
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
