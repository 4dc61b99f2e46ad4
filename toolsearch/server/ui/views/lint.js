// What is wrong with the catalog, or suspicious, or hard to find.

import { get, series } from "../api.js";
import { announce, fill, h, route, said } from "../dom.js";
import { badge, choice, field, heading, inPages, oneOf, toolLink } from "../parts.js";
import { empty, shown } from "../states.js";
import { count, number } from "../texts.js";

const PAGE = 100;
const SEVERITIES = { error: ["Errors", "bad"], warning: ["Warnings", "warn"], info: ["Notes", ""] };

let thorough = false;

export function show(main, { query, signal }) {
  const place = h("div", {});
  const check = h("input", { type: "checkbox", name: "thorough" });
  check.checked = thorough;
  const fresh = series(signal);
  let filters = read(query);

  const fetchFindings = () => {
    const stop = fresh();
    const asked = { ...filters, limit: PAGE, self_retrieval: thorough };
    const fetchPage = (cursor) => get("/catalogs/default/lint", { query: { ...asked, cursor }, signal: stop, patient: true });
    shown(place, async () => findings((await fetchPage(null)).data, filters, fetchPage), {
      text: thorough ? "Looking at every tool, and searching for each …" : "Looking at every tool …", signal: stop,
    });
  };
  check.addEventListener("change", () => { thorough = check.checked; fetchFindings(); });
  fill(main, heading("Lint"),
    h("p", {}, h("label", { class: "check" }, check, " Also search for each tool by its own description, which takes longer")),
    place);
  fetchFindings();
  return (_, newer) => { filters = read(newer); fetchFindings(); };
}

function read(query) {
  return { severity: query.get("severity") ?? "", code: query.get("code") ?? "", tool: query.get("tool") ?? "" };
}

function go(filters) {
  location.hash = route("lint", "", filters);
}

function findings(data, filters, fetchPage) {
  const all = Object.values(data.severities).reduce((sum, n) => sum + n, 0);
  announce(`${count(data.total, "finding")}.`);
  if (!all) return empty("Nothing to say", h("p", {}, `${count(data.tools, "tool")} looked at, and nothing found.`));
  const severities = [["", `All ${number(all)}`], ...Object.entries(data.severities).map(([key, n]) => [key, `${SEVERITIES[key]?.[0] ?? key} ${number(n)}`])];
  const codes = choice("code", [["", "All rules"], ...Object.entries(data.codes).map(([code, n]) => [code, `${code} (${n})`])], filters.code);
  codes.addEventListener("change", () => go({ ...filters, code: codes.value }));
  return [
    h("div", { class: "row filters" },
      oneOf("Severity", severities, filters.severity, (severity) => go({ ...filters, severity })), field("Rule", codes),
      filters.tool ? h("p", { class: "only" }, "Only ", said(filters.tool, { class: "tool-name" }), " ",
        h("a", { href: route("lint", "", { ...filters, tool: "" }) }, "all tools")) : null),
    h("p", { class: "hint" }, `${count(data.total, "finding")} of ${count(data.tools, "tool")}`),
    data.total ? table(data, fetchPage) : empty("No finding passes these filters"),
  ];
}

function table(data, fetchPage) {
  const list = h("ul", { class: "findings", "aria-label": "Findings, the gravest first" });
  return inPages(list, data, (page) => list.append(...page.findings.map(item)), fetchPage);
}

function item(finding) {
  const name = finding.tool ? toolLink(finding.tool, { "data-item": true }) : h("span", { "data-item": true, tabindex: "0" }, "The catalog");
  return h("li", { class: `panel finding ${finding.severity}` },
    h("p", { class: "finding-head" }, badge(finding.severity, SEVERITIES[finding.severity]?.[1]), name, h("code", { class: "hint" }, finding.code)),
    h("p", {}, said(finding.message)),
    h("p", { class: "hint" }, said(finding.hint)));
}
