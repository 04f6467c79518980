// The changes that this page makes, and their undo.

import { Problem, post } from "./api.js";
import { refresh } from "./state.js";

/** Give a text its right label: relabel it if it was learned before, else learn it. */
export async function correct(text, label) {
  let done;
  try {
    done = await post("/v1/relabel", { texts: [text], to: label });
  } catch (error) {
    if (!(error instanceof Problem) || error.kind !== "conflict") throw error;
    return noted("learn", await post("/v1/learn", { texts: [text], labels: [label] }), text, label);
  }
  return noted("relabel", done, text, label);
}

/** Give documents that the file keeps another label, by one digest or several. */
export async function relabel(digests, label) {
  return noted("relabel", await post("/v1/relabel", { digests: [digests].flat(), to: label }));
}

/** Take documents that the file keeps back. */
export async function unlearn(digests) {
  return noted("unlearn", await post("/v1/unlearn", { digests }));
}

/** A change that was made, so that it can be undone; its transaction is null if nothing had to change. */
export async function noted(kind, { transaction, changed, duplicates }, text = null, label = null) {
  await refresh();
  return { kind, transaction, changed, duplicates, text, label };
}

/** Take a change of this page back, and no other, whatever was changed since. */
export async function undo(change) {
  if (change.transaction === null) return;
  try {
    await post("/v1/undo", { transaction: change.transaction });
  } catch (error) {
    const isLearned = change.kind === "learn";
    if (!(error instanceof Problem) || error.kind !== "changed-since" || !isLearned) throw error;
    await post("/v1/unlearn", { texts: [change.text], labels: [change.label] });
  }
  await refresh();
}
