// Elements.  Text goes in as text nodes: it is never parsed as markup.

import { bind, refresh } from "./i18n.js";
import { visible } from "./show.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element by its tag and classes, such as "p.row.muted".  Properties may stand before its children: `t` for a key of
 * the translations, or [key, parameters]; `label`, `hint` and `title` for aria-label, placeholder and title, given in
 * the same way; `on` for listeners; all else are attributes.
 */
export function h(name, ...inside) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  const [properties, ...children] = inside[0]?.constructor === Object ? inside : [{}, ...inside];
  return fill(element, properties, children);
}

export const svg = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

const TRANSLATED = { t: "", label: "aria-label", hint: "placeholder", title: "title" };

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name in TRANSLATED) {
      const [key, parameters = {}] = [value].flat();
      bind(element, key, parameters, TRANSLATED[name]);
    } else if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...there(children));
  return element;
}

/** Children that are there, out of lists in lists. */
const there = (children) =>
  children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);

/** Words of the user, such as a label: isolated, with nothing in them that is obeyed. */
export const data = (text, properties = {}) => h("bdi", properties, visible(String(text)));

/** Labels of a document. */
export const tags = (labels) => labels.map((label) => data(label, { class: "tag" }));

/** A button that says a phrase, or has elements inside; `kind` is its class, `more` are other properties. */
export function button(inside, act, kind, more) {
  const [key, children] = typeof [inside].flat()[0] === "string" ? [inside] : [null, inside];
  return h("button", { type: "button", class: kind, t: key, ...more, on: act && { click: act } }, children);
}

/** A line that says a phrase, and is not the matter itself. */
export const muted = (key) => h("p.muted", { t: key });

/** The same for those who may only read; parts of the class `writing` are for the others. */
export const forReaders = (key) => h("p.muted.reading", { t: key });

/** A list of options to choose from. */
export function choice(id, options, chosen, act) {
  const select = h("select", { id, on: act && { change: () => act(select.value) } }, options);
  select.value = chosen;
  return select;
}

/** A check box. */
export function checkbox(id, act, isChecked = false) {
  const box = h("input", { type: "checkbox", id, on: act && { change: () => act(box.checked) } });
  box.checked = isChecked;
  return box;
}

/** Parts side by side. */
export const inRow = (...children) => h("div.row", ...children);

/** A control with its name before it. */
export const field = (key, control) => h("span.field", h("label", { for: control.id, t: key }), control);

/** A check box with its name after it. */
export const tick = (key, box) => h("p", box, " ", h("label", { for: box.id, t: key }));

/** A table of cells, by rows; `heads` are cells, too. */
export function table(properties, heads, rows, caption = null) {
  const body = rows.map((cells) => h("tr", cells));
  return h("table", properties, caption, h("thead", h("tr", heads)), h("tbody", body));
}

/** A view of the page: its title, a line about it, then the rest. */
export const view = (name, ...children) =>
  h("section.view", { "aria-labelledby": `${name}-title` },
    h("h2", { id: `${name}-title`, tabindex: -1, t: `${name}.title` }),
    h("p.muted", { t: `${name}.about` }),
    ...children,
  );

export function replace(element, ...children) {
  element.replaceChildren(...there(children));
  return element;
}

export function show(element, isShown) {
  element.hidden = !isShown;
  return element;
}

/**
 * A drawing that the service has made: this markup is parsed, and no other.  Texts in it are escaped there, and its
 * phrases are said in the language of the page.
 */
export function drawing(markup) {
  const parsed = new DOMParser().parseFromString(markup, "text/html");
  for (const element of parsed.querySelectorAll("[data-t], [data-t-label]")) refresh(element);
  return Array.from(parsed.body.childNodes);
}
