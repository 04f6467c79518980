// Rows of bars: a name, how much, and a number.

import { data, h } from "./dom.js";
import { percent } from "./i18n.js";

/**
 * Bars of shares.  With `choose`, each is a button; `chosen` is the one that is pressed.  `before` has the shares of
 * some time ago, which are marked.
 */
export function bars(entries, { most = 1, write = percent, choose, chosen, before, label } = {}) {
  return h(
    "ul",
    { class: "bars", label },
    entries.map(([name, value]) => {
      const bar = h("span", { class: "bar" });
      bar.style.width = `${(100 * value) / most}%`;
      const track = h("span", { class: "track", "aria-hidden": "true" }, bar);
      if (before && Object.hasOwn(before, name)) track.append(mark(before[name] / most));
      const inside = [data(name, { class: "name" }), track, h("span", { class: "number" }, write(value))];
      const press = { type: "button", "aria-pressed": String(name === chosen), on: { click: () => choose(name) } };
      return h("li", {}, choose ? h("button", press, inside) : h("div", {}, inside));
    }),
  );
}

function mark(share) {
  const element = h("span", { class: "mark" });
  element.style.left = `${100 * share}%`;
  return element;
}
