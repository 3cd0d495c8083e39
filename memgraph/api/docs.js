// Renders openapi.json. Text is only ever inserted as text, and nothing is loaded from another host.
"use strict";

function element(tag, text, ...children) {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}

function typeName(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const parts = schema.anyOf || schema.oneOf || schema.allOf;
  if (parts) return parts.map(typeName).join(" | ");
  if (schema.type === "array") return `list of ${typeName(schema.items) || "any"}`;
  return schema.type || "any";
}

function table(heads, rows) {
  const head = element("tr", "", ...heads.map((name) => element("th", name)));
  return element("table", "", head, ...rows.map((row) => element("tr", "", ...row.map((cell) => element("td", cell)))));
}

function operation(method, path, details) {
  const made = element("details");
  made.append(element("summary", "", Object.assign(element("span", method.toUpperCase()), { className: "method" }),
    element("code", path), ` ${details.summary || ""}`));
  if (details.description) made.append(element("p", details.description));
  const parameters = (details.parameters || []).map((parameter) => [
    parameter.name, parameter.in, typeName(parameter.schema) + (parameter.required ? ", required" : ""),
    parameter.description || "",
  ]);
  if (parameters.length) made.append(table(["parameter", "in", "type", ""], parameters));
  for (const [type, body] of Object.entries((details.requestBody || {}).content || {}))
    made.append(element("p", `Body: ${type}, ${typeName(body.schema)}`));
  made.append(table(["status", "", "body"], Object.entries(details.responses || {}).map(([status, response]) => [
    status, response.description || "",
    Object.values(response.content || {}).map((body) => typeName(body.schema)).join(", "),
  ])));
  return made;
}

function schema(name, details) {
  const made = element("details", "", element("summary", "", element("code", name)));
  if (details.description) made.append(element("p", details.description));
  const required = new Set(details.required || []);
  made.append(table(["field", "type", ""], Object.entries(details.properties || {}).map(([field, value]) => [
    field, typeName(value) + (required.has(field) ? ", required" : ""), value.description || "",
  ])));
  return made;
}

async function show() {
  const content = document.getElementById("content");
  try {
    const response = await fetch("openapi.json");
    if (!response.ok) throw new Error(`openapi.json: status ${response.status}`);
    const api = await response.json();
    content.replaceChildren(element("pre", (api.info.description || "").trim()), element("h2", "Routes"));
    for (const [path, item] of Object.entries(api.paths))
      for (const [method, details] of Object.entries(item)) content.append(operation(method, path, details));
    content.append(element("h2", "Schemas"));
    for (const [name, details] of Object.entries(api.components.schemas)) content.append(schema(name, details));
  } catch (error) {
    content.textContent = `The description of the API cannot be shown: ${error.message}`;
  }
}

show();
