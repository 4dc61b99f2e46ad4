// Numbers, times and counts as people read them.

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const share = new Intl.NumberFormat("en-US", { style: "percent", maximumFractionDigits: 1 });

export const number = (value) => whole.format(value);
export const compact = (value) => (Math.abs(value) < 10000 ? whole.format(value) : short.format(value));
export const percent = (value) => share.format(value);
export const count = (n, one, many = `${one}s`) => `${whole.format(n)} ${n === 1 ? one : many}`;

// A part of a score: two digits, or none where there is nothing.
export function score(value) {
  if (!value) return "0";
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

export function milliseconds(value) {
  return value >= 100 ? `${value.toFixed(0)} ms` : `${value.toFixed(1)} ms`;
}

const pad = (value) => String(value).padStart(2, "0");

// Seconds since 1970 as a time of this place, with the day unless it is today.
export function moment(seconds) {
  const at = new Date(seconds * 1000);
  const time = `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  const today = new Date().toDateString() === at.toDateString();
  return today ? time : `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${time}`;
}

// "2026-01-31" as "Jan 31".
export function day(iso) {
  const at = new Date(`${iso}T00:00:00Z`);
  return at.toLocaleDateString("en-US", { month: "short", day: "numeric", timeZone: "UTC" });
}
