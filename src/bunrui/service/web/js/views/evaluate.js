// Evaluate: each document left out and predicted, and accuracy as documents come in.

import { work } from "../api.js";
import { drawing, h, replace, view } from "../dom.js";
import { percent, t } from "../i18n.js";
import { calibration, results } from "../results.js";
import { canWrite } from "../state.js";
import { announce, guarded, withProgress } from "../tell.js";

/** Leave each document out; who has the token sees the mistakes, too. */
export const evaluate = (options) =>
  canWrite() ? work("/v1/mistakes", options) : work("/v1/evaluate", { json: { html: true }, ...options });

export function create() {
  const running = h("div");
  const found = h("div", { class: "grid" });
  const learning = h("div");

  const start = guarded(async () => {
    replace(found, growing);
    const measured = await withProgress(running, evaluate);
    replace(found, results(measured), h("div", {}, calibration(measured), growing));
    announce(t("evaluate.done", { accuracy: percent(measured.accuracy) }));
  });
  const grow = guarded(async () => {
    const { folds, html } = await withProgress(learning, (options) => work("/v1/curve", options));
    replace(
      learning,
      h("p", { class: "muted", t: ["evaluate.curve.about", { n: folds }] }),
      drawing(html),
    );
    announce(t("evaluate.curve.done"));
  });

  const button = (key, listener, kind) => h("button", { type: "button", class: kind, t: key, on: { click: listener } });
  const growing = h(
    "section",
    {},
    h("h3", { t: "evaluate.curve" }),
    h("div", { class: "row" }, button("evaluate.grow", grow)),
    learning,
  );
  const element = view(
    "evaluate",
    h("div", { class: "row" }, button("evaluate.go", start, "primary")),
    running,
    found,
  );
  replace(found, growing);
  return { element };
}
