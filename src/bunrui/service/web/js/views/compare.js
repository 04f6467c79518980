// Compare: all models on the documents of the file, the best first.

import { work } from "../api.js";
import { data, drawing, h, replace, view } from "../dom.js";
import { percent, t } from "../i18n.js";
import { state } from "../state.js";
import { announce, guarded, withProgress } from "../tell.js";

export function create() {
  const running = h("div");
  const found = h("div", { class: "whole" });
  const trained = h("input", { type: "checkbox", id: "trained" });

  const start = guarded(async () => {
    replace(found);
    const json = { trained: trained.checked };
    const watch = (options) => ({
      ...options,
      progress: (job) => {
        options.progress(job);
        if (job.result) replace(found, drawing(job.result.html));
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
      drawing(measured.html),
      measured.skipped.map((line) => h("p", { class: "muted" }, data(line))),
      hint(best.model),
    );
    announce(t("compare.done", { model: best.model, accuracy: percent(best.accuracy) }));
  });

  const hint = (model) =>
    model !== (state.info.choice?.candidate.model ?? state.info.model) && [
      h("p", { class: "muted", t: ["compare.hint", { model }] }),
      h("pre", { class: "text" }, `bunrui set ${state.info.service.file} --model ${model}`),
    ];

  const element = view(
    "compare",
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
