// Tables that sort, a choice of curves, cells that open the mistakes behind them, words that say what they add.  It is
// the script of reports and of the page of the service, and waits for events: what is drawn later works as well.
// Without it, everything can be read.

"use strict";

{
  const STEPS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
  const within = (event, selector) => event.target.closest?.(selector);

  // --- tables

  const sort = (head) => {
    const [table, heads] = [head.closest("table"), Array.from(head.parentNode.cells)];
    const [isNumber, before] = [head.classList.contains("number"), head.getAttribute("aria-sort")];
    // Numbers are wanted from the largest down, names from the first on.
    const down = before ? before === "ascending" : isNumber;
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => row.cells[heads.indexOf(head)].dataset.value;
    const compare = isNumber ? (a, b) => value(a) - value(b) : (a, b) => value(a).localeCompare(value(b));
    const body = table.tBodies[0];
    body.append(...Array.from(body.rows).sort((a, b) => (down ? compare(b, a) : compare(a, b))));
  };

  // --- curves

  const choose = (choice) => {
    for (const curve of document.querySelectorAll(".curve")) {
      const isChosen = curve.dataset.curve === choice.value;
      curve.classList.toggle("chosen", isChosen);
      if (isChosen) curve.parentNode.append(curve); // on top of the others
    }
    for (const told of document.querySelectorAll("[data-told]")) told.hidden = told.dataset.told !== choice.value;
  };
  for (const choice of document.querySelectorAll("select.curves")) {
    choice.closest(".choice").hidden = false;
    choose(choice); // a browser may have kept another choice
  }

  // --- mistakes

  const open = () => {
    const found = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const details = found && found.closest("details");
    if (!details) return;
    details.open = true;
    details.querySelector("summary").focus({ preventScroll: true });
    details.scrollIntoView({ block: "start" });
  };

  // --- one stop for the tabulator in a matrix and in a text; the arrow keys go on from there

  const stopAt = (group, selector, chosen) => {
    for (const one of group.querySelectorAll(selector)) one.setAttribute("tabindex", one === chosen ? 0 : -1);
  };
  const nextCell = (here, [right, down]) => {
    const middle = (cell) => {
      const box = cell.getBoundingClientRect();
      return [box.x + box.width / 2, box.y + box.height / 2];
    };
    const [x, y] = middle(here);
    const distance = (cell) => {
      const [dx, dy] = [middle(cell)[0] - x, middle(cell)[1] - y];
      const ahead = dx * right + dy * down;
      return ahead > 1 ? ahead + 3 * (Math.abs(dx * down) + Math.abs(dy * right)) : Infinity;
    };
    const cells = Array.from(here.closest("svg").querySelectorAll("a.cell"), (cell) => [distance(cell), cell]);
    return cells.reduce((best, one) => (one[0] < best[0] ? one : best), [Infinity, here])[1];
  };
  const nextRun = (here, [right, down]) => {
    const runs = Array.from(here.closest(".text").querySelectorAll(".run"));
    return runs[Math.min(Math.max(runs.indexOf(here) + right + down, 0), runs.length - 1)];
  };
  for (const matrix of document.querySelectorAll("svg.matrix")) {
    stopAt(matrix, "a.cell", matrix.querySelector("a.cell"));
  }

  // --- words

  const tip = Object.assign(document.createElement("div"), { className: "tip", id: "tip", hidden: true });
  tip.setAttribute("role", "tooltip");
  const close = () => (tip.hidden = true);
  const explain = (run) => {
    if (run.title) {
      run.dataset.title = run.title; // else the browser would show it, too
      run.removeAttribute("title");
    }
    if (!run.dataset.title) return;
    const lines = run.dataset.title.split("\n").map((text) => {
      const line = document.createElement("div");
      const parts = text.match(/^(.*) (×\d+): (.*)$/)?.slice(1) ?? [text];
      for (const part of parts) line.append(Object.assign(document.createElement("bdi"), { textContent: part }));
      return line;
    });
    tip.replaceChildren(...lines);
    const place = run.closest(".explanation"); // and gone with it
    place.append(tip);
    tip.hidden = false;
    run.setAttribute("aria-describedby", tip.id);
    const [around, at] = [place.getBoundingClientRect(), run.getClientRects()[0]];
    const most = Math.max(0, around.width - tip.offsetWidth);
    tip.style.left = `${Math.min(Math.max(0, at.left - around.left), most)}px`;
    tip.style.top = `${at.bottom - around.top + 4}px`;
  };

  // --- events

  addEventListener("hashchange", open);
  document.addEventListener("change", (event) => within(event, "select.curves") && choose(event.target));
  document.addEventListener("click", (event) => {
    const head = within(event, "table.sortable th");
    if (head && within(event, "button")) sort(head);
    // The same cell again: the address does not change.
    if (within(event, "a[href^='#']")?.getAttribute("href") === location.hash) open();
    if (within(event, ".text .run")) explain(within(event, ".run"));
  });
  document.addEventListener("pointerover", (event) => {
    if (within(event, ".text .run")) explain(within(event, ".run"));
    else close();
  });
  document.addEventListener("focusin", (event) => {
    const [cell, run] = [within(event, "svg.matrix a.cell"), within(event, ".text .run")];
    if (cell) stopAt(cell.closest("svg"), "a.cell", cell);
    if (run) {
      stopAt(run.closest(".text"), ".run", run);
      explain(run);
    } else close();
  });
  document.addEventListener("focusout", close);
  document.addEventListener("keydown", (event) => {
    const [cell, run] = [within(event, "svg.matrix a.cell"), within(event, ".text .run")];
    if (event.key === "Escape") close();
    if (!(event.key in STEPS) || !(cell || run)) return;
    event.preventDefault();
    (cell ? nextCell(cell, STEPS[event.key]) : nextRun(run, STEPS[event.key])).focus();
  });
  open();
}
