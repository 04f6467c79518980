// The service: requests, problems, work in the background.

import { wellFormed } from "./show.js";

const POLL = [100, 150, 250, 400, 600];
const WRITING = ["train", "set", "choose", "calibrate"]; // kinds of jobs that change the classifier
const MOST_FAILURES = 5; // one after the other, before the work is given up

export class Problem extends Error {
  constructor({ type = "", detail = "", status = 0, ...fields }) {
    super(detail);
    this.fields = fields;
    this.kind = type.split(":").pop() || "unreachable";
    this.status = status;
    this.ways = []; // buttons for what it suggests: { t, run }
  }
}

/** A text that the browser keeps for this tab, or in `localStorage` for all tabs. */
export const keptText = (name, storage = sessionStorage) => ({
  get: () => storage.getItem(`bunrui.${name}`) ?? "",
  set: (text) => (text ? storage.setItem(`bunrui.${name}`, text) : storage.removeItem(`bunrui.${name}`)),
});

export const token = keptText("token");
export const author = keptText("author", localStorage); // the name of the person who makes the changes, if it is given

/** A value that the browser keeps for this tab; null until there is one. */
export const kept = (name) => ({
  get: () => JSON.parse(sessionStorage.getItem(`bunrui.${name}`) ?? "null"),
  set: (value) => sessionStorage.setItem(`bunrui.${name}`, JSON.stringify(value)),
});

// Members that are labels, or lists of labels; `pairs` are [label, label, number].
const LABELS = ["label", "labels", "against", "given", "guess", "predicted", "sets", "suggested", "to", "true", "unknown"];

/**
 * Labels as texts, whatever their type: the page shows them and sends them back as texts, and the service knows what
 * they stand for.  A number that JavaScript cannot hold, which is a label, stays as it was written.
 */
function asText(name, value, context) {
  if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    return context?.source ?? String(value);
  }
  if (name === "pairs" && Array.isArray(value)) return value.map(([one, other, ...rest]) => [text(one), text(other), ...rest]);
  return LABELS.includes(name) ? text(value) : value;
}

function text(label) {
  if (Array.isArray(label)) return label.map(text);
  return typeof label === "number" || typeof label === "boolean" ? String(label) : label;
}

/** Ask the service; a problem is thrown. */
export async function ask(method, path, { json, file, signal } = {}) {
  const headers = {};
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  if (method === "POST" && author.get()) headers["Bunrui-Author"] = encodeURIComponent(wellFormed(author.get()));
  let body;
  if (json !== undefined) {
    headers["Content-Type"] = "application/json";
    body = JSON.stringify(json, (_, value) => (typeof value === "string" ? wellFormed(value) : value));
  } else if (file !== undefined) {
    headers["Content-Type"] = "application/octet-stream";
    body = file;
  }
  let answer;
  try {
    answer = await fetch(path, { method, headers, body, signal, credentials: "omit", cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({});
  }
  const found = await answer.text().then((text) => JSON.parse(text, asText)).catch(() => ({}));
  if (!answer.ok) throw new Problem({ status: answer.status, ...found });
  return found;
}

export const get = (path, options) => ask("GET", path, options);
export const post = (path, json, options) => ask("POST", path, { json, ...options });

/** What a promise gives, or after a problem of these kinds, what `instead` gives. */
export const unless = (promise, kinds, instead) =>
  promise.catch((error) => {
    if (!kinds.includes(error.kind)) throw error;
    return instead();
  });

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** An address with options, those that are null left out; a list is an option that comes several times. */
export function address(path, options) {
  const each = Object.entries(options).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  const given = each.filter(([, value]) => value !== null && value !== undefined);
  return `${path}?${new URLSearchParams(given.map(([name, value]) => [name, wellFormed(String(value))]))}`;
}

/** Have work done in the background, up to its result; `started` is told of the job, `follow` has the other options. */
export async function work(path, { progress, signal, started = () => {}, ...options } = {}) {
  const job = await ask("POST", path, options);
  started(job);
  return follow(job, { progress, signal });
}

/**
 * Wait for the result of a job.  `progress` is told of the job as it is; when the signal is aborted, the work is
 * cancelled.  What changes the classifier is followed to its end: it may have been too late.
 */
export async function follow(job, { progress = () => {}, signal } = {}) {
  let failures = 0;
  for (let turn = 0; job.state === "waiting" || job.state === "running"; turn++) {
    progress(job);
    await pause(POLL[Math.min(turn, POLL.length - 1)]);
    try {
      job = await ask(signal?.aborted ? "DELETE" : "GET", `/v1/jobs/${job.id}`);
      failures = 0;
    } catch (error) {
      const mayPass = error.status === 503 || error.kind === "unreachable";
      if (!mayPass || ++failures > MOST_FAILURES) throw error;
      continue;
    }
    if (signal?.aborted && !WRITING.includes(job.kind)) throw new DOMException("", "AbortError");
  }
  progress(job);
  if (job.state === "failed") throw new Problem(job.problem);
  if (job.state === "cancelled") throw new DOMException("", "AbortError");
  return job.result;
}
