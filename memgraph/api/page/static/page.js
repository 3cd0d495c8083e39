// What htmx does not do: times in the reader's words, ranges that name their value, unsaved text that outlives a
// reload of its list, messages that pass, and the choice after a conflict.
"use strict";

const page = document.documentElement.lang;
const language = navigator.languages.find((name) => name.startsWith(page)) ?? page;
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
const UNITS = [["year", 31536000], ["month", 2592000], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];
const PASSING_MS = 10_000;

// A partial date, a day, or midnight in UTC has no time of day, and is the same in every zone.
function describe(text) {
  const day = text.replace(/T00:00:00(\.0+)?(Z|\+00:00)$/, "");
  const hasClock = day.includes("T");
  const at = new Date(day);
  if (Number.isNaN(at.valueOf())) return null;
  const parts = { year: "numeric", ...(day.length > 4 && { month: "short" }), ...(day.length > 7 && { day: "numeric" }) };
  const zone = hasClock ? {} : { timeZone: "UTC" };
  const clock = hasClock ? { hour: "2-digit", minute: "2-digit" } : {};
  const calendar = at.toLocaleDateString(language, { ...parts, ...zone });
  return { at, hasClock, calendar, full: at.toLocaleString(language, { ...parts, ...zone, ...clock }) };
}

function ago({ at, hasClock }) {
  const seconds = (at - Date.now()) / 1000;
  const smallest = hasClock ? 60 : 86400;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size && size >= smallest) ?? [hasClock ? "second" : "day", 1];
  return relative.format(size === 1 ? 0 : Math.trunc(seconds / size), unit);
}

function showTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const found = describe(time.dateTime);
    if (!found) continue;
    time.textContent = "day" in time.dataset ? found.calendar : ago(found);
    time.title = found.full;
  }
}

// A range of 0 to 1,000 stands for the days from the first fact until today; its right end is now.
function dayOf(range) {
  if (range.value === range.max) return "";
  const first = Date.parse(range.dataset.first);
  const at = new Date(first + (Date.now() - first) * (range.value / range.max));
  return at.toISOString().slice(0, 10);
}

document.addEventListener("input", (event) => {
  const field = event.target;
  if (field.form) field.form.dataset.unsaved = "";
  if (field.type !== "range") return;
  const output = field.parentElement.querySelector("output");
  if (field.dataset.for) {
    const day = dayOf(field);
    output.dataset.now ??= output.textContent;
    output.textContent = day || output.dataset.now;
    field.form.elements[field.dataset.for].value = day;
  } else {
    output.textContent = field.value;
  }
});

// Cards with text that is not saved, or is being saved, are taken out before their list is replaced, and put back
// into the new one. What is unfolded stays so.
let kept = [];
let opened = [];
let focused = null;
let place = ""; // the id of what has the focus, or of what it lies in

function unsavedIn(target, sender) {
  const unsaved = target.querySelectorAll("[data-unsaved], [data-saving]");
  const cards = [...unsaved].map((form) => form.closest("[data-keep]")).filter((card) => card && !card.contains(sender));
  return [...new Set(cards)];
}

document.addEventListener("htmx:beforeSwap", (event) => {
  const { target, xhr, requestConfig } = event.detail;
  if (xhr.status === 412) refused = event.detail;
  if (!target.id || target.id === "toasts" || !event.detail.shouldSwap) return;
  focused = document.activeElement;
  place = target.contains(focused) ? focused.closest("[id]").id : "";
  opened = [...target.querySelectorAll("details[id][open]")].map((details) => details.id);
  kept = unsavedIn(target, requestConfig.elt).map((card) => ({ card, list: target.id }));
  for (const { card } of kept) card.remove();
});

document.addEventListener("htmx:afterSwap", (event) => {
  for (const { card, list } of kept) {
    const fresh = document.getElementById(card.id);
    if (fresh) fresh.replaceWith(card);
    else document.getElementById(list)?.prepend(card);
  }
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
  if (kept.some(({ card }) => card.contains(focused))) focused.focus();
  const fresh = document.activeElement === document.body ? document.getElementById(place) : null;
  (fresh?.querySelector("summary") ?? fresh)?.focus();
  kept = [];
  opened = [];
  place = "";
  showTimes(event.detail.target.isConnected ? event.detail.target : document);
});

// A change loads the list again: as far as it was shown.
document.addEventListener("htmx:configRequest", (event) => {
  const { elt, triggeringEvent, parameters } = event.detail;
  if (elt.id === "filters" && triggeringEvent?.type === "memory-changed") {
    parameters.count = document.querySelectorAll("#facts [data-keep=plain]").length;
  }
});

document.addEventListener("htmx:beforeRequest", (event) => {
  const form = event.detail.elt.closest("form");
  if (!form) return;
  delete form.dataset.unsaved;
  form.dataset.saving = "";
});

document.addEventListener("htmx:afterRequest", (event) => {
  const { elt, xhr } = event.detail;
  const form = elt.closest("form");
  if (!form) return;
  const successful = xhr.status >= 200 && xhr.status < 400; // a refusal is shown, so htmx takes it for a success
  delete form.dataset.saving;
  if (!successful) form.dataset.unsaved = "";
  else if (form.elements.etag && xhr.getResponseHeader("ETag")) form.elements.etag.value = xhr.getResponseHeader("ETag");
  if (!successful || "unsaved" in form.dataset) return;
  if ("clear" in form.dataset) form.reset();
  const card = form.closest("[data-keep] > details");
  if (card?.contains(document.activeElement)) card.querySelector("summary").focus({ preventScroll: true });
  card?.removeAttribute("open");
});

// The browser asks before it leaves text that is not saved.
window.addEventListener("beforeunload", (event) => {
  if (document.querySelector("[data-keep] [data-unsaved], [data-keep][data-unsaved], [data-clear][data-unsaved]")) {
    event.preventDefault();
  }
});

document.addEventListener("htmx:sendError", () => {
  document.getElementById("toasts").append(document.getElementById("unreachable").content.cloneNode(true));
});

// A message about a change passes by itself, unless the reader is at it.
document.addEventListener("htmx:load", (event) => {
  const toast = event.detail.elt;
  if (!("passing" in toast.dataset)) return;
  const pass = () => (toast.matches(":hover, :focus-within") ? setTimeout(pass, PASSING_MS) : toast.remove());
  setTimeout(pass, PASSING_MS);
});

let refused = null;

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if ("dismiss" in button.dataset) button.closest(".toast").remove();
  if (!refused) return;
  const { verb, path, parameters, elt } = refused.requestConfig;
  if ("reload" in button.dataset) {
    delete elt.closest("form")?.dataset.unsaved;
    if (elt.closest("[data-keep]")) htmx.trigger(document.body, "memory-changed");
    else location.reload();
    button.closest(".toast").remove();
    refused = null;
  } else if ("overwrite" in button.dataset) {
    const values = Object.fromEntries(parameters.entries ? parameters.entries() : Object.entries(parameters));
    if ("etag" in values) values.etag = "*";
    htmx.ajax(verb, path.replace(/etag=[^&]*/, "etag=*"), { values, source: elt, target: "#toasts" });
    refused = null;
  }
});

document.addEventListener("DOMContentLoaded", () => {
  showTimes(document);
  // on a phone the tabs and the users scroll sideways
  for (const chosen of document.querySelectorAll("nav [aria-current]")) chosen.scrollIntoView({ block: "nearest", inline: "center" });
});
