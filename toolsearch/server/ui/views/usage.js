// What was used, and what it spared.

import { get } from "../api.js";
import { bars } from "../chart.js";
import { announce, fill, h } from "../dom.js";
import { heading, oneOf } from "../parts.js";
import { empty, shown } from "../states.js";
import { compact, count, number, percent } from "../texts.js";

const DAY_MS = 86400000;
const PERIODS = [["7", "7 days"], ["30", "30 days"], ["90", "90 days"], ["365", "A year"]];

let period = "30";

export function show(main, { signal }) {
  const place = h("div", { class: "usage" });
  const fetchUsage = () => shown(place, async () => {
    const days = lastDays(Number(period));
    const { data } = await get("/usage", { query: { since: days[0], until: days.at(-1) }, signal });
    return usage(data, days);
  }, { signal });
  fill(main, heading("Usage", oneOf("Period", PERIODS, period, (chosen) => { period = chosen; fetchUsage(); })), place);
  fetchUsage();
  return () => {};
}

// Days in UTC, as the service counts them, up to today.
function lastDays(n) {
  const today = Date.now();
  return Array.from({ length: n }, (_, i) => new Date(today - (n - 1 - i) * DAY_MS).toISOString().slice(0, 10));
}

function usage(data, days) {
  const { total } = data;
  announce(`${count(total.searches, "search", "searches")}.`);
  if (!data.days.length) return empty("Nothing was used in this time", h("p", {}, "Each search is counted, with the tokens that it returned and spared."));
  const known = new Map(data.days.map((each) => [each.day, each]));
  const of = (read) => days.map((iso) => (known.has(iso) ? read(known.get(iso)) : 0));
  const spared = of((each) => each.spared_tokens);
  let sum = 0;
  const inAll = spared.map((value) => { sum += value; return sum; });
  const whole = total.spared_tokens + total.returned_tokens;
  const tiles = [
    ["Searches", number(total.searches), total.searches ? `${percent(total.nothing_fits / total.searches)} found that nothing fits` : ""],
    ["Tokens spared", compact(total.spared_tokens), whole ? `${percent(total.spared_tokens / whole)} of what all definitions cost` : ""],
    ["Tokens returned", compact(total.returned_tokens), total.searches ? `${number(total.returned_tokens / total.searches)} a search` : ""],
    ["Calls", number(total.calls), "of tools that the service runs"],
  ];
  return [
    h("dl", { class: "tiles" }, tiles.map(([name, value, note]) => h("div", { class: "panel tile" }, h("dt", {}, name), h("dd", {}, h("strong", {}, value), h("span", { class: "hint" }, note))))),
    h("div", { class: "charts" },
      bars({ title: "Searches a day", text: "Those that found tools, and those that nothing fits.", unit: "searches", days, series: [
        { name: "Tools found", kind: "found", values: of((each) => each.searches - each.nothing_fits) },
        { name: "Nothing fits", kind: "nothing", values: of((each) => each.nothing_fits) },
      ] }),
      bars({ title: "Tokens returned a day", text: "What the definitions of the found tools cost.", unit: "tokens", days, series: [
        { name: "Returned", kind: "returned", values: of((each) => each.returned_tokens) },
      ] }),
      bars({ title: "Tokens spared a day", text: "What sending every definition with each search costs more.", unit: "tokens", days, series: [
        { name: "Spared", kind: "spared", values: spared },
      ] }),
      bars({ title: "Tokens spared in all", text: "Added up over the period.", unit: "tokens", days, series: [
        { name: "Spared until then", kind: "spared", values: inAll },
      ] })),
  ];
}
