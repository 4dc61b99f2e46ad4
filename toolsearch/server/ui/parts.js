// Pieces that several views are made of.

import { get } from "./api.js";
import { announce, arrows, fill, h, route, said, svg } from "./dom.js";
import { number, percent } from "./texts.js";

export const FORMS = [
  ["openai_chat", "OpenAI Chat Completions"],
  ["openai_responses", "OpenAI Responses"],
  ["anthropic", "Anthropic Messages"],
  ["gemini", "Gemini"],
  ["mcp", "MCP"],
  ["langchain", "LangChain"],
  ["pydantic_ai", "Pydantic AI"],
  ["own", "Our own"],
];

export function heading(text, ...beside) {
  return h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, text), ...beside);
}

export function toolLink(name, properties = {}) {
  return h("a", { href: route("catalog", name), class: "tool-name", ...properties }, said(name));
}

export function badge(text, kind = "") {
  return h("span", { class: `badge ${kind}` }, text);
}

// What a source says of a tool, as badges; nothing where it says nothing.
export function claims(facts) {
  return [
    facts.read_only === true ? badge("read-only", "good") : null,
    facts.destructive === true ? badge("destructive", "bad") : null,
    facts.pinned ? badge("pinned") : null,
    ...(facts.tags ?? []).map((tag) => badge(said(tag), "tag")),
  ];
}

// A bar from 0 to `most`; the number beside it says the same to whoever does not see it.
export function bar(value, most, kind) {
  const width = most > 0 ? Math.max(0, Math.min(1, value / most)) * 100 : 0;
  return svg("svg", { class: `bar ${kind}`, viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "bar-ground", width: 100, height: 6 }),
    svg("rect", { class: "bar-value", width: width.toFixed(2), height: 6 }));
}

// Two costs one below the other, and what share the first saves of the second.
export function costs(sent, whole, { sentText, wholeText }) {
  const line = (text, tokens, kind) => h("div", { class: "cost" },
    h("span", { class: "cost-text" }, text), bar(tokens, Math.max(whole, sent), kind),
    h("span", { class: "cost-tokens" }, `${number(tokens)} tokens`));
  const saves = whole > sent ? h("p", { class: "saves" }, h("strong", {}, percent(1 - sent / whole)), " of the tokens are spared") : null;
  return h("div", { class: "costs" }, line(sentText, sent, "sent"), line(wholeText, whole, "whole"), saves);
}

// JSON as text, with a button that copies it.
export function code(value, label) {
  const text = JSON.stringify(value, null, 2);
  const button = h("button", { type: "button", class: "quiet copy" }, "Copy");
  button.addEventListener("click", async () => {
    const done = await copied(text);
    button.textContent = done ? "Copied" : "Copying is not allowed here";
    announce(button.textContent);
  });
  return h("div", { class: "code" }, button, h("pre", { tabindex: "0", role: "region", "aria-label": label }, h("code", {}, text)));
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export function field(label, control, properties = {}) {
  return h("label", { class: "field", ...properties }, h("span", { class: "field-name" }, label), control);
}

export function choice(name, options, value) {
  const select = h("select", { name }, options.map(([key, text]) => h("option", { value: key }, text)));
  pick(select, value);
  return select;
}

// Choose what an address names, also where the list has it not, such as a server that is gone.
export function pick(select, value) {
  if (![...select.options].some((option) => option.value === value)) select.append(h("option", { value }, value));
  select.value = value;
}

// Fill a choice with the sources or tags of the catalog; it stays as it is where they cannot be had.
export async function offerLabels(select, what, signal) {
  const chosen = select.value;
  const { data } = await get(`/${what}`, { signal });
  const known = data[what].map(({ name, tools }) => h("option", { value: name }, `${name} (${tools})`));
  fill(select, select.options[0], ...known);
  pick(select, chosen);
}

// A list of which more may be shown: its first `page`, and a button for the next one.
//
// `add` puts the items of a page into the list; `next` asks for the page at a cursor.
export function inPages(list, page, add, next) {
  const keys = arrows(list);
  const more = h("button", { type: "button", class: "quiet more" }, "Show more");
  let cursor = null;
  const put = (got) => {
    add(got);
    cursor = got.next_cursor;
    more.hidden = !cursor;
    keys.settle();
  };
  more.addEventListener("click", async () => {
    more.disabled = true;
    const at = list.children.length;
    try {
      put((await next(cursor)).data);
      list.children[at]?.querySelector("[data-item]").focus();
    } catch (error) {
      if (error.name === "AbortError") return;
      announce(error.message);
      more.textContent = `Try again: ${error.message}`;
    } finally {
      more.disabled = false;
    }
  });
  put(page);
  return [list, more];
}

// Of several things one: buttons that say which is chosen.
export function oneOf(label, options, value, onchoose) {
  const group = h("div", { class: "one-of", role: "group", "aria-label": label });
  const draw = (chosen) => {
    for (const button of group.children) button.setAttribute("aria-pressed", String(button.dataset.value === chosen));
  };
  fill(group, ...options.map(([key, text]) => h("button", {
    type: "button", "data-value": key, onclick: () => { draw(key); onchoose(key); },
  }, text)));
  draw(value);
  return group;
}
