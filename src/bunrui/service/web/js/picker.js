// A field to pick labels, one of a few or one of thousands: type to search, arrow keys and Enter.

import { button, data, h, replace, show } from "./dom.js";
import { number } from "./i18n.js";
import { visible } from "./show.js";

const MOST_DRAWN = 50;
const LONGEST_LABEL = 200;
let made = 0;

/** A label as the search compares it: width and case of letters do not matter. */
export const folded = (text) => text.normalize("NFKC").trim().toLowerCase();

/** A field for any number of labels, and the button that takes those that are chosen: at least one. */
export function setPicker(save, take, options) {
  let wanted = options.chosen;
  const onPick = (names) => {
    wanted = names;
    save.disabled = !names.length;
  };
  onPick(wanted);
  save.addEventListener("click", () => take(wanted));
  return [picker({ ...options, several: true, onPick }), save];
}

/** A field to pick one of the labels that there are; `chosen` is the one that is chosen at first, or null. */
export const finder = (key, labels, onPick, chosen = null) =>
  picker({ key, labels, onPick, makes: false, chosen: chosen === null ? [] : [chosen] });

/**
 * A field to pick labels.
 *
 * @param labels  in the order of the list: names, or pairs of a name and a number or text to show beside it
 * @param chosen  the labels that are chosen at first
 * @param several whether any number of labels can be chosen
 * @param onPick  is called with the label; with `several`, with the list of all that are chosen.  Without `several`,
 *                null says that the field was emptied.  The second parameter says whether the label is a new one.
 * @param key     the phrase that names the field
 * @param makes   whether a new label can be made
 */
export function picker({ labels, chosen = [], several = false, onPick, key = "picker.find", makes = true }) {
  const id = `picker-${++made}`;
  const known = labels.map((one) => {
    const [name, beside] = [one].flat();
    return { name, beside, folded: folded(name) };
  });
  const names = new Set(known.map(({ name }) => name));
  let picked = [...chosen];
  let options = []; // those that are drawn: { name, isNew, element }
  let active = -1;

  const input = h("input", {
    type: "search",
    role: "combobox",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: LONGEST_LABEL,
    hint: key,
    label: key,
    "aria-autocomplete": "list",
    "aria-controls": id,
    "aria-expanded": "false",
  });
  const list = h("ul", { id, role: "listbox", label: "picker.labels", "aria-multiselectable": several && "true" });
  const left = h("p.muted", { role: "status" });
  const popup = h("div.popup", { hidden: true }, list, left);
  const chips = h("div.chips");
  const element = h("div.picker", several && chips, input, popup);

  const isOpen = () => !popup.hidden;
  const resting = () => (several ? "" : visible(picked[0] ?? ""));

  /** Labels that contain the typed text: first the same, then those that begin with it, then the others. */
  function matching(typed) {
    const wanted = folded(typed);
    const isFirst = [
      ({ name }) => name === typed,
      (one) => one.folded === wanted,
      (one) => one.folded.startsWith(wanted),
      () => true,
    ];
    const place = (one) => isFirst.findIndex((test) => test(one));
    const found = known.filter((one) => one.folded.includes(wanted));
    return typed ? found.sort((a, b) => place(a) - place(b)) : found;
  }

  function search() {
    const typed = input.value === resting() ? "" : input.value.trim();
    const found = matching(typed);
    options = found.slice(0, MOST_DRAWN);
    if (makes && typed && !names.has(typed)) options.push({ name: typed, isNew: true });
    options = options.map((one, place) => ({ ...one, element: option(one, place) }));
    replace(list, options.map((one) => one.element));
    const more = found.length - MOST_DRAWN;
    replace(left,
      !options.length && h("span", { t: "picker.none" }),
      more > 0 && h("span", { t: ["picker.more", { n: more }] }),
    );
    // Enter takes the label that must be meant.  Where several may be, or a new one, the first Enter only goes there.
    const isMeant = found.length === 1 || found[0]?.folded === folded(typed);
    activate(typed && found.length && isMeant ? 0 : -1);
  }

  const option = ({ name, beside, isNew }, place) =>
    h(
      "li",
      {
        id: `${id}-${place}`,
        role: "option",
        class: isNew && "new",
        "aria-selected": String(picked.includes(name)),
        on: { mousedown: (event) => event.preventDefault(), click: () => pick(place) },
      },
      isNew ? h("span", { t: ["picker.make", { label: visible(name) }] }) : data(name),
      beside !== undefined && h("span.number", typeof beside === "number" ? number(beside) : beside),
    );

  function activate(place) {
    options[active]?.element.classList.remove("active");
    active = place;
    const one = options[active]?.element;
    one?.classList.add("active");
    one?.scrollIntoView({ block: "nearest" });
    if (one) input.setAttribute("aria-activedescendant", one.id);
    else input.removeAttribute("aria-activedescendant");
  }

  function open(isShown = true) {
    if (isShown) search();
    show(popup, isShown);
    input.setAttribute("aria-expanded", String(isShown));
    if (isShown) options[active]?.element.scrollIntoView({ block: "nearest" });
    else activate(-1);
  }

  function pick(place) {
    if (input.matches(":disabled") || !options[place]) return;
    const { name, isNew = false } = options[place];
    if (!several) picked = [name];
    else picked = picked.includes(name) ? picked.filter((one) => one !== name) : [...picked, name];
    if (isNew && several) known.push({ name, folded: folded(name) });
    if (isNew) names.add(name);
    input.value = resting();
    if (document.activeElement === input) input.select();
    drawChips();
    open(several);
    tell(isNew);
  }

  const tell = (isNew = false) => onPick(several ? [...picked] : (picked[0] ?? null), isNew);

  function drawChips() {
    replace(chips,
      picked.map((name) => {
        const drop = () => {
          picked = picked.filter((one) => one !== name);
          drawChips();
          if (isOpen()) search();
          input.focus();
          tell();
        };
        return button([data(name), " ×"], drop, "chip", { label: ["picker.remove", { label: visible(name) }] });
      }),
    );
    show(chips, picked.length > 0);
  }

  /** Leave the list; one label that was emptied is no longer chosen. */
  function leave() {
    open(false);
    const isEmptied = !several && picked.length > 0 && !input.value.trim();
    if (isEmptied) picked = [];
    input.value = resting();
    if (isEmptied) tell();
  }

  function onEnter() {
    if (options[active]) pick(active);
    else if (!input.value.trim()) leave();
    else if (isOpen() && options.length) activate(0);
  }

  const KEYS = {
    ArrowDown: () => (isOpen() ? activate((active + 1) % options.length) : open()),
    ArrowUp: () => isOpen() && activate((Math.max(active, 0) + options.length - 1) % options.length),
    Enter: onEnter,
    Escape: () => {
      input.value = resting();
      open(false);
    },
  };

  input.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!Object.hasOwn(KEYS, event.key) || (event.key === "Escape" && !isOpen())) return;
    event.preventDefault();
    event.stopPropagation();
    KEYS[event.key]();
  });
  input.addEventListener("input", () => open());
  input.addEventListener("click", () => isOpen() || open());
  input.addEventListener("focus", () => input.select());
  element.addEventListener("focusout", (event) => element.contains(event.relatedTarget) || leave());

  input.value = resting();
  drawChips();
  return element;
}
