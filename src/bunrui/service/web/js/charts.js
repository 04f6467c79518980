// Diagrams, as SVG that is drawn for the width there is.

import { drawn, h, svg } from "./dom.js";
import { number, percent } from "./i18n.js";

const GAP = 34; // for the numbers beside an axis
/** Accuracy over confidence: on the line, the classifier is as sure as it is right. */
export function reliability(bins) {
  const n = bins.reduce((sum, bin) => sum + bin.doc_count, 0);
  return drawn((width) => {
    const { picture, x, y, side } = plane(
      width,
      "evaluate.confidence",
      "evaluate.accuracy.percent",
      "evaluate.reliability",
    );
    picture.append(svg("line", { x1: x(0), y1: y(0), x2: x(1), y2: y(1), class: "ideal" }));
    for (const bin of bins) {
      const words = {
        low: percent(bin.low),
        high: percent(bin.high),
        accuracy: percent(bin.accuracy),
        n: bin.doc_count,
      };
      const height = y(0) - y(bin.accuracy);
      picture.append(
        svg(
          "g",
          { class: "bin" },
          svg("title", { t: ["evaluate.bin", words] }),
          svg("rect", {
            x: x(bin.low) + 0.5,
            y: y(bin.accuracy),
            width: x(bin.high) - x(bin.low) - 1,
            height,
            class: "area",
          }),
          svg("circle", {
            cx: x(bin.confidence),
            cy: y(bin.accuracy),
            r: 3 + 0.035 * side * Math.sqrt(bin.doc_count / n),
            class: "point",
          }),
        ),
      );
    }
    return picture;
  });
}

/** Accuracy against the number of documents, which doubles from tick to tick. */
export function curve(points) {
  const logs = points.map((point) => Math.log(point.documents));
  const [low, high] = [logs[0], logs.at(-1)];
  return drawn((width) => {
    const { picture, x, y } = plane(width, "evaluate.documents", "evaluate.accuracy.percent", "evaluate.curve", []);
    const at = points.map((_, k) => x(high > low ? 0.03 + (0.94 * (logs[k] - low)) / (high - low) : 0.5));
    const path = (ys) => ys.map((value, k) => `${at[k]},${y(value)}`);
    const band = [...path(points.map((point) => point.low)), ...path(points.map((point) => point.high)).reverse()];
    picture.append(
      svg("polygon", { points: band.join(" "), class: "area" }),
      svg("polyline", { points: path(points.map((point) => point.accuracy)).join(" "), class: "line" }),
    );
    let free = 0;
    points.forEach((point, k) => {
      const words = { n: point.documents, accuracy: percent(point.accuracy) };
      picture.append(
        svg(
          "circle",
          { cx: at[k], cy: y(point.accuracy), r: 4, class: "point" },
          svg("title", { t: ["evaluate.point", words] }),
        ),
      );
      if (at[k] < free) return;
      free = at[k] + 8 * number(point.documents).length + 6;
      picture.append(svg("text", { x: at[k], y: y(0) + 16, "text-anchor": "middle" }, number(point.documents)));
    });
    return picture;
  });
}

/** Axes from 0 to 1, and where points of the plane are drawn. */
function plane(width, across, up, label, ticks = [0, 0.25, 0.5, 0.75, 1]) {
  const side = Math.min(width - GAP - 26, 420);
  const tall = Math.min(side, 300);
  const x = (value) => GAP + 6 + value * side;
  const y = (value) => 8 + (1 - value) * tall;
  const picture = svg("svg", { width, height: tall + 50, role: "img", label });
  for (const value of [0, 0.25, 0.5, 0.75, 1]) {
    picture.append(
      svg("line", { x1: x(0), y1: y(value), x2: x(1), y2: y(value), class: "grid" }),
      svg("text", { x: x(0) - 6, y: y(value), "text-anchor": "end", "dominant-baseline": "middle" }, `${100 * value}`),
    );
  }
  for (const value of ticks)
    picture.append(svg("text", { x: x(value), y: y(0) + 16, "text-anchor": "middle" }, `${100 * value}`));
  picture.append(
    svg("text", { x: x(0.5), y: y(0) + 36, "text-anchor": "middle", class: "axis", t: across }),
    svg("text", { x: x(0) + 6, y: y(1) + 12, class: "axis", t: up }),
  );
  return { picture, x, y, side };
}

/** The numbers of a diagram, for those who cannot see it. */
export function numbers(heads, rows) {
  return h(
    "details",
    {},
    h("summary", { t: "evaluate.numbers" }),
    h(
      "div",
      { class: "scroll" },
      h(
        "table",
        { class: "plain" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            heads.map((head) => h("th", { scope: "col", class: "number", t: head })),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((row) =>
            h(
              "tr",
              {},
              row.map((cell) => h("td", { class: "number" }, cell)),
            ),
          ),
        ),
      ),
    ),
  );
}
