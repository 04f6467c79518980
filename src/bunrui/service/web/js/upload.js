// A place for files: dropped or chosen, sent to the service, looked into.  How they are read can be changed.

import { address, ask, get } from "./api.js";
import { button, checkbox, choice, data, field, h, inRow, muted, replace, table, tick } from "./dom.js";
import { fileButton, takesDrops } from "./files.js";
import { picker } from "./picker.js";
import { visible } from "./show.js";
import { countedLabels } from "./state.js";
import { hush, why } from "./tell.js";

const ENCODINGS = ["auto", "utf-8", "utf-16", "cp932", "euc-jp", "gb18030", "big5", "cp949", "cp1252"];
const ACCEPT = ".csv,.tsv,.xlsx,.xlsm,.jsonl,.ndjson,.json,.parquet,.pq,.arrow,.feather,.txt,.mbox,.eml,.gz,.zst,.xz,.bz2";
const ANEW = { text: null, label: null, header: null };

/**
 * A place for files.
 *
 * @param prefix   of the ids of its fields
 * @param labelled whether the documents have labels; else only the text is chosen
 * @param alone    as `oneAtATime` makes it
 * @param footer   makes the part below the files, from their content; it is told whether to leave bad rows out
 * @param begin    is called when other files come
 * @returns        its parts, and `options`, by which the service reads the files
 */
export function upload({ prefix = "", labelled, alone, footer, begin }) {
  let files = []; // as the service has them: { id, name }
  let seen = null;
  let wanted = {};
  const about = h("fieldset.inspected", { "aria-live": "polite" });
  const drop = h("fieldset.drop.large",
    h("p", { t: labelled ? "upload.drop" : "upload.dropone" }),
    muted("upload.formats"),
    inRow(fileButton("upload.choose", (chosen) => take(chosen), ACCEPT, labelled)),
  );

  const take = alone(async (given) => {
    if (typeof given === "string") return;
    await begin();
    replace(about, muted("upload.sending"), h("progress", { label: "upload.sending" }));
    for (const { id } of files) ask("DELETE", `/v1/files/${id}`).catch(() => {});
    files = [];
    seen = null;
    wanted = { ...ANEW, given: null, encoding: "auto" };
    let sent;
    try {
      for (const file of [given].flat()) {
        sent = file.name;
        files.push(await ask("POST", address("/v1/files", { name: file.name }), { file }));
      }
    } catch (error) {
      if (error.fields) error.fields.file = sent;
      replace(about);
      throw error;
    }
    await inspect({});
  });

  /** Look into the files; the service guesses the options that are null. */
  async function inspect(changes) {
    wanted = { ...wanted, ...changes };
    about.setAttribute("aria-busy", "true");
    try {
      const also = files.slice(1).map(({ id }) => id);
      seen = await get(address(`/v1/files/${files[0].id}`, { ...wanted, also, whole: labelled }));
      const { text, label, header } = seen;
      wanted = { ...wanted, text, label, header };
    } catch (error) {
      seen = null;
      throw offer(error);
    } finally {
      about.removeAttribute("aria-busy");
      draw();
    }
  }

  /** Give a problem buttons for its suggestions; `retry` does the same work again, without the bad rows. */
  function offer(error, retry = null) {
    const { encoding, skip_bad } = error.fields?.suggests ?? {};
    if (encoding) error.ways.push(way(["upload.readas", { encoding }], () => again({ ...ANEW, encoding })));
    if (skip_bad && retry) error.ways.push(way("upload.leaveout", retry));
    return error;
  }

  const way = (key, run) => ({ t: key, run: () => (hush(), run()) });
  const again = alone(inspect);

  function draw() {
    const below = h("div");
    const redraw = (skips) => replace(below, seen && footer(seen, skips));
    const skip = checkbox(`${prefix}skip`, redraw);
    redraw(false);
    replace(about,
      files.map(({ name }) => h("h3", data(name))),
      inRow(
        seen?.columns.length > 0 && columns("text", seen.columns),
        labelled && seen?.columns.length > 0 && wanted.given === null && columns("label", seen.choices),
        labelled && all(),
        (!seen || seen.encoding !== null) && encodings(),
      ),
      typeof seen?.header === "boolean" && naming(),
      labelled && seen?.columns.length > 0 && seen.label === null && wanted.given === null
        && h("p.warning", { t: "train.nolabel" }),
      seen && preview(),
      seen?.skipped > 0 && [
        h("p.warning", { t: ["train.skipped", { n: seen.skipped }] }),
        h("ul.muted", seen.problems.slice(0, 3).map((line, place) => h("li", why(line, seen.causes[place])))),
        tick("train.skip", skip),
      ],
      below,
    );
  }

  function columns(name, choices) {
    const options = [
      seen[name] === null && h("option", { value: "", t: "train.pick" }),
      choices.map((column) => h("option", { value: column }, visible(column))),
    ];
    // A column that gets another part leaves its own, which is guessed anew.
    const take = alone((column) => {
      const parts = { text: wanted.text, label: wanted.label, [name]: column };
      for (const other of ["text", "label"]) if (other !== name && parts[other] === column) parts[other] = null;
      return inspect(parts);
    });
    return field(`train.${name}`, choice(`${prefix}column-${name}`, options, seen[name] ?? "", take));
  }

  /** All documents of mailboxes, and of files without labels, may have one. */
  function all() {
    const pick = picker({
      labels: countedLabels(),
      chosen: wanted.given === null ? [] : [wanted.given],
      key: "upload.all",
      onPick: alone((label) => inspect({ given: label, label: label === null ? null : wanted.label })),
    });
    return h("span.field", h("span", { t: "upload.all" }), pick);
  }

  function encodings() {
    const auto = seen ? ["upload.found", { encoding: seen.encoding }] : "upload.auto";
    const options = ENCODINGS.map((name) =>
      name === "auto" ? h("option", { value: name, t: auto }) : h("option", { value: name }, name),
    );
    const take = alone((encoding) => inspect({ ...ANEW, encoding }));
    return field("train.encoding", choice(`${prefix}encoding`, options, wanted.encoding, take));
  }

  /** Whether the first line has the names of the columns: if that is wrong, a document is lost, or one too many. */
  function naming() {
    const take = alone((header) => inspect({ ...ANEW, header }));
    const box = checkbox(`${prefix}header`, take, seen.header);
    return [tick("train.header", box), !seen.header && muted("train.noheader")];
  }

  function preview() {
    const names = seen.columns.length ? seen.columns : Object.keys(seen.rows[0] ?? {});
    const isLabel = (name) => labelled && wanted.given === null && name === seen.label;
    const kind = (name) => (name === seen.text ? "is-text" : isLabel(name) ? "is-label" : "");
    return h("div.scroll", { tabindex: 0, role: "region", label: "train.rows" },
      table({ class: "plain rows" }, names.map((name) => h("th", { scope: "col", class: kind(name) }, data(name))),
        seen.rows.map((cells) => names.map((name) => h("td", { class: kind(name) }, data(cell(cells[name]))))),
      ),
    );
  }

  const forget = () => replace(about);

  /** The options by which the service reads the files. */
  function options() {
    const { label, given, ...read } = wanted;
    return { file: files.map(({ id }) => id), ...read, ...(labelled && { label, given }) };
  }

  /** While the files are worked with, nobody changes them. */
  const lock = (isBusy) => (drop.disabled = about.disabled = isBusy);

  takesDrops(drop, take, labelled);
  const names = () => files.map(({ name }) => name);
  return { drop, about, options, names, offer, forget, lock };
}

/** The button that begins work with files, off where there is nothing in them, or something that nobody left out. */
export function beginning(key, seen, skips, act) {
  const disabled = !seen.documents || !seen.n_labels || (seen.skipped > 0 && !skips);
  return inRow(button([key, { n: seen.documents }], () => act(skips), "primary", { disabled }));
}

const cell = (value) =>
  value === null || value === undefined ? "" : Array.isArray(value) ? value.join(", ") : String(value);
