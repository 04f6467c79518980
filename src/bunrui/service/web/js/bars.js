// Rows of bars: a name, how much, and a number; bars for and against.

import { button, data, h, svg } from "./dom.js";
import { percent } from "./i18n.js";

/**
 * Bars of shares.  With `choose`, each is a button; `chosen` is the one that is pressed.  `before` has the shares of
 * some time ago, which are marked.
 */
export function bars(entries, { most = 1, write = percent, choose, chosen, before, label } = {}) {
  return h("ul.bars", { label },
    entries.map(([name, value]) => {
      const track = h("span.track", { "aria-hidden": "true" });
      track.style.setProperty("--share", `${(100 * value) / most}%`);
      if (before && Object.hasOwn(before, name)) track.append(mark(before[name] / most));
      const inside = [data(name, { class: "name" }), track, h("span.number", write(value))];
      const isPressed = { "aria-pressed": String(name === chosen) };
      return h("li", choose ? button(inside, () => choose(name), null, isPressed) : h("div", inside));
    }),
  );
}

/** Labels with their shares, in large letters. */
export const inLarge = (names, shares) =>
  names.map((name) => [data(name, { class: "label" }), " ", h("span.share", percent(shares[name]))]);

/** A bar from the middle: to the right for, to the left against. */
export function swing(value, largest) {
  const size = largest ? 50 * Math.min(Math.abs(value) / largest, 1) : 0;
  const [x, fill] = value < 0 ? [50 - size, "var(--against)"] : [50, "var(--for)"];
  const bar = svg("rect", { x, width: size, height: 8, fill });
  return svg("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, bar);
}

function mark(share) {
  const element = h("span.mark");
  element.style.left = `${100 * share}%`;
  return element;
}
