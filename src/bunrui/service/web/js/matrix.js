// The confusion matrix, as SVG that is drawn for the width there is.

import { drawn, svg } from "./dom.js";
import { number } from "./i18n.js";
import { visible } from "./show.js";

const LETTER = 7.5; // about the width of one, and of a digit
const LARGEST = 12.5;
const SMALLEST = 8; // of numbers in cells
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/**
 * A row for each true label, a column for each predicted one.  Its cells are buttons; the arrow keys go from one to the
 * next.
 */
export function confusion(labels, counts, choose) {
  const n = labels.length;
  const of = (row, column) => counts.get(row)?.get(column) ?? 0;
  const totals = labels.map((row) => labels.reduce((sum, column) => sum + of(row, column), 0));
  return drawn((width) => {
    const grid = measured(width, labels);
    const cells = labels.map((row, i) =>
      labels.map((column, j) => cell(grid, i, j, row, column, of(row, column), totals[i])),
    );
    const stop = (i, j) =>
      cells.forEach((line, k) => line.forEach((one, l) => one.setAttribute("tabindex", k === i && l === j ? 0 : -1)));
    cells.forEach((line, i) =>
      line.forEach((one, j) => {
        one.addEventListener("click", () => choose(labels[i], labels[j]));
        one.addEventListener("focus", () => stop(i, j));
        one.addEventListener("keydown", (event) => {
          if (event.key === "Enter" || event.key === " ") choose(labels[i], labels[j]);
          else if (event.key in STEPS) {
            const [down, right] = STEPS[event.key];
            cells[Math.min(Math.max(i + down, 0), n - 1)][Math.min(Math.max(j + right, 0), n - 1)].focus();
          } else return;
          event.preventDefault();
        });
      }),
    );
    stop(0, 0);
    const height = grid.top + n * grid.height + 2;
    return svg("svg", { width, height, role: "group", label: "evaluate.confusion" }, names(grid, labels), cells);
  });
}

/** Where cells stand, and how large they are. */
function measured(width, labels) {
  const longest = Math.max(...labels.map((label) => Array.from(visible(label)).length));
  const left = Math.min(LETTER * longest + 12, 130, width * 0.32);
  const size = Math.min(64, (width - left - 2) / labels.length);
  return { left, top: left + 4, size, height: Math.min(40, size), letters: Math.floor((left - 10) / LETTER) };
}

function names({ left, top, size, height, letters }, labels) {
  return labels.map((label, k) => {
    const name = shortened(visible(label), letters);
    const [x, y] = [left + (k + 0.5) * size, top + (k + 0.5) * height];
    const turned = { x, y: top - 6, transform: `rotate(-90 ${x} ${top - 6})`, "dominant-baseline": "central" };
    return [
      svg("text", { x: left - 6, y, "text-anchor": "end", "dominant-baseline": "central" }, name),
      svg("text", turned, name),
    ];
  });
}

function cell({ left, top, size, height }, i, j, row, column, count, total) {
  const [x, y] = [left + j * size, top + i * height];
  const words = { row: visible(row), column: visible(column), n: count };
  const box = svg("rect", { x: x + 1, y: y + 1, width: size - 2, height: height - 2, rx: 3 });
  box.style.setProperty("--depth", Math.sqrt(count / (total || 1)).toFixed(3));
  const written = number(count);
  const letter = Math.min(LARGEST, (LARGEST * (size - 4)) / (LETTER * written.length));
  const middle = { x: x + size / 2, y: y + height / 2, "text-anchor": "middle", "dominant-baseline": "central" };
  const text = count > 0 && letter >= SMALLEST && svg("text", middle, written);
  if (text) text.style.fontSize = `${letter}px`;
  const kind = `cell ${i === j ? "right" : "wrong"} ${count ? "" : "none"}`;
  const properties = { class: kind, role: "button", tabindex: -1, label: ["evaluate.cell", words] };
  return svg("g", properties, svg("title", { t: ["evaluate.cell", words] }), box, text);
}

function shortened(text, most) {
  const characters = Array.from(text);
  return characters.length > most ? `${characters.slice(0, Math.max(most - 1, 1)).join("")}…` : text;
}
