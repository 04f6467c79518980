// The state that all views share: the classifier, and whether the page may change it.

import { get, kept, token } from "./api.js";

export const events = new EventTarget();
export const state = { info: null };

/** Whether the page may write: the service does, and the token is known. */
export const canWrite = () => Boolean(state.info?.service.writable && token.get());

/** Labels with their documents, those with most documents first. */
export const countedLabels = () => Object.entries(state.info?.labels ?? {}).sort(([, a], [, b]) => b - a);
export const labels = () => countedLabels().map(([label]) => label);

/** Whether some documents have several labels: then the labels have more documents in all than there are. */
export const hasSets = () =>
  Object.values(state.info?.labels ?? {}).reduce((sum, n) => sum + n, 0) > (state.info?.documents ?? 0);

/** The model that answers: of auto, the one that was chosen. */
export const answering = () => state.info.choice?.candidate.model ?? state.info.model;

/** The log-odds above which a document gets a label, as the last evaluation has found them; null if there was none. */
export const thresholds = kept("thresholds");

const tell = (name, detail) => events.dispatchEvent(new CustomEvent(name, { detail }));

/** Go to a view, which is handed something. */
export function hand(view, name, detail) {
  tell("visit", `#/${view}`);
  tell(name, detail);
}

let asked = 0;
let answered = 0;

/** Ask for the state of the classifier, and tell the views; an answer that a later one has overtaken is dropped. */
export async function refresh() {
  const mine = ++asked;
  const info = await get("/v1/info");
  if (mine < answered) return;
  answered = mine;
  state.info = info;
  tell("info");
}
