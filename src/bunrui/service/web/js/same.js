// The same with curl, Python and the shell: snippets that do the work of a view elsewhere.

import { button, h, inRow, replace } from "./dom.js";
import { state } from "./state.js";

/** A word of a command of the shell. */
export const quoted = (text) => (/^[\w./:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** A string of Python: JSON's are such. */
export const literal = (text) => JSON.stringify(text);

/** A label of Python, in the type that the labels of the file have. */
export const labelLiteral = (text) =>
  ({ int: text, bool: text === "true" ? "True" : "False" })[state.info.label_type] ?? literal(text);

/** The file, for commands. */
export const file = () => quoted(state.info.service.file);

/** A program that opens the file, for Python. */
export const program = (...lines) =>
  ["import bunrui", "", `clf = bunrui.open(${literal(state.info.service.file)})`, ...lines].join("\n");

/**
 * A call of curl.  The token is never in it: who has it puts it into BUNRUI_TOKEN.  `upload` is the name of a file that
 * is sent; work in the background answers with its place, which `jobs` asks for.
 */
export function curl(path, { json, upload, token = false } = {}) {
  const words = ["curl", quoted(`${location.origin}${path}`)];
  if (token) words.push('-H "Authorization: Bearer $BUNRUI_TOKEN"');
  if (json !== undefined) words.push("--json", quoted(JSON.stringify(json)));
  else if (upload) words.push("-H 'Content-Type: application/octet-stream'", "--data-binary", quoted(`@${upload}`));
  return words.join(" ");
}

/** A call of curl that starts work in the background, and one that asks how far it is. */
export const curlJob = (path, options) =>
  `${curl(path, options)}\n# answers with an id:\n${curl("/v1/jobs/ID", { token: options?.token })}`;

/** A part of a view that opens on three snippets; `tell` gives them: { curl, python, shell }. */
export function same(tell) {
  const inside = h("div");
  const element = h("details.same", h("summary", { t: "same.title" }), inside);
  const draw = () => {
    if (!element.open || !state.info) return;
    const snippets = tell();
    const names = { curl: "same.curl", python: "same.python", shell: "same.shell" };
    replace(inside,
      Object.entries(names).map(([name, key]) => [
        inRow(h("h4", { t: key }), copying(snippets[name])),
        h("pre.text", { tabindex: 0, "data-same": name }, snippets[name]),
      ]),
    );
  };
  element.addEventListener("toggle", draw);
  element.redraw = draw;
  return element;
}

/** A button that copies, where the browser lets a page do so. */
export function copying(text, key = "same.copy") {
  if (!navigator.clipboard) return null;
  return button(
    key,
    async ({ target }) => {
      await navigator.clipboard.writeText(text);
      target.after(h("span.muted", { role: "status", t: "same.copied" }));
    },
    "quiet",
  );
}
