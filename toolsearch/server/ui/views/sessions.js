// Watch conversations: what each sent, searched for and found, round by round.

import { get } from "../api.js";
import { announce, arrows, fill, h, markCurrent, route, said } from "../dom.js";
import { badge, costs, heading, toolLink } from "../parts.js";
import { empty, loading, problem } from "../states.js";
import { count, moment, number } from "../texts.js";

const AGAIN_MS = 2000;
const FORGOTTEN = "The service does not keep what sessions do (keep_rounds is off).";

export function show(main, { id, signal }) {
  const list = h("div", { class: "sessions-list" }, loading());
  const detail = h("section", { class: "catalog-detail", "aria-label": "Session" });
  const both = h("div", { class: "split" }, list, detail);
  const state = h("span", { class: "live", "data-live": "" });
  const pause = h("button", { type: "button", class: "quiet", "aria-pressed": "false" }, "Pause");
  const again = h("button", { type: "button", class: "quiet" }, "Show more");
  const watch = { id, etag: "", listed: "", pages: 1, paused: false, timer: null, round: 0 };

  const tell = (text, live) => { state.textContent = text; state.dataset.live = live ? "on" : "off"; };
  const look = async () => {
    clearTimeout(watch.timer);
    watch.round += 1;
    const mine = watch.round;
    try {
      const [sessions, rounds] = await Promise.all([listed(watch, signal), watch.id ? roundsOf(watch, signal) : null]);
      if (mine !== watch.round || signal.aborted) return;
      if (sessions) drawList(list, sessions, watch, again);
      if (rounds) fill(detail, session(rounds, detail));
      tell(watch.paused ? "Paused" : `Live, ${moment(Date.now() / 1000)}`, !watch.paused);
    } catch (error) {
      if (error.name === "AbortError" || mine !== watch.round) return;
      if (error.status === undefined) throw error;
      tell(error.message, false);
      if (!list.querySelector("li")) {
        fill(list, problem(error, look));
        return;
      }
    }
    if (!watch.paused && !document.hidden) watch.timer = setTimeout(look, AGAIN_MS);
  };
  const choose = (chosen) => {
    watch.id = chosen;
    watch.etag = "";
    both.classList.toggle("one", Boolean(chosen));
    markCurrent(list, chosen);
    fill(detail, chosen ? loading() : empty("Choose a session to watch it"));
    look();
  };
  again.addEventListener("click", () => { watch.pages += 1; look(); });
  pause.addEventListener("click", () => {
    watch.paused = !watch.paused;
    pause.setAttribute("aria-pressed", String(watch.paused));
    look();
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && !watch.paused) look(); }, { signal });
  signal.addEventListener("abort", () => clearTimeout(watch.timer), { once: true });

  fill(main, heading("Sessions", state, pause), both);
  choose(id);
  return (newId) => choose(newId);
}

async function listed(watch, signal) {
  const sessions = [];
  let cursor = null;
  let kept = true;
  for (let page = 0; page < watch.pages; page += 1) {
    const { data } = await get("/sessions", { query: { limit: 50, cursor }, signal });
    sessions.push(...data.sessions);
    ({ next_cursor: cursor, kept } = data);
    if (!cursor) break;
  }
  const text = JSON.stringify(sessions);
  if (text === watch.listed) return null;
  watch.listed = text;
  return { sessions, kept, more: Boolean(cursor) };
}

async function roundsOf(watch, signal) {
  const { data, etag } = await get(`/sessions/${encodeURIComponent(watch.id)}/rounds`, { etag: watch.etag, signal });
  watch.etag = etag;
  return data;
}

function drawList(place, { sessions, kept, more }, watch, again) {
  if (!sessions.length) {
    fill(place, empty("No sessions yet", h("p", {}, kept
      ? "A conversation appears here with its first GET /v1/sessions/{id}/tools or POST /v1/sessions/{id}/search."
      : FORGOTTEN)));
    return;
  }
  const focused = document.activeElement?.dataset?.name;
  const list = h("ul", { class: "items", "aria-label": "Sessions, the last used first" }, sessions.map((each) => h("li", {},
    h("a", { href: route("sessions", each.id), class: "item", "data-item": true, "data-name": each.id },
      h("span", { class: "item-head" }, said(each.id, { class: "tool-name" }), h("span", { class: "hint" }, moment(each.last_at))),
      h("span", { class: "item-text" }, `${count(each.rounds, "round")}, ${count(each.searches, "search", "searches")}`)))));
  const keys = arrows(list);
  fill(place, list, more ? again : null);
  markCurrent(list, watch.id);
  const same = [...list.querySelectorAll("[data-item]")].find((item) => item.dataset.name === focused);
  keys.settle(same);
  same?.focus();
}

function session(data, before) {
  const back = h("p", { class: "back" }, h("a", { href: route("sessions") }, "← All sessions"));
  const title = h("h2", {}, said(data.session_id));
  if (!data.rounds.length) {
    return h("article", { class: "panel" }, back, title, empty("Nothing is known of this session",
      h("p", {}, data.kept ? "It has not begun, or is forgotten." : FORGOTTEN)));
  }
  const open = new Set([...before.querySelectorAll("details[open]")].map((each) => each.dataset.round));
  const searches = data.rounds.flatMap((round) => round.events.filter((event) => event.kind === "search"));
  const numbered = data.rounds.filter((round) => round.number > 0);
  const sent = tokensOf(data.rounds);
  const left = data.rounds_total - numbered.length;
  announce(`${count(data.rounds_total, "round")}.`);
  return h("article", { class: "panel session" }, back, title,
    h("p", { class: "hint" }, `${count(data.rounds_total, "round")}, ${count(searches.length, "search", "searches")}`,
      left > 0 ? `; the first ${number(left)} are not shown` : ""),
    numbered.length ? [costs(sent, data.catalog_tokens * numbered.length, {
      sentText: "Tools and results of searches", wholeText: `All ${number(data.catalog_tools)} tools in each round`,
    }), h("p", { class: "hint" }, "A round that only searches would not be needed if all tools were sent.")] : null,
    h("ol", { class: "rounds" }, data.rounds.map((round) => roundItem(round, data, open))));
}

// Tokens of the tools of all rounds, and of the results of searches, which later rounds send again.
function tokensOf(rounds) {
  let told = 0;
  let tokens = 0;
  for (const round of rounds) {
    if (round.number > 0) tokens += told + round.tokens;
    told += round.events.reduce((sum, event) => sum + (event.tokens ?? 0), 0);
  }
  return tokens;
}

function roundItem(round, data, open) {
  const key = String(round.number);
  return h("li", { class: "round", "data-round": key },
    h("div", { class: "round-head" },
      h("h3", {}, round.number ? `Round ${round.number}` : "Before the first round"),
      h("span", { class: "hint" }, moment(round.at))),
    round.number ? h("details", { "data-round": key, open: open.has(key) },
      h("summary", {}, `${count(round.tools.length, "tool")} sent, ${number(round.tokens)} tokens`, " ",
        h("span", { class: "hint" }, said(`${round.form}, ${round.delivery}`))),
      h("ul", { class: "nearest" }, round.tools.map((name) => h("li", {}, name === "tool_search" || name === "call_tool" ? h("code", {}, name) : toolLink(name))))) : null,
    round.events.length ? h("ul", { class: "events" }, round.events.map(eventItem)) : null);
}

const VERBS = { search: "Search", load: "Loaded", forget: "Forgot", call: "Called" };

function eventItem(event) {
  const tools = event.tools.length
    ? h("ul", { class: "nearest" }, event.tools.map((name) => h("li", {}, toolLink(name)))) : null;
  return h("li", { class: `event ${event.kind}` },
    h("p", {}, badge(VERBS[event.kind] ?? event.kind, event.is_error ? "bad" : ""), " ",
      event.queries.map((query, i) => [i ? ", " : "", h("q", {}, said(query))]),
      event.kind === "forget" && !event.tools.length ? "everything" : null,
      event.is_error ? " It could not be carried out." : null,
      event.tokens ? h("span", { class: "hint" }, ` ${count(event.tokens, "token")} in its result`) : null),
    event.kind === "search" && !event.is_error
      ? h("p", { class: "hint" }, event.tools.length ? `${count(event.tools.length, "tool")} discovered:` : "Nothing new discovered.") : null,
    tools);
}
