// File: all texts of a file get labels; a table of them, to sort, to search, to correct and to download.

import { address, get, kept, post, work } from "../api.js";
import { correct, undo } from "../changes.js";
import { button, choice, data, drawing, field, h, inRow, muted, replace, show, tags, view } from "../dom.js";
import { number, percent, t } from "../i18n.js";
import { finder, picker, setPicker } from "../picker.js";
import { later, visible } from "../show.js";
import { canWrite, countedLabels, events, hand, refresh, state } from "../state.js";
import { announce, guarded, lastOf, oneAtATime, watched, why, withProgress } from "../tell.js";
import { upload } from "../upload.js";
import { LONGEST_EXPLAINED } from "./predict.js";

const ORDERS = ["file", "unsure", "sure", "label"];
// The columns, with the orders that they stand for.
const HEADS = [["file.row", "file"], ["file.text"], ["file.label", "label"], ["file.share", "unsure", "sure"]];
const DIRECTIONS = ["ascending", "descending"];
const FORMATS = ["csv", "xlsx", "parquet"];
const WAIT = 300; // milliseconds without a key
const LIMIT = 50;
const last = kept("file"); // the service has the table; this tab knows which one, so that a reload shows it again

export function create() {
  let job = null; // of which the table shows the result: { id, name, result, read, skip_bad, path }
  let asked = {};
  let opened = null; // the row that is open
  const loading = lastOf();
  const changes = new Map(); // what was corrected, by row, to take it back

  const running = h("div");
  const found = h("fieldset.found", { hidden: true });
  const summary = h("div", { role: "status" });
  const downloads = h("p.row");
  const labels = h("span.field");
  const search = h("input", { type: "search", id: "file-find", hint: "file.find", maxlength: 1000, autocomplete: "off" });
  const orders = ORDERS.map((name) => h("option", { value: name, t: `file.order.${name}` }));
  const order = choice("file-order", orders, "file", (name) => ask({ order: name }));
  const rows = h("tbody");
  const place = h("p.row", { "aria-live": "polite" });

  const alone = oneAtATime((isBusy) => {
    for (const part of [files.about, rows]) part.toggleAttribute("aria-busy", isBusy);
    files.lock(isBusy);
    found.disabled = isBusy;
  });

  const files = upload({
    prefix: "file-",
    labelled: false,
    alone,
    begin() {
      found.hidden = true;
      return refresh(); // somebody else may have taught it meanwhile
    },
    footer: () => [go, untaught],
  });
  const go = inRow(button("file.go", () => predict(false), "primary"));
  const untaught = h("div",
    h("p", { t: "file.unlearned" }),
    inRow(button("teach.these", () => teach(files.options(), false, files.names()[0]), "primary")),
  );

  const heads = HEADS.map(([key, ...orders]) => {
    const inside = orders.length ? button(key, () => sort(orders), "quiet") : h("span", { t: key });
    return h("th", { scope: "col" }, inside);
  });
  found.append(
    summary,
    downloads,
    inRow(field("file.order", order), labels, field("file.search", search)),
    h("div.scroll", { tabindex: 0, role: "region", label: "file.table" },
      h("table.plain.answers", h("thead", h("tr", heads)), rows),
    ),
    place,
  );
  const element = view("file", files.drop, files.about, running, found);

  // --- predicting

  const predict = alone(async (skip_bad, read = files.options(), name = files.names()[0]) => {
    const path = address("/v1/predictions", { ...read, skip_bad });
    let id = null;
    const follow = ({ progress, signal }) =>
      work(path, { signal, progress: (told) => ((id = told.id), progress(told)) });
    const result = await withProgress(running, follow).catch((error) => {
      throw files.offer(error, () => predict(true, read, name));
    });
    if (path !== job?.path) changes.clear(); // else the service keeps what was corrected
    job = { id, name, result, read, skip_bad, path };
    last.set(job);
    await begin();
    announce(t("file.done", { n: result.documents - result.blank }));
    summary.scrollIntoView();
  });

  /** Show the table from its beginning: all of it at once, because buttons that come sooner would do nothing. */
  async function begin() {
    asked = { order: "file", label: null, find: "", offset: 0 };
    order.value = "file";
    search.value = "";
    await load();
    drawAround();
    found.hidden = false;
  }

  /** Show the table of before, if the service still has it. */
  const restore = watched(async () => {
    const known = last.get();
    if (job || !known || !state.info) return;
    job = known;
    await begin().catch((error) => {
      if (job !== known) return; // another file was predicted meanwhile
      job = null;
      last.set(null);
      if (error.kind !== "not-found") throw error;
    });
  });

  /** Teach with the documents of the file, in the view for that. */
  const teach = (read, skip_bad, name) => hand("teach", "teach-these", { read, skip_bad, name });

  function drawAround() {
    const { documents, blank, skipped, problems, causes } = job.result;
    replace(summary,
      job.name !== files.names()[0] && h("h3", data(job.name)),
      h("p", { t: ["file.done", { n: documents - blank }] }),
      blank > 0 && muted(["file.blank", { n: blank }]),
      skipped > 0 && h("p.warning", { t: ["train.skipped", { n: skipped }] }),
      skipped > 0 && h("p.muted", why(problems[0], causes[0])),
      changes.size > 0 &&
        h("p.row",
          h("span", { t: ["file.corrected", { n: changes.size }] }),
          button("file.again", () => predict(job.skip_bad, job.read, job.name)),
        ),
    );
    replace(downloads,
      h("span", { t: "file.download" }),
      FORMATS.map((format) =>
        h("a.button", { download: "", href: address(`/v1/downloads/${job.id}`, { format }) }, format),
      ),
      canWrite() && button("teach.these", () => teach(job.read, job.skip_bad, job.name)),
    );
    const pick = (label) => ask({ label });
    const known = Object.entries(job.result.labels);
    replace(labels, h("span", { t: "file.label" }), finder("file.anylabel", known, pick, asked.label));
  }

  // --- the table

  /** Ask for other rows: the last question counts, also while a row is learned. */
  const ask = guarded(async (more) => {
    asked = { ...asked, offset: 0, ...more };
    order.value = asked.order;
    await load();
  });
  const sort = ([first, second]) => ask({ order: asked.order === first && second ? second : first });

  async function load() {
    const isLast = loading();
    const page = await get(address(`/v1/predictions/${job.id}`, { ...asked, limit: LIMIT }));
    if (!isLast()) return;
    HEADS.forEach(([, ...orders], place) => {
      heads[place].setAttribute("aria-sort", DIRECTIONS[orders.indexOf(asked.order)] ?? "none");
    });
    opened = null;
    replace(rows, page.rows.map(line));
    const last = asked.offset + page.rows.length;
    const step = (key, offset, isThere) => button(key, () => ask({ offset }), null, { disabled: !isThere });
    replace(place,
      page.total > LIMIT && step("file.back", Math.max(0, asked.offset - LIMIT), asked.offset > 0),
      h("span", { t: ["file.place", { first: page.total ? asked.offset + 1 : 0, last, total: page.total }] }),
      page.total > LIMIT && step("file.next", asked.offset + LIMIT, last < page.total),
    );
  }

  function line(one) {
    const text = data(one.text.trim() || "–");
    const opener = button(text, () => open(one, row), "quiet open", { "aria-expanded": "false" });
    const shares = one.probabilities.map((share) => h("div", percent(share)));
    const row = h("tr", { class: one.corrected && "corrected" },
      h("td.number", number(one.line ?? one.row + 1)),
      h("td.is-text", opener),
      h("td", one.labels.length ? tags(one.labels) : h("span", { t: "file.none" })),
      h("td.number", one.corrected ? h("span", { t: "file.given" }) : shares),
    );
    return row;
  }

  // --- one row

  const open = alone(async (one, row) => {
    const wasOpen = opened?.row === one.row;
    const detail = wasOpen ? null : await detailOf(one);
    close();
    if (detail && row.isConnected) openWith(detail, one, row);
  });

  function close() {
    opened?.line.querySelector("[aria-expanded]").setAttribute("aria-expanded", "false");
    opened?.detail.remove();
    opened = null;
  }

  async function detailOf(one) {
    const { rows: [whole] } = await get(address(`/v1/predictions/${job.id}`, { row: one.row }));
    const isShort = whole.text.trim() && whole.text.length <= LONGEST_EXPLAINED;
    const label = one.labels.find((name) => name in state.info.labels) ?? null;
    const explained = isShort ? await post("/v1/explain", { text: whole.text, label, html: true }) : null;
    return { whole, marked: explained ? drawing(explained.html) : data(whole.text.slice(0, 2000)) };
  }

  function openWith({ whole, marked }, one, row) {
    const parts = [h("div.why", marked), h("div.side", fixing(whole, row))];
    const detail = h("tr.detail", h("td", { colspan: 4 }, h("div.split", parts)));
    row.after(detail);
    row.querySelector("[aria-expanded]").setAttribute("aria-expanded", "true");
    opened = { row: one.row, line: row, detail };
  }

  function fixing(whole, row) {
    if (!canWrite()) return muted("predict.readonly");
    const learn = (given) => fix(whole, row, given);
    const options = { labels: countedLabels(), key: "predict.fix" };
    return [
      h("h3", { t: "predict.fix" }),
      job.result.several
        ? setPicker(button("file.learn"), learn, { ...options, chosen: whole.labels })
        : picker({ ...options, onPick: (label) => label !== null && learn([label]) }),
      changes.has(whole.row) && h("p", button("predict.undo", () => takeBack(whole, row))),
    ];
  }

  /** Learn the right labels of a row, and show them in the table. */
  const fix = alone(async (whole, row, given) => {
    if (!given.length) return;
    const change = await correct(whole.text, job.result.several ? given : given[0]);
    if (changes.has(whole.row) && change.kind === "relabel") change.before = changes.get(whole.row);
    changes.set(whole.row, change);
    announce(t("predict.learned", { label: given.map(visible).join(", ") }));
    return mark(whole.row, row, given);
  });

  const takeBack = alone(async (whole, row) => {
    const change = changes.get(whole.row);
    await undo(change);
    if (change.before) changes.set(whole.row, change.before);
    else changes.delete(whole.row);
    announce(t("predict.undone"));
    return mark(whole.row, row, change.before ? [change.before.label].flat() : null);
  });

  /** Show a row anew, and open it; if the table has other rows by now, load these again. */
  async function mark(number, row, given) {
    const one = await post(`/v1/predictions/${job.id}`, { row: number, labels: given });
    const detail = await detailOf(one);
    const fresh = line(one);
    close();
    drawAround();
    if (!row.isConnected) return load();
    row.replaceWith(fresh);
    openWith(detail, one, fresh);
    return opened.detail.querySelector("button, input");
  }

  /** A classifier that has learned nothing can predict nothing: offer to teach it. */
  function lock() {
    const isUntaught = canWrite() && !state.info.documents;
    show(go, !isUntaught);
    show(untaught, isUntaught);
  }
  events.addEventListener("info", lock);
  events.addEventListener("predict-these", ({ detail: { read, skip_bad, name } }) => predict(skip_bad, read, name));
  lock();
  search.addEventListener("input", later(WAIT, () => ask({ find: search.value.trim() })));
  return { element, shown: restore, focus: () => (found.hidden ? files.drop.querySelector("button") : search).focus() };
}
