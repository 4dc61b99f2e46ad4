// Bars by day: with axes, a title, a legend, and the same as a table.

import { fill, h, svg } from "./dom.js";
import { compact, day, number } from "./texts.js";

const HEIGHT = 220;
const MARGIN = { top: 10, right: 8, bottom: 26, left: 52 };
const LABEL_PX = 64;
const TICKS = 4;

let made = 0;

// A figure of `days` ("2026-01-31" …) and series of a value for each, stacked.
//
// Each series has a `name`, its `values` and a `kind`, which the style sheet colours.
export function bars({ title, text, days, series, unit }) {
  made += 1;
  const id = `chart-${made}`;
  const place = h("div", { class: "chart-place" });
  const draw = () => { if (place.clientWidth) fill(place, drawn({ id, title, text, days, series, unit }, place.clientWidth)); };
  const resized = new ResizeObserver(draw);
  resized.observe(place);
  return h("figure", { class: "panel chart" },
    h("figcaption", {}, h("h2", { id }, title), h("p", { class: "hint" }, text)),
    series.length > 1 ? h("ul", { class: "legend" }, series.map(({ name, kind }) => h("li", {}, h("span", { class: `swatch ${kind}`, "aria-hidden": "true" }), name))) : null,
    place,
    h("details", {}, h("summary", {}, "As a table"), table({ title, days, series })));
}

function drawn({ id, title, text, days, series, unit }, width) {
  const sums = days.map((_, i) => series.reduce((sum, { values }) => sum + values[i], 0));
  const top = ceiling(Math.max(...sums, 1));
  const inner = { width: width - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom };
  const step = inner.width / days.length;
  const y = (value) => MARGIN.top + inner.height * (1 - value / top);
  const every = Math.max(1, Math.ceil(LABEL_PX / step));
  const ticks = Array.from({ length: TICKS + 1 }, (_, i) => (top / TICKS) * i).filter(Number.isInteger);
  return svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-labelledby": `${id} ${id}-said` },
    svg("desc", { id: `${id}-said` }, `${text} ${days.length} days, up to ${number(Math.max(...sums))} ${unit} a day.`),
    ticks.map((value) => svg("g", { class: "tick" },
      svg("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: y(value), y2: y(value) }),
      svg("text", { x: MARGIN.left - 6, y: y(value) + 4, "text-anchor": "end" }, compact(value)))),
    days.map((iso, i) => (i % every ? null : svg("text", {
      class: "label", x: MARGIN.left + step * (i + 0.5), y: HEIGHT - 8, "text-anchor": "middle",
    }, day(iso)))),
    days.map((iso, i) => column({ iso, i, step, series, y, unit })),
    svg("line", { class: "axis", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(0), y2: y(0) }));
}

function column({ iso, i, step, series, y, unit }) {
  const gap = Math.min(step * 0.25, 6);
  let below = 0;
  return svg("g", {}, series.map(({ name, values, kind }) => {
    const [from, to] = [below, below + values[i]];
    below = to;
    if (!values[i]) return null;
    const height = Math.max(y(from) - y(to), 1);
    return svg("rect", {
      class: `column ${kind}`, x: (MARGIN.left + step * i + gap / 2).toFixed(2), y: (y(from) - height).toFixed(2),
      width: Math.max(Math.min(step - gap, 48), 1).toFixed(2), height: height.toFixed(2),
    }, svg("title", {}, `${day(iso)}: ${number(values[i])} ${unit}, ${name}`));
  }));
}

function table({ title, days, series }) {
  const rows = days.map((iso, i) => ({ iso, values: series.map(({ values }) => values[i]) })).filter(({ values }) => values.some(Boolean)).reverse();
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${title}, as a table` }, h("table", {},
    h("caption", { class: "unseen" }, title),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Day"), series.map(({ name }) => h("th", { scope: "col", class: "n" }, name)))),
    h("tbody", {}, rows.map(({ iso, values }) => h("tr", {}, h("th", { scope: "row" }, iso), values.map((value) => h("td", { class: "n" }, number(value))))))));
}

// The least of 4, 8, 20, 40, 80, 200 … that is not below `value`, so that ticks are round.
function ceiling(value) {
  for (let power = 1; ; power *= 10) {
    for (const step of [4, 8, 20]) if (step * power >= value) return step * power;
  }
}
