// What this page has changed, the last change first to be undone.

import { Problem, get, post } from "./api.js";
import { refresh } from "./state.js";

const done = [];

export const last = () => done.at(-1);

/** Say what a text is: one that was learned gets this label, another is learned.  Null if nothing had to change. */
export async function correct(text, label) {
  const document = { texts: [text], labels: [label] };
  const learned = await post("/v1/learn", document);
  if (!learned.duplicates) return remember("learn", learned, text, label);
  await post("/v1/unlearn", document);
  const relabelled = await post("/v1/relabel", { texts: [text], to: label });
  return relabelled.transaction === null ? null : remember("relabel", relabelled, text, label);
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

/** Take the last change of this page back; where others have changed something since, only that one. */
export async function undo() {
  const change = done.at(-1);
  const { changes } = await get("/v1/log?limit=100");
  const newest = changes.find((entry) => entry.undone === null);
  if (newest?.number === change.transaction) await post("/v1/undo");
  else if (change.kind === "learn" && change.text !== null) {
    await post("/v1/unlearn", { texts: [change.text], labels: [change.label] });
  } else throw new Problem({ type: "changed-since", status: 409 });
  done.pop();
  await refresh();
  return change;
}
