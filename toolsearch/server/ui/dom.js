// Elements, made without HTML: whatever comes from a catalog or a person becomes text.

const SVG = "http://www.w3.org/2000/svg";

// An element. Properties beginning with "on" are listeners, true and false set and leave out an attribute,
// and children are elements, texts, lists of these, or null for nothing.
export function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...flat(children));
  return element;
}

function flat(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

// Put `children` in place of what an element holds.
export function fill(element, ...children) {
  element.replaceChildren(...flat(children));
  return element;
}

// Text of somebody else: whatever direction it sets ends with it.
export function said(text, properties = {}) {
  return h("bdi", properties, text);
}

// A path with a query, in which what is empty does not stand.
export function address(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

// A place of this page, such as route("catalog", "mail__send", { text: "mail" }).
export function route(view, id = "", query = {}) {
  return address(`#/${view}${id ? `/${encodeURIComponent(id)}` : ""}`, query);
}

// Arrow keys, Home and End move between the items of a list, which is one stop of the Tab key.
export function arrows(list) {
  const items = () => [...list.querySelectorAll("[data-item]")];
  const only = (chosen) => items().forEach((item) => { item.tabIndex = item === chosen ? 0 : -1; });
  list.addEventListener("focusin", (event) => {
    const item = event.target.closest("[data-item]");
    if (item) only(item);
  });
  list.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const all = items();
    const at = all.indexOf(event.target.closest("[data-item]"));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    all[Math.max(0, Math.min(to, all.length - 1))].focus();
  });
  return {
    // Call after the items have changed.
    settle(current = null) {
      const all = items();
      only(all.includes(current) ? current : all.find((item) => item.hasAttribute("aria-current")) ?? all[0]);
    },
  };
}

// Say of the items of a list which one is shown beside it.
export function markCurrent(list, name) {
  for (const link of list.querySelectorAll("[data-name]")) {
    if (link.dataset.name === name) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

let spoken = null;

// Say something to whoever does not see the page change.
export function announce(text) {
  const status = document.getElementById("status");
  status.textContent = "";
  clearTimeout(spoken);
  spoken = setTimeout(() => { status.textContent = text; }, 50);
}
