// Documents of the file: one as an item of a list, and a search through all of them.

import { address, get } from "./api.js";
import { relabel, tellChange, undo, unlearn } from "./changes.js";
import { button, data, field, h, muted, replace, show, tags } from "./dom.js";
import { t, when } from "./i18n.js";
import { finder, picker, setPicker } from "./picker.js";
import { open } from "./results.js";
import { countedLabels, hasSets, state } from "./state.js";
import { announce, guarded, lastOf, oneAtATime, watched } from "./tell.js";

const MOST_SHOWN = 20; // on a page
const WHOLE = 4000000; // characters, as the service has it

/** Show a document in the first view: all of it, where the list has the beginning alone. */
export const openWhole = guarded(async (one, change = null) => {
  const options = { begin: one.place, limit: 1, characters: WHOLE, change };
  const [whole] = (await get(address("/v1/documents", options))).documents;
  if (whole?.digest !== one.digest) throw new Error(t("history.moved"));
  open(change === null ? whole : { text: whole.text, digest: null }); // behind a change, it may be no longer learned
});

/** A document in a list; `beside` stands before it.  Behind a change that gave it a label, both are shown. */
export function item(one, { beside = null, change = null } = {}) {
  const isCut = one.text !== null && one.length > Array.from(one.text).length;
  const about = [one.id, one.source].filter((each) => each !== null);
  const given = change?.kind === "relabel" && change.note.labels?.length === 1 ? change.note.labels : [];
  return h("li",
    beside,
    h("div",
      one.text === null ? muted("history.notext") : h("p.excerpt", data(one.text), isCut && " …"),
      h("p.facts.muted",
        tags(one.labels),
        given.map((label) => [h("span", "→"), tags([label])]),
        h("time", { datetime: one.time }, when(one.time)),
        about.map((each) => data(each)),
        one.text !== null && button("history.open", () => openWhole(one, change?.number), "quiet"),
      ),
    ),
  );
}

/** The search: by text, label and time, page by page; chosen documents get other labels, or are unlearned. */
export function browser() {
  const asked = lastOf(); // what an older search finds is not shown
  let found = [];
  let next = null;
  let label = null;
  let searched = null; // which changes there were at the last search
  const chosen = new Set(); // digests

  const words = h("input", { type: "search", id: "wanted", dir: "auto", maxlength: 1000, autocomplete: "off" });
  const since = h("input", { type: "date", id: "since" });
  const until = h("input", { type: "date", id: "until" });
  const labelled = h("div");
  const form = h("form.find", { role: "search" },
    field("history.contains", words),
    labelled,
    field("history.since", since),
    field("history.until", until),
    h("button.primary", { type: "submit", t: "history.search" }),
  );
  const looking = h("div.row", { hidden: true });
  const acting = h("fieldset.acting", { hidden: true });
  const outcome = h("div.outcome", { role: "status" });
  const list = h("ul.documents");
  const more = button("history.more", guarded(() => look()), null, { hidden: true });
  const element = h("div", form, outcome, acting, looking, list, more);

  const midnight = (day, plus = 0) => {
    if (!day) return null;
    const date = new Date(`${day}T00:00`);
    date.setDate(date.getDate() + plus);
    return date.toISOString();
  };

  /** The filters of the search. */
  const wanted = () => ({
    contains: words.value.trim() || null,
    label,
    since: midnight(since.value),
    before: midnight(until.value, 1),
  });

  const changes = () => `${state.info?.transactions} ${state.info?.documents}`;

  function search() {
    searched = changes();
    chosen.clear();
    found = [];
    next = null;
    replace(list);
    drawActing();
    return look();
  }

  /** Read on from where the list ends, until there is something to show: one page of the service may find nothing. */
  const look = watched(async () => {
    const isLast = asked();
    const options = { ...wanted(), limit: MOST_SHOWN };
    const before = found.length;
    let looked = 0;
    let isStopped = false;
    const halt = () => (isStopped = true);
    const stop = button("history.stop", halt, "quiet");
    show(more, false);
    do {
      if (looked) {
        const said = ["history.looked", { n: looked, total: state.info.documents }];
        show(replace(looking, h("span.muted", { t: said }), stop), true);
      }
      const page = await get(address("/v1/documents", { ...options, begin: next }));
      if (!isLast()) return;
      found.push(...page.documents);
      list.append(...page.documents.map((one) => item(one, { beside: box(one) })));
      next = page.next;
      looked += page.looked;
    } while (found.length === before && next !== null && !isStopped);
    if (found.slice(before).some((one) => chosen.has(one.digest))) drawActing(); // copies of a text that is chosen
    show(looking, false);
    show(more, next !== null);
    if (!found.length) replace(list, h("li.muted", { t: "history.none" }));
    announce(t("history.found", { n: found.length }));
  });

  function box(one) {
    const input = h("input", { type: "checkbox", label: "history.choose", "data-digest": one.digest });
    input.checked = chosen.has(one.digest);
    input.addEventListener("change", () => {
      if (input.checked) chosen.add(one.digest);
      else chosen.delete(one.digest);
      for (const other of list.querySelectorAll("input")) other.checked = chosen.has(other.dataset.digest);
      drawActing();
    });
    return input;
  }

  /** Draw the buttons for the chosen documents. */
  function drawActing() {
    const all = found.filter((one) => chosen.has(one.digest));
    const options = { labels: countedLabels(), key: "history.relabel" };
    replace(acting,
      h("legend", { t: ["history.chosen", { n: all.length }] }),
      all.length > chosen.size && muted("history.copies"),
      hasSets()
        ? setPicker(button("history.give"), give, { ...options, chosen: all[0]?.labels ?? [] })
        : picker({ ...options, onPick: (label) => label !== null && give(label) }),
      button("history.unlearn", () => forget()),
      button("history.all", () => chooseAll(true), "quiet"),
      button("history.nothing", () => chooseAll(false), "quiet"),
    );
    show(acting, chosen.size > 0);
  }

  function chooseAll(isChosen) {
    chosen.clear();
    if (isChosen) for (const { digest } of found) chosen.add(digest);
    for (const input of list.querySelectorAll("input")) input.checked = isChosen;
    drawActing();
  }

  const alone = oneAtATime((isBusy) => (acting.disabled = isBusy));
  const give = alone(async (to) => tell("history.relabelled", await relabel([...chosen], to)));
  const forget = alone(async () => tell("history.unlearned", await unlearn([...chosen])));
  const takeBack = alone(async (change) => {
    await undo(change);
    return tell("predict.undone", { transaction: null, changed: change.changed });
  });

  /** Tell the change, offer to take it back, and search again: the documents stand elsewhere now. */
  function tell(key, change) {
    const undoing = tellChange(outcome, [[key, { n: change.changed }]], change, takeBack);
    search();
    return undoing ?? words;
  }

  form.addEventListener(
    "submit",
    guarded((event) => {
      event.preventDefault();
      replace(outcome);
      return search();
    }),
  );

  /** The labels may be others now; at first, and after changes made elsewhere, show the documents as they are. */
  function update() {
    replace(labelled, finder("history.label", countedLabels(), (picked) => (label = picked), label));
    if (acting.disabled || searched === changes()) return; // a change of this search looks again by itself
    replace(outcome); // its button would undo something else
    search();
  }

  return { element, update, focus: () => words.focus(), wanted };
}
