// Evaluate: each document left out and predicted, or those of a file; and accuracy as documents come in.

import { address, ask, work } from "../api.js";
import { data, drawing, h, replace, show, view } from "../dom.js";
import { fileButton } from "../files.js";
import { percent, t } from "../i18n.js";
import { calibration, results } from "../results.js";
import { curlJob, file, literal, program, same } from "../same.js";
import { visible } from "../show.js";
import { canWrite, events, hasSets, thresholds } from "../state.js";
import { aged, announce, guarded, lasting, oneAtATime, withProgress } from "../tell.js";

/** Leave each document out; who has the token sees the mistakes, too. */
const own = () => (canWrite() ? ["/v1/mistakes", { json: {} }] : ["/v1/evaluate", { json: { html: true } }]);
export const evaluate = (options) => work(own()[0], { ...own()[1], ...options });

export function create() {
  let measured = null; // how to measure the same again: { path, json, file }
  const running = h("div");
  const testing = h("div", { class: "testing" });
  const found = h("div", { class: "found" });
  const learning = h("div");
  const alone = oneAtATime();

  const last = lasting("evaluate", running, draw);
  const curve = lasting("curve", learning, drawCurve);

  const start = alone(async () => {
    const [path, options] = own();
    replace(found, growing);
    replace(testing);
    measured = { path, json: { report: true } };
    await last.start(path, options);
  });

  /** Show a measurement, also one from before the page was loaded again. */
  function draw(result, known) {
    if (result.sets) thresholds.set(result.sets.thresholds);
    const name = known.file === undefined ? null : visible(known.file);
    const canReport = canWrite() && (known.file === undefined || measured?.file);
    if (known.file === undefined) measured = { path: "/v1/mistakes", json: { report: true } };
    replace(
      found,
      aged(known),
      name && h("h3", { t: ["evaluate.tested", { name }] }),
      result.unknown?.length > 0 &&
        h("p", { class: "warning", t: ["evaluate.unknown", { labels: result.unknown.map(visible).join(", ") }] }),
      canReport && h("button", { type: "button", t: "evaluate.report", on: { click: report } }),
      results(result),
      result.sets && sets(result.sets),
      h("div", { class: "grid" }, calibration(result), growing),
    );
    announce(t("evaluate.done", { accuracy: percent(result.accuracy) }));
  }

  const sets = ({ html }) => [
    drawing(html.figures),
    h("p", { class: "muted", t: "evaluate.thresholds" }),
    h("details", {}, h("summary", { t: "evaluate.classes" }), drawing(html.labels)),
  ];

  /** A page to keep: measured once more, since nobody may want one. */
  const report = alone(async () => {
    const { path, ...options } = measured;
    const { report: page } = await withProgress(running, (watch) => work(path, { ...options, ...watch }));
    const link = h("a", {
      href: URL.createObjectURL(new Blob([page], { type: "text/html" })),
      download: "evaluation.html",
    });
    link.click();
    URL.revokeObjectURL(link.href);
  });

  // --- a file

  const choose = alone(async (given) => {
    const looked = await ask("POST", address("/v1/inspect", { name: given.name }), { file: given });
    const columns = { text: looked.text, label: looked.label };
    if (!looked.columns.length) return test(given, looked, columns);
    const choice = (role) => {
      const element = h("select", { id: `test-${role}` });
      replace(
        element,
        h("option", { value: "", t: "train.pick" }),
        looked.columns.map((name) => h("option", { value: name }, visible(name))),
      );
      element.value = columns[role] ?? "";
      element.addEventListener("change", () => {
        columns[role] = element.value || null;
        settle();
      });
      return h("span", { class: "field" }, h("label", { for: `test-${role}`, t: `train.${role}` }), element);
    };
    const go = h("button", { type: "button", class: "primary", t: ["evaluate.test", { name: visible(given.name) }] });
    go.addEventListener("click", alone(() => test(given, looked, columns)));
    const settle = () => (go.disabled = !columns.text || !columns.label || columns.text === columns.label);
    settle();
    replace(testing, h("div", { class: "row" }, choice("text"), choice("label"), go));
    go.focus();
  });

  async function test(given, { header }, columns) {
    replace(found, growing);
    const options = { name: given.name, ...columns, header: header ?? undefined };
    measured = { path: address("/v1/test", { ...options, report: true }), file: given };
    await last.start(address("/v1/test", options), { file: given, about: { file: given.name } });
  }

  // --- the learning curve

  const grow = guarded(() => curve.start("/v1/curve"));

  function drawCurve({ folds, html }, known) {
    replace(
      learning,
      aged(known),
      h("p", { class: "muted", t: ["evaluate.curve.about", { n: folds }] }),
      drawing(html),
    );
    announce(t("evaluate.curve.done"));
  }

  const button = (key, listener, kind) => h("button", { type: "button", class: kind, t: key, on: { click: listener } });
  const growing = h(
    "section",
    {},
    h("h3", { t: "evaluate.curve" }),
    h("div", { class: "row" }, button("evaluate.grow", grow)),
    learning,
  );
  replace(found, growing);
  const upload = h("span", {}, fileButton("evaluate.file", (given) => choose(given)));
  const element = view(
    "evaluate",
    h("div", { class: "row" }, button("evaluate.go", start, "primary"), upload),
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
  const unlock = () => show(upload, canWrite());
  events.addEventListener("info", unlock);
  return {
    element,
    shown: () => {
      unlock();
      last.restore();
      curve.restore();
    },
  };
}
