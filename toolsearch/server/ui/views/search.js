// Try a query: what is found, by which channel, and what the model would be sent.

import { get, post, series } from "../api.js";
import { announce, arrows, fill, h, route, said } from "../dom.js";
import { bar, choice, claims, code, costs, field, FORMS, heading, offerLabels, pick, toolLink } from "../parts.js";
import { empty, shown } from "../states.js";
import { count, milliseconds, number, percent, score } from "../texts.js";

const CHANNELS = {
  dense: ["Meaning", "Cosine of the query and the tool, up to 1"],
  lexical: ["Words", "BM25; the bar is full for the best of these hits"],
  name: ["Name", "How surely the query calls the tool by its name, up to 1"],
  steps: ["Steps", "What a step of the query adds"],
};

// What a channel is called, and what its number is; a newer service may have others.
const named = (channel) => (Object.hasOwn(CHANNELS, channel) ? CHANNELS[channel] : [channel, "A part of the score"]);

let form = "openai_chat";

export function show(main, { query, signal }) {
  const text = h("input", {
    type: "search", name: "q", "data-search": true, autocomplete: "off", placeholder: "What should the tool do?",
    "aria-label": "Query", maxlength: 2000, value: query.get("q") ?? "",
  });
  const source = choice("source", [["", "All servers"]], query.get("source") ?? "");
  const most = choice("most", [5, 10, 20, 50].map((n) => [String(n), String(n)]), query.get("most") ?? "10");
  const results = h("div", { class: "results" });
  const fresh = series(signal);

  const asked = () => ({ q: text.value.trim(), source: source.value, most: most.value === "10" ? "" : most.value });
  const ask = () => {
    const stop = fresh();
    const { q } = asked();
    if (!q) {
      shown(results, () => about(stop), { signal: stop });
      return;
    }
    const body = { queries: [q], max_k: Number(most.value), explain: true };
    if (source.value) body.sources = [source.value];
    shown(results, async () => answered(await post("/search", body, { signal: stop }), signal), {
      text: "Searching …", signal: stop,
    });
  };
  const submit = (event) => {
    event?.preventDefault();
    const wanted = route("search", "", asked());
    if (location.hash === wanted) ask();
    else location.hash = wanted;
  };
  source.addEventListener("change", () => submit());
  most.addEventListener("change", () => submit());

  fill(main, heading("Search"),
    h("form", { class: "search-form", role: "search", onsubmit: submit },
      h("div", { class: "search-row" }, text, h("button", { type: "submit", class: "main" }, "Search")),
      h("div", { class: "row" }, field("Server", source), field("At most", most),
        h("span", { class: "hint keys" }, h("kbd", {}, "/"), " to type, ", h("kbd", {}, "↑"), " ", h("kbd", {}, "↓"), " through the hits"))),
    results);
  offerLabels(source, "sources", signal).catch(() => {});
  ask();
  if (!query.get("q")) text.focus();
  return (_, newer) => {
    text.value = newer.get("q") ?? "";
    pick(source, newer.get("source") ?? "");
    pick(most, newer.get("most") ?? "10");
    ask();
  };
}

async function about(signal) {
  const { data } = await get("/catalogs/default", { signal });
  if (!data.tools) return empty("The catalog has no tools yet", h("p", {}, "Put some there with POST /v1/tools/bulk."));
  return empty("Ask for what a tool should do, or for its name",
    h("p", {}, `${count(data.tools, "tool")} of ${count(data.sources.length, "server")} can be found. `
      + `Sending all of them costs ${number(data.tokens)} tokens in every round.`));
}

function answered({ data }, signal) {
  const notices = data.notices.map((notice) => h("p", { class: "note" }, said(notice)));
  if (!data.hits.length) {
    announce("No tool fits.");
    return [...notices, empty(data.nothing_fits ? "Nothing fits" : "Nothing found",
      h("p", {}, data.nothing_fits
        ? `No tool is likely to serve this request (confidence ${percent(data.confidence ?? 0)}). The model is told so, and not to search again.`
        : "No tool passes these filters."),
      data.near.length ? [h("p", {}, "Nearest, though unlikely:"), nearest(data.near)] : null)];
  }
  announce(`${count(data.hits.length, "tool")} found.`);
  return [
    ...notices,
    summary(data),
    h("div", { class: "two" },
      h("section", { "aria-labelledby": "hits-title" }, h("h2", { id: "hits-title" }, count(data.hits.length, "hit")), hits(data), legend(data),
        data.near.length ? h("details", {}, h("summary", {}, `Beyond the cut: ${count(data.near.length, "tool")}`), nearest(data.near)) : null),
      h("section", { "aria-labelledby": "sent-title" }, h("h2", { id: "sent-title" }, "What the model is sent"), sent(data, signal))),
  ];
}

function summary(data) {
  const facts = [
    ["Confidence", data.confidence === null ? "not measured" : percent(data.confidence)],
    ["Took", milliseconds(data.took_ms)],
    ["Returned", `${number(data.returned_tokens)} tokens`],
    ["Spared", `${number(data.spared_tokens)} tokens`],
  ];
  const stages = Object.entries(data.timings_ms ?? {}).filter(([stage]) => stage !== "total");
  return h("div", { class: "panel summary" },
    h("dl", { class: "facts" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    data.nothing_fits ? h("p", { class: "note" }, "None of these is likely to serve the request.") : null,
    data.degraded ? h("p", { class: "note" }, "The encoder failed; names and words answered alone.") : null,
    Object.values(data.steps).map((steps) => h("p", { class: "hint" }, "Searched in steps: ", steps.map((step, i) => [i ? " · " : "", said(step)]))),
    stages.length ? h("p", { class: "hint" }, stages.map(([stage, ms]) => `${stage} ${milliseconds(ms)}`).join(" · ")) : null);
}

function hits(data) {
  const best = Math.max(...data.hits.map((hit) => hit.channels.lexical ?? 0));
  const list = h("ol", { class: "hits", "aria-label": "Hits, best first" }, data.hits.map((hit) => h("li", { class: "panel hit" },
    h("div", { class: "hit-said" },
      h("div", { class: "hit-name" }, toolLink(hit.name, { "data-item": true })),
      hit.title ? h("p", { class: "hit-title" }, said(hit.title)) : null,
      h("p", { class: "hit-text" }, said(hit.description || "It has no description.")),
      h("p", { class: "badges" }, claims(hit))),
    h("dl", { class: "channels" },
      channel("Score", hit.score, null),
      Object.entries(hit.channels)
        .map(([name, value]) => channel(named(name)[0], value, name, name === "lexical" ? best : 1))))));
  arrows(list).settle();
  return list;
}

function channel(text, value, kind, most) {
  return h("div", { class: `channel ${kind ?? "total"}`, "data-channel": kind ?? "score" }, h("dt", {}, text),
    h("dd", {}, kind ? bar(value, most, kind) : h("span"), h("span", { class: "channel-value" }, score(value))));
}

function legend(data) {
  const channels = Object.keys(data.hits[0].channels).map(named);
  return h("p", { class: "hint" }, channels.map(([text, meaning]) => `${text}: ${meaning}. `));
}

function nearest(names) {
  return h("ul", { class: "nearest" }, names.map((name) => h("li", {}, toolLink(name))));
}

function sent(data, signal) {
  const place = h("div", { class: "sent-code" });
  const render = () => shown(place, async () => {
    const { data: written } = await post("/render", { names: data.hits.map((hit) => hit.name), form }, { signal });
    return [h("p", { class: "hint" }, `${number(written.form_tokens)} tokens in this form, without spaces.`), code(written.tools, "Definitions")];
  }, { signal });
  const forms = choice("form", FORMS, form);
  forms.addEventListener("change", () => { form = forms.value; render(); });
  render();
  return h("div", { class: "panel sent" },
    costs(data.returned_tokens, data.returned_tokens + data.spared_tokens, {
      sentText: `These ${data.hits.length}`, wholeText: "All tools",
    }),
    h("p", { class: "hint" }, "Both counted in the form of OpenAI Chat Completions, for each round."),
    field("Provider's form", forms), place);
}
