// Keys that answer: one for each label, and buttons that say theirs.

import { button, data, h } from "./dom.js";

const DIGITS = [..."1234567890"];

/**
 * A key for each label, as far as there are keys; cli/teach.py does the same.  A digit is the key of the label of that
 * name.  Other labels keep the key that they had before.
 */
export function keysOf(labels, before) {
  const named = new Set(labels.map(String).filter((name) => DIGITS.includes(name))); // a label may be a number
  const kept = new Map([...before].filter(([, key]) => !named.has(key)));
  for (const label of labels) if (named.has(String(label))) kept.set(label, String(label));
  const taken = new Set(kept.values());
  const free = DIGITS.filter((key) => !taken.has(key));
  return new Map(labels.map((label) => [label, kept.get(label) ?? free.shift()]).filter(([, key]) => key));
}

const keyed = (key, inside, act, kind) =>
  button([h("kbd", key), " ", inside], act, kind, { "aria-keyshortcuts": key, "data-key": key });

/** A button that says a phrase, with its key. */
export const keyButton = (key, phrase, act, kind = "quiet") => keyed(key, h("span", { t: phrase }), act, kind);

/** A label with its key. */
export const labelButton = (key, label, act, kind = "chip") => keyed(key, data(label), act, kind);

/** Press the button of a part of the page that has a key. */
export const pressKey = (part, key) => part.querySelector(`button[data-key="${CSS.escape(key)}"]`)?.click();
