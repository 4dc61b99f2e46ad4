// Browse the catalog, and look at one tool.

import { get, series } from "../api.js";
import { announce, fill, h, markCurrent, route, said } from "../dom.js";
import { badge, choice, claims, code, field, heading, inPages, offerLabels, pick } from "../parts.js";
import { empty, shown } from "../states.js";
import { count, number } from "../texts.js";

const PAGE = 60;
const TYPING_MS = 200;

export function show(main, { id, query, signal }) {
  const text = h("input", {
    type: "search", name: "text", "data-search": true, autocomplete: "off", maxlength: 200,
    placeholder: "Name, description, argument", value: query.get("text") ?? "",
  });
  const source = choice("source", [["", "All servers"]], query.get("source") ?? "");
  const tag = choice("tag", [["", "All tags"]], query.get("tag") ?? "");
  const list = h("div", { class: "catalog-list" });
  const detail = h("section", { class: "catalog-detail", "aria-label": "Tool" });
  const both = h("div", { class: "split" }, list, detail);
  let chosen = id;
  let listed = null;
  const fresh = series(signal);

  const filters = () => ({ text: text.value.trim(), source: source.value, tag: tag.value });
  const fetchList = () => {
    const current = filters();
    listed = JSON.stringify(current);
    const stop = fresh();
    shown(list, () => tools(current, stop, () => chosen), { signal: stop });
  };
  const fetchDetail = () => {
    both.classList.toggle("one", Boolean(chosen));
    markCurrent(list, chosen);
    const wanted = chosen;
    if (!wanted) fill(detail, empty("Choose a tool to see its definition"));
    else shown(detail, async () => tool(await get(`/tools/${encodeURIComponent(wanted)}`, { signal }), filters()), { signal });
  };
  const filter = (event) => {
    event?.preventDefault();
    // Typing does not fill the history.
    history.replaceState(null, "", route("catalog", chosen, filters()));
    if (JSON.stringify(filters()) !== listed) fetchList();
  };
  let typing = null;
  text.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(filter, TYPING_MS); });
  signal.addEventListener("abort", () => clearTimeout(typing), { once: true });
  source.addEventListener("change", filter);
  tag.addEventListener("change", filter);

  fill(main, heading("Catalog"),
    h("form", { class: "row filters", role: "search", "aria-label": "Filter tools", onsubmit: filter },
      field("Text", text, { class: "field grow" }), field("Server", source), field("Tag", tag)),
    both);
  offerLabels(source, "sources", signal).catch(() => {});
  offerLabels(tag, "tags", signal).catch(() => {});
  fetchList();
  fetchDetail();
  return (newId, newer) => {
    chosen = newId;
    text.value = newer.get("text") ?? "";
    pick(source, newer.get("source") ?? "");
    pick(tag, newer.get("tag") ?? "");
    if (JSON.stringify(filters()) !== listed) fetchList();
    fetchDetail();
    if (chosen) detail.scrollIntoView({ block: "nearest" });
  };
}

async function tools(filters, signal, current) {
  const fetchPage = (cursor) => get("/tools", { query: { ...filters, limit: PAGE, cursor }, signal });
  const { data } = await fetchPage(null);
  announce(`${count(data.total, "tool")}.`);
  if (!data.total) return empty("No tool passes these filters", h("p", {}, h("a", { href: route("catalog") }, "Show all tools")));
  const list = h("ul", { class: "items", "aria-label": "Tools, by name" });
  const add = (page) => {
    list.append(...page.tools.map((entry) => item(entry, filters)));
    markCurrent(list, current());
  };
  return [h("p", { class: "hint" }, count(data.total, "tool")), inPages(list, data, add, fetchPage)];
}

function item(entry, filters) {
  const { definition } = entry;
  return h("li", {}, h("a", { href: route("catalog", entry.name, filters), class: "item", "data-item": true, "data-name": entry.name },
    h("span", { class: "item-head" }, said(entry.name, { class: "tool-name" }), h("span", { class: "hint" }, `${number(entry.tokens)} tokens`)),
    h("span", { class: "item-text" }, said(definition.description || "No description"))));
}

function tool({ data }, filters) {
  const { definition } = data;
  return h("article", { class: "panel tool" },
    h("p", { class: "back" }, h("a", { href: route("catalog", "", filters) }, "← All tools")),
    h("h2", {}, said(data.name)),
    definition.title ? h("p", { class: "hit-title" }, said(definition.title)) : null,
    h("p", { class: "badges" }, definition.server ? badge(said(definition.server), "tag") : null, claims(definition)),
    h("p", { class: "tool-text" }, said(definition.description || "It has no description.")),
    h("p", { class: "hint" }, `${number(data.tokens)} tokens each time it is sent. Digest `, h("code", {}, data.digest.slice(0, 12)), "."),
    h("h3", {}, "Arguments"), argumentsOf(definition.input_schema),
    h("h3", {}, "Definition"), code(definition, "Definition"),
    h("p", {}, h("a", { href: route("lint", "", { tool: data.name }) }, "What lint says of it"), " · ",
      h("a", { href: route("search", "", { q: definition.description?.slice(0, 200) || data.name }) }, "Search by its description")));
}

function argumentsOf(schema) {
  const properties = Object.entries(isObject(schema?.properties) ? schema.properties : {});
  if (!properties.length) return h("p", { class: "hint" }, "It takes none.");
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  return h("ul", { class: "arguments" }, properties.map(([name, value]) => h("li", {},
    h("p", {}, h("code", {}, said(name)), " ", h("span", { class: "hint" }, said(typeOf(value))),
      required.has(name) ? [" ", badge("required")] : null),
    isObject(value) && value.description ? h("p", { class: "argument-text" }, said(String(value.description))) : null)));
}

function typeOf(value) {
  if (!isObject(value)) return "anything";
  if (Array.isArray(value.enum)) return value.enum.map((each) => JSON.stringify(each)).join(" | ");
  if (value.type === "array" && isObject(value.items)) return `list of ${typeOf(value.items)}`;
  if (typeof value.type === "string") return value.format ? `${value.type}, ${value.format}` : value.type;
  if (Array.isArray(value.type)) return value.type.join(" | ");
  const several = value.anyOf ?? value.oneOf;
  return Array.isArray(several) ? several.map(typeOf).join(" | ") : "anything";
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
