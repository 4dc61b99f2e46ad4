// The page: which view is shown, by the address behind the #, and keys that work everywhere.

import { fill } from "./dom.js";
import * as key from "./key.js";
import { show as catalog } from "./views/catalog.js";
import { show as lint } from "./views/lint.js";
import { show as search } from "./views/search.js";
import { show as sessions } from "./views/sessions.js";
import { show as usage } from "./views/usage.js";

const VIEWS = {
  search: ["Search", search],
  catalog: ["Catalog", catalog],
  sessions: ["Sessions", sessions],
  lint: ["Lint", lint],
  usage: ["Usage", usage],
};

const main = document.getElementById("main");
// What is shown: its name, what takes a new address of the same view, and what ends it.
let shown = null;

function place() {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/");
  return { view: Object.hasOwn(VIEWS, view) ? view : "search", id: decoded(rest.join("/")), query: new URLSearchParams(search) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function go() {
  const { view, id, query } = place();
  const [title, show] = VIEWS[view];
  document.title = `${id ? `${id} · ` : ""}${title} · toolsearch`;
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (shown?.view === view) {
    shown.update(id, query);
    return;
  }
  const isFirst = shown === null;
  shown?.end.abort();
  const end = new AbortController();
  fill(main);
  window.scrollTo(0, 0);
  const update = show(main, { id, query, signal: end.signal });
  shown = { view, update, end };
  // Whoever reads along is told what is there now; at first the browser does that.
  if (!isFirst) main.querySelector("h1")?.focus();
}

function isTyping(element) {
  return element.matches("input, textarea, select") || element.isContentEditable;
}

document.addEventListener("keydown", (event) => {
  const plain = !event.altKey && !event.ctrlKey && !event.metaKey;
  if (event.key === "/" && plain && !isTyping(event.target) && !document.querySelector("dialog[open]")) {
    const field = main.querySelector("[data-search]");
    if (!field) return;
    event.preventDefault();
    field.focus();
    field.select();
  }
});

document.getElementById("skip").addEventListener("click", (event) => {
  // The part behind the # is the address of a view.
  event.preventDefault();
  main.focus();
});

document.getElementById("forget-key").addEventListener("click", () => {
  key.forget();
  location.reload();
});

window.addEventListener("hashchange", go);
key.show();
go();
