// Requests to the service that serves this page.

import { address } from "./dom.js";
import * as key from "./key.js";

const AGAIN = new Set([429, 503]);
const TRIES = 4;
const PATIENT_TRIES = 600;

// Why a request has no answer; `status` is 0 where the service cannot be reached.
class ApiError extends Error {
  constructor(status, detail, title = "") {
    super(detail);
    this.status = status;
    this.title = title;
  }
}

export function get(path, { query, ...options } = {}) {
  return send("GET", address(path, query), options);
}

export function post(path, body, options = {}) {
  return send("POST", path, { ...options, body });
}

// Gives a signal for each request of a series: it ends those before it, and `signal` ends the last one.
export function series(signal) {
  let last = new AbortController();
  signal.addEventListener("abort", () => last.abort(), { once: true });
  return () => {
    last.abort();
    last = new AbortController();
    return last.signal;
  };
}

// The answer and its version; null for an answer that is that of `etag`, which the caller has.
//
// Where the service is busy or not ready it is asked again; `patient` goes on with that where it takes long.
async function send(method, path, { body, signal, etag, patient = false, onwait } = {}) {
  const tries = patient ? PATIENT_TRIES : TRIES;
  for (let attempt = 1; ; attempt += 1) {
    const used = key.current();
    const response = await answered(method, path, { body, signal, etag, used });
    if (response.status === 304) return { data: null, etag };
    if (response.ok) return { data: await response.json(), etag: response.headers.get("etag") ?? "" };
    const problem = await told(response);
    if (response.status === 401 && (await key.ask(used))) continue;
    const again = AGAIN.has(response.status) || (patient && response.status === 504);
    if (!again || attempt >= tries) throw problem;
    onwait?.(problem);
    await pause(Math.min(Number(response.headers.get("retry-after")) || 1, 5), signal);
  }
}

async function answered(method, path, { body, signal, etag, used }) {
  const headers = { Accept: "application/json" };
  if (used) headers.Authorization = `Bearer ${used}`;
  if (etag) headers["If-None-Match"] = etag;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const url = new URL(`../v1${path}`, document.baseURI);
  const options = { method, headers, signal, credentials: "omit", cache: "no-store", redirect: "error" };
  try {
    return await fetch(url, body === undefined ? options : { ...options, body: JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The service cannot be reached. It may be restarting.", "No connection");
  }
}

async function told(response) {
  try {
    const problem = await response.json();
    return new ApiError(response.status, problem.detail || response.statusText, problem.title);
  } catch {
    return new ApiError(response.status, response.statusText || `Status ${response.status}.`);
  }
}

function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("Nobody waits any more.", "AbortError"));
    }, { once: true });
  });
}
