// How texts are shown: whatever they hold is shown, never obeyed.  The same as in bunrui/phrases.py.

const UNSEEN = /\r\n|[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;
const PLACEHOLDERS = { "\ue000": "‹url›", "\ue001": "‹mention›", "\ue002": "‹number›" };
const LONGEST_FEATURE = 80;

/** A text without characters that would do something in place of being shown. */
export const visible = (text) => text.replace(UNSEEN, picture);

function picture(match) {
  if (match === "\r\n") return "\n";
  const code = match.charCodeAt(0);
  if (code < 32) return String.fromCharCode(0x2400 + code);
  return code === 127 ? "␡" : `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
}

/** A feature as people read it. */
export function shown(feature) {
  const characters = Array.from(feature);
  let text = characters.length > LONGEST_FEATURE ? `${characters.slice(0, LONGEST_FEATURE).join("")}…` : feature;
  for (const [sign, name] of Object.entries(PLACEHOLDERS)) text = text.replaceAll(sign, name);
  return visible(text.replace(/[ \n\t]/g, "␣")) || "‹empty›";
}

/** Half a character, which no encoding has, becomes the sign for that. */
export const wellFormed = (text) => text.replace(/\p{Surrogate}/gu, "\ufffd");

const LONGEST_TURNED = 10000;

/** Text that runs from right to left does so; to find that out takes seconds for a megabyte. */
export function turn(area) {
  area.dir = area.value.length > LONGEST_TURNED ? "ltr" : "auto";
}

/** A function that acts when it was not called for so many milliseconds; `stop` takes its calls back. */
export function later(milliseconds, act) {
  let timer = 0;
  const stop = () => clearTimeout(timer);
  const wait = () => {
    stop();
    timer = setTimeout(act, milliseconds);
  };
  return Object.assign(wait, { stop });
}

/** How to write contributions: three figures after the point, more where all of them are small. */
export function signed(values) {
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const figures = largest >= 1 || !largest ? 3 : Math.min(2 - Math.floor(Math.log10(largest)), 15);
  return (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(figures);
}

/** The class of a colour, for or against.  The root, so that there is something to see beside one strong word. */
export const level = (value, largest) =>
  `${value < 0 ? "a" : "f"}${Math.round(5 * Math.sqrt(largest ? Math.min(Math.abs(value) / largest, 1) : 0))}`;
