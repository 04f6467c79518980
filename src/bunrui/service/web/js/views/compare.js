// Compare: all models on the documents of the file, the best first.

import { work } from "../api.js";
import { data, h, replace } from "../dom.js";
import { number, percent, t } from "../i18n.js";
import { state } from "../state.js";
import { announce, guarded, withProgress } from "../tell.js";

export function create() {
  const running = h("div");
  const found = h("div");
  const trained = h("input", { type: "checkbox", id: "trained" });

  const start = guarded(async () => {
    replace(found);
    const json = { trained: trained.checked };
    const watch = (options) => ({
      ...options,
      progress: (job) => {
        options.progress(job);
        if (job.result) replace(found, table(job.result.rows));
      },
    });
    const measured = await withProgress(
      running,
      (options) => work("/v1/compare", { json, ...watch(options) }),
      "job.measurements",
    );
    const [best] = measured.rows;
    replace(
      found,
      table(measured.rows),
      measured.skipped.map((line) => h("p", { class: "muted" }, data(line))),
      hint(best.model),
    );
    announce(t("compare.done", { model: best.model, accuracy: percent(best.accuracy) }));
  });

  const hint = (model) =>
    model !== state.info.model && [
      h("p", { class: "muted", t: ["compare.hint", { model }] }),
      h("pre", { class: "text" }, `bunrui set ${state.info.service.file} --model ${model}`),
    ];

  const element = h(
    "section",
    { class: "view", "aria-labelledby": "compare-title" },
    h("h2", { id: "compare-title", tabindex: -1, t: "compare.title" }),
    h("p", { class: "muted", t: "compare.about" }),
    h("p", {}, trained, " ", h("label", { for: "trained", t: "compare.trained" })),
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", class: "primary", t: "compare.go", on: { click: start } }),
    ),
    running,
    found,
  );
  return { element };
}

const HEADS = ["evaluate.accuracy", "compare.interval", "evaluate.f1.short", "compare.loss", "compare.speed"];

/** A number; of few documents, some cannot be told. */
const known = (value) => (value === null ? "–" : number(value));

function table(rows) {
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", label: "compare.title" },
    h(
      "table",
      { class: "plain whole" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col", t: "compare.model" }),
          h("th", { scope: "col", t: "compare.analyzer" }),
          HEADS.map((key) => h("th", { scope: "col", class: "number", t: key })),
          h("th", { scope: "col", t: "compare.verdict" }),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((row) =>
          h(
            "tr",
            { class: row.verdict },
            h("th", { scope: "row" }, data(row.model)),
            h("td", {}, data(row.reads)),
            h("td", { class: "number" }, percent(row.accuracy)),
            h("td", { class: "number muted" }, `${percent(row.interval.low)} – ${percent(row.interval.high)}`),
            h("td", { class: "number" }, percent(row.macro_f1)),
            h("td", { class: "number" }, known(row.log_loss)),
            h("td", { class: "number" }, known(row.predict_mb_per_s)),
            h("td", { t: `compare.${row.verdict}` }),
          ),
        ),
      ),
    ),
  );
}
