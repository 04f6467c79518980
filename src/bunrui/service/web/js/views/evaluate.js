// Evaluate: each document left out and predicted, or those of a file; and accuracy as documents come in.

import { address, work } from "../api.js";
import { button, drawing, h, inRow, muted, replace, view } from "../dom.js";
import { percent, t } from "../i18n.js";
import { calibration, results } from "../results.js";
import { curlJob, file, program, same } from "../same.js";
import { visible } from "../show.js";
import { canWrite, hasSets, state, thresholds } from "../state.js";
import { aged, announce, lasting, oneAtATime, withProgress } from "../tell.js";
import { beginning, upload } from "../upload.js";

/** Leave each document out; the token shows the mistakes, too. */
const own = () => (canWrite() ? ["/v1/mistakes", { json: {} }] : ["/v1/evaluate", { json: { html: true } }]);
export const evaluate = (options) => work(own()[0], { ...own()[1], ...options });

export function create() {
  let measured = null; // how to measure the same again: { path, json }, and whether that is done with a file
  const running = h("div");
  const found = h("div.found");
  const learning = h("div");
  const alone = oneAtATime((isBusy) => {
    files.lock(isBusy);
    go.disabled = reporting.disabled = isBusy;
  });
  const go = button("evaluate.go", () => start(), "primary");
  const reporting = button("evaluate.report", () => report());

  const last = lasting("evaluate", running, draw);
  const curve = lasting("curve", learning, drawCurve);

  const start = alone(async () => {
    const [path, options] = own();
    replace(found, growing);
    measured = { path, json: { report: true } };
    await last.start(path, options);
  });

  /** Show a measurement, also one from before the page was loaded again. */
  function draw(result, known) {
    if (result.sets) thresholds.set(result.sets.thresholds);
    const name = known.file === undefined ? null : visible(known.file);
    const canReport = canWrite() && (known.file === undefined || measured?.file);
    if (known.file === undefined) measured = { path: "/v1/mistakes", json: { report: true } };
    replace(found,
      aged(known),
      name && h("h3", { t: ["evaluate.tested", { name }] }),
      result.unknown?.length > 0 &&
        h("p.warning", { t: ["evaluate.unknown", { labels: result.unknown.map(visible).join(", ") }] }),
      canReport && reporting,
      results(result),
      result.sets && sets(result.sets),
      known.file === undefined && state.info.calibration?.applies && muted("evaluate.calibrated"),
      h("div.grid", calibration(result), growing),
    );
    announce(t("evaluate.done", { accuracy: percent(result.accuracy) }));
  }

  const sets = ({ html }) => [
    drawing(html.figures),
    muted("evaluate.thresholds"),
    h("details", h("summary", { t: "evaluate.classes" }), drawing(html.labels)),
  ];

  /** A page to keep: measured once more, since nobody may want one. */
  const report = alone(async () => {
    const { path, json } = measured;
    const { report: page } = await withProgress(running, (watch) => work(path, { json, ...watch }));
    const link = h("a", {
      href: URL.createObjectURL(new Blob([page], { type: "text/html" })),
      download: "evaluation.html",
    });
    link.click();
    URL.revokeObjectURL(link.href);
  });

  // --- files

  const files = upload({
    prefix: "test-",
    labelled: true,
    alone,
    begin() {},
    footer: (seen, skips) => beginning("evaluate.test", seen, skips, test),
  });

  const test = alone(async (skip_bad) => {
    replace(found, growing);
    const options = { ...files.options(), skip_bad };
    const about = { file: files.names().join(", ") };
    measured = { path: address("/v1/test", { ...options, report: true }), file: true };
    await last.start(address("/v1/test", options), { about }).catch((error) => {
      throw files.offer(error, () => test(true));
    });
  });

  // --- the learning curve

  const grow = oneAtATime((isBusy) => (growth.disabled = isBusy))(() => curve.start("/v1/curve"));
  const growth = button("evaluate.grow", grow);

  function drawCurve({ folds, html }, known) {
    replace(learning, aged(known), muted(["evaluate.curve.about", { n: folds }]), drawing(html));
    announce(t("evaluate.curve.done"));
  }

  const growing = h("section", h("h3", { t: "evaluate.curve" }), inRow(growth), learning);
  replace(found, growing);
  const testing = h("details.writing", h("summary", { t: "evaluate.file" }), files.drop, files.about);
  const element = view("evaluate",
    inRow(go),
    testing,
    running,
    found,
    same(() => ({
      curl: curlJob("/v1/mistakes", { json: {}, token: true }),
      python: program(
        "from bunrui.evaluation import leave_one_out",
        "",
        "print(leave_one_out(clf).metrics)",
        ...(hasSets() ? ["from bunrui.evaluation.loo import best_thresholds", "print(best_thresholds(clf))"] : []),
      ),
      shell: `bunrui evaluate ${file()} --loo --html report.html\nbunrui evaluate ${file()} test.csv`,
    })),
  );
  return { element, shown: () => [last.restore(), curve.restore()] };
}
