// Strings by key, one file for each language; elements that are bound to a key follow when the language changes.

export const LANGUAGES = { en: "English", ja: "日本語", zh: "中文", ko: "한국어" };

const KEPT = "bunrui.language";
const bound = new WeakMap();
let strings = {};
let current = "en";

export function preferred(kept = localStorage.getItem(KEPT)) {
  const wanted = [kept, ...navigator.languages].filter(Boolean).map((tag) => tag.slice(0, 2).toLowerCase());
  return wanted.find((tag) => tag in LANGUAGES) ?? "en";
}

export async function use(language, { keep = false } = {}) {
  const answer = await fetch(`lang/${language}.json`);
  speak(language, await answer.json());
  if (keep) localStorage.setItem(KEPT, language);
}

/** Say these strings from now on. */
export function speak(language, spoken) {
  strings = spoken;
  current = language;
  document.documentElement.lang = language === "zh" ? "zh-Hans" : language;
  for (const element of document.querySelectorAll("[data-t], [data-t-label], [data-bound]")) refresh(element);
}

export const language = () => current;

/** The string of a key; numbers among the parameters are written as the language writes them. */
export function t(key, parameters = {}) {
  const plural =
    typeof parameters.n === "number" ? `${key}.${new Intl.PluralRules(current).select(parameters.n)}` : key;
  const text = strings[plural] ?? strings[`${key}.other`] ?? strings[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => written(parameters[name]));
}

/** Whether there is a string of a key, and all that it speaks of is known. */
export const canSay = (key, parameters) =>
  key in strings && Array.from(strings[key].matchAll(/\{(\w+)\}/g)).every(([, name]) => parameters[name] !== undefined);

const written = (value) => (typeof value === "number" ? number(value) : String(value ?? ""));
export const number = (value) => new Intl.NumberFormat(current, { maximumFractionDigits: 3 }).format(value);
export const percent = (share) =>
  new Intl.NumberFormat(current, { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(
    share,
  );

/** A time of the service, as the language writes it. */
export const when = (time) =>
  new Intl.DateTimeFormat(current, { dateStyle: "medium", timeStyle: "short" }).format(new Date(time));

/** Have an element, or an attribute of it, say a string in whatever language is chosen. */
export function bind(element, key, parameters, attribute = "") {
  const known = bound.get(element) ?? {};
  known[attribute] = [key, parameters];
  bound.set(element, known);
  element.dataset.bound = "";
  refresh(element);
  return element;
}

/** Have an element say its strings in the language that is chosen. */
export function refresh(element) {
  const { t: key, tLabel: label, words } = element.dataset;
  const said = words ? JSON.parse(words) : {};
  if (key) element.textContent = t(key, said);
  if (label) element.setAttribute("aria-label", t(label, said));
  for (const [attribute, [name, parameters]] of Object.entries(bound.get(element) ?? {})) {
    if (attribute) element.setAttribute(attribute, t(name, parameters));
    else element.textContent = t(name, parameters);
  }
}
