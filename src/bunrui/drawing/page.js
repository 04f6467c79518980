// Tables that sort, a choice of curves, and cells that open what is behind them.  Without it, everything can be read.

"use strict";

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const isNumber = head.classList.contains("number");
      const before = head.getAttribute("aria-sort");
      // Numbers are wanted from the largest down, names from the first on.
      const down = before ? before === "ascending" : isNumber;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => row.cells[column].dataset.value;
      const compare = isNumber ? (a, b) => value(a) - value(b) : (a, b) => value(a).localeCompare(value(b));
      const body = table.tBodies[0];
      body.append(...Array.from(body.rows).sort((a, b) => (down ? compare(b, a) : compare(a, b))));
    });
  });
}

const choice = document.querySelector("select.curves");
if (choice) {
  const choose = () => {
    for (const curve of document.querySelectorAll(".curve")) {
      const isChosen = curve.dataset.curve === choice.value;
      curve.classList.toggle("chosen", isChosen);
      if (isChosen) curve.parentNode.append(curve); // on top of the others
    }
    for (const told of document.querySelectorAll("[data-told]")) told.hidden = told.dataset.told !== choice.value;
  };
  choice.addEventListener("change", choose);
  choice.closest(".choice").hidden = false;
  choose();
}

function open() {
  const found = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  const details = found && found.closest("details");
  if (!details) return;
  details.open = true;
  details.querySelector("summary").focus({ preventScroll: true });
  details.scrollIntoView({ block: "start" });
}

addEventListener("hashchange", open);
document.addEventListener("click", (event) => {
  // The same cell again: the address does not change.
  const link = event.target.closest?.("a[href^='#']");
  if (link && link.getAttribute("href") === location.hash) open();
});
open();

// One stop for the tabulator in a matrix; the arrow keys go to the next cell that leads somewhere.
for (const matrix of document.querySelectorAll("svg.matrix")) {
  const cells = Array.from(matrix.querySelectorAll("a.cell"));
  const stop = (chosen) => cells.forEach((cell) => cell.setAttribute("tabindex", cell === chosen ? 0 : -1));
  const middle = (cell) => {
    const box = cell.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  const STEPS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
  if (cells.length) stop(cells[0]);
  matrix.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    const here = event.target.closest("a.cell");
    if (!step || !here) return;
    event.preventDefault();
    const [x, y] = middle(here);
    let best = null;
    let least = Infinity;
    for (const cell of cells) {
      const [right, down] = [middle(cell)[0] - x, middle(cell)[1] - y];
      const ahead = right * step[0] + down * step[1];
      const aside = Math.abs(right * step[1]) + Math.abs(down * step[0]);
      if (ahead > 1 && ahead + 3 * aside < least) [best, least] = [cell, ahead + 3 * aside];
    }
    if (!best) return;
    stop(best);
    best.focus();
  });
}
