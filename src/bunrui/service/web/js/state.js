// What all views know: the classifier, and who may change it.

import { get, token } from "./api.js";

export const events = new EventTarget();
export const state = { info: null };

/** Whether the page may write: the service does, and the token is known. */
export const canWrite = () => Boolean(state.info?.service.writable && token.get());

/** Labels, those with most documents first. */
export const labels = () =>
  Object.entries(state.info?.labels ?? {})
    .sort(([, a], [, b]) => b - a)
    .map(([label]) => label);

/** Look what the classifier is now; views are told. */
export async function refresh() {
  state.info = await get("/v1/info");
  events.dispatchEvent(new Event("info"));
}
