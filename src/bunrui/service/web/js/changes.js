// What this page has changed, the last change first to be undone.

import { Problem, post } from "./api.js";
import { refresh } from "./state.js";

const done = [];

export const last = () => done.at(-1);

/** Say what a text is: one that was learned gets this label, another is learned.  Null if nothing had to change. */
export async function correct(text, label) {
  try {
    const relabelled = await post("/v1/relabel", { texts: [text], to: label });
    return relabelled.transaction === null ? null : await remember("relabel", relabelled, text, label);
  } catch (error) {
    if (!(error instanceof Problem) || error.kind !== "conflict") throw error;
  }
  return remember("learn", await post("/v1/learn", { texts: [text], labels: [label] }), text, label);
}

export async function relabel(digest, label) {
  return remember("relabel", await post("/v1/relabel", { digests: [digest], to: label }), null, label);
}

/** Note a change that was made, so that it can be undone. */
export async function remember(kind, { transaction, changed, duplicates }, text = null, label = null) {
  const change = { kind, transaction, changed, duplicates, text, label };
  if (transaction !== null) done.push(change);
  await refresh();
  return change;
}

/** Take a change of this page back, and no other, whatever was changed since. */
export async function undo(change = last()) {
  if (change.transaction === null) return change; // nothing had to change
  try {
    await post("/v1/undo", { transaction: change.transaction });
  } catch (error) {
    const isLearned = change.kind === "learn" && change.text !== null;
    if (!(error instanceof Problem) || error.kind !== "changed-since" || !isLearned) throw error;
    await post("/v1/unlearn", { texts: [change.text], labels: [change.label] });
  }
  done.splice(done.indexOf(change), 1);
  await refresh();
  return change;
}
