// The changes that this page makes, and their undo.

import { post, unless } from "./api.js";
import { button, h, replace } from "./dom.js";
import { t } from "./i18n.js";
import { refresh } from "./state.js";
import { announce } from "./tell.js";

/** Give a text its right label: relabel it if it was learned before, else learn it. */
export async function correct(text, label) {
  const done = await unless(post("/v1/relabel", { texts: [text], to: label }), ["conflict"], () => null);
  if (done) return noted("relabel", done, text, label);
  return noted("learn", await post("/v1/learn", { texts: [text], labels: [label] }), text, label);
}

/** Give documents that the file keeps another label, by one digest or several. */
export const relabel = async (digests, label) =>
  noted("relabel", await post("/v1/relabel", { digests: [digests].flat(), to: label }));

/** Take documents that the file keeps back. */
export const unlearn = async (digests) => noted("unlearn", await post("/v1/unlearn", { digests }));

/** A change that was made, so that it can be undone; its transaction is null if nothing had to change. */
export async function noted(kind, { transaction, changed, duplicates }, text = null, label = null) {
  await refresh();
  return { kind, transaction, changed, duplicates, text, label };
}

/** Tell a change, by phrases, and offer to take it back: the button for that, null if nothing was changed. */
export function tellChange(place, phrases, change, takeBack) {
  const isUndoable = (change?.transaction ?? null) !== null;
  const undoing = isUndoable ? button("predict.undo", () => takeBack(change)) : null;
  replace(place, phrases.map((phrase) => h("p", { t: phrase })), undoing);
  announce(phrases.map((phrase) => t(...phrase)).join(" "));
  return undoing;
}

/** Take a change of this page back, and no other, whatever was changed since. */
export async function undo({ kind, transaction, text, label }) {
  if (transaction === null) return;
  const unlearn = () => post("/v1/unlearn", { texts: [text], labels: [label] });
  await unless(post("/v1/undo", { transaction }), kind === "learn" ? ["changed-since"] : [], unlearn);
  await refresh();
}
