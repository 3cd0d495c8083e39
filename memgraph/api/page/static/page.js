// What htmx does not do: times in the reader's zone, ranges that name their value, and the choice after a conflict.
"use strict";

const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });

function showTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (!Number.isNaN(at.valueOf())) {
      time.textContent = format.format(at);
      time.title = time.dateTime;
    }
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
  const range = event.target;
  if (range.type !== "range") return;
  const output = range.parentElement.querySelector("output");
  if (range.dataset.for) {
    const day = dayOf(range);
    output.dataset.now ??= output.textContent;
    output.textContent = day || output.dataset.now;
    range.form.elements[range.dataset.for].value = day;
  } else {
    output.textContent = range.value;
  }
});

let refused = null;

document.addEventListener("htmx:responseError", (event) => {
  refused = event.detail;
});

document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.status === 412) refused = event.detail;
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if ("dismiss" in button.dataset) button.closest(".toast").remove();
  if ("reload" in button.dataset) location.reload();
  if ("overwrite" in button.dataset && refused) {
    const { verb, path, parameters, elt } = refused.requestConfig;
    const values = Object.fromEntries(parameters.entries ? parameters.entries() : Object.entries(parameters));
    if ("etag" in values) values.etag = "*";
    htmx.ajax(verb, path.replace(/etag=[^&]*/, "etag=*"), { values, source: elt, target: "#toasts" });
    refused = null;
  }
});

document.addEventListener("htmx:afterRequest", (event) => {
  const form = event.detail.elt;
  if (event.detail.successful && form.matches && form.matches("form[data-clear]")) form.reset();
});

document.addEventListener("htmx:afterSwap", (event) => showTimes(event.detail.target));
document.addEventListener("DOMContentLoaded", () => showTimes(document));
