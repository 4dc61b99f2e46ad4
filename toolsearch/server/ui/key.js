// The key of whoever looks: asked for where the service wants one, kept in this tab alone.

const NAME = "toolsearch.key";

let asking = null;

export const current = () => sessionStorage.getItem(NAME) ?? "";

export function forget() {
  sessionStorage.removeItem(NAME);
  show();
}

export function show() {
  document.getElementById("forget-key").hidden = !current();
}

// Ask for a key. True if another one than `refused` was given; one question at a time, whoever asks.
export function ask(refused) {
  if (current() !== refused) return Promise.resolve(true);
  asking ??= question(refused).finally(() => { asking = null; });
  return asking;
}

function question(refused) {
  const dialog = document.getElementById("key-dialog");
  const form = document.getElementById("key-form");
  const input = document.getElementById("key");
  document.getElementById("key-why").textContent = refused
    ? "The service does not take this key. It may be mistyped, or revoked."
    : "This service answers only requests with a key.";
  input.value = "";
  return new Promise((resolve) => {
    const done = new AbortController();
    const end = (given) => {
      done.abort();
      dialog.close();
      if (given) sessionStorage.setItem(NAME, given);
      show();
      resolve(Boolean(given));
    };
    const { signal } = done;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const given = input.value.trim();
      // A header carries no other characters, and no key has them.
      if (/^[\x21-\x7e]+$/.test(given)) end(given);
      else input.focus();
    }, { signal });
    document.getElementById("key-cancel").addEventListener("click", () => end(""), { signal });
    dialog.addEventListener("cancel", (event) => { event.preventDefault(); end(""); }, { signal });
    dialog.showModal();
    input.focus();
  });
}
