// What a part of the page shows while there is nothing else to show.

import { fill, h } from "./dom.js";

export function loading(text = "Loading …") {
  return h("p", { class: "state loading", "aria-busy": "true" }, h("span", { class: "spinner", "aria-hidden": "true" }), text);
}

export function empty(title, ...children) {
  return h("div", { class: "state empty" }, h("p", { class: "state-title" }, title), ...children);
}

export function problem(error, retry) {
  const title = error.title || "That did not work";
  return h("div", { class: "state problem", role: "alert" },
    h("p", { class: "state-title" }, title),
    h("p", {}, error.message),
    retry ? h("button", { type: "button", onclick: retry }, error.status === 401 ? "Enter a key" : "Try again") : null);
}

// Show what `work` gives in `place`, and before it that it loads, or in the end why not.
export async function shown(place, work, { text, signal } = {}) {
  fill(place, loading(text));
  try {
    const content = await work();
    if (!signal?.aborted) fill(place, content);
  } catch (error) {
    if (error.name === "AbortError" || signal?.aborted) return;
    if (error.status === undefined) throw error;
    fill(place, problem(error, () => shown(place, work, { text, signal })));
  }
}
