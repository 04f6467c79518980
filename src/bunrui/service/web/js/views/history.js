// History: the changes, who made them and when, the documents behind them, and the way back.

import { address, author, get, post } from "../api.js";
import { button, data, field, forReaders, h, inRow, muted, replace, show, view } from "../dom.js";
import { browser, item } from "../documents.js";
import { t, when } from "../i18n.js";
import { curl, file, labelLiteral, literal, program, same } from "../same.js";
import { visible } from "../show.js";
import { canWrite, events, refresh, state } from "../state.js";
import { announce, guarded, lastOf, oneAtATime, watched } from "../tell.js";

const MOST_CHANGES = 20; // on a page
const MOST_ASKED = 5; // that are named, before they are taken back
const WITHOUT = ["rename", "compact", "slim"]; // changes that are about documents, and leave them as they are
const NAMED = ["learn", "unlearn", "forget", "merge", "set", "calibrate", "choose", "compact", "slim"];

export function create() {
  let changes = []; // those that are shown, the last one first
  let older = null;
  let joined = 0;
  let isOld = true; // whether something may have changed since they were read
  let reading = Promise.resolve(); // until they are drawn
  const asked = lastOf();

  const name = h("input", { type: "text", id: "author", maxlength: 100, autocomplete: "name" });
  name.value = author.get();
  name.addEventListener("change", () => author.set(name.value.trim()));
  const outcome = h("div.outcome", { role: "status" });
  const list = h("ol.changes");
  const more = button("history.older", () => readOlder(), null, { hidden: true });
  const past = h("fieldset", list, more);
  const found = browser();
  const element = view("history",
    h("h3", { t: "history.changes" }),
    h("p.writing", field("history.name", name)),
    outcome,
    past,
    h("h3", { t: "history.documents" }),
    forReaders("history.readonly"),
    h("div.writing", found.element),
    same(snippets),
  );

  function snippets() {
    const { contains, label } = found.wanted();
    const options = [contains !== null && literal(contains), label !== null && `label=${labelLiteral(label)}`];
    return {
      curl: [
        curl("/v1/log?limit=20"),
        curl(address("/v1/documents", { contains, label }), { token: true }),
        curl("/v1/undo", { json: {}, token: true }),
      ].join("\n"),
      python: program("clf.history(limit=20)", `clf.browse(${options.filter(Boolean).join(", ")})`, "clf.undo()"),
      shell: [`bunrui log ${file()}`, `bunrui log ${file()} --documents`, `bunrui undo ${file()}`].join("\n"),
    };
  }

  // --- the changes

  /** Read the changes anew, or add those before a number to the ones that are shown. */
  async function load(limit, before = null) {
    const isLast = asked();
    const page = await get(address("/v1/log", { limit, before }));
    if (!isLast()) return;
    const shown = before === null ? [] : changes;
    changes = [...shown, ...page.changes];
    ({ next: older, joined } = page);
    isOld = isOld && before !== null;
    draw();
    if (before !== null) list.children[shown.length]?.querySelector("button")?.focus();
  }

  const read = watched(() => load(Math.max(MOST_CHANGES, Math.min(changes.length, 1000))));
  const readOlder = guarded(() => load(MOST_CHANGES, older));

  function draw() {
    const standing = changes.filter((change) => !change.undone);
    replace(list,
      changes.map((change) => line(change, standing)),
      !changes.length && h("li.muted", { t: "history.empty" }),
    );
    show(more, older !== null);
  }

  function line(change, standing) {
    const after = standing.filter(({ number }) => number > change.number);
    const isLast = change === standing[0];
    const behind = h("div.behind");
    const press = (key, act, kind = "quiet") => canWrite() && button(key, act, kind);
    const look = oneAtATime()((begin) => openBehind(change, behind, opening, look, begin));
    const opening = press("history.show", () => look(null));
    const asking = h("div", { role: "alert" });
    return h("li", { class: change.undone && "undone", "data-number": change.number },
      h("p.what", told(change), poolChange(change), chosenModel(change)),
      h("p.facts.muted",
        h("span.number", `#${change.number}`),
        h("time", { datetime: change.time }, when(change.time)),
        change.note.by && data(change.note.by, { class: "who" }),
        change.undone && h("span", { t: undoing(change) }),
        hasBehind(change) && opening,
        isLast && change.number > joined && press("history.undo", () => takeBack(change.number, null)),
        after.length > 0 && !change.undone && change.number >= joined &&
          press("history.to", () => ask(asking, change, after), "quiet back"),
      ),
      asking,
      behind,
    );
  }

  const hasBehind = ({ kind, n_docs: n, undone }) => !undone && n > 0 && !WITHOUT.includes(kind);

  const undoing = ({ undone, note }) =>
    note.undone_by
      ? ["history.undone.by", { time: when(undone), name: visible(String(note.undone_by)) }]
      : ["history.undone", { time: when(undone) }];

  /** Tell a change in words; compacting has taken the names of labels out of older ones. */
  function told({ kind, n_docs: n, note }) {
    if (!n && note.unlabelled) return null; // texts without a label alone: `poolChange` tells them
    const label = visible(String(note.label ?? ""));
    const to = visible(String(note.to ?? ""));
    if (kind === "relabel" && Array.isArray(note.labels))
      return h("span", { t: ["history.kind.relabel", { n, labels: note.labels.map(String).map(visible).join(", ") }] });
    if (["rename", "drop", "move"].includes(kind) && label)
      return h("span", { t: [`history.kind.${kind}`, { n, label, to }] });
    if (["relabel", "rename", "drop", "move"].includes(kind)) return h("span", { t: ["history.kind.labels", { n }] });
    if (NAMED.includes(kind)) return h("span", { t: [`history.kind.${kind}`, { n }] });
    return h("span", { t: ["history.kind.unknown", { n, kind: visible(kind) }] });
  }

  /** Texts without a label that came or went; they are not among the documents. */
  const poolChange = ({ kind, n_docs: n, note }) => {
    const way = ["unlearn", "forget"].includes(kind) ? "went" : "came";
    const words = { class: n > 0 && "muted", t: [`history.kind.${way}`, { n: Number(note.unlabelled) }] };
    return note.unlabelled && h("span", words);
  };

  const chosenModel = ({ note }) => {
    const model = note.choice?.candidate?.model;
    return model && h("span.muted", { t: ["history.chose", { model: visible(String(model)) }] });
  };

  // --- the documents behind one

  async function openBehind(change, place, opening, look, begin) {
    const isOpen = begin === null && place.firstChild !== null;
    opening.setAttribute("aria-expanded", String(!isOpen));
    if (isOpen) return void replace(place);
    const page = await get(address("/v1/documents", { change: change.number, begin, limit: 20 }));
    const listed = place.querySelector("ul") ?? h("ul.documents");
    listed.append(...page.documents.map((one) => item(one, { change })));
    replace(place,
      listed.firstChild || page.next !== null ? listed : muted("history.joined"),
      page.next !== null && button("history.more", () => look(page.next)),
    );
  }

  // --- the way back

  const alone = oneAtATime((isBusy) => (past.disabled = isBusy));

  /** Ask before several changes are taken back, and name them. */
  function ask(place, change, after) {
    const words = { changes: after.length, documents: after.reduce((sum, { n_docs: n }) => sum + n, 0) };
    const mine = author.get();
    const people = after.map(({ note }) => String(note.by ?? ""));
    const others = [...new Set(people)].filter((by) => by && by !== mine);
    const cancel = () => {
      replace(place);
      place.parentElement.querySelector(".back")?.focus();
    };
    const sure = button("history.sure", () => takeBack(after[0].number, change.number), "primary");
    replace(place,
      h("div.notice.asking",
        h("p", { t: ["history.ask", { ...words, number: String(change.number) }] }),
        h("ul",
          after.slice(0, MOST_ASKED).map((one) => h("li", `#${one.number} `, told(one), poolChange(one))),
          after.length > MOST_ASKED && h("li", { t: ["history.further", { n: after.length - MOST_ASKED }] }),
        ),
        others.length > 0 && h("p.warning", { t: ["history.others", { names: others.map(visible).join(", ") }] }),
        inRow(sure, button("history.cancel", cancel)),
      ),
    );
    sure.focus();
  }

  /** Take back the last change, or all after one; if somebody has changed something meanwhile, nothing. */
  const takeBack = alone(async (transaction, to) => {
    try {
      const done = await post("/v1/undo", { transaction, to });
      const words = { changes: done.changes, documents: done.changed, total: done.documents };
      replace(outcome, h("p", { t: ["history.done", words] }));
      announce(t("history.done", words));
    } catch (error) {
      if (error.kind === "changed-since") await read();
      throw error;
    }
    await refresh();
    await reading;
    return list.querySelector("button");
  });

  // --- from outside

  function update() {
    if (element.hidden || !state.info) return;
    if (canWrite()) found.update();
    if (isOld) reading = read();
    else draw();
  }

  events.addEventListener("info", () => {
    isOld = true;
    update();
  });
  return { element, shown: update, focus: found.focus };
}
