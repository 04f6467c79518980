// Train: look into files, learn their documents, and measure the classifier.

import { address, work } from "../api.js";
import { bars } from "../bars.js";
import { noted, tellChange, undo } from "../changes.js";
import { button, forReaders, h, muted, replace, view } from "../dom.js";
import { number, percent, t } from "../i18n.js";
import { calibration, results } from "../results.js";
import { curlJob, file, literal, program, quoted, same } from "../same.js";
import { state } from "../state.js";
import { announce, lastOf, oneAtATime, watched, withProgress } from "../tell.js";
import { beginning, upload } from "../upload.js";
import { evaluate } from "./evaluate.js";

const MOST_LABELS = 15;

export function create() {
  const running = h("div");
  const outcome = h("div.outcome", { role: "status" });
  const measured = h("div.grid");

  const alone = oneAtATime((isBusy) => {
    files.lock(isBusy);
    for (const one of outcome.querySelectorAll("button")) one.disabled = isBusy;
  });

  const files = upload({
    labelled: true,
    alone,
    begin() {
      replace(outcome);
      replace(measured);
    },
    footer(seen, skips) {
      const entries = Object.entries(seen.labels).sort(([, a], [, b]) => b - a);
      const most = Math.max(...Object.values(seen.labels), 1);
      announce(t("train.inspected", { n: seen.documents, labels: seen.n_labels }));
      return [
        h("h3", { t: ["train.labels", { n: seen.n_labels }] }),
        bars(entries.slice(0, MOST_LABELS), { most, write: number, label: "train.counts" }),
        seen.n_labels > MOST_LABELS && muted(["predict.more", { n: seen.n_labels - MOST_LABELS }]),
        beginning("train.go", seen, skips, start),
      ];
    },
  });
  const parts = [h("div.writing", files.drop), files.about, running, outcome, measured, same(snippets)];
  const element = view("train", forReaders("train.readonly"), parts);

  function snippets() {
    const [name = "documents.csv"] = files.names();
    return {
      curl: curlJob(address("/v1/train", { name }), { upload: name, token: true }),
      python: program(
        "with clf.learning() as session:",
        `    for batch in bunrui.documents.read(${literal(name)}, label_type=clf.label_type):`,
        '        session.add(batch["text"], batch["label"], ids=batch["id"], sources=batch["source"])',
      ).replace("import bunrui\n", "import bunrui\nimport bunrui.documents\n"),
      shell: `bunrui learn ${file()} ${quoted(name)}`,
    };
  }

  const train = alone(async (skip_bad) => {
    const path = address("/v1/train", { ...files.options(), skip_bad });
    const done = await withProgress(running, (more) => work(path, more)).catch((error) => {
      // Whoever presses the button again could learn the file twice.
      if (error.kind === "unreachable") {
        files.forget();
        replace(outcome, h("p.warning", { t: "train.unknown" }));
      }
      throw files.offer(error, () => start(true));
    });
    files.forget();
    tell("train.learned", await noted("train", done));
    return done;
  });
  const start = async (skip_bad) => (await train(skip_bad)) && measure();
  const measuring = lastOf();

  const takeBack = alone(async (change) => {
    await undo(change);
    measuring(); // the figures of before are no longer wanted
    replace(measured);
    tell("train.undone", { ...change, transaction: null, duplicates: 0 });
  });

  function tell(key, change) {
    const lines = [[key, { n: change.changed, total: state.info.documents }]];
    if (change.duplicates > 0) lines.push(["train.duplicates", { n: change.duplicates }]);
    tellChange(outcome, lines, change, takeBack);
  }

  const measure = watched(async () => {
    if (Object.keys(state.info.labels).length < 2) return;
    const isLast = measuring();
    replace(measured);
    const found = await withProgress(running, evaluate);
    if (!isLast()) return;
    replace(measured,
      h("div", h("h3", { t: "train.measured" }), muted("evaluate.about"), results(found)),
      calibration(found),
    );
    announce(t("evaluate.done", { accuracy: percent(found.accuracy) }));
  });

  return { element };
}
