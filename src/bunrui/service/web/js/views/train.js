// Train: a file, what is in it, and learning it.

import { Problem, address, ask, work } from "../api.js";
import { bars } from "../bars.js";
import { noted, undo } from "../changes.js";
import { data, h, replace, view } from "../dom.js";
import { fileButton, takesDrops } from "../files.js";
import { number, percent, t } from "../i18n.js";
import { calibration, results } from "../results.js";
import { visible } from "../show.js";
import { canWrite, events, state } from "../state.js";
import { announce, guarded, oneAtATime, withProgress } from "../tell.js";
import { evaluate } from "./evaluate.js";

const ENCODINGS = ["utf-8", "auto", "cp932", "euc-jp", "gb18030", "big5", "cp949", "utf-16", "cp1252"];
const ACCEPT = ".csv,.tsv,.jsonl,.ndjson,.json,.parquet,.pq,.arrow,.feather,.txt,.mbox,.gz,.zst,.xz,.bz2";
const MOST_LABELS = 15;

export function create() {
  let file = null;
  let seen = null;
  const encoding = h(
    "select",
    { id: "encoding" },
    ENCODINGS.map((name) => h("option", {}, name)),
  );
  const about = h("fieldset", { class: "inspected", "aria-live": "polite" });
  const running = h("div");
  const outcome = h("div", { class: "outcome", role: "status" });
  const measured = h("div", { class: "grid" });
  const locked = h("p", { class: "muted", t: "train.readonly" });
  const drop = h(
    "div",
    { class: "drop large" },
    h("p", { t: "train.drop" }),
    h("p", { class: "muted", t: "train.formats" }),
    h(
      "div",
      { class: "row" },
      fileButton("train.choose", (chosen) => take(chosen), ACCEPT),
      h("span", { class: "field" }, h("label", { for: "encoding", t: "train.encoding" }), encoding),
    ),
  );
  const element = view(
    "train",
    locked,
    drop,
    about,
    running,
    outcome,
    measured,
  );

  const alone = oneAtATime((isBusy) => {
    about.disabled = encoding.disabled = isBusy;
    for (const button of [...drop.querySelectorAll("button"), ...outcome.querySelectorAll("button")]) {
      button.disabled = isBusy;
    }
  });

  const take = alone(async (given) => {
    if (typeof given === "string") return;
    file = given;
    replace(outcome);
    replace(measured);
    await inspect({});
  });

  /** Look into the file; what is null is guessed. */
  async function inspect({ text = null, label = null, header = null }) {
    about.setAttribute("aria-busy", "true");
    try {
      const options = { name: file.name, text, label, header, encoding: encoding.value };
      seen = await ask("POST", address("/v1/inspect", options), { file });
      draw();
    } catch (error) {
      replace(about);
      throw error;
    } finally {
      about.removeAttribute("aria-busy");
    }
  }

  function draw() {
    const { header, text, label } = seen;
    const lacksLabel = seen.columns.length > 0 && label === null;
    // A column that gets another part leaves its own, which is guessed anew.
    const choose = alone((name, column) => {
      const parts = name === "text" ? { text: column, label } : { text, label: column };
      for (const other in parts) if (other !== name && parts[other] === column) parts[other] = null;
      return inspect({ header, ...parts });
    });
    const skip = h("input", { type: "checkbox", id: "skip" });
    const learn = h("button", { type: "button", class: "primary", t: ["train.go", { n: seen.documents }] });
    const allow = () => (learn.disabled = !seen.documents || lacksLabel || (seen.skipped > 0 && !skip.checked));
    allow();
    learn.addEventListener("click", () => start(skip.checked));
    skip.addEventListener("change", allow);
    const most = Math.max(...Object.values(seen.labels), 1);
    const entries = Object.entries(seen.labels).sort(([, a], [, b]) => b - a);
    replace(
      about,
      h("h3", {}, data(file.name)),
      header !== null && naming(),
      seen.columns.length > 0 && h("div", { class: "row" }, picker("text", choose), picker("label", choose)),
      lacksLabel && h("p", { class: "warning", t: "train.nolabel" }),
      table(),
      seen.skipped > 0 && [
        h("p", { class: "warning", t: ["train.skipped", { n: seen.skipped }] }),
        h(
          "ul",
          { class: "muted" },
          seen.problems.slice(0, 3).map((line) => h("li", {}, data(line))),
        ),
        h("p", {}, skip, " ", h("label", { for: "skip", t: "train.skip" })),
      ],
      h("h3", { t: ["train.labels", { n: seen.n_labels }] }),
      bars(entries.slice(0, MOST_LABELS), { most, write: number, label: "train.counts" }),
      seen.n_labels > MOST_LABELS &&
        h("p", { class: "muted", t: ["predict.more", { n: seen.n_labels - MOST_LABELS }] }),
      h("div", { class: "row" }, learn),
    );
    announce(t("train.inspected", { n: seen.documents, labels: seen.n_labels }));
  }

  /** Whether the first line has the names of the columns: if that is wrong, a document is lost, or one too many. */
  function naming() {
    const box = h("input", { type: "checkbox", id: "header" });
    box.checked = seen.header;
    box.addEventListener(
      "change",
      alone(() => inspect({ header: box.checked })),
    );
    return [
      h("p", {}, box, " ", h("label", { for: "header", t: "train.header" })),
      !seen.header && h("p", { class: "muted", t: "train.noheader" }),
    ];
  }

  function picker(name, choose) {
    const select = h(
      "select",
      { id: `column-${name}` },
      seen[name] === null && h("option", { value: "", t: "train.pick" }),
      seen.columns.map((column) => h("option", { value: column }, visible(column))),
    );
    select.value = seen[name] ?? "";
    select.addEventListener("change", () => choose(name, select.value));
    return h("span", { class: "field" }, h("label", { for: `column-${name}`, t: `train.${name}` }), select);
  }

  function table() {
    const columns = seen.columns.length ? seen.columns : ["text", "label"];
    const kind = (column) => (column === seen.text ? "is-text" : column === seen.label ? "is-label" : "");
    return h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", label: "train.rows" },
      h(
        "table",
        { class: "plain rows" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            columns.map((column) => h("th", { scope: "col", class: kind(column) }, data(column))),
          ),
        ),
        h(
          "tbody",
          {},
          seen.rows.map((row) =>
            h(
              "tr",
              {},
              columns.map((column) => h("td", { class: kind(column) }, data(cell(row[column])))),
            ),
          ),
        ),
      ),
    );
  }

  const train = alone(async (skip_bad) => {
    const { text, label, header } = seen;
    const options = { name: file.name, text, label, header, encoding: encoding.value, skip_bad };
    const done = await withProgress(running, (more) => work(address("/v1/train", options), { file, ...more })).catch(
      (error) => {
        // Whoever presses the button again could learn the file twice.
        if (error instanceof Problem && error.kind === "unreachable") {
          replace(about);
          replace(outcome, h("p", { class: "warning", t: "train.unknown" }));
        }
        throw error;
      },
    );
    replace(about);
    tell("train.learned", await noted("train", done));
    return done;
  });
  const start = async (skip_bad) => (await train(skip_bad)) && measure();

  const takeBack = alone(async (change) => {
    await undo(change);
    replace(measured);
    tell("train.undone", { ...change, transaction: null, duplicates: 0 });
  });

  function tell(key, change) {
    const words = { n: change.changed, total: state.info.documents };
    replace(
      outcome,
      h("p", { t: [key, words] }),
      change.duplicates > 0 && h("p", { class: "warning", t: ["train.duplicates", { n: change.duplicates }] }),
      change.transaction !== null &&
        h("button", { type: "button", t: "predict.undo", on: { click: () => takeBack(change) } }),
    );
    announce(t(key, words));
  }

  const measure = guarded(async () => {
    if (Object.keys(state.info.labels).length < 2) return;
    replace(measured);
    const found = await withProgress(running, evaluate);
    replace(
      measured,
      h("div", {}, h("h3", { t: "train.measured" }), h("p", { class: "muted", t: "evaluate.about" }), results(found)),
      calibration(found),
    );
    announce(t("evaluate.done", { accuracy: percent(found.accuracy) }));
  });

  const lock = () => {
    locked.hidden = canWrite();
    drop.hidden = !canWrite();
  };
  encoding.addEventListener(
    "change",
    alone(() => file && inspect({})),
  );
  takesDrops(drop, take);
  events.addEventListener("info", lock);
  return { element, shown: lock };
}

const cell = (value) =>
  value === null || value === undefined ? "" : Array.isArray(value) ? value.join(", ") : String(value);
