// Files: dropped, or chosen.

import { button, h } from "./dom.js";
import { t } from "./i18n.js";
import { hush, problem } from "./tell.js";

/** A file that is dropped beside its place must not take that of the page. */
export function refuseDrops() {
  for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => event.preventDefault());
}

/** Have an element take a file, or text, that is dropped on it; with `several`, a list of files. */
export function takesDrops(element, take, several = false) {
  let inside = 0;
  const mark = (by) => element.classList.toggle("over", (inside = by ? inside + by : 0) > 0);
  element.addEventListener("dragenter", () => mark(1));
  element.addEventListener("dragleave", () => mark(-1));
  element.addEventListener("dragover", (event) => event.preventDefault());
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    mark(0);
    const { files } = event.dataTransfer;
    hush();
    if (files.length > 1 && !several) return problem(new Error(t("page.onefile")));
    const first = several ? Array.from(files) : files[0];
    take(files.length ? first : event.dataTransfer.getData("text/plain"));
  });
}

/** A button that lets choose a file; with `several`, files. */
export function fileButton(key, take, accept, several = false) {
  const input = h("input.sr", { type: "file", accept, multiple: several, tabindex: -1, "aria-hidden": "true" });
  input.addEventListener("change", () => {
    if (input.files.length) take(several ? Array.from(input.files) : input.files[0]);
    input.value = ""; // the same file again is a new choice
  });
  return [button(key, () => input.click()), input];
}

/** The text of a file, null if it is none. */
export async function textOf(file, most) {
  const bytes = new Uint8Array(await file.slice(0, most + 1).arrayBuffer());
  const kind =
    bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-8";
  try {
    return new TextDecoder(kind, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
