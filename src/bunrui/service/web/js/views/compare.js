// Compare: all models on the documents of the file, the best first; and the one that the file is to use.

import { work } from "../api.js";
import { noted, tellChange, undo } from "../changes.js";
import { button, checkbox, data, drawing, h, inRow, muted, replace, tick, view } from "../dom.js";
import { percent, t } from "../i18n.js";
import { curlJob, file, literal, program, same } from "../same.js";
import { answering, canWrite, events, state } from "../state.js";
import { aged, announce, lasting, oneAtATime, withProgress } from "../tell.js";

export function create() {
  let shown = null; // the comparison that is shown
  const running = h("div");
  const acting = h("div");
  const present = h("div.present");
  const change = h("div.outcome", { role: "status" });
  const found = h("div.whole");
  const trained = checkbox("trained");
  // Beside the bars of progress, whose buttons cancel.
  const parts = [
    h("fieldset", present),
    h("fieldset", change, tick("compare.trained", trained), inRow(button("compare.go", () => start(), "primary"))),
    h("fieldset", found),
  ];
  const alone = oneAtATime((isBusy) => {
    for (const part of parts) part.disabled = isBusy;
  });
  const grow = ({ html }) => replace(found, drawing(html));
  const last = lasting("compare", running, finish, { unit: "job.measurements", grow });

  const start = alone(async () => {
    replace(found);
    await last.start("/v1/compare", { json: { trained: trained.checked } });
  });

  function finish(measured, known) {
    shown = { measured, known };
    draw();
    const [best] = measured.rows;
    announce(t("compare.done", { model: best.model, accuracy: percent(best.accuracy) }));
  }

  function draw() {
    if (!shown) return;
    const { measured, known } = shown;
    const table = h("div", drawing(measured.html));
    const has = (row) => row.is_own && row.model === state.info.model;
    // Beside the name, where it is on a phone, too.
    table.querySelector("thead tr").cells[0].after(h("th", { scope: "col", t: "compare.use" }));
    for (const [place, line] of table.querySelectorAll("tbody tr").entries()) {
      const row = measured.rows[place];
      line.cells[0].after(
        h("td", has(row) ? h("strong", { t: "compare.present" }) : row.is_own ? using(row.model) : notOwn()),
      );
      if (has(row)) line.classList.add("is-present");
    }
    replace(found,
      aged(known),
      table,
      measured.automatic && h("p.muted", data(`auto: ${measured.automatic}`)),
      measured.calibrated && muted("compare.loss.about"),
      measured.skipped.map((line) => h("p.muted", data(line))),
      measured.rows.some((row) => !row.is_own) && muted("compare.notown.about"),
    );
  }

  const notOwn = () => h("span.muted", { t: "compare.notown" });
  const using = (model) => {
    const take = () => act("/v1/set", { model });
    return canWrite() && button("compare.take", take, "act", { label: ["compare.usethis", { model }] });
  };

  /** The model and the calibration of the file, and buttons to change them. */
  function drawPresent() {
    const { info } = state;
    const { calibration, model } = info;
    const isCalibrated = calibration?.applies;
    const words = isCalibrated && {
      n: calibration.n_docs,
      before: percent(calibration.ece_before),
      after: percent(calibration.ece_after),
    };
    const way = (key, path, json) => button(key, () => act(path, json));
    replace(present,
      h("p", { t: [model === "auto" ? "compare.auto" : "compare.now", { model: answering() }] }),
      model === "auto" && info.choice && h("p.muted", data(info.choice.line)),
      muted(isCalibrated ? ["compare.calibrated", words] : "compare.uncalibrated"),
      isCalibrated && calibration.changed_since > 0 && muted("compare.stale"),
      canWrite() && info.documents > 0 &&
        inRow(
          model !== "auto" && way("compare.beauto", "/v1/set", { model: "auto" }),
          model === "auto" && info.keep === "text" && way("compare.choose", "/v1/choose"),
          way("compare.calibrate", "/v1/calibrate"),
        ),
    );
    draw();
  }

  /** Have the file changed, and say how to take that back. */
  const act = alone(async (path, json) => {
    replace(change);
    const { transactions } = state.info;
    const done = await withProgress(acting, (watch) => work(path, { json, ...watch }));
    const noticed = await noted("set", done);
    stay(transactions);
    const changed = path === "/v1/calibrate" ? "compare.iscalibrated" : "compare.changed";
    const key = done.transaction === null ? "compare.same" : changed;
    return tellChange(change, [[key, { model: answering() }]], noticed, takeBack) ?? present.querySelector("button");
  });

  const takeBack = alone(async (noticed) => {
    const { transactions } = state.info;
    await undo(noticed);
    stay(transactions);
    tellChange(change, [["predict.undone"]]);
  });

  /** The model in use has no part in the comparison of all. */
  function stay(before) {
    const known = last.keep(before);
    if (!shown || !known) return;
    shown.known = known;
    draw();
  }

  const element = view("compare",
    parts[0],
    acting,
    parts[1],
    running,
    parts[2],
    same(() => ({
      curl: curlJob("/v1/compare", { json: { trained: trained.checked } }),
      python: program(
        "documents = list(clf.documents())",
        "texts, labels = [one.text for one in documents], [one.labels for one in documents]",
        "print(bunrui.selection.compare(texts, labels))",
        `clf.configure(model=${literal(state.info.model)})`,
      ),
      shell: `bunrui compare ${file()}\nbunrui set ${file()} --model ${state.info.model}\nbunrui calibrate ${file()}`,
    })),
  );
  events.addEventListener("info", drawPresent);
  return { element, shown: last.restore };
}
